"""The calls that change a history, the same whether they are done at once or on a thread.

Ids are drawn here, so that a caller knows them before anything has reached the disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from model.config import Controls
from model.steps import Finished, Step
from tui.history import changes
from tui.history.changes import Change, Extend
from tui.history.records import Kind, Role, Turn, Work, new_id, now


class Scribe:
    """Implemented by ``History``, which does a change at once or raises ``HistoryError``, and by
    ``Recorder``, which does it soon."""

    def do(self, *done: Change) -> None:
        """Do these changes, all or none of them."""
        raise NotImplementedError

    def create_poem(
        self, model: str, *, title: str = "", settings: Mapping[str, Any] | None = None
    ) -> Work:
        """A poem without a branch yet; ``start_reply(work, role="poem")`` begins one."""
        work = _new_work("poem", model, title, settings)
        self.do(partial(changes.put_work, work=work))
        return work

    def create_chat(
        self,
        model: str,
        *,
        system: str = "",
        title: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> Work:
        """A conversation; with a system prompt its first turn, which is then ``active``."""
        work = _new_work("chat", model, title, settings)
        if not system:
            self.do(partial(changes.put_work, work=work))
            return work
        turn = _new_turn(work.id, "system", system)
        self.do(partial(changes.put_work, work=work), partial(changes.put_turn, turn=turn))
        return replace(work, active=turn.id)

    def add_turn(
        self,
        work: str,
        role: Role,
        text: str,
        *,
        parent: str | None,
        settings: Mapping[str, Any] | None = None,
    ) -> Turn:
        """What a person wrote, whole; becomes the active turn. ``parent``: the turn before it.

        Another turn under the same parent is an edit: both stay, each with what followed it.
        """
        turn = _new_turn(work, role, text, parent=parent, settings=settings or {})
        self.do(partial(changes.put_turn, turn=turn))
        return turn

    def start_reply(
        self,
        work: str,
        *,
        parent: str | None,
        model: str,
        controls: Controls | None = None,
        origin: str | None = None,
        fork: int = 0,
        role: Role = "assistant",
        text: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> Reply:
        """A turn that a model writes; becomes the active turn.

        ``parent``: the turn that it answers, None for a poem's branch. ``origin`` and ``fork``:
        the turn whose first ``fork`` tokens it shares, where it is a fork; append those too.
        ``text``: what stands there from the start, a poem's opening.
        """
        turn = _new_turn(
            work,
            role,
            text,
            state="writing",
            parent=parent,
            origin=origin,
            fork=fork,
            model=model,
            controls=asdict(controls) if controls else None,
            settings=settings or {},
        )
        self.do(partial(changes.put_turn, turn=turn))
        return Reply(self, turn.id)

    def resume_reply(self, turn: str) -> Reply:
        """Write on at the end of a turn that was stopped or interrupted."""
        self.do(partial(changes.resume, turn=turn))
        return Reply(self, turn)

    def set_active(self, work: str, turn: str | None) -> None:
        """The turn whose path is on show when the work is opened again."""
        self.do(partial(changes.activate, work=work, turn=turn))

    def set_settings(self, work: str, settings: Mapping[str, Any]) -> None:
        """Replace the settings that a front end keeps with a work."""
        self.do(partial(changes.change_settings, work=work, settings=dict(settings)))

    def rename(self, work: str, title: str) -> None:
        """Give a work a title; an empty one lets its text stand for it again."""
        self.do(partial(changes.rename, work=work, title=title))

    def delete(self, work: str) -> None:
        """Take a work away for good, with all its turns."""
        self.do(partial(changes.delete, work=work))


class Reply:
    """A turn while a model writes it."""

    def __init__(self, scribe: Scribe, turn: str) -> None:
        self._scribe = scribe
        self.turn = turn
        """Its id."""

    def append(self, text: str, tokens: Sequence[int] = ()) -> None:
        """Add text, and the tokens that it came from where they are known."""
        self._scribe.do(Extend(self.turn, text, tuple(tokens)))

    def append_steps(self, steps: Sequence[Step]) -> None:
        """Add the text and the tokens of these steps, and the steps themselves."""
        if steps:
            text = "".join(step.text for step in steps)
            tokens = tuple(step.token for step in steps)
            self._scribe.do(Extend(self.turn, text, tokens, tuple(steps)))

    def note(self, settings: Mapping[str, Any]) -> None:
        """Add to the settings that a front end keeps with it."""
        self._scribe.do(partial(changes.note, turn=self.turn, settings=dict(settings)))

    def finish(self, finished: Finished) -> None:
        """It has come to its end, or was stopped, or broke."""
        self._scribe.do(partial(changes.end, turn=self.turn, finished=finished))


def _new_work(kind: Kind, model: str, title: str, settings: Mapping[str, Any] | None) -> Work:
    time = now()
    return Work(new_id(), kind, model, time, time, title, settings=settings or {})


def _new_turn(work: str, role: Role, text: str, **fields: Any) -> Turn:
    time = now()
    return Turn(new_id(), work, role, text, **{"state": "done", **fields}, created=time,
                updated=time)  # fmt: skip
