"""Runs: poems begun, forked, stopped and ended, and what the thread sends of them.

Sits between the session (state), the writer (thread) and the view. Runs on the app's
thread; knows no widgets.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.errors import UserError
from model.config import Controls
from model.errors import UnknownCharacters
from model.steps import Finished, Step
from tui.entry import read_opening
from tui.messages import RunFailed, RunFinished, StepsArrived
from tui.orders import Order, Replay
from tui.session import Branch, Session, Unknown
from tui.view import View
from tui.worker import Source, Writer

if TYPE_CHECKING:
    from model.registry import ModelHandle

SEEDS = 2**32
"""New seeds are drawn below this: short enough to read and to type again."""


class Runs:
    """At most one run at a time."""

    def __init__(
        self,
        session: Session,
        writer: Writer,
        view: View,
        start_thread: Callable[[int, Source], None],
    ) -> None:
        """``start_thread`` runs ``writer.write`` with its arguments on a thread."""
        self.begun: Callable[[], None] = lambda: None
        """Called after another branch has been begun."""
        self.handle: ModelHandle | None = None
        """The model that writes."""
        self.waiting: str | None = None
        """An opening that was submitted before a model was there."""
        self._session = session
        self._writer = writer
        self._view = view
        self._start_thread = start_thread
        self._run: tuple[int, Branch] | None = None
        self.replaying = False
        """What runs, or ran last, is a recorded run."""
        self._to_come = 0  # poems still to be written for one Enter

    @property
    def writing(self) -> Branch | None:
        """The branch that is being written."""
        return self._run[1] if self._run else None

    # beginning

    def submit(self, opening: str, unknown: Unknown = "error") -> None:
        """Write on from ``opening``: now, or as soon as a model is there."""
        session = self._session
        if self.handle is None:
            self.waiting = opening
            self._view.show_state()
            return
        self.waiting = None
        text, told = read_opening(opening)
        if told:
            self._view.say(told)
        branch = Branch(0, text, session.settings.form, self.handle.spec.name, unknown=unknown)
        if not self._possible(branch, lambda choice: self.submit(opening, choice)):
            return
        session.remember("the poem")
        self._session.settings = replace(session.settings, opening=opening)
        self._to_come = session.settings.poems - 1
        self._new_seed()
        self._begin(branch, ())

    def again(self) -> None:
        """Another poem from the same opening."""
        if self._session.settings.seed_fixed and self._session.branch is not None:
            self._view.say("The seed is fixed: the same opening and settings give the same poem")
        self.submit(self._session.settings.opening)

    def fork(self, index: int, token: int) -> None:
        """Take ``token`` at step ``index`` of the branch on show, and write on from it."""
        branch, handle = self._session.branch, self.handle
        if branch is None or handle is None or not 0 <= index < len(branch.steps):
            return
        if branch.model != handle.spec.name:
            self._view.say(f"{branch.model} wrote this; choose that model to go on", "warning")
            return
        step = branch.steps[index]
        try:
            order = Order(handle, branch.prompt, branch.form, branch.unknown)
            text = order.text_of((*branch.tokens[:index], token), step.controls.stop)
        except UserError as error:
            self._view.say(f"That cannot stand here: {error}", "warning")
            return
        taken = chosen_step(step, token, text[sum(len(s.text) for s in branch.steps[:index]) :])
        self._session.remember("the fork")
        self._to_come = 0
        if not self._session.settings.seed_fixed:
            self._set_controls(replace(self._session.settings.controls, seed=step.controls.seed))
        shared = branch.steps[:index]
        fork = replace(
            branch,
            parent=branch.id,
            fork=index,
            chosen=frozenset(i for i in branch.chosen if i < index) | {index},
            steps=[*shared, taken],
            finished=None,
            turn=None,
        )
        self._begin(fork, fork.tokens)

    def replay(self) -> None:
        """Show the branch on show again, from its first step, at the pace."""
        branch = self._session.branch
        if branch is None or branch is self.writing or not branch.finished:
            return
        self._session.remember("the replay")
        self._to_come = 0
        recorded = Replay(tuple(branch.steps), branch.finished)
        self._start(replace(branch, steps=[], finished=None), recorded)

    def _possible(self, branch: Branch, retry: Callable[[Unknown], None]) -> bool:
        """Whether a poem can begin so; says why where it cannot."""
        assert self.handle is not None
        try:
            Order(self.handle, branch.prompt, branch.form, branch.unknown).check()
        except UnknownCharacters as error:
            self._view.ask_unknown(error, retry)
            return False
        except UserError as error:
            self._view.say(str(error), "warning")
            self._view.refuse_form(str(error))
            return False
        self._view.refuse_form("")
        return True

    def _begin(self, branch: Branch, given: tuple[int, ...]) -> None:
        assert self.handle is not None
        self._start(branch, Order(self.handle, branch.prompt, branch.form, branch.unknown, given))

    def _start(self, branch: Branch, source: Source) -> None:
        self._abandon()
        self.replaying = isinstance(source, Replay)
        self._session.add(branch)
        self._writer.controls = self._session.settings.controls
        run_id = self._writer.begin()
        self._run = (run_id, branch)
        self._start_thread(run_id, source)
        self.begun()

    def _new_seed(self) -> None:
        if not self._session.settings.seed_fixed:
            self._set_controls(
                replace(self._session.settings.controls, seed=secrets.randbelow(SEEDS))
            )

    # ending

    def stop(self) -> bool:
        """End the run at its next token; False where none is on."""
        self._to_come = 0
        if self.waiting is not None:
            self.waiting = None
            self._view.show_state()
            return True
        if self._run is None:
            return False
        self._writer.stop()
        return True

    def _abandon(self) -> None:
        """End a run whose place another one takes; what still arrives of it is dropped."""
        if self._run:
            self._writer.stop()
            branch = self._run[1]
            branch.finished = cut_short(branch)
            self._run = None

    def arrived(self, message: StepsArrived) -> Branch | None:
        """Take in new steps of the run; its branch, ``None`` where they are stale."""
        branch = self._branch_of(message.run_id)
        if branch is not None:
            branch.steps.extend(message.steps)
        return branch

    def finished(self, message: RunFinished) -> Branch | None:
        """The run has come to its end; begins the next poem where several are wanted."""
        branch = self._branch_of(message.run_id)
        if branch is None:
            return None
        branch.finished, self._run = message.finished, None
        if message.finished.reason == "dead_end":
            self._view.say(message.finished.detail, "warning")
        if self._to_come and message.finished.reason != "cancelled":
            self._to_come -= 1
            self._next_poem(branch)
        return branch

    def failed(self, message: RunFailed) -> Branch | None:
        """The run broke; what had been written stays."""
        branch = self._branch_of(message.run_id)
        if branch is None:
            return None
        self._run, self._to_come = None, 0
        branch.finished = replace(cut_short(branch), reason="error", detail=message.text)
        where = f"\nThe details are in {message.log}" if message.log else ""
        self._view.say(f"Writing broke off: {message.text}{where}", "error")
        return branch

    def _next_poem(self, branch: Branch) -> None:
        settings = self._session.settings
        if settings.seed_fixed:
            self._set_controls(
                replace(settings.controls, seed=(settings.controls.seed + 1) % 2**64)
            )
        self._new_seed()
        self._begin(Branch(0, branch.prompt, branch.form, branch.model, unknown=branch.unknown), ())

    def _set_controls(self, controls: Controls) -> None:
        # part of something that undo takes back as a whole, so nothing is remembered
        self._session.settings = replace(self._session.settings, controls=controls)

    def abandon_if_gone(self) -> None:
        """End the run where undo has taken its branch away."""
        if self._run and self._session.find(self._run[1].id) is None:
            self.drop()

    def drop(self) -> None:
        """End the run and drop what still comes of it: before another model, at the end."""
        self._to_come = 0
        self._abandon()

    def _branch_of(self, run_id: int) -> Branch | None:
        return self._run[1] if self._run and self._run[0] == run_id else None


def cut_short(branch: Branch) -> Finished:
    """The end of a run that was not let finish."""
    return Finished("cancelled", "", len(branch.steps), 0.0, 0.0)


def chosen_step(step: Step, token: int, text: str) -> Step:
    """``step`` with ``token`` in place of the one that was drawn, because a reader chose it."""
    rows = step.inspection.candidates if step.inspection else ()
    row = next((row for row in rows if row.token == token), None)
    return replace(
        step,
        token=token,
        text=text,
        probability=row.final if row else 0.0,
        logprob=math.log(row.raw) if row and row.raw > 0 else -math.inf,
        forced=False,
        inspection=None,
        race=None,
    )
