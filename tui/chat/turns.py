"""The turns of a conversation, as the window holds them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from model.steps import Finished, Step
from tui.history.records import HistoryError, Role

if TYPE_CHECKING:
    from tui.history.reading import Reading

log = logging.getLogger("yinchuang")


@dataclass(frozen=True, slots=True)
class Record:
    """The steps of a kept reply, which are read when somebody asks for them: reading those of a
    long conversation takes as long as a breath, and most of them nobody looks at."""

    history: Reading
    turn: str

    def steps(self) -> list[Step]:
        """All of them; none where they cannot be read, which costs no more than the table."""
        try:
            return self.history.steps(self.turn)
        except HistoryError:
            log.exception("the steps of %s cannot be read", self.turn)
            return []

    def tokens(self) -> tuple[int, ...]:
        """Their tokens, which take a fraction of the time; as ``steps``."""
        try:
            return self.history.tokens(self.turn)
        except HistoryError:
            log.exception("the tokens of %s cannot be read", self.turn)
            return ()


@dataclass(slots=True)
class Turn:
    """One turn: what a person wrote, or a reply as far as it came."""

    id: str
    role: Role
    text: str
    parent: str | None
    steps: list[Step] = field(default_factory=list)
    """Of a reply, each token as it came about; ``Dialogue.turn`` reads them where ``record``
    still holds them."""
    finished: Finished | None = None
    """How a reply ended; ``None`` while it is written, and for what people wrote."""
    interrupted: bool = False
    """Its program ended while it was written: it can be gone on with."""
    model: str = ""
    chosen: frozenset[int] = frozenset()
    """Steps whose token a person chose."""
    left_out: int | None = None
    """Messages before it, system prompt aside, that the model did not read; ``None`` where
    that is not known."""
    record: Record | None = field(default=None, compare=False, repr=False)

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens of a reply."""
        if self.record is not None:
            return self.record.tokens()
        return tuple(step.token for step in self.steps)

    @property
    def is_reply(self) -> bool:
        """A model wrote it."""
        return self.role == "assistant"

    @property
    def stopped(self) -> bool:
        """It was cut, and can be gone on with."""
        cut = self.finished is not None and self.finished.reason in ("cancelled", "length")
        return self.is_reply and (cut or self.interrupted)

    def read(self) -> None:
        """Take the steps out of the record."""
        if self.record is not None:
            self.steps, self.record = self.record.steps(), None
