"""What happens when: keeps session, runs, inspections and view in step with each other.

Runs on the app's thread; knows no widgets.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from corpora.errors import UserError
from model.config import CacheMode, Controls
from model.errors import UnknownCharacters
from model.speed import SpeedMeter
from model.steps import Step
from tui.entry import read_opening
from tui.inspector import Inspector
from tui.messages import RunFailed, RunFinished, StepKept, StepsArrived
from tui.orders import Order
from tui.runs import Runs
from tui.session import UNLIMITED, Branch, FormSettings, Session
from tui.view import View
from tui.worker import Writer

if TYPE_CHECKING:
    from model.registry import ModelHandle


READING_S = 0.5
"""The meter is read this often, in seconds, and at full pace the table filled: figures that
change faster are not read."""
CYCLE: tuple[CacheMode, ...] = ("on", "off", "race")


class Conductor:
    """The window's behaviour."""

    def __init__(
        self, session: Session, runs: Runs, writer: Writer, inspector: Inspector, view: View
    ) -> None:
        self.session = session
        self.runs = runs
        self._writer = writer
        self._inspector = inspector
        self._view = view
        self._meters: dict[str, SpeedMeter] = {}
        self._read_at = 0.0
        runs.begun = self._begun

    # what the thread sends

    def arrived(self, message: StepsArrived) -> None:
        """New steps of the run."""
        branch = self.runs.arrived(message)
        if branch is None:
            return
        self._measure(message.steps)
        if branch is self.session.branch:
            self._view.append(branch, message.steps)
        # At full pace figures change faster than anybody reads. They come seldom and all in
        # one frame: what Textual draws is the rectangle around all that has changed.
        due = time.monotonic() >= self._read_at + READING_S
        if due:
            self.show_speed()
        if due or self.session.look.pace != UNLIMITED:
            if branch is self.session.branch and self.session.cursor is None:
                self.show_step()
            self._view.show_state()

    def finished(self, message: RunFinished) -> None:
        """The run has come to its end."""
        branch = self.runs.finished(message)
        self.show_speed()
        if branch is not None and branch is self.session.branch:
            self._view.show_branch(branch, self.session.cursor)
            self.show_step()
        self._view.show_state()

    def failed(self, message: RunFailed) -> None:
        """The run broke."""
        if self.runs.failed(message) is not None:
            self.show_all()

    def _begun(self) -> None:
        meter = self._meter()
        if meter is not None and not self.runs.replaying:
            meter.begin_run()
        self.show_all()

    def _measure(self, steps: Sequence[Step]) -> None:
        meter = self._meter()
        if meter is None or self.runs.replaying:
            return
        for step in steps:
            meter.update(step)

    def _meter(self) -> SpeedMeter | None:
        """The meter of the model in use."""
        return self._meters.get(self.runs.handle.spec.name) if self.runs.handle else None

    def show_speed(self) -> None:
        """Fill the meter's pane."""
        self._read_at = time.monotonic()
        meter, handle = self._meter(), self.runs.handle
        reading = meter.reading() if meter else None
        if reading and self.runs.writing is None:
            reading = replace(reading, live_tokens_per_s=None)  # nothing is on now
        mode = self.session.settings.controls.cache
        self._view.show_speed(reading, mode, handle.full_cache_bytes if handle else 0)

    # settings

    def set_controls(self, controls: Controls) -> None:
        """Use these from the next token on, and show what they make of the step looked at."""
        before = self.session.settings.controls
        self.session.change(_changed(before, controls), controls=controls)
        self._writer.controls = controls
        self._view.show_settings()
        self._view.show_state()
        if before.cache != controls.cache:
            self.show_speed()
        if not self._live:
            self.show_step()

    def set_cache(self, mode: CacheMode) -> None:
        """Use the cache so from the next token on."""
        self.set_controls(replace(self.session.settings.controls, cache=mode))

    def edit_opening(self, text: str) -> None:
        """The opening as it is being typed: how it will be read, and whether it fits."""
        self.session.change("typing", opening=text)
        self._view.opening_taken()
        if self.runs.handle is not None:  # what converts is loaded with the model
            self._view.note_opening(read_opening(text)[1])
            self._view.refuse_form(self._refusal(self.session.settings.form))

    def cycle_cache(self) -> None:
        """On, off, race, and on again."""
        mode = self.session.settings.controls.cache
        self.set_cache(CYCLE[(CYCLE.index(mode) + 1) % len(CYCLE)])

    def set_form(self, form: FormSettings) -> None:
        """The next poem's form; says at once where it cannot be."""
        self.session.change("the form", form=form)
        self._view.show_settings()
        self._view.show_state()
        self._view.refuse_form(self._refusal(form))

    def _refusal(self, form: FormSettings) -> str:
        if self.runs.handle is None:
            return ""
        opening, _ = read_opening(self.session.settings.opening)
        try:
            Order(self.runs.handle, opening, form).check()
        except UnknownCharacters as error:
            return str(error) if any(c in form.heads for c in error.characters) else ""
        except UserError as error:
            return str(error)
        return ""

    # looking

    def look(self, index: int) -> None:
        """Show step ``index`` of the branch on show."""
        self.session.look_at(index)
        self._view.move_cursor(self.session.cursor)
        self.show_step()

    def show_branch(self, branch_id: int) -> None:
        """Bring another branch on show."""
        self.session.show(branch_id)
        self.show_all()

    def travel(self, back: bool) -> None:
        """Undo, or redo."""
        what = self.session.undo() if back else self.session.redo()
        if what is None:
            self._view.say("Nothing to undo" if back else "Nothing to redo")
            return
        self.runs.abandon_if_gone()
        self._writer.controls = self.session.settings.controls
        self._view.say(f"{'Undid' if back else 'Redid'} {what}")
        self.show_all()

    def show_all(self) -> None:
        """Bring the whole view up to date."""
        self.show_speed()
        self._view.show_settings()
        self._view.show_branch(self.session.branch, self.session.cursor)
        self.show_step()
        self._view.show_state()

    def show_step(self) -> None:
        """Fill the table with the step under the cursor, as it was or would be."""
        session, branch = self.session, self.session.branch
        self._inspector.show(
            self._view,
            branch,
            session.index,
            session.settings.controls,
            live=self._live,
            again=lambda: self._order(branch),
        )

    @property
    def _live(self) -> bool:
        """What is on show is the newest step of a text that is being written."""
        branch = self.session.branch
        return branch is not None and branch is self.runs.writing and self.session.cursor is None

    def _order(self, branch: Branch | None) -> Order | None:
        """How a branch came about, where the model in use wrote it."""
        handle = self.runs.handle
        if handle is None or branch is None or branch.model != handle.spec.name:
            return None
        return Order(handle, branch.prompt, branch.form, branch.unknown)

    def kept(self, message: StepKept) -> None:
        """The logits of a step that was asked for."""
        if self._inspector.take(message):
            self.show_step()

    # the model

    def model_ready(self, handle: ModelHandle) -> None:
        """A model is there: what was submitted early runs now."""
        self.runs.drop()
        self.runs.handle = handle
        self._inspector.forget()
        name, block = handle.spec.name, handle.model.config.block_size
        if name not in self._meters:
            self._meters[name] = SpeedMeter(name, block)
        self.show_speed()
        self._view.refuse_form(self._refusal(self.session.settings.form))
        self._view.show_state()
        if self.runs.waiting is not None:
            self.runs.submit(self.runs.waiting)


def _changed(before: Controls, after: Controls) -> str:
    """Which setting differs, in words, for undo."""
    for part, other in ((before.sampler, after.sampler), (before, after)):
        for field in fields(part):
            name = field.name
            if name != "sampler" and getattr(part, name) != getattr(other, name):
                return name.replace("_", "-")
    return "the settings"
