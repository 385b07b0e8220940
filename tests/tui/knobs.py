"""The sampler's pane by itself, for the tests of its settings and of their fields."""

from __future__ import annotations

from textual import events
from textual.pilot import Pilot
from textual.widget import Widget

from model.config import Controls
from tests.tui.pane_app import PaneApp
from tui.messages import ControlsChanged
from tui.panes.sampler import SamplerPane

SIZE = (60, 26)


def app_with(controls: Controls | None = None) -> PaneApp:
    return PaneApp(SamplerPane(controls or Controls()))


def newest(app: PaneApp) -> Controls:
    """What the pane asked for last."""
    return app.of(ControlsChanged)[-1].controls


async def type_into(pilot: Pilot[None], widget: Widget, text: str) -> None:
    """Press the keys of ``text`` in a field."""
    widget.focus()
    await pilot.pause()
    for char in text:
        widget.post_message(events.Key("x" if not char.isascii() else char, char))
    await pilot.pause()
