"""A conversation with all its branches, as the window holds it and the history keeps it.

Turns form a tree: what has the same parent are siblings (another reply, a question that was
edited). One path through it is on show. Knows no widgets, threads or models; every change
is passed on to a ``Scribe``, which may be none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from model.config import Controls
from model.steps import Finished, Step
from tui.chat.turns import Record, Turn
from tui.history.records import new_id

if TYPE_CHECKING:
    from model.conversation import Message
    from tui.history import Reply, Scribe
    from tui.history.reading import Reading

__all__ = ["Dialogue", "Turn"]


class Dialogue:
    """A conversation."""

    def __init__(self, model: str, system: str = "", scribe: Scribe | None = None) -> None:
        """An empty one. ``scribe``: where it is kept; it is created there with the first turn."""
        self.model = model
        self.work: str | None = None
        """Its id in the history, from the first turn on."""
        self._scribe = scribe
        self._turns: dict[str, Turn] = {}  # in order of creation
        self._leaf: str | None = None
        self._system = system
        self._kept: tuple[str, Reply] | None = None  # the reply being written, in the history

    @classmethod
    def load(cls, history: Reading, work_id: str, scribe: Scribe | None = None) -> Dialogue:
        """A kept conversation, on the path that was last on show. Raises ``HistoryError``."""
        work = history.work(work_id)
        dialogue = cls(work.model, scribe=scribe)
        dialogue.work = work.id
        for kept in history.turns(work.id):
            chosen = kept.settings.get("chosen", ())
            left_out = kept.settings.get("left_out")
            dialogue._turns[kept.id] = Turn(
                kept.id,
                kept.role,
                kept.text,
                kept.parent,
                [],
                kept.finished,
                kept.state == "interrupted",
                kept.model,
                frozenset(place for place in chosen if isinstance(place, int)),
                left_out if isinstance(left_out, int) else None,
                Record(history, kept.id) if kept.role == "assistant" else None,
            )
        dialogue._leaf = work.active if work.active in dialogue._turns else None
        return dialogue

    # asking

    @property
    def path(self) -> list[Turn]:
        """The turns on show, from the first on."""
        return self.path_to(self._leaf)

    @property
    def system(self) -> str:
        """What the model is told before all else; empty: nothing."""
        if self.work is None:
            return self._system
        first = self.path[:1]
        return first[0].text if first and first[0].role == "system" else ""

    def turn(self, turn_id: str) -> Turn:
        """One turn, its steps read. Raises ``KeyError``."""
        turn = self._turns[turn_id]
        turn.read()
        return turn

    def __contains__(self, turn_id: str) -> bool:
        """Whether there is such a turn."""
        return turn_id in self._turns

    def path_to(self, turn_id: str | None) -> list[Turn]:
        """The turns that led to one, itself the last."""
        path: list[Turn] = []
        while turn_id is not None:
            path.append(self._turns[turn_id])
            turn_id = path[-1].parent
        return path[::-1]

    def siblings(self, turn_id: str) -> list[Turn]:
        """The turns that stand in the same place, itself among them, the oldest first."""
        return self.families()[self._turns[turn_id].parent]

    def families(self) -> dict[str | None, list[Turn]]:
        """All turns by what they follow, siblings together, the oldest first."""
        families: dict[str | None, list[Turn]] = {}
        for turn in self._turns.values():
            families.setdefault(turn.parent, []).append(turn)
        return families

    def messages(self, before: str) -> list[Message]:
        """What a model reads before it writes the reply ``before``: replies as the tokens that
        they were, so that a cache over them stays good."""
        from model.conversation import Message

        return [
            Message(turn.role, turn.text, turn.tokens if turn.model == self.model else ())
            for turn in self.path_to(self._turns[before].parent)
            if turn.role != "poem"
        ]

    # changing

    def ask(self, text: str) -> Turn:
        """A question after what is on show."""
        self._create()
        return self._add_question(text, self._leaf)

    def edit(self, turn_id: str, text: str) -> Turn:
        """A question put in another way: the old one stays beside it, with what followed.

        Raises ``ValueError`` for a turn that nobody asked.
        """
        turn = self._turns[turn_id]
        if turn.role != "user":
            raise ValueError(f"turn {turn_id} is no question")
        return self._add_question(text, turn.parent)

    def instruct(self, text: str) -> None:
        """Another system prompt, empty for none. It is the first turn: what was said under the
        old one stays beside it, and the conversation begins again."""
        self._system = text
        if self.work is None:
            return
        if text:
            identity = new_id()
            if self._scribe:
                identity = self._scribe.add_turn(self.work, "system", text, parent=None).id
            self._put(Turn(identity, "system", text, None))
        else:
            self._leaf = None
            if self._scribe:
                self._scribe.set_active(self.work, None)

    def begin_reply(self, question: str, controls: Controls) -> Turn:
        """An empty reply to a question; others that it has stay beside it."""
        return self._begin(question, controls, (), None, frozenset())

    def fork(self, turn_id: str, index: int, taken: Step) -> Turn:
        """A reply that shares the first ``index`` steps of another and goes on with ``taken``.

        Raises ``IndexError`` where the reply has no such step.
        """
        origin = self.turn(turn_id)
        if not 0 <= index < len(origin.steps) or origin.parent is None:
            raise IndexError(f"reply {turn_id} has {len(origin.steps)} steps, no step {index}")
        chosen = frozenset(i for i in origin.chosen if i < index) | {index}
        steps = (*origin.steps[:index], taken)
        return self._begin(origin.parent, taken.controls, steps, origin, chosen)

    def resume(self, turn_id: str) -> Turn:
        """A reply that was cut, to be gone on with. Raises ``ValueError`` for any other."""
        turn = self.turn(turn_id)
        if not turn.stopped:
            raise ValueError(f"reply {turn_id} came to its end")
        turn.finished, turn.interrupted = None, False
        # what the end released (half a character) comes again with what completes it
        turn.text = "".join(step.text for step in turn.steps)
        self._show(turn_id)
        if self._scribe:
            self._kept = (turn_id, self._scribe.resume_reply(turn_id))
        return turn

    def append(self, turn_id: str, steps: Sequence[Step]) -> None:
        """More of a reply."""
        turn = self._turns[turn_id]
        turn.steps += steps
        turn.text += "".join(step.text for step in steps)
        if self._kept and self._kept[0] == turn_id:
            self._kept[1].append_steps(steps)

    def note_left_out(self, turn_id: str, count: int) -> bool:
        """So many messages, system prompt aside, are not read for a reply; whether that is news."""
        turn = self._turns[turn_id]
        if turn.left_out == count:
            return False
        turn.left_out = count
        if self._kept and self._kept[0] == turn_id:
            self._kept[1].note({"left_out": count})
        return True

    def finish(self, turn_id: str, finished: Finished) -> None:
        """The end of a reply."""
        turn = self._turns[turn_id]
        turn.finished = finished
        turn.text += finished.text
        if self._kept and self._kept[0] == turn_id:
            self._kept[1].finish(finished)
            self._kept = None

    def show(self, turn_id: str) -> None:
        """Bring a turn on show, with the newest of what followed it."""
        children: dict[str | None, str] = {t.parent: t.id for t in self._turns.values()}
        while turn_id in children:  # the dictionary holds the youngest child of each
            turn_id = children[turn_id]
        self._show(turn_id)

    def rename(self, title: str) -> None:
        """Give it a title in the history; an empty one lets its first question stand for it."""
        if self._scribe and self.work:
            self._scribe.rename(self.work, title)

    # the tree

    def _create(self) -> None:
        if self.work is not None:
            return
        if self._scribe is None:
            self.work = new_id()
        else:
            work = self._scribe.create_chat(self.model, system=self._system)
            self.work, self._leaf = work.id, work.active
        if self._system:
            first = self._leaf or new_id()
            self._put(Turn(first, "system", self._system, None))

    def _add_question(self, text: str, parent: str | None) -> Turn:
        assert self.work is not None
        identity = new_id()
        if self._scribe:
            identity = self._scribe.add_turn(self.work, "user", text, parent=parent).id
        return self._put(Turn(identity, "user", text, parent))

    def _begin(
        self,
        question: str,
        controls: Controls,
        steps: Sequence[Step],
        origin: Turn | None,
        chosen: frozenset[int],
    ) -> Turn:
        assert self.work is not None
        identity = new_id()
        settings: Mapping[str, object] = {"chosen": sorted(chosen)} if chosen else {}
        if self._scribe:
            reply = self._scribe.start_reply(
                self.work,
                parent=question,
                model=self.model,
                controls=controls,
                origin=origin.id if origin else None,
                fork=len(steps) - 1 if origin else 0,
                settings=settings,
            )
            identity = reply.turn
            self._kept = (identity, reply)
        turn = self._put(Turn(identity, "assistant", "", question, model=self.model, chosen=chosen))
        if steps:
            self.append(identity, steps)
        return turn

    def _put(self, turn: Turn) -> Turn:
        self._turns[turn.id] = turn
        self._leaf = turn.id
        return turn

    def _show(self, leaf: str) -> None:
        self._leaf = leaf
        if self._scribe and self.work:
            self._scribe.set_active(self.work, leaf)
