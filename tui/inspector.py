"""Steps looked at again: those that were not inspected while they were written, and
the one on show under settings that have changed since.

Needs the model for the logits of a step, once; with these kept, any settings can be
tried on the app's thread in well under a frame. Knows nothing of widgets.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from textual.message import Message

from corpora.errors import UserError
from model.config import Controls
from model.steps import Inspection, Step
from tui.messages import StepKept
from tui.view import Tone
from tui.worker import Writer

if TYPE_CHECKING:
    from model.inspect_at import Kept

log = logging.getLogger("yinchuang")


class Written(Protocol):
    """A text that has steps: a poem's branch, a reply."""

    @property
    def id(self) -> int | str:
        """What tells it from every other one."""

    @property
    def steps(self) -> list[Step]:
        """All of them so far."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """Those of the steps."""


class Repeatable(Protocol):
    """How a text came about, so that any step of it can be computed again."""

    @property
    def lock(self) -> threading.Lock:
        """Held while the model is in use."""

    def keep(self, tokens: tuple[int, ...], index: int, stops: tuple[str, ...]) -> Kept:
        """What step ``index`` of a run that generated ``tokens`` saw."""


class StepView(Protocol):
    """Where a step is shown."""

    def show_step(self, step: Step | None, index: int, total: int, live: bool) -> None:
        """Fill the table."""

    def show_preview(self, inspection: Inspection, step: Step, would_be: int) -> None:
        """Fill the table with a step as it would be under other settings."""

    def say(self, text: str, tone: Tone = "information") -> None:
        """Tell the reader something in passing."""


class Inspector:
    """Keeps the logits of the step that was asked for last."""

    def __init__(self, post: Callable[[Message], object], writer: Writer) -> None:
        self._post = post
        self._writer = writer
        self._place: tuple[int | str, int] | None = None
        self._kept: Kept | None = None

    def show(
        self,
        view: StepView,
        text: Written | None,
        index: int,
        controls: Controls,
        *,
        live: bool,
        again: Callable[[], Repeatable | None],
    ) -> None:
        """Fill the table with step ``index`` of ``text``, as it was or, where ``controls``
        differ from its own, would be. ``live``: it is the newest of a text that is being
        written, and stays as it is. ``again``: how to compute it anew, ``None`` where that
        cannot be; ``StepKept`` then says when it is worth showing again."""
        step = text.steps[index] if text is not None and 0 <= index < len(text.steps) else None
        if text is None or step is None:
            view.show_step(None, 0, len(text.steps) if text else 0, live)
            return
        kept = self._kept if self._place == (text.id, index) else None
        try:
            if step.inspection is None and kept is not None:
                step = text.steps[index] = inspected(kept, step)
            view.show_step(step, index, len(text.steps), live)
            if not live and differs(step, controls) and kept:
                shown, would_be = preview(kept, step, controls)
                view.show_preview(shown, step, would_be)
        except UserError as error:
            view.say(str(error), "warning")
        if not live and (step.inspection is None or differs(step, controls)):
            self._fetch(text, index, again)

    def take(self, message: StepKept) -> bool:
        """Store an answer; False where another step has been asked for since."""
        if self._place != (message.branch, message.index):
            return False
        self._kept = message.kept
        return True

    def forget(self) -> None:
        """Drop what is kept: another model is in use, or texts have gone."""
        self._place = self._kept = None

    def _fetch(self, text: Written, index: int, again: Callable[[], Repeatable | None]) -> None:
        """Ask for the logits of a step; asking twice does nothing."""
        order = None if self._place == (text.id, index) else again()
        if order is None:
            return
        self._place, self._kept = (text.id, index), None
        asked = (order, text.id, text.tokens[:index], text.steps[index].controls.stop)
        if not self._writer.errand(lambda: self._work(*asked)):
            threading.Thread(target=self._locked, args=asked, name="inspect", daemon=True).start()

    def _locked(
        self, order: Repeatable, text: int | str, tokens: tuple[int, ...], stops: tuple[str, ...]
    ) -> None:
        with order.lock:
            self._work(order, text, tokens, stops)

    def _work(
        self, order: Repeatable, text: int | str, tokens: tuple[int, ...], stops: tuple[str, ...]
    ) -> None:
        if self._place != (text, len(tokens)):
            return  # the reader has moved on
        try:
            kept = order.keep(tokens, len(tokens), stops)
        except Exception:  # a look that fails must not end a run; the table stays empty
            log.exception("step %d of %s cannot be inspected", len(tokens), text)
            return
        self._post(StepKept(text, len(tokens), kept))


def inspected(kept: Kept, step: Step) -> Step:
    """``step`` with the inspection that it was written without."""
    return replace(step, inspection=kept.inspect(step.controls, step.token))


def preview(kept: Kept, step: Step, controls: Controls) -> tuple[Inspection, int]:
    """``step`` under ``controls``: the inspection, and the token that would be drawn.

    The seed stays that of the step, so that the same ``u`` falls on both; the inspection is
    of the token that it falls on now, with the one that was drawn among the rows.
    Raises ``NoLegalToken``.
    """
    tried = replace(controls, seed=step.controls.seed)
    would_be = kept.would_choose(tried)
    seen = kept.inspect(tried, would_be)
    if all(row.token != step.token for row in seen.candidates):
        drawn = kept.inspect(tried, step.token).candidates[-1]
        seen = replace(seen, candidates=(*seen.candidates, drawn))
    return seen, would_be


def differs(step: Step, controls: Controls) -> bool:
    """Whether ``controls`` would treat this step's logits in another way."""
    return step.controls.sampler != controls.sampler
