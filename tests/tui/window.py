"""The whole window around tiny models, for tests: waiting, typing, models that can be held."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import torch
from textual import events
from textual.pilot import Pilot

from model.config import Controls
from model.generate import Generator, Prompt
from model.registry import ModelHandle, ModelSpec
from model.steps import Finished, Step
from tests.helpers import CHARACTERS, Endless, tiny_gpt
from tui.app import Yinchuang
from tui.help import HelpText
from tui.panes.poem import PoemPane
from tui.session import BY_KEY, UNLIMITED, Session

PATIENCE_S = 60.0
"""How long a condition is waited for before a test fails: far more than it takes."""


class Held:
    """A model that can be made to wait before every pass, or to break."""

    def __init__(self, model: Any) -> None:
        self.config = model.config
        self.n_parameters = 1
        self.error: Exception | None = None
        self.passes = 0
        self._model = model
        self._tickets = threading.Semaphore(0)
        self._holding = False

    def hold(self) -> None:
        """From now on every pass takes a ticket."""
        self._holding = True

    def allow(self, passes: int) -> None:
        """So many passes more."""
        for _ in range(passes):
            self._tickets.release()

    def free(self) -> None:
        """No tickets any more."""
        self._holding = False
        self.allow(1)

    def new_cache(self, batch: int = 1) -> Any:
        return self._model.new_cache(batch)

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self._holding and not self._tickets.acquire(timeout=PATIENCE_S):
            raise TimeoutError("no ticket came")
        self.passes += 1
        if self.error:
            raise self.error
        return self._model(*args, **options)


def endless(seed: int = 1) -> Held:
    """A lively model that never ends a poem of itself."""
    return Held(Endless(tiny_gpt(block_size=64, seed=seed)))


def handle_of(model: Any, name: str = "tiny") -> ModelHandle:
    """A loaded model."""
    return ModelHandle(ModelSpec(name, Path("none")), model, CHARACTERS, {}, {})


def session_of(**settings: Any) -> Session:
    """A session that writes as fast as it goes with a fixed seed, unless told otherwise."""
    from dataclasses import replace

    session = Session()
    session.model = "tiny"
    session.look.pace = UNLIMITED
    defaults = {"controls": Controls(max_tokens=40, seed=5), "seed_fixed": True}
    session.settings = replace(session.settings, **{**defaults, **settings})
    return session


@asynccontextmanager
async def window(
    *models: Any, size: tuple[int, int] = (120, 36), session: Session | None = None, **options: Any
) -> AsyncIterator[tuple[Yinchuang, Pilot[int]]]:
    """The app with ``models`` (named tiny, tiny2, …), the first one loaded."""
    handles = {
        f"tiny{n if n > 1 else ''}": handle_of(model, f"tiny{n if n > 1 else ''}")
        for n, model in enumerate(models or (endless(),), 1)
    }
    app = Yinchuang(session or session_of(), load=handles.__getitem__, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until(pilot, lambda: app.runs.handle is not None)
        try:
            yield app, pilot
        finally:  # a thread that still waits would keep a test that failed from ending
            for handle in handles.values():
                if isinstance(handle.model, Held):
                    handle.model.free()
            app.runs.drop()
            await wait_until(
                pilot, lambda: all(not handle.lock.locked() for handle in handles.values())
            )


async def wait_until(
    pilot: Pilot[Any], holds: Callable[[], object], timeout: float = PATIENCE_S
) -> None:
    """Let the app work until ``holds``; fail where that does not come."""
    ends = time.monotonic() + timeout
    while not holds():
        if time.monotonic() > ends:
            raise AssertionError("what was waited for did not come")
        await pilot.pause(0.005)
    await pilot.pause()


async def type_text(pilot: Pilot[Any], text: str) -> None:
    """As an input method commits it: all characters in one event, where the focus is."""
    focused = pilot.app.focused
    assert focused is not None
    focused.post_message(events.Key(text, text))
    await pilot.pause()


async def write(app: Yinchuang, pilot: Pilot[Any], opening: str) -> None:
    """Type an opening and press Enter."""
    app.main.query_one("#opening").focus()
    await pilot.pause()
    if opening:
        await type_text(pilot, opening)
    await pilot.press("enter")


async def write_to(app: Yinchuang, pilot: Pilot[Any], opening: str, steps: int) -> None:
    """Write so many characters by F4 and stand there, in the middle of a run."""
    app.set_pace(BY_KEY)
    await write(app, pilot, opening)
    for count in range(1, steps + 1):
        await wait_until(
            pilot, lambda n=count: app.runs.writing and len(app.runs.writing.steps) == n
        )
        if count < steps:
            await pilot.press("f4")


async def finished(app: Yinchuang, pilot: Pilot[Any]) -> None:
    """Wait for the end of the run, however it ends."""
    await wait_until(pilot, lambda: app.session.branch is not None and app.runs.writing is None)


def poem_text(app: Yinchuang) -> str:
    """What the poem pane holds."""
    return app.main.query_one(PoemPane)._verse.text(None, None).replace("\n", "")


def notices(app: Yinchuang) -> str:
    """Everything that is being said."""
    return "\n".join(notice.message for notice in app._notifications)


def reference(model: Any, prompt: str, controls: Controls, **options: Any) -> list[int]:
    """The tokens that the engine writes without any window."""
    inner = model._model if isinstance(model, Held) else model
    with torch.inference_mode():
        events = list(Generator(inner, CHARACTERS, Prompt(prompt), controls, **options))
    assert isinstance(events[-1], Finished)
    return [event.token for event in events if isinstance(event, Step)]


def help_text(app: Yinchuang) -> str:
    """The help page that is open, its lines joined."""
    return " ".join(app.screen.query_one(HelpText).plain().split())
