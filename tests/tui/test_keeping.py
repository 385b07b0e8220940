"""A session comes back as it was, out of the history, and all that was written is in it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from model.config import Controls, SamplerConfig
from model.steps import Finished
from tests.history.helpers import step
from tui.history import open_history
from tui.keeping import KEPT_BRANCHES, bring_back, open_keeper
from tui.screen import ending
from tui.session import UNLIMITED, Branch, FormSettings, Session

HOT = Controls(SamplerConfig(temperature=1.5, top_k=20), stop=("。", "[/"), seed=2**64 - 1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.sqlite3"


def opened(path):
    """A window's session, and its keeper at work."""
    session, told = Session(), []
    keeper, greeting = open_keeper(session, path)
    assert greeting == ""
    keeper.begin(told.append)
    return session, keeper


def filled(session):
    """Two branches of one poem, the second one being written."""
    session.model = "tang-small"
    session.change("all", controls=HOT, form=FormSettings("fixed", "春眠", "五绝"), poems=3)
    session.look.pace = UNLIMITED
    first = session.add(Branch(0, '[/bold]"', FormSettings("acrostic", "春"), "tang-small"))
    first.steps = [step(0), step(1, "\n", HOT), step(2, "𨣧", HOT, -math.inf)]
    first.finished = Finished("end_of_poem", "�", 3, 0.1, 0.2)
    fork = session.add(Branch(0, "春", FormSettings(), "tang-small", 1, 2, frozenset({2})))
    fork.steps = first.steps[:2]
    return first, fork


def test_everything_comes_back(path):
    session, keeper = opened(path)
    first, fork = filled(session)
    keeper.tick()
    fork.steps.append(step(2, "更"))
    keeper.tick()
    keeper.finish()

    again, keeper = opened(path)
    assert again.settings == session.settings
    assert again.look == session.look
    assert (again.model, again.current, again.cursor) == ("tang-small", 2, None)
    assert again.branches[0] == first
    assert again.branches[1].steps == fork.steps
    assert (again.branches[1].parent, again.branches[1].fork) == (1, 2)
    assert again.branches[1].chosen == {2}
    assert ending(again.branches[1]) == "interrupted"
    assert again.add(Branch(0, "", FormSettings(), "m")).id == 3
    keeper.finish()


def test_branches_of_one_poem_are_one_work(path):
    session, keeper = opened(path)
    first, fork = filled(session)
    other = session.add(Branch(0, "夜", FormSettings(), "tang-base"))
    keeper.tick()
    assert fork.work == first.work != other.work
    keeper.recorder.settle()
    poem = keeper.history.work(first.work)
    assert (poem.turns, poem.active, poem.state) == (2, fork.turn, "writing")
    kept, forked = keeper.history.turns(first.work)
    assert kept.text == first.text
    assert (forked.origin, forked.fork) == (kept.id, 2)
    session.show(first.id)
    keeper.tick()
    keeper.recorder.settle()
    assert keeper.history.work(first.work).active == first.turn
    keeper.finish()


def test_a_replay_is_no_new_poem_and_a_fork_of_it_is_a_branch_of_the_poem(path):
    session, keeper = opened(path)
    first, _ = filled(session)
    keeper.tick()
    replayed = session.add(replace(first, steps=[], finished=None))
    keeper.tick()
    replayed.steps = first.steps[:2]
    forked = session.add(
        replace(replayed, parent=replayed.id, fork=1, turn=None, finished=first.finished)
    )
    keeper.tick()
    keeper.recorder.settle()
    turns = keeper.history.turns(first.work)
    assert [turn.id for turn in turns][2:] == [forked.turn]
    assert turns[2].origin == first.turn
    assert turns[0].text == first.text
    keeper.finish()


def test_what_undo_takes_away_stays_in_the_history(path):
    session, keeper = opened(path)
    session.remember("the poem")
    branch = session.add(Branch(0, "春", FormSettings(), "m"))
    branch.steps = [step(0)]
    keeper.tick()
    session.undo()
    branch.finished = Finished("cancelled", "", 1, 0, 0)
    keeper.finish()
    again, keeper = opened(path)
    assert again.branches == []
    (work,) = keeper.history.works()
    assert work.state == "stopped"
    assert bring_back(again, keeper.history, work, work.active) == ""
    assert again.branch.text == "春春"
    assert again.undo() == "the opened poem"
    assert again.branches == []
    keeper.finish()


def test_a_poem_brought_back_joins_the_branches_that_are_there(path):
    session, keeper = opened(path)
    first, fork = filled(session)
    keeper.finish()
    again, keeper = opened(path)
    again.take(again.branches[1:], 2, None)  # undo has taken the first one away
    bring_back(again, keeper.history, keeper.history.work(first.work), first.turn)
    assert [branch.turn for branch in again.branches] == [fork.turn, first.turn]
    assert again.branches[0].parent == again.branches[1].id == again.current
    bring_back(again, keeper.history, keeper.history.work(first.work), fork.turn)
    assert len(again.branches) == 2
    assert again.branch.turn == fork.turn
    keeper.finish()


def test_a_deleted_poem_leaves_the_session_and_its_copy_can_be_forked(path):
    session, keeper = opened(path)
    first, fork = filled(session)
    for branch in (first, fork):
        branch.finished = Finished("length", "", 2, 0, 0)
    keeper.tick()
    work = first.work
    keeper.recorder.delete(work)
    session.forget(work)
    assert session.branches == []
    revived = session.add(replace(first, parent=first.id, fork=1))
    keeper.tick()
    keeper.recorder.settle()
    assert revived.work != work
    assert [each.id for each in keeper.history.works()] == [revived.work]
    keeper.finish()


def test_two_windows_keep_two_sessions(path):
    one, first = opened(path)
    two, second = opened(path)
    one.model, two.model = "one", "two"
    first.finish()
    three, third = opened(path)
    assert three.model == "one"
    second.finish()
    third.finish()
    again, keeper = opened(path)
    assert again.model == "one"
    other, last = opened(path)
    assert other.model == "two"
    keeper.finish()
    last.finish()


def test_the_other_windows_poem_is_not_taken_for_interrupted(path):
    one, first = opened(path)
    branch = one.add(Branch(0, "春", FormSettings(), "m"))
    branch.steps = [step(0)]
    first.tick()
    first.recorder.settle()
    two, second = opened(path)
    (work,) = second.history.works()
    assert work.state == "writing"
    bring_back(two, second.history, work, work.active)
    assert ending(two.branch) == "being written in another window"
    second.finish()
    first.finish()


def test_only_the_newest_branches_come_back_by_themselves(path):
    session, keeper = opened(path)
    for _ in range(KEPT_BRANCHES + 3):
        session.add(Branch(0, "春", FormSettings(), "m", finished=Finished("length", "", 0, 0, 0)))
    keeper.finish()
    again, keeper = opened(path)
    assert len(again.branches) == KEPT_BRANCHES
    assert again.current == KEPT_BRANCHES
    assert len(keeper.history.works()) == KEPT_BRANCHES + 3
    keeper.finish()


def rewrite(path, change):
    """Change the document of the window as another version might have written it."""
    history = open_history(path)
    document = json.loads(history.query("SELECT document FROM windows")[0][0])
    text = change(document)
    history._db.execute("UPDATE windows SET document = ?", (text,))
    history.close()


def test_fields_that_another_version_left_out_have_defaults(path):
    session, keeper = opened(path)
    filled(session)
    keeper.finish()

    def older(document):
        del document["settings"]["poems"], document["settings"]["controls"]["stop"]
        document["settings"]["a later field"] = 1
        return json.dumps(document)

    rewrite(path, older)
    again, keeper = opened(path)
    assert again.settings.poems == 1
    assert again.settings.controls.stop == ()
    assert again.settings.controls.sampler.top_k == 20
    assert len(again.branches) == 2
    keeper.finish()


@pytest.mark.parametrize(
    "change",
    [
        lambda document: "{}",
        lambda document: json.dumps({**document, "settings": []}),
        lambda document: json.dumps({**document, "look": {"pace": "fast"}}),
        lambda document: json.dumps(document).replace('"temperature": 1.5', '"temperature": -3'),
    ],
)
def test_a_session_that_cannot_be_read_is_told_and_its_poems_are_kept(path, change):
    session, keeper = opened(path)
    filled(session)
    keeper.finish()
    rewrite(path, change)
    again = Session()
    keeper, told = open_keeper(again, path)
    assert "could not be restored" in told
    assert again.branches == []
    assert again.settings == Session().settings
    assert keeper.history.works()[0].turns == 2
    keeper.history.close()


def test_one_branch_that_cannot_be_read_does_not_cost_the_others(path, caplog):
    session, keeper = opened(path)
    first, fork = filled(session)
    keeper.finish()
    history = open_history(path)
    history._db.execute("UPDATE chunks SET steps = '{' WHERE turn = ?", (first.turn,))
    history.close()
    again = Session()
    keeper, told = open_keeper(again, path)
    assert told.startswith(f"Cannot be read: {first.turn}")
    assert [branch.turn for branch in again.branches] == [fork.turn]
    keeper.history.close()


def test_where_nothing_can_be_kept_the_window_says_so(tmp_path):
    (tmp_path / "file").write_text("in the way")
    session = Session()
    keeper, told = open_keeper(session, tmp_path / "file" / "history.sqlite3")
    assert keeper is None
    assert told.startswith("Nothing is kept this time: the history")


def test_a_damaged_history_is_told_and_a_new_one_begins(path):
    path.write_bytes(b"not a database" * 500)
    session = Session()
    keeper, told = open_keeper(session, path)
    assert "set aside" in told
    keeper.begin(print)
    session.add(Branch(0, "春", FormSettings(), "m"))
    keeper.finish()
    again, keeper = opened(path)
    assert again.branch.prompt == "春"
    keeper.finish()
