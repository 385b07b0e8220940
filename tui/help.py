"""The help page, made from the table of commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.geometry import Size

from tui.cells import fit
from tui.commands import BESIDE, CHAT, COMMANDS, HISTORY, LAB, Command
from tui.widgets.lines import Line, Lines, wrap

INTRODUCTION = """\
吟窗 shows a language model of Tang poetry at work. Type the first words of a poem and press \
Enter: the model goes on, one character at a time. Beside the poem stands the table of what it \
considered for the character under the cursor. Every knob works while it writes.
"""
FIRST_STEPS = (
    ("a poem", "type 床前明月光, press Enter (an empty opening works too)"),
    ("an acrostic", "empty the opening; F9 to the form, type the heads, say 春眠不觉, Enter"),
    ("another word", "in the poem ← and → choose a character, in the table ↑ ↓ choose a row; "
     "Enter takes that character instead, and a new branch grows from there"),
    ("the cache", "F2 turns it off, F5 writes again: the meter shows what it saves"),
)  # fmt: skip
MARKS = (
    ("underlined", "the opening, as you gave it"),
    ("bold", "forced by the form: a head, a line's end"),
    ("bold and underlined", "chosen by you at a fork"),
    ("underlined, tinted", "one piece with the next character, where tokens are pieces"),
    ("reverse", "the character or piece that the table shows"),
    ("<end>", "in the table: a token that is no text but ends the poem"),
)
PANES = (
    ("Tab, Shift+Tab", "from pane to pane, from field to field"),
    ("← → ↑ ↓", "in the poem: through its characters; a click does the same"),
    ("↑ ↓ Enter", "in the table: choose a row, fork there; a click does the same"),
    ("↑ ↓ ← →", "in the instruments: from field to field, change the value; or type it"),
    ("Page Up, Page Down", "scroll the poem; it follows its end again once you are there"),
)
IN_CHAT = (
    ("Enter", "sends what was typed; Shift+Enter, Alt+Enter or ^J begins a new line"),
    ("↑ ↓ ← →", "in the conversation: from turn to turn, and into a reply's tokens"),
)
NAMED = 20
"""Cells of the names' column."""
NAMES = {
    "escape": "Esc",
    "enter": "Enter",
    "pagedown": "Page Down",
    "pageup": "Page Up",
    "ctrl+": "^",
    "alt+left": "Alt ←",
    "alt+right": "Alt →",
    "alt+": "Alt ",
}


def key_name(key: str) -> str:
    """A key as it is written on this page: ``^Z`` for ``ctrl+z``."""
    for name, shown in NAMES.items():
        if key == name:
            return shown
        if name.endswith("+") and key.startswith(name):
            return shown + key.removeprefix(name).upper()
    return key.upper()


class HelpText(Lines):
    """Everything on one page, first what concerns the screen that it was called from."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"title", "name"}
    DEFAULT_CSS = """
    HelpText {
        height: auto;
        & > .title { text-style: bold underline; }
        & > .name { text-style: bold; }
    }
    """

    def __init__(self, table: Sequence[Command]) -> None:
        """``table``: the commands of that screen."""
        super().__init__()
        self._parts = parts(table)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.build(width, 0))

    def build(self, width: int, height: int) -> list[Line]:
        lines: list[Line] = [[(text, "")] for text in wrap(INTRODUCTION.split(), width, " ")]
        for title, rows in self._parts:
            lines += [[], [(title, "title")]]
            for name, about in rows:
                lines += row(name, about, width)
        return lines


def parts(table: Sequence[Command]) -> list[tuple[str, Sequence[tuple[str, str]]]]:
    """The page's titles, each with the names and words under it, those of ``table`` first."""
    tables = {
        "In the chat": CHAT,
        "In the history": HISTORY,
        "In the lab": LAB,
        "Side by side": BESIDE,
    }
    more = {"In the chat": IN_CHAT}
    own = [
        (title, [*more.get(title, ()), *map(named, commands)]) for title, commands in tables.items()
    ]
    own.sort(key=lambda part: tables[part[0]] is not table)
    here = 1 if table in tables.values() else 0
    return [
        *own[:here],
        ("Begin", FIRST_STEPS),
        ("Keys, wherever you are (^P lists them too)", [named(each) for each in COMMANDS]),
        ("In the panes", PANES),
        *own[here:],
        ("How characters are marked", MARKS),
    ]


def named(command: Command) -> tuple[str, str]:
    """A command as a row: its key and what it does."""
    return key_name(command.key) or "palette", command.about


def row(name: str, about: str, width: int) -> list[Line]:
    """A row of the page: ``about`` in its own column, to the right of ``name``."""
    room = max(1, width - NAMED)
    lines: list[Line] = [[(" " * NAMED, ""), (text, "")] for text in wrap(about.split(), room, " ")]
    lines[0][0] = (fit(name, NAMED), "name")
    return lines
