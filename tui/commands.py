"""Everything that can be done, once: keys, palette, footer and help read this table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Command:
    """One action of the app."""

    action: str
    """The app runs ``action_<action>``."""
    key: str
    """In Textual's names, works whatever has the focus; empty: the palette alone offers it."""
    title: str
    """As in the footer and the palette: a word or two."""
    about: str
    """A sentence for the help screen and the palette."""


COMMANDS: tuple[Command, ...] = tuple(
    Command(*row)
    for row in (
        ("stop", "escape", "Stop", "Stop writing at the next character and keep the text; "
         "while nothing is written, go to the opening."),
        ("help", "f1", "Help", "This page."),
        ("cache", "f2", "Cache", "Turn the KV cache on, off, or race both. "
         "The poem does not change, the speed does."),
        ("pace", "f3", "Pace", "Characters a second: 2, 5, 10, 25, 60, as fast as it goes, "
         "or one at each press of F4."),
        ("single", "f4", "One more", "Write one character and wait for the next press."),
        ("again", "f5", "Write", "Write a poem from the opening, and at each press another one."),
        ("branches", "f6", "Branches", "List the poems and branches written so far."),
        ("sibling(-1)", "f7", "Branch before", "Show the branch before this one."),
        ("sibling(1)", "f8", "Branch after", "Show the branch after this one."),
        ("pane", "f9", "Pane", "Go to the next instrument; on a narrow terminal, show it."),
        ("look(-1)", "alt+left", "Earlier", "Look at the character before: the table shows "
         "that step as it was. In the poem ← does the same."),
        ("look(1)", "alt+right", "Later", "Look at the character after. "
         "In the poem → does the same."),
        ("undo", "ctrl+z", "Undo", "Take back the last fork, poem, edit or setting."),
        ("redo", "ctrl+y", "Redo", "Do again what was undone."),
        ("traditional", "ctrl+t", "繁 / 简", "Show poems in traditional or simplified "
         "characters. The model always reads simplified ones."),
        ("pinyin", "ctrl+g", "Pinyin", "Show above each character how it is read."),
        ("shading", "ctrl+r", "Shading", "Shade each character by its probability: "
         "the stronger the ground, the less expected."),
        ("model", "ctrl+l", "Model", "Write with another model. "
         "It loads while you go on reading."),
        ("poems", "ctrl+n", "How many", "Write 1, 3 or 5 poems at each Enter, one after another."),
        ("save", "ctrl+s", "Save", "Save the poem as .txt, .md, or .jsonl with every step."),
        ("open", "ctrl+o", "Open", "Open a saved .jsonl and look at its steps."),
        ("history", "f12", "History", "Everything that was written, here or in another window: "
         "search it, open it, rename it, delete it."),
        ("chat", "f11", "Chat", "Talk with an instruct model, under the same instruments."),
        ("lab", "f10", "Lab", "Run the experiments of the lab: every claim about decoding, "
         "measured on the models here."),
        ("beside", "alt+s", "Side by side", "Let two models continue one opening at once, each "
         "with its table and its meter."),
        ("replay", "", "Replay", "Show this poem again from its first character, at the pace."),
        ("copy", "alt+c", "Copy", "Send the poem to the terminal's clipboard."),
        ("theme", "", "Light / dark", "Switch between the light and the dark theme."),
        ("interrupt", "ctrl+c", "Interrupt", "Copy what is selected; else stop writing; "
         "pressed twice while nothing is written, quit."),
        ("quit", "ctrl+q", "Quit", "Quit. Poems, branches and settings are there again "
         "next time."),
    )
)  # fmt: skip

LAB: tuple[Command, ...] = tuple(
    Command(*row)
    for row in (
        ("run", "enter", "Run", "Run the experiment that the list stands on."),
        ("stop", "escape", "Stop", "Stop the running experiment at its next step; while none "
         "is running, go back to the poem."),
        ("app.help", "f1", "Help", "This page."),
        ("quick", "f2", "Quick", "Run with fewer samples, or with all of them."),
        ("prompt", "f3", "Prompt", "Give the experiments another prompt than their own."),
        ("export", "ctrl+s", "Save", "Save the result as Markdown or JSON."),
        ("page(1)", "pagedown", "Page down", "Scroll the result."),
        ("page(-1)", "pageup", "Page up", "Scroll the result back."),
        ("poem", "f10", "Poem", "Go back to the poem; what is running goes on."),
        ("app.interrupt", "ctrl+c", "Interrupt", "As elsewhere: pressed twice it quits."),
        ("app.quit", "ctrl+q", "Quit", "Quit. Results are not kept: save what you need."),
    )
)  # fmt: skip
"""What can be done in the lab; its screen runs ``action_<action>``, unless the app is named."""

HISTORY: tuple[Command, ...] = tuple(
    Command(*row)
    for row in (
        ("open", "enter", "Open", "Open what the list stands on, with all its branches."),
        ("back", "escape", "Back", "Go back to the poem."),
        ("app.help", "f1", "Help", "This page."),
        ("rename", "f2", "Rename", "Give it a title."),
        ("kind", "f3", "Kind", "Show poems, conversations, or both."),
        ("delete", "f8", "Delete", "Delete it for good; asks before."),
        ("export", "ctrl+s", "Save", "Save it as Markdown, or as JSON with every branch."),
        ("move(-1)", "up", "Up", "Go up the list; what is typed stays."),
        ("move(1)", "down", "Down", "Go down the list."),
        ("move(-10)", "pageup", "Page up", "Ten rows up."),
        ("move(10)", "pagedown", "Page down", "Ten rows down."),
        ("back", "f12", "Poem", "Go back to the poem."),
        ("app.interrupt", "ctrl+c", "Interrupt", "As elsewhere: pressed twice it quits."),
        ("app.quit", "ctrl+q", "Quit", "Quit. All of this is there again next time."),
    )
)  # fmt: skip
"""What can be done in the history; as ``LAB``."""

BESIDE: tuple[Command, ...] = tuple(
    Command(*row)
    for row in (
        ("stop", "escape", "Stop", "Stop both; while nothing is written, go back to the poem."),
        ("app.help", "f1", "Help", "This page."),
        ("cache", "f2", "Cache", "Turn the KV cache on, off, or race both, for both models."),
        ("app.pace", "f3", "Pace", "Characters a second, for models of pieces pieces a second."),
        ("single", "f4", "One more", "Let each write one token and wait for the next press."),
        ("write", "f5", "Write", "Let both write from the opening, as Enter there does; at each "
         "press another pair, from another seed unless it is fixed."),
        ("model(0)", "f6", "Model ◂", "Choose the model on the left."),
        ("model(1)", "f7", "Model ▸", "Choose the model on the right."),
        ("other", "f8", "Side", "Go to the other column; where one has room, show it."),
        ("pane", "f9", "Pane", "Go to the next part of this column: poem, table, meter."),
        ("knobs", "f10", "Settings", "Show the sampler and the form, or hide them. They hold for "
         "both models, and for the poem's window too."),
        ("unknown", "alt+u", "Unknown characters", "Refuse characters that a model does not know, "
         "leave them out, or let it read □ in their place."),
        ("look(-1)", "alt+left", "Earlier", "Look at the token before; in a poem ← does the same."),
        ("look(1)", "alt+right", "Later", "Look at the token after; in a poem → does the same."),
        ("app.traditional", "ctrl+t", "繁 / 简", "Traditional or simplified characters."),
        ("app.pinyin", "ctrl+g", "Pinyin", "Show above each character how it is read."),
        ("app.shading", "ctrl+r", "Shading", "Shade each character by its probability."),
        ("save", "ctrl+s", "Save", "Save the poem of the column that you are in."),
        ("copy", "alt+c", "Copy", "Send the poem of this column to the terminal's clipboard."),
        ("back", "alt+s", "Poem", "Go back to the poem; what is being written goes on."),
        ("app.interrupt", "ctrl+c", "Interrupt", "Copy what is selected; else stop both; pressed "
         "twice while nothing is written, quit."),
        ("app.quit", "ctrl+q", "Quit", "Quit. What was written is in the history."),
    )
)  # fmt: skip
"""What can be done where two models stand side by side; as ``LAB``."""

CHAT: tuple[Command, ...] = tuple(
    Command(*row)
    for row in (
        ("stop", "escape", "Stop", "Stop the reply at the next token and keep the text; while "
         "none is written, leave an edit or the tokens, and go to the line to type in."),
        ("app.help", "f1", "Help", "This page."),
        ("cache", "f2", "Cache", "Turn the KV cache on, off, or race both, also within a reply. "
         "No token changes, the speed does."),
        ("tokens", "f3", "Tokens", "Show the reply's tokens instead of its Markdown: ← → choose "
         "one for the table. The second press goes back."),
        ("more", "f4", "Go on", "Go on with a reply that was stopped, cut or interrupted."),
        ("again", "f5", "Again", "Write another reply to the question; the old one is kept."),
        ("edit", "f6", "Edit", "Put the question that you stand on (↑ ↓ in the conversation), "
         "else the newest one, in another way; the old one is kept."),
        ("sibling(-1)", "f7", "Before", "Show the reply, or the question, that stands before "
         "this one in its place."),
        ("sibling(1)", "f8", "After", "Show the one after it."),
        ("pane", "f9", "Pane", "Go to the next instrument; on a narrow terminal, show it."),
        ("look(-1)", "alt+left", "Earlier", "Look at the token before: the table shows it."),
        ("look(1)", "alt+right", "Later", "Look at the token after."),
        ("system", "ctrl+t", "System prompt", "Say what the model is told before all else. The "
         "conversation begins again under it; the old one stays beside it."),
        ("new", "ctrl+n", "New", "Begin a new conversation; this one is in the history."),
        ("model", "ctrl+l", "Model", "Chat with another model."),
        ("save", "ctrl+s", "Save", "Save the conversation as Markdown, or as JSON with every "
         "branch."),
        ("copy", "alt+c", "Copy", "Send the turn that you stand on to the terminal's clipboard."),
        ("app.history", "f12", "History", "All poems and conversations: search, open, delete."),
        ("app.theme", "", "Light / dark", "Switch between the light and the dark theme."),
        ("poem", "f11", "Poem", "Go to the poem; a reply goes on meanwhile."),
        ("app.interrupt", "ctrl+c", "Interrupt", "Copy what is selected; else stop the reply; "
         "pressed twice while none is written, quit."),
        ("app.quit", "ctrl+q", "Quit", "Quit. All of this is there again next time."),
    )
)  # fmt: skip
"""What can be done in the chat; as ``LAB``."""

FOOTER = (
    "stop", "cache", "again", "pane", "help", "quit", "pace", "branches", "save", "history",
)  # fmt: skip
"""What the footer shows, first what a narrow terminal must show, and no more than 120 columns
hold; the others are in the palette and on the help page."""
BESIDE_FOOTER = (
    "stop", "cache", "write", "other", "pane", "app.help", "app.quit", "knobs", "model(0)",
    "model(1)",
)  # fmt: skip
HISTORY_FOOTER = ("open", "back", "app.help", "rename", "kind", "delete", "export", "app.quit")
CHAT_FOOTER = ("stop", "cache", "again", "more", "edit", "tokens", "pane", "poem", "app.help",
               "app.quit", "new")  # fmt: skip
LAB_FOOTER = ("run", "stop", "poem", "app.help", "quick", "prompt", "export", "app.quit")


def bindings(
    commands: Sequence[Command], footer: Sequence[str], owner: str = "app"
) -> list[Binding]:
    """A table as key bindings of a screen, in the order of the footer. ``owner``: who has
    the actions, ``app`` or ``screen``."""
    shown = {action: place for place, action in enumerate(footer)}
    return [
        Binding(
            command.key,
            command.action if "." in command.action else f"{owner}.{command.action}",
            command.title,
            show=command.action in shown,
            priority=command.key != "enter",  # Enter belongs to what has the focus
        )
        for command in sorted(commands, key=lambda c: shown.get(c.action, len(shown)))
        if command.key
    ]
