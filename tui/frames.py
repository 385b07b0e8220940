"""What showing a batch of steps costs, told to the thread that decides how often to send one."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import App

from tui.worker import Writer


class Frames:
    """Of one writer."""

    def __init__(self, app: App[int], writer: Writer) -> None:
        self._app = app
        self._writer = writer
        self._run, self._computed = 0, 0.0

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
            self._app.call_after_refresh(lambda: self._writer.shown(cost))
