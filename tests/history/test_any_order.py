"""Whatever is done in whatever order, the history holds what a plain dictionary would."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from model.steps import Finished
from tui.history import Gone, open_history, search
from tui.history.records import storable
from tui.history.search import marks

ENDS = {"length": "done", "cancelled": "stopped", "error": "error"}


@dataclass
class Kept:
    """A turn as it ought to be."""

    work: str
    parent: str | None
    text: str
    state: str
    tokens: list[int] = field(default_factory=list)


class AnyOrder(RuleBasedStateMachine):
    works = Bundle("works")
    turns = Bundle("turns")

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.history = open_history(Path(self.folder.name) / "history.sqlite3")
        self.titles: dict[str, str] = {}
        self.kept: dict[str, Kept] = {}
        self.replies = {}

    @rule(target=works, title=st.text(max_size=5))
    def create(self, title):
        work = self.history.create_chat("m")
        self.history.rename(work.id, title)
        self.titles[work.id] = " ".join(storable(title).split())
        return work.id

    @rule(target=turns, work=works, text=st.text(max_size=20))
    def ask(self, work, text):
        return self._turn(work, None, text)

    @rule(target=turns, parent=turns, text=st.text(max_size=20))
    def follow(self, parent, text):
        if parent in self.kept:
            return self._turn(self.kept[parent].work, parent, text)
        return parent

    def _turn(self, work, parent, text):
        if work not in self.titles:
            try:
                self.history.add_turn(work, "user", text, parent=parent)
            except Gone:
                return "gone"
            raise AssertionError("a turn of a deleted work was taken")
        turn = self.history.add_turn(work, "user", text, parent=parent)
        self.kept[turn.id] = Kept(work, parent, storable(text), "done")
        return turn.id

    @rule(target=turns, parent=turns)
    def reply(self, parent):
        if parent not in self.kept:
            return parent
        work = self.kept[parent].work
        reply = self.history.start_reply(work, parent=parent, model="m")
        self.kept[reply.turn] = Kept(work, parent, "", "writing")
        self.replies[reply.turn] = reply
        return reply.turn

    @rule(turn=turns, text=st.text(max_size=5), tokens=st.lists(st.integers(0, 9), max_size=3))
    def append(self, turn, text, tokens):
        if turn in self.kept and turn in self.replies:
            self.replies[turn].append(text, tokens)
            self.kept[turn].text += storable(text)
            self.kept[turn].tokens += tokens

    @rule(turn=turns, reason=st.sampled_from(list(ENDS)), tail=st.text(max_size=3))
    def finish(self, turn, reason, tail):
        if turn in self.kept and turn in self.replies:
            self.replies.pop(turn).finish(Finished(reason, tail, 0, 0, 0))
            self.kept[turn].text += storable(tail)
            self.kept[turn].state = ENDS[reason]

    @rule(turn=turns)
    def resume(self, turn):
        if turn in self.kept and turn not in self.replies:
            self.replies[turn] = self.history.resume_reply(turn)
            self.kept[turn].state = "writing"

    @rule(work=consumes(works))
    def delete(self, work):
        self.history.delete(work)
        del self.titles[work]
        for turn in [turn for turn, kept in self.kept.items() if kept.work == work]:
            del self.kept[turn]
            self.replies.pop(turn, None)

    @rule()
    def reopen(self):
        path = self.history.file
        self.history.close()
        self.history = open_history(path)
        assert self.history.notice == ""
        for turn in self.replies:
            self.kept[turn].state = "interrupted"
        self.replies.clear()

    @rule(query=st.text(min_size=1, max_size=2))
    def look(self, query):
        self._found(query)

    @rule(turn=turns)
    def look_for_what_is_there(self, turn):
        if turn in self.kept:
            self._found(self.kept[turn].text[:2])

    def _found(self, query):
        titled = {w for w, title in self.titles.items() if marks(title, storable(query))}
        hits = {hit.turn for hit in search(self.history, query) if hit.work.id not in titled}
        there = {
            turn for turn, kept in self.kept.items()
            if kept.state != "writing" and marks(kept.text, storable(query))
            and kept.work not in titled
        }  # fmt: skip
        assert hits == (there if query.strip() else set())

    @invariant()
    def it_holds_what_it_should(self):
        if not hasattr(self, "history"):
            return
        assert {work.id: work.title for work in self.history.works()} == self.titles
        turns = [turn for work in self.titles for turn in self.history.turns(work)]
        assert {
            turn.id: Kept(turn.work, turn.parent, turn.text, turn.state,
                          list(self.history.tokens(turn.id)))
            for turn in turns
        } == self.kept  # fmt: skip

    def teardown(self):
        if hasattr(self, "history"):
            assert self.history.query("PRAGMA foreign_key_check") == []
            self.history.close()
            self.folder.cleanup()


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=15, stateful_step_count=25)
