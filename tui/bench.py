"""What the window costs: generation under it against generation alone, and how soon keys
are answered while text streams.

The app as it is, drawing for a terminal that throws everything away, driven by Textual's
pilot. Runs with and without the window take turns, and what is reported is the median of
the ratios of neighbours, so that a machine that is busy with other things is busy for both.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from textual import events
from textual.drivers.headless_driver import HeadlessDriver

from model.config import Controls
from model.steps import Step
from tui.loader import settle
from tui.messages import RunFinished
from tui.session import UNLIMITED, Session

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from model.registry import ModelHandle
    from tui.app import Yinchuang

PATIENCE_S = 600.0
LONG = 20_000
"""Characters of the poem at whose end setting one more is measured."""


@dataclass(frozen=True, slots=True)
class WindowCost:
    """What was measured; seconds."""

    tokens: int
    """Tokens of each run."""
    n: int
    """Pairs of runs."""
    alone_s: float
    """Median of a run without a window."""
    window_s: float
    """Median of the same run in the window, from Enter to its end."""
    overhead: float
    """Median of the pairs' ratios, less 1: extra time under the window."""
    cpu_overhead: float
    """The same for the time that the process computed: what other processes take is not in."""
    thread_share: float
    """Median part of a run's time for which the app's thread computed."""
    frames_per_s: float
    """Median rate at which steps were shown."""
    key_p95_s: float
    """95th percentile from a key press to the frame that answers it, while text streams."""
    keys: int
    early_s: float
    """Median cost in the app's thread of a token among the first thousand."""
    late_s: float
    """The same for the last thousand tokens of a poem of ``LONG``."""


@dataclass(frozen=True, slots=True)
class _Ran:
    """A run, with or without a window."""

    seconds: float
    cpu_s: float
    """Computed by the whole process."""
    thread_s: float = 0.0
    """Computed by the app's thread."""
    frames: int = 0


class _Nowhere(HeadlessDriver):
    """A terminal that swallows what it gets. Textual's headless one is not even written to,
    which leaves out a part of what a frame costs."""

    @property
    def is_headless(self) -> bool:
        return False


def measure(handle: ModelHandle, tokens: int = 4000, rounds: int = 7) -> WindowCost:
    """Measure with a loaded model; takes some multiples of ``tokens`` steps. The model must
    be able to write on: where a poem ends, the run goes on with the next character."""
    return asyncio.run(_measure(_endless(handle), tokens, rounds))


def _watched(session: Session, handle: ModelHandle) -> Any:
    """The app, whose ``ended`` says when a run's last frame is on the screen."""
    from tui.app import Yinchuang

    class Watched(Yinchuang):
        """Draws as in a terminal, to nowhere."""

        def __init__(self) -> None:
            super().__init__(session, load=lambda name: handle)
            self.driver_class = _Nowhere
            self.ended = asyncio.Event()

        def on_run_finished(self, message: RunFinished) -> None:
            # Textual calls this handler and then that of the app itself
            self.call_after_refresh(self.ended.set)

    return Watched()


async def _measure(handle: ModelHandle, tokens: int, rounds: int) -> WindowCost:
    session = Session()
    session.look.pace = UNLIMITED
    controls = Controls(max_tokens=tokens, seed=1)
    session.settings = replace(session.settings, controls=controls, seed_fixed=True)
    app = _watched(session, handle)
    alone: list[_Ran] = []
    under: list[_Ran] = []
    async with app.run_test(headless=False, size=(120, 36)) as pilot:
        await _until(pilot, lambda: app.runs.handle is not None)
        settle()
        await _in_window(app)  # warms up
        for turn in range(rounds):
            if turn % 2:  # who goes second finds the processor warmer, or more throttled
                under.append(await _in_window(app))
            alone.append(await asyncio.to_thread(_alone, handle, controls))
            if not turn % 2:
                under.append(await _in_window(app))
        keys = sorted(await _keys_answered(app))
    early, late = _setting_costs(app)
    pairs = list(zip(under, alone, strict=True))
    return WindowCost(
        tokens,
        rounds,
        median(run.seconds for run in alone),
        median(run.seconds for run in under),
        median(run.seconds / bare.seconds for run, bare in pairs) - 1,
        median(run.cpu_s / bare.cpu_s for run, bare in pairs) - 1,
        median(run.thread_s / run.seconds for run in under),
        median(run.frames / run.seconds for run in under),
        keys[int(0.95 * (len(keys) - 1))],
        len(keys),
        early,
        late,
    )


def _alone(handle: ModelHandle, controls: Controls) -> _Ran:
    from model.generate import Generator, Prompt

    run = Generator(handle.model, handle.tokenizer, Prompt(""), controls, inspected=False)
    began, computed = time.perf_counter(), time.process_time()
    for _ in run:
        pass
    return _Ran(time.perf_counter() - began, time.process_time() - computed)


async def _in_window(app: Any) -> _Ran:
    """A run in the window that is only watched."""
    app.ended.clear()
    began, computed, shown = time.perf_counter(), time.process_time(), app.writer.frames
    thread = time.thread_time()
    app.runs.submit("")
    await asyncio.wait_for(app.ended.wait(), PATIENCE_S)
    return _Ran(
        time.perf_counter() - began,
        time.process_time() - computed,
        time.thread_time() - thread,
        app.writer.frames - shown,
    )


async def _keys_answered(app: Yinchuang) -> list[float]:
    """Seconds from each key to the end of the refresh that shows its answer, while a run
    streams: looks back and forth, each of which draws another table.

    Keys are posted as a terminal's driver does; the pilot's own ``press`` would wait
    for a thread to rest that does not.
    """
    pressed: list[float] = []
    app.runs.submit("")
    while app.runs.writing is not None:
        if len(app.runs.writing.steps) < 2:
            await asyncio.sleep(0.01)
            continue
        before, shown = app.session.index, asyncio.Event()
        at = time.perf_counter()
        key = "alt+left" if len(pressed) % 2 == 0 else "alt+right"
        app.post_message(events.Key(key, None))
        while app.session.index == before and app.runs.writing is not None:
            await asyncio.sleep(0.001)
        app.call_after_refresh(shown.set)
        await shown.wait()
        pressed.append(time.perf_counter() - at)
        await asyncio.sleep(0.1)  # a quick reader's rate, not a wait for something
    return pressed or [0.0]


def _setting_costs(app: Yinchuang) -> tuple[float, float]:
    """Seconds a token that setting it in the poem takes, early and late in a long poem."""
    from tui.panes.verse import Verse

    branch = app.session.branch
    steps = branch.steps if branch else []
    verse = Verse(48)
    costs = []
    for index in range(LONG):
        step: Step = steps[index % len(steps)]
        began = time.perf_counter()
        verse.add(step.text, index, "written", step.probability)
        costs.append(time.perf_counter() - began)
    return median(costs[:1000]), median(costs[-1000:])


async def _until(pilot: Pilot[int], holds: Callable[[], bool]) -> None:
    ends = time.perf_counter() + PATIENCE_S
    while not holds():
        if time.perf_counter() > ends:
            raise TimeoutError("the model did not load")
        await pilot.pause(0.01)


def _endless(handle: ModelHandle) -> ModelHandle:
    """The same model, never ending a poem."""
    import torch

    class Endless:
        def __init__(self) -> None:
            self.config = handle.model.config
            self.n_parameters = handle.model.n_parameters

        def new_cache(self, batch: int = 1) -> object:
            return handle.model.new_cache(batch)

        def __call__(self, *args: Any, **options: Any) -> torch.Tensor:
            logits: torch.Tensor = handle.model(*args, **options)
            logits[..., handle.tokenizer.end_id] = -torch.inf
            return logits

    return replace(handle, model=Endless())  # type: ignore[arg-type]
