"""The thread that runs experiments for the window, one at a time, and what they found.

The model belongs to whoever holds its lock, and the poem comes first: between two records
the experiment lets go of every model, waits while a poem is written, and takes them again.
Knows nothing of widgets: it posts messages through the function that it is given.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from model.lab.base import Progress, Request
from tui.messages import LabEnded, LabProgressed

if TYPE_CHECKING:
    from pathlib import Path

    from model.lab.catalogue import Experiment
    from model.registry import ModelHandle
    from tui.lab.outcome import Outcome

FRAME_S = 1 / 15
"""Progress is told at most this often."""
LOOK_S = 0.05
"""While something is waited for, this often it is looked whether to stop."""

log = logging.getLogger("yinchuang")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the reader set for the next run."""

    prompt: str | None = None
    """Instead of an experiment's own prompts; ``None``: its own."""
    seed: int = 1
    quick: bool = True
    trace: Path | None = None
    """The saved run that is looked at, by those that read one."""


class Bench:
    """Runs experiments on a thread of its own and keeps their ends while the window is open."""

    def __init__(
        self,
        post: Callable[[Message], object],
        model: Callable[[str | None], ModelHandle],
        writing: Callable[[], bool],
    ) -> None:
        """``post`` and ``model`` are called from the thread: ``model`` gives the model of a
        name, ``None`` for the window's. ``writing``: whether a poem is being written."""
        self.outcomes: dict[str, Outcome] = {}
        """By experiment: how its last run ended."""
        self.running: Experiment | None = None
        self.progress = Progress(0, 0)
        self.began = 0.0
        """Monotonic seconds at which the running one began."""
        self._post = post
        self._model = model
        self._writing = writing
        self._run = 0
        self._stopping = False

    # on the app's thread

    @property
    def stopping(self) -> bool:
        """It has been asked to stop and has not reached its next record yet."""
        return self.running is not None and self._stopping

    def begin(self, experiment: Experiment, asked: Asked) -> bool:
        """Run ``experiment``; ``LabProgressed`` and ``LabEnded`` follow. False where one is
        running already."""
        if self.running is not None:
            return False
        self._run += 1
        self._stopping = False
        self.running, self.progress, self.began = experiment, Progress(0, 0), time.monotonic()
        # a daemon: leaving must not wait for a step that cannot be cut short
        threading.Thread(
            target=self._body, args=(self._run, experiment, asked), name="lab", daemon=True
        ).start()
        return True

    def stop(self) -> None:
        """End the running experiment at its next record; ``LabEnded`` still follows."""
        self._stopping = True

    def progressed(self, message: LabProgressed) -> bool:
        """Take note of a record; False where it is of a run that has ended."""
        if message.run_id != self._run or self.running is None:
            return False
        self.progress = message.progress
        return True

    def ended(self, message: LabEnded) -> bool:
        """Keep how the run ended. One that was stopped leaves what was found before."""
        if message.run_id != self._run:
            return False
        self.running = None
        outcome = message.outcome
        if outcome.state != "stopped" or outcome.experiment.name not in self.outcomes:
            self.outcomes[outcome.experiment.name] = outcome
        return True

    # on the thread

    def _body(self, run_id: int, experiment: Experiment, asked: Asked) -> None:
        from tui.lab.outcome import run_experiment

        models = _Models(self._model, self._writing, lambda: self._stopping)
        told = _Teller(run_id, self._post)

        def record(progress: Progress) -> None:
            told(progress)
            models.give_way(lambda words: told(progress, words))

        request = Request(models, None, asked.prompt, asked.seed, asked.quick, asked.trace)
        try:
            outcome = run_experiment(experiment, request, record, lambda: self._stopping)
        finally:
            models.let_go()
        if outcome.state == "failed":
            log.error("experiment %s broke", experiment.name, exc_info=outcome.error)
        self._post(LabEnded(run_id, outcome))


class _Models:
    """Gives an experiment its models, each one locked while the experiment computes."""

    def __init__(
        self,
        model: Callable[[str | None], ModelHandle],
        writing: Callable[[], bool],
        stopping: Callable[[], bool],
    ) -> None:
        self._model = model
        self._writing = writing
        self._stopping = stopping
        self._wanted: list[threading.Lock] = []
        self._held: list[threading.Lock] = []

    def __call__(self, name: str | None) -> ModelHandle:
        """The model of a name, locked. Raises ``Stopped`` where it was not worth waiting."""
        from tui.lab.outcome import Stopped

        handle = self._model(name)
        if handle.lock not in self._wanted:
            self._wanted.append(handle.lock)
        if not self._take():
            raise Stopped
        return handle

    def give_way(self, tell: Callable[[str], None]) -> None:
        """Let others use the models, and take them again when the poem has ended."""
        self.let_go()
        time.sleep(0.001)  # a lock goes to whoever waits only where it stays free for a moment
        if self._writing():
            tell("waiting for the poem to end")
        while self._writing() and not self._stopping():
            time.sleep(LOOK_S)
        self._take()

    def let_go(self) -> None:
        """Hold none any more."""
        while self._held:
            self._held.pop().release()

    def _take(self) -> bool:
        """Hold all that are wanted; False where a stop came first. Whoever else waits for a
        model holds none meanwhile, so that nobody waits in a circle."""
        for lock in self._wanted:
            while lock not in self._held:
                if self._stopping():
                    return False
                if lock.acquire(timeout=LOOK_S):
                    self._held.append(lock)
        return True


class _Teller:
    """Posts progress, not more often than it can be read."""

    def __init__(self, run_id: int, post: Callable[[Message], object]) -> None:
        self._run_id = run_id
        self._post = post
        self._told_at = 0.0

    def __call__(self, progress: Progress, words: str = "") -> None:
        """``words``: instead of what the progress says it is doing; told at once."""
        now = time.monotonic()
        if words:
            progress = Progress(progress.done, progress.total, words)
        elif now < self._told_at + FRAME_S:
            return
        self._told_at = now
        self._post(LabProgressed(self._run_id, progress))
