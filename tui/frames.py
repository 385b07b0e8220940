"""What showing a batch of steps costs, told to the thread that decides how often to send one."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import App
from textual.timer import Timer

from tui.worker import SLOWEST_FRAME_S, Writer


class Frames:
    """Of one writer."""

    def __init__(self, app: App[int], writer: Writer) -> None:
        self._app = app
        self._writer = writer
        self._run, self._computed = 0, 0.0
        self._late: Timer | None = None

    def show(self, run_id: int, take_in: Callable[[], None]) -> None:
        """Call ``take_in`` for a batch of run ``run_id``, and say when it is on the screen."""
        # All that this thread did since the last batch: painting comes after the refresh that
        # a batch asks for, so that timing the batch alone would miss the most of its cost.
        now = time.thread_time()
        cost = 0.0 if run_id != self._run else now - self._computed
        self._run, self._computed = run_id, now
        try:
            take_in()
        finally:
            self._app.call_after_refresh(self._shown, cost)

    def _shown(self, cost: float) -> None:
        self._writer.shown(cost)
        if self._late is None:
            self._late = self._app.set_interval(SLOWEST_FRAME_S, self._look)

    def _look(self) -> None:
        """Ask for what a slow model keeps waiting, as long as something is written."""
        if self._writer.writing:
            self._writer.show_late()
        elif self._late is not None:
            self._late.stop()
            self._late = None
