"""One of the columns: a model's name, its poem, figures, table and meter.

Implements ``tui.view.View`` with the panes of the poem's window. What these ask for goes up
with the number of the column. Knows nothing of models and runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from model.config import CacheMode
from model.errors import UnknownCharacters, visible
from model.speed import Reading
from model.steps import Inspection, Step
from tui.beside.figures import Figures, Tally
from tui.cells import cell_len, fit
from tui.messages import ForkRequested, OfColumn, StepPointed, StepRequested
from tui.panes.poem import PoemPane
from tui.panes.probabilities import ProbabilitiesPane
from tui.panes.speed import SpeedPane
from tui.session import Branch, Look, Unknown
from tui.view import Tone
from tui.widgets.fields import FieldPane, Refusal
from tui.widgets.lines import Line, Lines


class ColumnHead(Lines):
    """The model on the left, what it does on the right."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"name", "state"}
    DEFAULT_CSS = """
    ColumnHead {
        height: 1; padding: 0 2;
        & > .name { text-style: bold; color: $accent; }
        & > .state { text-style: bold; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._words = ("", "")

    def show(self, name: str, state: str) -> None:
        """Show other words, where they are others."""
        if (name, state) != self._words:
            self._words = (name, state)
            self.changed()

    def build(self, width: int, height: int) -> list[Line]:
        name, state = self._words
        room = max(0, width - cell_len(state) - 1)
        return [[(fit(name, room), "name"), (f" {fit(state, width - room - 1)}", "state")]]


class ColumnPane(Vertical):
    """Shows what one model writes."""

    DEFAULT_CSS = """
    ColumnPane {
        width: 1fr; height: 100%;
        & Refusal { padding: 0 2; width: 100%; max-height: 4; }
        & PoemPane { height: 1fr; min-height: 4; }
        & ProbabilitiesPane { height: 13; }
        & SpeedPane { height: 8; min-height: 4; }
        & SpeedReadout { min-height: 3; }
    }
    """

    def __init__(self, place: int) -> None:
        """``place``: 0 is the left one."""
        super().__init__(id=f"column{place}")
        self.place = place
        self.model_title = ""
        """The model in use, or what is being waited for."""
        self.doing: Callable[[], str] = lambda: ""
        self.ending: Callable[[], str] = lambda: ""
        """How the poem on show ended, in words."""
        self.token_bytes: Callable[[], int] = lambda: 0
        """What a token takes in the cache; 0 where that is not known."""
        self._branch: Branch | None = None
        self._tally = Tally()
        self._chosen = 0  # of table and meter the one shown where one has room
        self._cached = True

    def compose(self) -> ComposeResult:
        yield ColumnHead()
        yield Refusal()
        yield PoemPane()
        yield Figures()
        yield ProbabilitiesPane()
        yield SpeedPane()

    def on_mount(self) -> None:
        """The table comes first where one has room."""
        self.query_one(ProbabilitiesPane).add_class("-chosen")

    # what the conductor calls

    def show_branch(self, branch: Branch | None, cursor: int | None) -> None:
        if branch is not self._branch:
            self._branch, self._tally = branch, Tally()
        if branch is not None:
            self._tally.add(branch.steps[self._tally.tokens :])
            end = branch.finished
            self._tally.ended = end is not None and end.reason == "end_of_poem"
        self.query_one(PoemPane).show_branch(branch, cursor)
        table = self.query_one(ProbabilitiesPane)
        table.show_constrained(branch is not None and branch.form.constrains)
        self._show_figures()

    def append(self, branch: Branch, steps: Sequence[Step]) -> None:
        self._tally.add(steps)
        self.query_one(PoemPane).append(steps)

    def move_cursor(self, cursor: int | None) -> None:
        self.query_one(PoemPane).move_cursor(cursor)

    def show_step(self, step: Step | None, index: int, total: int, live: bool) -> None:
        self.query_one(ProbabilitiesPane).show_step(step, index, total, live)

    def show_preview(self, inspection: Inspection, step: Step, would_be: int) -> None:
        self.query_one(ProbabilitiesPane).show_preview(inspection, step, would_be)

    def show_speed(self, reading: Reading | None, mode: CacheMode, allocated: int) -> None:
        self._cached = mode != "off"
        self.query_one(SpeedPane).show(reading, mode, allocated)
        self._show_figures()

    def show_settings(self) -> None:
        """Opening, sampler and form stand beside the columns."""

    def show_state(self) -> None:
        self.query_one(ColumnHead).show(self.model_title, self.doing())
        self.query_one(PoemPane).set_state("Poem", self.ending())

    def opening_taken(self) -> None:
        """The opening stands under the columns."""

    def note_opening(self, text: str) -> None:
        """What it is read as is said there as well."""

    def refuse_form(self, text: str) -> None:
        self.query_one(Refusal).say(text)

    def say(self, text: str, tone: Tone = "information") -> None:
        if tone == "information":
            self.notify(text, markup=False)
        else:
            self.query_one(Refusal).say(text)

    def ask_unknown(self, error: UnknownCharacters, answer: Callable[[Unknown], None]) -> None:
        """Says it and goes without: the other column may be writing."""
        characters = " ".join(visible(char) for char in error.characters)
        self.say(f"does not know {characters}. Alt U leaves such out, or reads □", "warning")

    # what the screen calls

    def show_look(self, look: Look) -> None:
        """Draw the poem in the script and with the helps that are wanted."""
        self.query_one(PoemPane).set_look(
            traditional=look.traditional, pinyin=look.pinyin, shading=look.shading
        )

    def focus_poem(self) -> None:
        """Bring the keys to the poem."""
        self.query_one(PoemPane).focus()

    def next_pane(self) -> None:
        """From the poem to the table, to the meter, and to the poem again."""
        table, meter = self.query_one(ProbabilitiesPane), self.query_one(SpeedPane)
        if table.has_focus_within:
            self._choose(meter)
        elif meter.has_focus_within:
            self.focus_poem()
        else:
            self._choose(table)

    def _choose(self, chosen: ProbabilitiesPane | FieldPane) -> None:
        for pane in (self.query_one(ProbabilitiesPane), self.query_one(SpeedPane)):
            pane.set_class(pane is chosen, "-chosen")
        if isinstance(chosen, FieldPane):
            chosen.focus_field()
        else:
            chosen.focus()

    def _show_figures(self) -> None:
        steps = self._branch.steps if self._branch else []
        cache = self.token_bytes() if self._cached else 0
        self.query_one(Figures).show(steps, self._tally, cache)

    # what the panes ask for

    def on_step_requested(self, message: StepRequested) -> None:
        self._pass_on(message)

    def on_step_pointed(self, message: StepPointed) -> None:
        self._pass_on(message)

    def on_fork_requested(self, message: ForkRequested) -> None:
        self._pass_on(message)

    def _pass_on(self, message: Message) -> None:
        message.stop()
        self.post_message(OfColumn(self.place, message))
