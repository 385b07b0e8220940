"""A bare app around one pane, and records made by hand, for the tests of the panes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from model.config import Controls, SamplerConfig, Stage
from model.steps import Candidate, Inspection, Step

AWKWARD = ("漢", "｡", "e\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U000288e7")
"""Wide, half-width, combining, joined and beyond the BMP: each of another length and width."""


class PaneApp(App[None]):
    """Shows one pane and keeps what it posts."""

    def __init__(self, pane: Widget) -> None:
        super().__init__()
        self.pane = pane
        self.posted: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self.pane

    def keep(self, message: Message) -> None:
        """Called for every message that reaches the app."""
        self.posted.append(message)

    def of(self, kind: type[Message]) -> list[Message]:
        """The messages of one kind, in order."""
        return [message for message in self.posted if isinstance(message, kind)]

    async def on_event(self, event: Message) -> None:
        await super().on_event(event)

    async def _on_message(self, message: Message) -> None:
        if type(message).__module__ == "tui.messages":
            self.keep(message)
        await super()._on_message(message)


async def until(pilot: Pilot[None], holds: Callable[[], bool], tries: int = 200) -> None:
    """Lets the app work until ``holds``; fails where that never comes."""
    for _ in range(tries):
        if holds():
            return
        await pilot.pause()
    raise AssertionError("what was waited for did not come")


async def settle(pilot: Pilot[None], *awaited: Awaitable[object]) -> None:
    """Waits for what was started and for the messages behind it."""
    for one in awaited:
        await one
    await pilot.pause()


def screen_lines(widget: Widget) -> list[str]:
    """The widget's content as it is on screen, line by line."""
    return ["".join(s.text for s in widget.render_line(y)) for y in range(widget.size.height)]


def candidate(
    token: int, piece: str, raw: float = 0.1, final: float = 0.1, cut_by: Stage | None = None
) -> Candidate:
    """A row; cut ones have no final probability."""
    masked = 0.0 if cut_by == "mask" else raw
    return Candidate(token, piece, raw, masked, 0.0 if cut_by else final, cut_by)


def inspection(
    rows: Sequence[Candidate], *, below: float = 0.0, forbidden: float = 0.0, altered: bool = False
) -> Inspection:
    """An inspection of ``rows``; ``below`` is the mass before the chosen one."""
    return Inspection(tuple(rows), 3.25, 2.5, 14, forbidden, altered, below)


def step(token: int, seen: Inspection | None, *, u: float = 0.05, temperature: float = 1.0) -> Step:
    """A step that drew ``token``."""
    return Step(
        position=3,
        token=token,
        text="x",
        probability=0.1,
        logprob=-2.3,
        u=u,
        forced=False,
        phase="decode",
        context=3,
        recomputed=0,
        forward_s=0.001,
        sampling_s=0.0001,
        cache_bytes=1024,
        controls=Controls(SamplerConfig(temperature=temperature)),
        inspection=seen,
    )
