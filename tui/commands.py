"""Everything that can be done, once: keys, palette, footer and help read this table."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Command:
    """One action of the app."""

    action: str
    """The app runs ``action_<action>``."""
    keys: tuple[str, ...]
    """In Textual's names; empty where the palette alone offers it."""
    title: str
    """As in the footer and the palette: two or three words."""
    about: str
    """A sentence for the help screen and the palette."""
    footer: bool = False
    everywhere: bool = True
    """The keys work whatever has the focus; else only where no text is typed."""


COMMANDS: tuple[Command, ...] = (
    Command(
        "stop",
        ("escape",),
        "Stop",
        "Stop writing at the next character and keep the text; "
        "when nothing is being written, go back to the opening.",
        footer=True,
    ),
    Command(
        "cache",
        ("f2",),
        "Cache",
        "Turn the KV cache on, off, or race both. The poem does not change, the speed does.",
        footer=True,
    ),
    Command(
        "pace",
        ("f3",),
        "Pace",
        "Characters a second: 2, 5, 10, 25, 60, as fast as it goes, or one at each press of F4.",
        footer=True,
    ),
    Command(
        "single",
        ("f4",),
        "One more",
        "Write one character and wait; the pace becomes one at each press.",
        footer=True,
    ),
    Command(
        "again",
        ("f5",),
        "Again",
        "Write another poem from the same opening.",
        footer=True,
    ),
    Command(
        "branches", ("f6",), "Branches", "List the poems and branches written so far.", footer=True
    ),
    Command("sibling(-1)", ("f7",), "◂ branch", "Show the branch before this one.", footer=True),
    Command("sibling(1)", ("f8",), "▸ branch", "Show the branch after this one.", footer=True),
    Command(
        "pane",
        ("f9",),
        "Next pane",
        "Go to the next instrument; on a narrow terminal, show it.",
        footer=True,
    ),
    Command(
        "look(-1)",
        ("alt+left",),
        "Earlier",
        "Look at the character before: the table shows "
        "that step as it was. In the poem ← does the same.",
    ),
    Command(
        "look(1)",
        ("alt+right",),
        "Later",
        "Look at the character after. In the poem → does the same.",
    ),
    Command(
        "undo", ("ctrl+z",), "Undo", "Take back the last fork, poem, edit or setting.", footer=True
    ),
    Command("redo", ("ctrl+y",), "Redo", "Do again what was undone."),
    Command(
        "traditional",
        ("ctrl+t",),
        "繁/简",
        "Show poems in traditional or simplified "
        "characters. The model always reads simplified ones.",
        footer=True,
    ),
    Command("pinyin", ("ctrl+g",), "Pinyin", "Show how each character is read, above it."),
    Command(
        "shading",
        ("ctrl+r",),
        "Shading",
        "Shade each character by how probable it was: the darker the ground, the less expected.",
    ),
    Command(
        "model",
        ("ctrl+l",),
        "Model",
        "Write with another model. It loads while you go on reading.",
        footer=True,
    ),
    Command(
        "poems", ("ctrl+n",), "How many", "Write 1, 3 or 5 poems at each Enter, one after another."
    ),
    Command(
        "save",
        ("ctrl+s",),
        "Save",
        "Save the poem: .txt, .md, or .jsonl with every step.",
        footer=True,
    ),
    Command(
        "open",
        ("ctrl+o",),
        "Open",
        "Open a saved trace and look at its steps, or replay it at the pace.",
    ),
    Command("copy", ("alt+c",), "Copy", "Send the poem to the terminal's clipboard."),
    Command("theme", (), "Light/dark", "Switch between the light and the dark theme."),
    Command("help", ("f1",), "Help", "This page.", footer=True),
    Command(
        "interrupt",
        ("ctrl+c",),
        "Interrupt",
        "Copy what is selected; else stop writing; pressed twice while nothing is written, quit.",
    ),
    Command(
        "leave",
        ("ctrl+q",),
        "Quit",
        "Quit. Poems, branches and settings are there again next time.",
        footer=True,
    ),
)


def bindings() -> list[Binding]:
    """The table as key bindings of the main screen."""
    return [
        Binding(
            ",".join(command.keys),
            f"app.{command.action}",
            command.title,
            show=command.footer,
            priority=command.everywhere,
        )
        for command in COMMANDS
        if command.keys
    ]
