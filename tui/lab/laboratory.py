"""The window's way into the lab: its thread, its screen while that is open, its messages.

What was found stays here until the window closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tui.entry import clean, read_opening
from tui.lab.bench import Bench
from tui.messages import LabEnded, LabProgressed

if TYPE_CHECKING:
    from model.lab.catalogue import Experiment
    from model.registry import ModelHandle
    from tui.app import Yinchuang
    from tui.filing import Filing
    from tui.lab.screen import LabScreen


class Laboratory:
    """What the app calls."""

    def __init__(self, app: Yinchuang, experiments: Sequence[Experiment] | None = None) -> None:
        """``experiments``: what can be run; the catalogue's where None."""
        self._app = app
        self._experiments = experiments
        self.bench = Bench(app.post_message, self._model, lambda: app.is_writing)
        self._folder: TemporaryDirectory[str] | None = None
        self.screen: LabScreen | None = None
        """The lab's screen while it is open."""

    def open(self) -> None:
        """Show the lab."""
        from tui.lab.screen import LabScreen

        self.screen = LabScreen(self)
        self._app.push_screen(self.screen, lambda _: self._closed())

    # what the screen asks

    @property
    def experiments(self) -> Sequence[Experiment]:
        """All that can be run."""
        from model.lab.catalogue import EXPERIMENTS

        return EXPERIMENTS if self._experiments is None else self._experiments

    @property
    def model(self) -> str:
        """The model in use, in words."""
        return self._app.main.model_title

    @property
    def filing(self) -> Filing:
        """What asks for file names."""
        return self._app.filing

    def read_prompt(self, text: str) -> tuple[str, str]:
        """A prompt as the model in use reads it, and what was changed, in words: verse is
        simplified, models of other makers read what was typed."""
        handle = self._app.runs.handle
        if handle is not None and handle.spec.kind == "pretrained":
            return clean(text)
        return read_opening(text)

    def poem(self) -> Path | None:
        """The poem on show as a file, for an experiment that looks at one; ``None`` where
        there is no finished one. Raises ``UserError``."""
        branch = self._app.session.branch
        if branch is None or not branch.finished or not branch.steps:
            return None
        from tui.poemfiles import save_poem

        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="yinchuang-lab-")
        path = Path(self._folder.name) / "the poem on show.jsonl"
        save_poem(path, branch, self._app.runs.handle)
        return path

    # what the app tells

    def _closed(self) -> None:
        self.screen = None

    def progressed(self, message: LabProgressed) -> None:
        """The running experiment has come a step further."""
        if self.bench.progressed(message) and self.screen is not None:
            self.screen.follow()

    def ended(self, message: LabEnded) -> None:
        """It has ended: show it, or say so to a reader who is elsewhere."""
        if not self.bench.ended(message):
            return
        if self.screen is not None:
            self.screen.show()
        else:
            outcome = message.outcome
            self._app.main.say(f"Lab: {outcome.experiment.name}: {outcome.words()} (F10 shows it)")

    def poem_begins(self) -> None:
        """Say why a poem may have to wait for its first character."""
        if self.bench.running is not None:
            self._app.main.say("The lab makes room for the poem as soon as its step is done")

    def _model(self, name: str | None) -> ModelHandle:
        return self._app.loader.handle(self._app.session.model if name is None else name)
