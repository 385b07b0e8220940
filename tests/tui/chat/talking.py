"""The chat in a whole window around tiny models, for tests: asking, waiting, reading it off."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from textual.pilot import Pilot

from model.cache import KVCache
from model.chat import Talk
from model.config import Controls, GPTConfig, Precision
from model.conversation import Message
from model.errors import InputError
from model.registry import ModelHandle, ModelSpec
from model.steps import Step
from tests.helpers import CHARACTERS, ByteTokenizer, Endless, Marks, tiny_gpt
from tests.tui.window import Held, session_of, wait_until
from tui.app import Yinchuang
from tui.chat.composer import Composer
from tui.chat.defaults import ChatStart
from tui.chat.screen import ChatScreen
from tui.chat.transcript import Transcript
from tui.keeping import open_keeper
from tui.session import Session

TOKENS = 12


def lively(block_size: int = 160) -> Held:
    """A model that never ends a reply of itself."""
    return Held(Endless(tiny_gpt(block_size=block_size)))


def speaker(model: Any, name: str = "smollm2", **parts: Any) -> ModelHandle:
    """A loaded model that can chat."""
    parts = {"tokenizer": CHARACTERS, "chat": Marks(), **parts}
    return ModelHandle(
        ModelSpec(name, Path("none")), model, parts["tokenizer"], {}, {}, chat=parts["chat"]
    )


class Spelt:
    """A chat template over bytes: a start token before each message, the end behind it."""

    def encode(self, messages: Sequence[Any]) -> list[int]:
        ids: list[int] = []
        for message in messages:
            ids += [ByteTokenizer.start_id, *(message.tokens or message.content.encode())]
            ids += [ByteTokenizer.end_id]
        return [*ids, ByteTokenizer.start_id]


class Script:
    """Writes one reply after another, byte by byte, whatever is asked."""

    def __init__(self, *replies: str, block_size: int = 4096) -> None:
        self.config = GPTConfig(259, block_size, 1, 1, 1)
        self.n_parameters = 1
        self._replies = [[*reply.encode(), ByteTokenizer.end_id] for reply in replies]
        self._told = -1

    def new_cache(self, batch: int = 1) -> Any:
        return KVCache(self.config, batch)

    def __call__(self, ids: torch.Tensor, cache: Any = None, *, last: bool = False) -> torch.Tensor:
        if cache is not None:
            cache.advance(ids.shape[1])
        if int(ids[0, -1]) == ByteTokenizer.start_id:
            self._told, self._at = min(self._told + 1, len(self._replies) - 1), 0
        logits = torch.full((1, 1, 259), -40.0)
        logits[0, 0, self._replies[self._told][self._at]] = 40.0
        self._at = min(self._at + 1, len(self._replies[self._told]) - 1)
        return logits


def scripted(*replies: str, **options: Any) -> ModelHandle:
    """A model that says these."""
    return speaker(Held(Script(*replies, **options)), tokenizer=ByteTokenizer(), chat=Spelt())


@asynccontextmanager
async def chatting(
    *handles: ModelHandle,
    path: Path | None = None,
    size: tuple[int, int] = (120, 36),
    session: Session | None = None,
    ready: bool = True,
    missing: str = "",
    start: ChatStart | None = None,
) -> AsyncIterator[tuple[Yinchuang, Pilot[int]]]:
    """The window, opened on the chat. ``path``: its history. ``missing``: why a model that is
    asked for cannot be loaded."""
    known = {handle.spec.name: handle for handle in handles or (speaker(lively()),)}
    known["tiny"] = ModelHandle(ModelSpec("tiny", Path("none")), lively(), CHARACTERS, {}, {})

    def load(name: str, precision: Precision = "float32") -> ModelHandle:
        if name not in known:
            raise InputError(missing or f"there is no model named {name}")
        handle = known[name]
        return handle if precision == "float32" else replace(handle, precision=precision)

    session = session or session_of()
    keeper = open_keeper(session, path)[0] if path else None
    app = Yinchuang(session, load=load, keeper=keeper, chat=start or ChatStart())
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ChatScreen) and app.runs.handle)
        if ready:
            await wait_until(pilot, lambda: app.room.talk.speaker.handle is not None)
            limited = replace(app.room.talk.controls, max_tokens=TOKENS, seed=5)
            app.room.talk.seed_fixed = True
            app.room.talk.set_controls(limited)
        yield app, pilot
        for handle in known.values():
            if isinstance(handle.model, Held):
                handle.model.free()
        app.room.leave()
        await wait_until(pilot, lambda: not any(h.lock.locked() for h in known.values()))
        app.keep()


def transcript(app: Yinchuang) -> str:
    """What the conversation shows."""
    return app.room.screen.query_one(Transcript).plain()


def texts(app: Yinchuang) -> list[str]:
    """The turns on show."""
    return [turn.text for turn in app.room.talk.at.path]


async def send(app: Yinchuang, pilot: Pilot[Any], text: str) -> None:
    """Type a message and press Enter."""
    composer = app.room.screen.query_one(Composer)
    composer.focus()
    composer.put(text)
    await pilot.press("enter")


async def ended(app: Yinchuang, pilot: Pilot[Any]) -> None:
    """Wait for the end of the reply."""
    await wait_until(pilot, lambda: app.room.replies.now is None and not app.room.talk.waiting)


async def say(app: Yinchuang, pilot: Pilot[Any], text: str) -> Any:
    """Ask, and wait for the whole reply; its turn."""
    before = len(app.room.talk.at.path)
    await send(app, pilot, text)
    await wait_until(pilot, lambda: len(app.room.talk.at.path) > before)
    await ended(app, pilot)
    return app.room.talk.at.reply


async def begin(app: Yinchuang, pilot: Pilot[Any], model: Held, text: str, steps: int) -> Any:
    """Ask, and stand in the middle of the reply, after so many tokens; its turn."""
    model.hold()
    model.allow(steps)
    await send(app, pilot, text)
    await wait_until(pilot, lambda: steps_written(app) == steps)
    return app.room.replies.now.turn


def steps_written(app: Yinchuang) -> int:
    """How far the reply has come; -1 where none is written."""
    now = app.room.replies.now
    return len(now.turn.steps) if now else -1


def reference(model: Any, messages: Sequence[tuple[str, str]], controls: Controls) -> list[int]:
    """The tokens that the engine writes without any window."""
    inner = model._model if isinstance(model, Held) else model
    said: Any = [Message(role, text) for role, text in messages]  # type: ignore[arg-type]
    talk = Talk(inner, CHARACTERS, Marks())
    events = list(talk.reply(said, controls))
    return [event.token for event in events if isinstance(event, Step)]
