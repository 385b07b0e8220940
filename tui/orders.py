"""What a writer can run: a poem to be written, or one that was written before.

Imports torch only when a run begins. Knows the engine; knows nothing of threads or widgets.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from model.config import Controls
from model.steps import Finished, Step
from tui.session import FormSettings, Unknown

if TYPE_CHECKING:
    from model.inspect_at import Kept
    from model.registry import ModelHandle


@dataclass(frozen=True, slots=True)
class Order:
    """What to write."""

    handle: ModelHandle
    prompt: str
    form: FormSettings
    unknown: Unknown = "error"
    given: tuple[int, ...] = ()
    """Tokens taken as generated already: a fork."""

    @property
    def lock(self) -> threading.Lock:
        """Held while the model is in use."""
        return self.handle.lock

    def steps(
        self,
        controls: Callable[[], Controls],
        wanted: Callable[[], bool],
        cancelled: Callable[[], bool],
    ) -> Iterator[Step | Finished]:
        """The run. Raises ``InputError`` for what cannot be begun."""
        from model.generate import Prompt
        from model.inspect_at import Watched

        return iter(
            Watched(
                self.handle.model,
                self.handle.tokenizer,
                Prompt(self.prompt, unknown=self.unknown),
                controls,
                constraint=self.form.constraint(),
                given=self.given,
                wanted=wanted,
                cancelled=cancelled,
            )
        )

    def check(self) -> None:
        """Raises ``UnknownCharacters``, ``ConstraintError`` or ``SettingError`` where such a
        poem cannot be begun."""
        self.handle.tokenizer.encode(self.prompt, self.unknown)
        constraint = self.form.constraint()
        if constraint:
            constraint.check(self.prompt)
            constraint.compile(self.handle.tokenizer)

    def text_of(self, tokens: tuple[int, ...], stops: tuple[str, ...]) -> str:
        """What ``tokens`` make visible after the prompt.

        Raises ``ConstraintError`` where one of them may not stand in its place.
        """
        from model.generate import Prompt
        from model.run import Run

        return Run(
            self.handle.tokenizer,
            Prompt(self.prompt, unknown=self.unknown).encode(self.handle.tokenizer),
            constraint=self.form.constraint(),
            constrained_from=1,
            given=tokens,
            stops=stops,
        ).given_text

    def keep(self, tokens: tuple[int, ...], index: int, stops: tuple[str, ...]) -> Kept:
        """What step ``index`` of a run that generated ``tokens`` saw."""
        from model.generate import Prompt
        from model.inspect_at import keep_step

        return keep_step(
            self.handle.model,
            self.handle.tokenizer,
            Prompt(self.prompt, unknown=self.unknown),
            tokens,
            index,
            constraint=self.form.constraint(),
            stops=stops,
        )


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded run, as it was."""

    recorded: tuple[Step, ...]
    finished: Finished
    lock: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def steps(
        self,
        controls: Callable[[], Controls],
        wanted: Callable[[], bool],
        cancelled: Callable[[], bool],
    ) -> Iterator[Step | Finished]:
        """The recorded steps, whatever the settings are now."""
        for place, step in enumerate(self.recorded):
            if cancelled():
                yield replace(self.finished, reason="cancelled", text="", tokens=place)
                return
            yield step
        yield self.finished
