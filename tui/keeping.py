"""The session in the history: what comes back on the next start, written while it changes.

``Keeper`` looks at the session a few times a second and hands what is new to the history's
thread; ``load`` makes a session of what was kept. Knows nothing of Textual.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from model.records import from_json
from model.steps import Finished, Step
from tui.history import History, HistoryError, Recorder, Reply, Turn, Work, open_history, windows
from tui.history.steps import filled
from tui.session import UNLIMITED, Branch, FormSettings, Look, Session, Settings

EVERY_S = 0.3
"""How often ``tick`` wants to be called. With the recorder's own pause it stays under the
second that a killed window may cost."""
KEPT_BRANCHES = 40
KEPT_STEPS = 20_000
"""The newest branches come back by themselves, up to so many and so many steps in all; the
others are in the history."""
INTERRUPTED = "interrupted"
ELSEWHERE = "being written in another window"

log = logging.getLogger("yinchuang")


@dataclass(slots=True)
class Open:
    """A branch that is being written."""

    branch: Branch
    reply: Reply
    kept: int = 0
    """Steps that have been handed over."""


@dataclass(slots=True)
class Watched:
    """A session whose branches are kept."""

    session: Session
    known: dict[int, Branch]
    """Its branches that have been looked at, by their numbers."""


class Keeper:
    """Keeps one window's session. All methods are called on the app's thread."""

    def __init__(self, history: History, session: Session, place: int) -> None:
        self.history = history
        self.recorder: Recorder | None = None
        """There from ``begin`` to ``finish``."""
        self._session = session
        self._place = place
        self._watched = [Watched(session, {branch.id: branch for branch in session.branches})]
        self._open: list[Open] = []
        self._window = ""
        self._active: dict[str, str] = {}  # the branch on show of each work, as last kept

    def begin(self, tell: Callable[[str], object]) -> None:
        """From now on changes are kept. ``tell`` may be called from any thread."""
        self.recorder = Recorder(self.history, tell)

    def watch(self, session: Session) -> None:
        """Keep the branches of another session too. They come back in the history; the window
        itself comes back with its own."""
        self._watched.append(Watched(session, {}))

    def tick(self) -> None:
        """Hand over what has changed. Call it every ``EVERY_S``."""
        if self.recorder is None:
            return
        for watched in self._watched:
            for branch in watched.session.branches:
                if branch.id not in watched.known:
                    self._take(self.recorder, watched, branch)
        self._open = [each for each in self._open if not self._grown(each)]
        self._show(self.recorder)

    def finish(self) -> None:
        """Write what there is, now, and give the history back; at the end."""
        self.tick()
        if self.recorder is not None:
            if self.recorder.close():
                self.history.close()
            else:  # its thread still holds the history; the end of the process closes it
                log.error("the history could not be written to its end")
            self.recorder = None

    def _take(self, recorder: Recorder, watched: Watched, branch: Branch) -> None:
        """Begin to keep a branch, unless it shows one that is kept already."""
        watched.known[branch.id] = branch
        if branch.turn is not None:
            return
        origin = watched.known.get(branch.parent or 0)
        if branch.work is None and origin is not None:
            branch.work = origin.work
        if branch.work is None:
            branch.work = recorder.create_poem(branch.model).id
        branch.origin = origin.turn if origin and origin.work == branch.work else None
        reply = recorder.start_reply(
            branch.work,
            parent=None,
            role="poem",
            model=branch.model,
            text=branch.prompt,
            controls=(
                branch.steps[0].controls if branch.steps else watched.session.settings.controls
            ),
            origin=branch.origin,
            fork=branch.fork,
            settings=branch_settings(branch),
        )
        branch.turn = reply.turn
        self._active[branch.work] = reply.turn
        self._open.append(Open(branch, reply))

    def _grown(self, each: Open) -> bool:
        """Hand over what a branch has grown by; whether it has ended."""
        finished = each.branch.finished  # first: nothing comes after it
        new = each.branch.steps[each.kept :]
        each.kept += len(new)
        each.reply.append_steps(new)
        if finished is not None:
            each.reply.finish(finished)
        return finished is not None

    def _show(self, recorder: Recorder) -> None:
        branch = self._session.branch
        if branch is not None and branch.work is not None and branch.turn is not None:
            if self._active.get(branch.work) != branch.turn:
                recorder.set_active(branch.work, branch.turn)
            self._active[branch.work] = branch.turn
        document = json.dumps(window_document(self._session), ensure_ascii=False)
        if document != self._window:
            self._window = document
            windows.keep(recorder, self._place, document)


def open_keeper(session: Session, path: Path | None = None) -> tuple[Keeper | None, str]:
    """Fill ``session`` with what was kept; its keeper, and what the reader must be told.
    None, with the reason, where nothing can be kept. ``path``: as ``open_history``."""
    try:
        history = open_history(path)
    except HistoryError as error:
        return None, f"Nothing is kept this time: {error}"
    try:
        place, document = windows.claim(history)
    except HistoryError as error:
        history.close()
        return None, f"Nothing is kept this time: {error}"
    told = history.notice
    if document is not None:
        try:
            told = "\n".join(filter(None, (told, load(session, history, document))))
        except Exception as error:  # whatever a file can hold must not keep the window shut
            log.exception("the last session cannot be restored")
            told = f"The last session could not be restored ({error}); its poems are in the history"
    return Keeper(history, session, place), told


def window_document(session: Session) -> dict[str, Any]:
    """What a window comes back with, its poems by their ids."""
    look = asdict(session.look)
    look["pace"] = None if session.look.pace == UNLIMITED else session.look.pace
    branch = session.branch
    return {
        "settings": asdict(session.settings),
        "look": look,
        "model": session.model,
        "branches": [branch.turn for branch in _newest(session.branches) if branch.turn],
        "current": branch.turn if branch else None,
        "cursor": session.cursor,
        "chat": session.chat,
    }


def _newest(branches: Sequence[Branch]) -> list[Branch]:
    kept: list[Branch] = []
    steps = 0
    for branch in reversed(branches[-KEPT_BRANCHES:]):
        steps += len(branch.steps)
        if kept and steps > KEPT_STEPS:
            break
        kept.insert(0, branch)
    return kept


def load(session: Session, history: History, document: dict[str, Any]) -> str:
    """Make ``session`` what ``window_document`` wrote; what must be told about it. Poems that
    were deleted are left out.

    Raises ``TypeError``, ``ValueError``, ``KeyError`` or ``SettingError`` where the document is
    not one; ``session`` is then unchanged.
    """
    settings = from_json(Settings, filled(document["settings"], asdict(Settings())))
    pace = UNLIMITED if document["look"]["pace"] is None else document["look"]["pace"]
    look = from_json(Look, filled({**document["look"], "pace": pace}, asdict(Look())))
    model, cursor = str(document["model"]), document["cursor"]
    branches, told = read_branches(history, history.these(document["branches"]))
    for number, branch in enumerate(branches.values(), 1):
        branch.id = number
    _tie(branches)
    current = branches.get(document["current"])
    chat = document.get("chat", {})
    session.settings, session.look, session.model = settings, look, model
    session.chat = chat if isinstance(chat, dict) else {}
    session.take(list(branches.values()), current.id if current else None, cursor)
    return told


def bring_back(session: Session, history: History, work: Work, turn: str) -> str:
    """Put a kept poem's branches among those of the session and show the one of ``turn``; what
    must be told about it. Branches that are there already stay."""
    there = {branch.turn: branch for branch in session.branches if branch.turn}
    turns = [each for each in history.turns(work.id) if each.id not in there]
    fresh, told = read_branches(history, turns)
    if fresh:
        session.remember("the opened poem")
    for branch in fresh.values():
        session.add(branch)
    _tie({**there, **fresh})
    shown = there.get(turn) or fresh.get(turn)
    if shown is not None:
        session.show(shown.id)
    return told


def read_branches(history: History, turns: Sequence[Turn]) -> tuple[dict[str, Branch], str]:
    """The branches that turns hold, by the turns' ids, not numbered yet; and what must be said
    of those that cannot be read."""
    branches: dict[str, Branch] = {}
    faults: list[str] = []
    for turn in turns:
        try:
            branches[turn.id] = branch_of(turn, history.steps(turn.id))
        except Exception as error:  # one poem that nobody can read must not cost the others
            log.exception("the branch %s cannot be read", turn.id)
            faults.append(f"{turn.id} ({type(error).__name__}: {error})")
    return branches, f"Cannot be read: {', '.join(faults)}" if faults else ""


def branch_of(turn: Turn, steps: list[Step]) -> Branch:
    """A kept turn as a branch, its number and its parent's left open.

    Raises ``TypeError``, ``ValueError``, ``KeyError`` or ``SettingError`` where it is none.
    """
    settings = turn.settings
    why = ELSEWHERE if turn.state == "writing" else INTERRUPTED
    return Branch(
        0,
        str(settings["prompt"]),
        from_json(FormSettings, filled(settings["form"], asdict(FormSettings()))),
        turn.model,
        fork=turn.fork,
        chosen=frozenset(map(int, settings["chosen"])),
        unknown=settings["unknown"],
        steps=steps,
        finished=turn.finished or Finished("cancelled", "", len(steps), 0.0, 0.0, why),
        turn=turn.id,
        work=turn.work,
        origin=turn.origin,
    )


def _tie(branches: Mapping[str, Branch]) -> None:
    """Let each branch know the number of the one that it was forked from."""
    for branch in branches.values():
        origin = branches.get(branch.origin or "")
        branch.parent = origin.id if origin else None


def branch_settings(branch: Branch) -> dict[str, Any]:
    """What a poem's turn keeps beside its steps."""
    return {
        "prompt": branch.prompt,
        "form": asdict(branch.form),
        "chosen": sorted(branch.chosen),
        "unknown": branch.unknown,
    }
