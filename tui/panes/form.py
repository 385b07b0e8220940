"""What shape the next poem shall have: free, an acrostic, a fixed form, or both.

Knows ``FormSettings`` and which characters can be heads at all; whether a model can
write such a poem is the app's to find out and to say here with ``refuse``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from corpora.forms import FORMS, is_han
from model.errors import visible
from tui.messages import FormChanged, WriteRequested
from tui.session import FormKind, FormSettings
from tui.widgets.choice import Choice
from tui.widgets.fields import FieldPane, Labelled, Refusal, TextField
from tui.widgets.lines import set_title

HINT = "↑↓ ←→ · Enter writes"


class FormPane(FieldPane):
    """Kind and heads, and what the kind leaves to choose: an acrostic's line length, a
    fixed form's name. Heads typed while the poem is free make it an acrostic; with a
    fixed form they begin its lines."""

    DEFAULT_CSS = """
    FormPane {
        height: auto; max-height: 100%;
        & > #says { height: auto; color: $text-muted; padding-left: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "write", "Write", show=False)]

    def __init__(self, settings: FormSettings | None = None, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._settings = settings or FormSettings()
        set_title(self, "Form", HINT)

    # What the app calls

    @property
    def settings(self) -> FormSettings:
        """What was last shown or posted."""
        return self._settings

    def show(self, settings: FormSettings) -> None:
        """Show ``settings``; posts nothing and takes back what was refused."""
        self._display(settings)
        if self.children:
            self.query_one("#heads", TextField).put(settings.heads)

    def _display(self, settings: FormSettings) -> None:
        """Everything but the heads' field: somebody may be typing in it, ahead of us."""
        self._settings = settings
        if not self.children:  # not composed yet
            return
        self.query_one("#kind", Choice).show(settings.kind)
        form, characters = self.query_one("#verse", Choice), self.query_one("#characters", Choice)
        form.show(settings.form)
        characters.show(str(settings.characters))
        form.display, characters.display = settings.kind == "fixed", settings.kind == "acrostic"
        self.query_one("#says", Static).update(Content(self._says()))
        self.refuse("")

    def refuse(self, text: str) -> None:
        """Say why the settings cannot be satisfied; an empty text takes it back."""
        if self.children:
            self.query_one(Refusal).say(text)

    def _says(self) -> str:
        """In words what will be written."""
        settings, heads = self._settings, len(self._settings.heads)
        if settings.kind == "free":
            return "no rules" + (", heads not used" if heads else "")
        if settings.kind == "acrostic":
            lines = f"{heads} line{'s' if heads != 1 else ''}" if heads else "a line for each head"
            return f"{lines} of {settings.characters}"
        form = FORMS[settings.form]
        begun = f", {heads} with heads" if heads else ""
        return f"{form.lines} lines of {form.characters}{begun}"

    # Parts

    def compose(self) -> ComposeResult:
        kinds = [("free", "free"), ("acrostic", "acrostic"), ("fixed", "form")]
        yield Choice("", kinds, id="kind")
        yield Labelled(
            "heads", TextField(_joined, placeholder="藏头, such as 春眠不觉", id="heads")
        )
        yield Choice("form", [(name, name) for name in FORMS], id="verse")
        yield Choice("a line", [("5", "5"), ("7", "7")], id="characters")
        yield Static("", markup=False, id="says")
        yield Refusal()

    def on_mount(self) -> None:
        self.show(self._settings)

    # What the reader does

    def _change(self, settings: FormSettings) -> None:
        """Post other settings, unless the heads can be none; then say why."""
        if fault := heads_fault(settings.heads, settings):
            self.refuse(fault)
        elif settings != self._settings:
            self._display(settings)
            self.post_message(FormChanged(settings))
        else:
            self.refuse("")

    def _typed(self) -> str:
        """The heads as they stand in the field, refused ones too."""
        return self.query_one("#heads", TextField).value

    @on(Choice.Changed, "#kind")
    def _kind(self, event: Choice.Changed) -> None:
        event.stop()
        self._chosen(kind=cast(FormKind, event.key))

    @on(Choice.Changed, "#verse")
    def _verse(self, event: Choice.Changed) -> None:
        event.stop()
        self._chosen(form=event.key)

    @on(Choice.Changed, "#characters")
    def _line(self, event: Choice.Changed) -> None:
        event.stop()
        self._chosen(characters=cast(Literal[5, 7], int(event.key)))

    def _chosen(self, **changes: object) -> None:
        """A choice was made. Where it cannot be, the choice shown goes back."""
        before = self._settings
        self._change(replace(before, **changes))  # type: ignore[arg-type]
        if self._settings is before and (refusal := self.query_one(Refusal).text):
            self._display(before)
            self.refuse(refusal)

    @on(Input.Changed, "#heads")
    def _heads(self, event: Input.Changed) -> None:
        event.stop()
        self._take_heads(event.value)

    def _take_heads(self, heads: str) -> None:
        settings = replace(self._settings, heads=heads)
        if heads and settings.kind == "free":
            settings = replace(settings, kind="acrostic")
        self._change(settings)

    def action_write(self) -> None:
        """Ask for a poem of this form. Heads whose ``Input.Changed`` is still on its way count."""
        if self._typed() != self._settings.heads:
            self._take_heads(self._typed())
        if self._typed() == self._settings.heads:  # else they were refused
            self.post_message(WriteRequested())

    @on(TextField.Entered)
    def _entered(self, event: TextField.Entered) -> None:
        event.stop()  # the heads were taken as they were typed

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        event.stop()
        self.refuse(event.reason)


def heads_fault(heads: str, settings: FormSettings) -> str:
    """Why no model can begin lines with ``heads``, or nothing. Missing heads are not a
    fault yet: they may still be typed."""
    if strays := dict.fromkeys(char for char in heads if not is_han(char)):
        shown = " ".join(visible(char) for char in strays)
        return f"heads must be Han characters; these are not: {shown}"
    form = FORMS[settings.form]
    if settings.kind == "fixed" and len(heads) > form.lines:
        return f"{form.name} has {form.lines} lines, but {len(heads)} heads were given"
    return ""


def _joined(pasted: str) -> str:
    """Pasted lines run together, what separates them left out: heads of a column."""
    return "".join(pasted.split())
