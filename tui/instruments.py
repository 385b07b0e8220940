"""The panes beside the poem, as one: what the screen shows in them, and which has room.

Imported after the first frame only. Where a terminal is narrow or short, one instrument
is shown at a time; F9 brings the next.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from model.config import CacheMode, Controls
from model.speed import Reading
from model.steps import Inspection, Step
from tui.panes.form import FormPane
from tui.panes.probabilities import ProbabilitiesPane
from tui.panes.sampler import SamplerPane
from tui.panes.speed import SpeedPane
from tui.session import FormSettings
from tui.widgets.fields import FieldPane


class Instruments(Vertical):
    """Table, sampler and meter; and the form, which stands under the poem that it is for."""

    def __init__(self, *, with_form: bool = True) -> None:
        """``with_form``: beside a poem; a conversation has none."""
        super().__init__(id="panes")
        self._form = FormPane(id="form") if with_form else None
        self._chosen = 0  # the one shown where only one has room
        self._going = False  # the focus is on its way there

    def compose(self) -> ComposeResult:
        yield ProbabilitiesPane(id="probabilities")
        with Horizontal(id="lower"):
            yield SamplerPane(id="sampler")
            yield SpeedPane(id="speed")

    async def on_mount(self) -> None:
        """Bring the form to its place, and show the first pane where only one has room."""
        if self._form is not None:
            await self.screen.query_one("#body").mount(self._form)
        self._choose(self._chosen)

    def show_step(self, step: Step | None, index: int, total: int, live: bool) -> None:
        """Fill the table."""
        self.query_one(ProbabilitiesPane).show_step(step, index, total, live)

    def show_preview(self, inspection: Inspection, step: Step, would_be: int) -> None:
        """Fill the table with a step as it would be."""
        self.query_one(ProbabilitiesPane).show_preview(inspection, step, would_be)

    def show_constrained(self, constrained: bool) -> None:
        """Whether a form holds for the text on show."""
        self.query_one(ProbabilitiesPane).show_constrained(constrained)

    def show_settings(
        self, controls: Controls, seed_fixed: bool, form: FormSettings | None = None
    ) -> None:
        """Fill sampler and form."""
        sampler = self.query_one(SamplerPane)
        sampler.show(controls)
        sampler.new_seed_each_time = not seed_fixed
        if self._form is not None and form is not None:
            self._form.show(form)

    def show_speed(self, reading: Reading | None, mode: CacheMode, allocated: int) -> None:
        """Fill the meter."""
        self.query_one(SpeedPane).show(reading, mode, allocated)

    def refuse_form(self, text: str) -> None:
        """Say beside the form why it cannot be; empty: it can."""
        if self._form is not None:
            self._form.refuse(text)

    def next_pane(self) -> None:
        """Go to the next instrument, and show it where only one has room."""
        panes = self._panes()
        focused = next((i for i, pane in enumerate(panes) if pane.has_focus_within), None)
        at = self._chosen if self._going else focused
        self._choose((self._chosen if at is None else at + 1) % len(panes))
        self._going = True
        pane = panes[self._chosen]
        if isinstance(pane, FieldPane):
            pane.focus_field()
        else:
            pane.focus()

    def on_descendant_focus(self) -> None:
        """The focus has arrived."""
        self._going = False

    def _panes(self) -> list[Widget]:
        table, sampler = self.query_one(ProbabilitiesPane), self.query_one(SamplerPane)
        form = [] if self._form is None else [self._form]
        return [table, sampler, *form, self.query_one(SpeedPane)]

    def _choose(self, place: int) -> None:
        self._chosen = place
        chosen = self._panes()[place]
        beside = self.parent
        assert isinstance(beside, Widget)
        beside.set_class(chosen is self._form, "-empty")
        if self._form is not None:
            self._form.set_class(chosen is self._form, "-chosen")
        if chosen is self._form:  # it stands elsewhere: what is shown here stays
            return
        for box in (*self._panes(), self.query_one("#lower")):
            box.set_class(box is chosen or box in chosen.ancestors, "-chosen")
