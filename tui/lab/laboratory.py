"""The window's way into the lab: its thread, its screen while that is open, its messages.

What was found stays here until the window closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tui.lab.bench import Bench
from tui.messages import LabEnded, LabProgressed

if TYPE_CHECKING:
    from model.lab.catalogue import Experiment
    from model.registry import ModelHandle
    from tui.app import Yinchuang
    from tui.lab.screen import LabScreen


class Laboratory:
    """What the app calls."""

    def __init__(self, app: Yinchuang, experiments: Sequence[Experiment] | None = None) -> None:
        """``experiments``: what can be run; the catalogue's where None."""
        self._app = app
        self._experiments = experiments
        self.bench = Bench(app.post_message, self._model, lambda: app.runs.writing is not None)
        self._folder: TemporaryDirectory[str] | None = None
        self.screen: LabScreen | None = None
        """The lab's screen while it is open."""

    def open(self) -> None:
        """Show the lab."""
        from model.lab.catalogue import EXPERIMENTS
        from tui.lab.screen import LabScreen

        app = self._app
        experiments = EXPERIMENTS if self._experiments is None else self._experiments
        self.screen = LabScreen(
            self.bench, experiments, app.filing, lambda: app.main.model_title, self._poem
        )
        app.push_screen(self.screen, lambda _: self._closed())

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

    def _poem(self) -> Path | None:
        """The poem on show as a file, for an experiment that looks at one; ``None`` where
        there is no finished one."""
        branch = self._app.session.branch
        if branch is None or not branch.finished or not branch.steps:
            return None
        from tui.poemfiles import save_poem

        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="yinchuang-lab-")
        path = Path(self._folder.name) / "the poem on show.jsonl"
        save_poem(path, branch, self._app.runs.handle)
        return path

    def _model(self, name: str | None) -> ModelHandle:
        return self._app.loader.handle(self._app.session.model if name is None else name)
