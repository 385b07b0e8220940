"""A number on a line: its name, a slider between two arrows, its value.

Keys, mouse and typing all work. Knows a range and a step, and asks ``check`` whether a
value may be; knows nothing of what the number is for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.geometry import Size
from textual.message import Message

from model.errors import UserError
from tui.cells import cell_len, fit
from tui.widgets.fields import LABEL
from tui.widgets.lines import Line, Lines, wrap
from tui.widgets.scale import Number, Scale, parse

BIG = 10
"""Steps that shift and an arrow go."""


class Stepper(Lines, can_focus=True):
    """One number that a reader can change. ``Changed`` tells of values already checked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"label", "value", "focused", "typed", "refused"}
    DEFAULT_CSS = """
    Stepper {
        height: auto;
        & > .label { color: $text-muted; }
        & > .value { text-style: bold; }
        & > .focused { text-style: bold reverse; }
        & > .typed { text-style: bold underline; }
        & > .refused { color: $text-error; text-style: bold; }
    }
    """

    @dataclass
    class Changed(Message):
        """The reader set another value."""

        stepper: Stepper
        value: Number

        @property
        def control(self) -> Stepper:
            return self.stepper

    def __init__(
        self,
        label: str,
        scale: Scale,
        check: Callable[[Number | str], None],
        *,
        value: Number,
        id: str | None = None,  # noqa: A002
    ) -> None:
        """``check`` raises a ``UserError`` for what may not be; ``value`` is also what
        Delete goes back to."""
        super().__init__(id=id)
        self._label, self.scale, self._check = label, scale, check
        self.value = self._default = value
        self.typed: str | None = None
        """What is being typed; ``None`` where nothing is."""
        self.refusal = ""
        self._dragging = False

    def show(self, value: Number) -> None:
        """Show ``value``, without a message. What is being typed stays."""
        if value != self.value:
            self.value = value
            self.changed()

    # Changing

    def set_to(self, value: Number | str) -> None:
        """Set as the reader does; a value that may not be is refused beneath the field and
        the old one stays."""
        try:
            self._check(value)
        except UserError as error:
            self._refuse(str(error))
            return
        self._refuse("")
        assert not isinstance(value, str)  # check refuses text
        if value != self.value:
            self.show(value)
            self.post_message(self.Changed(self, value))

    def nudge(self, steps: int) -> None:
        """So many steps up or down, within the slider's range."""
        scale = self.scale
        low, high = min(scale.low, self.value), max(scale.high, self.value)
        self.set_to(scale.number(max(low, min(high, self.value + steps * scale.step))))

    def _apply(self) -> None:
        if self.typed is not None:
            text, self.typed = self.typed, None
            self.changed()
            self.set_to(parse(text, whole=not self.scale.decimals))

    def _refuse(self, text: str) -> None:
        if text != self.refusal:
            self.refusal = text
            self._built = None
            self.refresh(layout=True)

    def _type(self, text: str) -> None:
        self.typed = (self.typed or "") + text
        self._refuse("")
        self.changed()

    # Drawing

    def _edges(self, width: int) -> tuple[int, int, int]:
        """Cells at which ◂ stands, of the track, and of the value."""
        room = width - LABEL - 2 - len("◂▸ ")
        value = min(room, 8 if width >= 34 else 6) if self.scale.slider else room
        return LABEL + 2, max(0, room - value), max(0, value)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1 + len(self._refusal_lines(width))

    def _refusal_lines(self, width: int) -> list[str]:
        words = f"! {self.refusal}".split(" ") if self.refusal else []
        return wrap(words, max(1, width - 1), " ")

    def build(self, width: int, height: int) -> list[Line]:
        lead = fit(("▸" if self.has_focus else " ") + self._label, LABEL + 2)
        below: list[Line] = [[(f" {text}", "refused")] for text in self._refusal_lines(width)]
        if self.typed is not None:
            room = max(1, width - LABEL - 2)
            text = self.typed + "▏"
            while cell_len(text) > room:  # the end is what is being typed
                text = text[1:]
            return [[(lead, "label"), (fit(text, room), "typed")], *below]
        _, track, wide = self._edges(width)
        slider = self._slider(track)
        style = "focused" if self.has_focus else "value"
        value = fit(self._value_text(wide), wide, right=True)
        return [[(lead, "label"), (f"◂{slider}▸ ", ""), (value, style)], *below]

    def _slider(self, track: int) -> str:
        if not self.scale.slider or track < 2:
            return " " * track
        knob = self._knob(track)
        return "━" * knob + "●" + "─" * (track - knob - 1)

    def _knob(self, track: int) -> int:
        scale = self.scale
        share = (self.value - scale.low) / (scale.high - scale.low)
        return round(max(0.0, min(1.0, share)) * (track - 1))

    def _value_text(self, wide: int) -> str:
        number, word = self.scale.text(self.value), self.scale.word(self.value)
        if not word:
            return number
        both = f"{number} {word}"
        return both if wide >= 8 and cell_len(both) <= wide else word

    # Keys

    def on_key(self, event: events.Key) -> None:
        if self._handle(event.key, event.character if event.is_printable else None):
            event.stop()
            event.prevent_default()

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """What prints is typed here, so that no single-letter shortcut of the app gets it."""
        return character is not None and character.isprintable() and character != " "

    def _handle(self, key: str, character: str | None) -> bool:
        """Act on a key; whether it was one of this field's."""
        moves = {"left": -1, "right": 1, "shift+left": -BIG, "shift+right": BIG}
        if key in moves:
            if self.typed is None:
                self.nudge(moves[key])
        elif key in ("home", "end", "delete") and self.typed is None:
            self._jump(key)
        elif key == "enter" and self.typed is not None:
            self._apply()
        elif key == "escape" and (self.typed is not None or self.refusal):
            self.typed = None
            self._refuse("")
            self.changed()
        elif key == "backspace":
            now = self.scale.text(self.value) if self.typed is None else self.typed
            self.typed = now[:-1]
            self.changed()
        elif character and (character != " " or self.typed is not None):
            self._type(character)
        else:
            return False
        return True

    def _jump(self, key: str) -> None:
        if key == "delete":
            self.set_to(self._default)
        elif self.scale.slider:
            self.set_to(self.scale.number(self.scale.low if key == "home" else self.scale.high))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._type(" ".join(event.text.split()))

    def on_focus(self) -> None:
        self.changed()

    def on_blur(self) -> None:
        self._apply()
        self.changed()

    # Mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        at, track, _ = self._edges(self.size.width)
        offset = event.get_content_offset(self)
        if offset and offset.y == 0 and self._has_track(track) and at < offset.x <= at + track:
            self._dragging = True
            self.capture_mouse()
            self._drag_to(offset.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging:
            self._drag_to(event.get_content_offset_capture(self).x)

    def on_mouse_up(self) -> None:
        if self._dragging:
            self._dragging = False
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        at, track, _ = self._edges(self.size.width)
        offset = event.get_content_offset(self)
        if offset and offset.y == 0 and self.typed is None and offset.x in (at, at + track + 1):
            self.nudge(-1 if offset.x == at else 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, steps: int) -> None:
        """Over the slider or the value the wheel turns it; over the name it scrolls the pane."""
        offset = event.get_content_offset(self)
        if offset and offset.y == 0 and offset.x >= LABEL + 2 and self.typed is None:
            event.stop()
            event.prevent_default()
            self.nudge(steps)

    def _has_track(self, track: int) -> bool:
        return self.scale.slider and track >= 2 and self.typed is None

    def _drag_to(self, x: int) -> None:
        at, track, _ = self._edges(self.size.width)
        if track < 2:
            return
        share = max(0.0, min(1.0, (x - at - 1) / (track - 1)))
        scale = self.scale
        steps = round(share * (scale.high - scale.low) / scale.step)
        self.set_to(scale.number(min(scale.high, scale.low + steps * scale.step)))
