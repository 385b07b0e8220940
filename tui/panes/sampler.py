"""The sampler's knobs: every change is checked at the field and posted at once.

Knows ``Controls``; knows nothing of runs. The app replaces the controls of a running
generator by what is posted, and calls ``show`` when they change elsewhere (undo, a
command, a new seed), not as an answer to the pane's own message.
"""

from __future__ import annotations

from dataclasses import replace

from textual import on
from textual.app import ComposeResult

from model.config import Controls, SamplerConfig
from model.errors import UserError
from tui.messages import ControlsChanged, SeedModeChanged
from tui.panes.settings import PRESETS, SEED, SETTINGS, Setting, preset_of, with_preset
from tui.panes.stops import format_stops, lines_to_stops, parse_stops
from tui.widgets.choice import Choice, Toggle
from tui.widgets.fields import FieldPane, Labelled, Refusal, TextField
from tui.widgets.lines import set_title
from tui.widgets.stepper import Stepper

HINT = "↑↓ ←→ or type a value"


class SamplerPane(FieldPane):
    """Temperature, truncations, penalties, limits, seed and stop strings."""

    DEFAULT_CSS = "SamplerPane { height: auto; max-height: 100%; }"

    def __init__(self, controls: Controls | None = None, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._controls = controls or Controls()
        self._warm = 1.0  # the temperature that turning greedy off goes back to
        self._new_seed = True
        set_title(self, "Sampler", HINT)

    # What the app calls

    @property
    def controls(self) -> Controls:
        """What the fields say."""
        return self._controls

    @property
    def new_seed_each_time(self) -> bool:
        """Whether each poem draws a new seed; else the one shown is used again."""
        return self._new_seed

    @new_seed_each_time.setter
    def new_seed_each_time(self, new: bool) -> None:
        self._new_seed = new
        if self.children:
            self.query_one("#new-seed", Toggle).show(new)

    def show(self, controls: Controls) -> None:
        """Show ``controls``; posts nothing, leaves what is being typed alone."""
        self._controls = controls
        if not controls.sampler.greedy:
            self._warm = controls.sampler.temperature
        if not self.children:  # not composed yet
            return
        for setting in (*SETTINGS, SEED):
            self.query_one(f"#{setting.name}", Stepper).show(setting.read(controls))
        self.query_one("#preset", Choice).show(preset_of(controls.sampler))
        self.query_one("#greedy", Toggle).show(controls.sampler.greedy)
        field = self.query_one("#stop", TextField)
        if parse_stops(field.entered) != controls.stop:
            field.put(format_stops(controls.stop))

    # Parts

    def compose(self) -> ComposeResult:
        yield Choice("preset", [(name, name) for name, _ in PRESETS], id="preset")
        for setting in SETTINGS:
            yield self._stepper(setting)
            if setting.name == "temperature":
                yield Toggle("greedy", id="greedy")
        yield self._stepper(SEED)
        yield Toggle("new seed each time", id="new-seed")
        stop = TextField(lines_to_stops, placeholder="e.g. 。\\n | 完", id="stop")
        yield Labelled("stop at", stop)
        yield Refusal(id="refusal")

    def _stepper(self, setting: Setting) -> Stepper:
        def check(value: int | float | str) -> None:
            setting.write(self._controls, value)

        default = setting.read(Controls())
        return Stepper(setting.label, setting.scale, check, value=default, id=setting.name)

    def on_mount(self) -> None:
        self.show(self._controls)
        self.new_seed_each_time = self._new_seed

    # What the reader does

    def _change(self, controls: Controls) -> None:
        if controls != self._controls:
            self.show(controls)
            self.post_message(ControlsChanged(controls))

    @on(Stepper.Changed)
    def _stepped(self, event: Stepper.Changed) -> None:
        event.stop()
        setting = next(s for s in (*SETTINGS, SEED) if s.name == event.stepper.id)
        if setting is SEED and self._new_seed:  # who sets a seed wants to keep it
            self.new_seed_each_time = False
            self.post_message(SeedModeChanged(fixed=True))
        self._change(setting.write(self._controls, event.value))

    @on(Choice.Changed, "#preset")
    def _preset(self, event: Choice.Changed) -> None:
        event.stop()
        self._sample(with_preset(self._controls.sampler, dict(PRESETS)[event.key]))

    @on(Toggle.Changed, "#greedy")
    def _greedy(self, event: Toggle.Changed) -> None:
        event.stop()
        temperature = 0.0 if event.on else self._warm
        self._sample(replace(self._controls.sampler, temperature=temperature))

    def _sample(self, sampler: SamplerConfig) -> None:
        self._change(replace(self._controls, sampler=sampler))

    @on(Toggle.Changed, "#new-seed")
    def _seed_mode(self, event: Toggle.Changed) -> None:
        event.stop()
        self._new_seed = event.on
        self.post_message(SeedModeChanged(fixed=not event.on))

    @on(TextField.Entered)
    def _stops(self, event: TextField.Entered) -> None:
        event.stop()
        try:
            controls = replace(self._controls, stop=parse_stops(event.text))
        except UserError as error:
            self.query_one(Refusal).say(str(error))
            return
        self.query_one(Refusal).say("")
        self._change(controls)

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        event.stop()
        self.query_one(Refusal).say(event.reason)
