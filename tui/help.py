"""The help page, made from the table of commands."""

from __future__ import annotations

from textual.content import Content

from tui.cells import fit
from tui.commands import BESIDE, CHAT, COMMANDS, HISTORY, LAB

INTRODUCTION = """\
吟窗 shows a language model of Tang poetry at work. Type the first words of a poem and press \
Enter: the model goes on, one character at a time. Beside the poem stands the table of what it \
considered for the character under the cursor. Every knob works while it writes.
"""
FIRST_STEPS = (
    ("a poem", "type 床前明月光, press Enter (an empty opening works too)"),
    ("an acrostic", "F9 to the form, type the heads, say 春眠不觉, then F5"),
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


def help_page() -> Content:
    """Everything on one page."""
    keys, history, lab, beside, chat = (
        [(key_name(command.key) or "palette", command.about) for command in table]
        for table in (COMMANDS, HISTORY, LAB, BESIDE, CHAT)
    )
    parts = [Content(INTRODUCTION)]
    for title, rows in (
        ("Begin", FIRST_STEPS),
        ("Keys, wherever you are (^P lists them too)", keys),
        ("In the panes", PANES),
        ("In the chat", [*IN_CHAT, *chat]),
        ("In the history", history),
        ("In the lab", lab),
        ("Side by side", beside),
        ("How characters are marked", MARKS),
    ):
        parts.append(Content.assemble("\n", (title, "bold underline"), "\n"))
        for name, about in rows:
            parts.append(Content.assemble((fit(name, 20), "bold"), about, "\n"))
    return Content("").join(parts)
