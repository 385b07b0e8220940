"""The screen of two models side by side: where the columns stand, what the keys do."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from tui import messages as m
from tui.arranged import ArrangedScreen
from tui.beside.pane import ColumnPane
from tui.commands import BESIDE, BESIDE_FOOTER, Command, bindings
from tui.dialogs import Picker
from tui.panes.form import FormPane
from tui.panes.opening import OpeningPane
from tui.panes.sampler import SamplerPane
from tui.panes.status import StatusLine
from tui.session import Look
from tui.widgets.footer import WholeKeys

if TYPE_CHECKING:
    from tui.beside.pair import Pair

TWO = 80
"""Cells that two columns need beside each other."""
STACKED = 52
"""Rows that they need one above the other."""
TALL = 34
"""Rows from which table and meter are shown together; where columns are stacked, of each."""
KNOBS = 40
"""Cells of the settings beside them."""


class PairScreen(ArrangedScreen):
    """Two columns, the settings beside them where they are wanted, the opening below."""

    TABLE: ClassVar[tuple[Command, ...]] = BESIDE
    """What the palette offers here."""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(BESIDE, BESIDE_FOOTER, "screen")]
    AUTO_FOCUS = "OpeningPane"
    DEFAULT_CSS = f"""
    PairScreen {{
        layout: vertical;
        & #pair {{ height: 1fr; }}
        & #columns {{ width: 1fr; height: 100%; layout: horizontal; }}
        & #knobs {{ width: {KNOBS}; height: 100%; display: none; }}
        & #knobs.-open {{ display: block; }}
        & #knobs FieldPane {{ height: auto; max-height: 100%; }}
        & PoemPane:focus, & OpeningPane:focus, & ProbabilitiesPane:focus,
        & FieldPane:focus-within {{ border: heavy $border; }}
        &.-stacked #columns {{ layout: vertical; }}
        &.-stacked ColumnPane {{ height: 1fr; }}
        &.-one ColumnPane {{ display: none; }}
        &.-one ColumnPane.-shown {{ display: block; }}
        &.-alone #columns {{ display: none; }}
        &.-alone #knobs {{ width: 100%; }}
        &.-low ProbabilitiesPane, &.-low SpeedPane {{ display: none; }}
        &.-low ProbabilitiesPane.-chosen, &.-low SpeedPane.-chosen {{
            display: block; height: 45%; max-height: 11;
        }}
        &.-small #pair {{ display: none; }}
    }}
    """

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self._pair = pair
        self.panes = (ColumnPane(0), ColumnPane(1))
        self._place = 0  # the column that keys go to

    def compose(self) -> ComposeResult:
        yield StatusLine(id="status")
        with Horizontal(id="pair"):
            with Vertical(id="columns"):
                yield from self.panes
            with VerticalScroll(id="knobs", can_focus=False):
                yield SamplerPane()
                yield FormPane()
        yield OpeningPane(id="opening")
        yield WholeKeys()
        yield Static(id="too-small")

    def on_mount(self) -> None:
        super().on_mount()
        self._pair.mounted()
        self._pair.look_changed()
        self.show_settings()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Come back to what may have changed meanwhile: settings, the terminal's size."""
        self._arrange(*self.app.size)
        self.show_settings()
        self.show_state()

    def stop_writing(self) -> bool:
        """End what is written; False where nothing is."""
        return self._pair.stop()

    # what the pair calls

    def show_settings(self) -> None:
        """Show opening, sampler and form as they are now."""
        settings = self._pair.settings
        self.query_one(OpeningPane).show(settings.opening)
        sampler = self.query_one(SamplerPane)
        sampler.show(settings.controls)
        sampler.new_seed_each_time = not settings.seed_fixed
        self.query_one(FormPane).show(settings.form)

    def show_state(self) -> None:
        """Show what is going on, and with which settings."""
        title = "Side by side"
        if self.has_class("-one"):
            title += f" · {'left' if self._place == 0 else 'right'} (F8)"
        self.query_one(StatusLine).show(title, *self._pair.words())

    def show_look(self, look: Look) -> None:
        """Draw both poems in the script and with the helps that are wanted."""
        for pane in self.panes:
            pane.show_look(look)

    # what the keys do

    def action_stop(self) -> None:
        """Stop both; where nothing is written, go back."""
        if not self.stop_writing():
            self.dismiss()

    def action_back(self) -> None:
        """Go back to the poem."""
        self.dismiss()

    def action_write(self) -> None:
        """Write from the opening."""
        self._pair.write(self.query_one(OpeningPane).value)

    def action_cache(self) -> None:
        """The next cache mode, for both."""
        self._pair.cycle_cache()

    def action_single(self) -> None:
        """One token each."""
        self._pair.single()

    def action_unknown(self) -> None:
        """Another answer to characters that a model does not know."""
        self._pair.cycle_unknown()

    def action_model(self, place: int) -> None:
        """Choose the model of a column: 0 is the left one."""

        def chosen(name: str | None) -> None:
            if name and name != self._pair.columns[place].name:
                self._pair.load(place, name)

        side = "on the right" if place else "on the left"
        now = self._pair.columns[place].name
        self.app.push_screen(Picker(f"The model {side}", self._pair.models(), now), chosen)

    def action_other(self) -> None:
        """Go to the other column."""
        self._go_to(1 - self._place)

    def action_pane(self) -> None:
        """Go to the next part of the column."""
        self.panes[self._place].next_pane()

    def action_look(self, delta: int) -> None:
        """Look at a step so many later."""
        self._pair.columns[self._place].look(delta)

    def action_knobs(self) -> None:
        """Show or hide the settings."""
        knobs = self.query_one("#knobs")
        knobs.toggle_class("-open")
        self._arrange(*self.app.size)
        if knobs.has_class("-open"):
            self.query_one(SamplerPane).focus_field()
        else:
            self.panes[self._place].focus_poem()

    def action_save(self) -> None:
        """Save the poem of the column."""
        self._pair.save(self._place)

    def action_copy(self) -> None:
        """Copy what is selected, else the poem of the column."""
        self._pair.copy(self._place, self.selected_text())

    def _go_to(self, place: int) -> None:
        self._mark(place)
        self.panes[place].focus_poem()

    def _mark(self, place: int) -> None:
        self._place = place
        for pane in self.panes:
            pane.set_class(pane.place == place, "-shown")
        self.show_state()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Keys go to the column that the focus is in."""
        for pane in self.panes:
            if pane in event.widget.ancestors and pane.place != self._place:
                self._mark(pane.place)

    # what the panes ask for

    def on_opening_submitted(self, message: m.OpeningSubmitted) -> None:
        """Write from what was typed."""
        message.stop()
        self.panes[self._place].focus_poem()
        self._pair.write(message.text)

    def on_write_requested(self, message: m.WriteRequested) -> None:
        message.stop()
        self.panes[self._place].focus_poem()
        self.action_write()

    def on_opening_edited(self, message: m.OpeningEdited) -> None:
        """Take what is being typed."""
        message.stop()
        opening = self.query_one(OpeningPane)
        opening.taken()
        self._pair.edit_opening(message.text)
        opening.note(self._pair.note(message.text))

    def on_controls_changed(self, message: m.ControlsChanged) -> None:
        """A knob was turned."""
        message.stop()
        self._pair.set_controls(message.controls)

    def on_seed_mode_changed(self, message: m.SeedModeChanged) -> None:
        """The seed was fixed, or let go."""
        message.stop()
        self._pair.fix_seed(message.fixed)

    def on_form_changed(self, message: m.FormChanged) -> None:
        """Another form was chosen."""
        message.stop()
        self._pair.set_form(message.settings)

    def on_cache_mode_requested(self, message: m.CacheModeRequested) -> None:
        """A cache mode was chosen."""
        message.stop()
        self._pair.set_cache(message.mode)

    # room

    def _arrange(self, width: int, height: int) -> None:
        super()._arrange(width, height)
        open_ = self.query_one("#knobs").has_class("-open")
        left = width - KNOBS if open_ else width
        stacked = left < TWO and height >= STACKED and left >= KNOBS
        self.set_class(stacked, "-stacked")
        self.set_class(left < TWO and not stacked, "-one")
        self.set_class(left < KNOBS, "-alone")
        self.set_class((height / 2 if stacked else height) < TALL, "-low")
        self._mark(self._place)
