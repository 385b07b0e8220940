"""Two models side by side: what they wrote is in the history."""

from __future__ import annotations

from tests.tui.beside.columns import (
    beside,
    both_written,
    branches,
    opening,
    poem,
)
from tests.tui.window import (
    session_of,
    wait_until,
)
from tui.history import open_history
from tui.keeping import open_keeper
from tui.session import BY_KEY


async def test_each_poem_is_kept_as_a_work_of_its_own_and_opens_in_the_window(tmp_path):
    path = tmp_path / "history.sqlite3"
    session = session_of()
    keeper, _ = open_keeper(session, path)
    async with beside(session=session, keeper=keeper) as (app, pilot):
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        written = {branch.model: branch for branch in branches(app)}
        keeper.tick()
        assert keeper.recorder.settle()
        works = keeper.history.works("poem")
        assert sorted(work.model for work in works) == ["left", "right"]
        turns = {work.model: keeper.history.turns(work.id) for work in works}
        for model, (turn,) in turns.items():
            assert turn.text == written[model].text
            steps = keeper.history.steps(turn.id)
            assert tuple(step.token for step in steps) == written[model].tokens
        assert not session.branches, "the poem's window has its own"
        app.keep()


async def test_what_is_left_in_the_middle_is_kept_as_far_as_it_came(tmp_path):
    path = tmp_path / "history.sqlite3"
    session = session_of()
    keeper, _ = open_keeper(session, path)
    async with beside(session=session, keeper=keeper) as (app, pilot):
        app.set_pace(BY_KEY)
        await opening(app, pilot, "白日")
        await wait_until(pilot, lambda: all(b and b.steps for b in branches(app)))
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: app._exit)
    history = open_history(path)
    works = history.works("poem")
    assert [work.state for work in works] == ["stopped"] * 2
    assert all(len(history.steps(work.active)) == 1 for work in works)
    history.close()


async def test_a_deleted_poem_leaves_its_column(tmp_path):
    session = session_of()
    keeper, _ = open_keeper(session, tmp_path / "history.sqlite3")
    async with beside(session=session, keeper=keeper) as (app, pilot):
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        keeper.tick()
        app.pair.forget(branches(app)[0].work)
        assert branches(app)[0] is None and branches(app)[1] is not None
        assert poem(app, 0) == ""
        app.keep()
