"""The thread that writes: it runs the generator, keeps the pace, and posts what comes.

One ``Writer`` serves the app. At most one run is current; beginning another, or
stopping, makes the old one end at its next look at the flag: before every token,
between chunks of a prefill, and in any wait. The model handle's lock keeps two bodies
apart while the old one ends. Knows nothing of widgets: it posts messages through the
function that it is given, which must be safe to call from any thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from textual.message import Message

from corpora.errors import UserError
from model.config import Controls
from model.steps import Finished, Step
from tui.messages import RunFailed, RunFinished, StepsArrived
from tui.session import BY_KEY, UNLIMITED

FRAME_S = 1 / 30
"""Steps are gathered this long, so that the window redraws at most this often."""
SHARE = 0.05
"""What showing steps may cost, as a part of what writing them does; frames grow rarer where it
is more."""
SLOWEST_FRAME_S = 0.2
SMOOTHING = 0.2
"""Weight of the newest frame's cost in the mean: some frames draw more than others."""

log = logging.getLogger("yinchuang")


class Source(Protocol):
    """What a writer can run: an order, or a replay."""

    @property
    def lock(self) -> threading.Lock:
        """Held during the run."""

    def steps(
        self,
        controls: Callable[[], Controls],
        wanted: Callable[[], bool],
        cancelled: Callable[[], bool],
    ) -> Iterator[Step | Finished]:
        """The run: its steps, then ``Finished``. ``wanted``: whether the next one shall be
        inspected. Raises ``UserError`` for what cannot be begun."""


class Writer:
    """Runs orders, one at a time."""

    def __init__(self, post: Callable[[Message], object], log_file: str) -> None:
        """``post``: hands a message to the app. ``log_file``: where tracebacks go."""
        self._post = post
        self._log_file = log_file
        self._changed = threading.Condition()
        # all below is read and written under the condition's lock, but for ``controls``
        self.controls = Controls()
        """Read once a step: replacing this reference turns every knob at once."""
        self._current = 0
        self._latest = 0
        self._pace = UNLIMITED
        self._permits = 0
        self._errands: deque[Callable[[], None]] = deque()
        self._batch: _Batch | None = None
        self._awaited = False  # a batch is on its way and not shown yet
        self.frames = 0
        """Batches that the window has shown."""
        self._frame_s = FRAME_S
        self._cost_s = 0.0  # of a frame, smoothed

    # on the app's thread

    def begin(self) -> int:
        """Id of a new run, which is current from now on; the one before ends."""
        with self._changed:
            self._latest += 1
            self._current = self._latest
            self._awaited, self._permits = False, 0
            self._changed.notify_all()
            return self._current

    def stop(self) -> None:
        """End the current run at its next token; its ``RunFinished`` still arrives."""
        with self._changed:
            self._current = 0
            self._changed.notify_all()

    def set_pace(self, pace: float) -> None:
        """Characters a second, ``UNLIMITED``, or ``BY_KEY``."""
        with self._changed:
            self._pace = pace
            self._permits = 0
            self._changed.notify_all()

    def permit(self) -> None:
        """Where the pace is ``BY_KEY``: one more token."""
        with self._changed:
            self._permits += 1
            self._changed.notify_all()

    def shown(self, cost_s: float) -> None:
        """The last batch is on the screen. ``cost_s``: what the app's thread has computed
        between the last two batches, in seconds."""
        with self._changed:
            self._awaited = False
            self.frames += 1
            self._cost_s += SMOOTHING * (cost_s - self._cost_s)
            self._frame_s = min(SLOWEST_FRAME_S, max(FRAME_S, self._cost_s / SHARE))
            self._changed.notify_all()

    @property
    def writing(self) -> bool:
        """A run is on that nobody has stopped."""
        return bool(self._current)

    def show_late(self) -> None:
        """Send what has waited for as long as a frame may, because the model has not come to
        its next token yet: otherwise the writing thread does."""
        with self._changed:
            batch = self._batch
            if batch and batch.steps and not self._awaited and batch.waited >= SLOWEST_FRAME_S:
                self._awaited = True
                batch.post(batch.computed_at)

    def errand(self, work: Callable[[], None]) -> bool:
        """Let the running body do ``work``, which needs the model, between two tokens.
        False where nothing runs: the caller must find another thread for it."""
        with self._changed:
            if not self._current:
                return False
            self._errands.append(work)
            self._changed.notify_all()
            return True

    # on the writing thread

    def write(self, run_id: int, order: Source) -> None:
        """The body of one run; returns when it has ended and all is posted."""
        try:
            with order.lock:
                self._stream(run_id, order)
        except UserError as error:
            self._post(RunFailed(run_id, str(error), ""))
        except Exception as error:
            log.exception("run %d broke", run_id)
            text = f"{type(error).__name__}: {error}"
            self._post(RunFailed(run_id, text, self._log_file))
        finally:
            self._end(run_id)

    def _stream(self, run_id: int, order: Source) -> None:
        batch = self._batch = _Batch(run_id, self._post)
        turn = time.monotonic()
        for event in order.steps(
            lambda: self.controls,
            lambda: self._wanted(batch),
            lambda: self._current != run_id,
        ):
            if isinstance(event, Finished):
                with self._changed:
                    batch.post(time.thread_time())
                self._post(RunFinished(run_id, event))
                return
            with self._changed:
                batch.steps.append(event)
            due, batch.due = batch.due, None
            if due is None:  # a source that inspects as it likes did not ask
                due = self._due(batch)
            if not due and self._nothing_to_do(run_id):
                continue
            pause = 1 / self._pace if self._pace else 0.0
            # a model slower than the pace is not made up for by a burst later
            turn = max(turn, time.monotonic() - pause) + pause
            self._rest(run_id, batch, turn, due)

    def _wanted(self, batch: _Batch) -> bool:
        """Whether the next step shall be inspected: at full pace only the one that is shown,
        which is the last of its batch."""
        batch.due = self._due(batch)
        return batch.due or self._pace != UNLIMITED

    def _nothing_to_do(self, run_id: int) -> bool:
        """At full pace most tokens pass so: each of these is read whole, and what changes now is
        seen at the next token."""
        return not self._errands and self._pace == UNLIMITED and self._current == run_id

    def _due(self, batch: _Batch) -> bool:
        """Whether the window shall be given what has gathered. On the writing thread."""
        waited = batch.waited
        if self._awaited or waited < FRAME_S:
            return False
        if waited >= SLOWEST_FRAME_S:
            return True
        # At full pace the two threads share what the machine gives them, which may be little:
        # a share of the clock would be a multiple of that. At any other pace there is time.
        full = self._pace == UNLIMITED
        return (time.thread_time() - batch.computed_at if full else waited) >= self._frame_s

    def _rest(self, run_id: int, batch: _Batch, turn: float, due: bool) -> None:
        """Show what is ``due``, run errands, and wait until it is the next token's turn."""
        while True:
            self._run_errands()
            with self._changed:
                due = due if self._pace == UNLIMITED else self._due(batch)
                if batch.steps and due:
                    self._awaited = True
                    batch.post(time.thread_time())
                if self._current != run_id:
                    return
                if self._errands:
                    continue
                left = self._left(turn)
                if left <= 0:
                    return
                if batch.steps and not self._awaited:
                    left = min(left, batch.posted_at + self._frame_s - time.monotonic())
                self._changed.wait(None if left == UNLIMITED else max(0.0, left))

    def _left(self, turn: float) -> float:
        """Seconds until the next token may be written; also takes a permit."""
        if self._pace == UNLIMITED:
            return 0.0
        if self._pace != BY_KEY:
            return turn - time.monotonic()
        if not self._permits:
            return UNLIMITED
        self._permits -= 1
        return 0.0

    def _run_errands(self) -> None:
        while True:
            with self._changed:
                if not self._errands:
                    return
                work = self._errands.popleft()
            work()

    def _end(self, run_id: int) -> None:
        """Nothing runs any more, unless another run has begun; do what was left to do."""
        with self._changed:
            if self._current == run_id:
                self._current = 0
        self._run_errands()


class _Batch:
    """Steps on their way to the window."""

    def __init__(self, run_id: int, post: Callable[[Message], object]) -> None:
        self.steps: list[Step] = []
        self.posted_at = 0.0
        """Monotonic seconds; long ago at first, so that the first step is shown at once."""
        self.due: bool | None = None
        """Whether the window shall be given what has gathered when the step at hand is written;
        None where nobody has asked yet."""
        self.computed_at = 0.0
        """What the writing thread had computed by then, in seconds."""
        self._run_id = run_id
        self._send = post

    @property
    def waited(self) -> float:
        """Seconds since something was sent."""
        return time.monotonic() - self.posted_at

    def post(self, computed: float) -> None:
        """Send what has gathered, when the writing thread has ``computed`` for so long."""
        if self.steps:
            self._send(StepsArrived(self._run_id, self.steps))
            self.steps = []
        self.posted_at, self.computed_at = time.monotonic(), computed
