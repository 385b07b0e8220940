"""How an experiment can end, and what is said of it."""

from __future__ import annotations

import pytest

from model.lab.base import Check, Request, Result
from tests.lab.scripted import (
    BROKEN,
    FAILING,
    IMPOSSIBLE,
    SMALL,
    UNDECIDED,
    Stepwise,
    scripted,
)
from tui.lab.document import document
from tui.lab.outcome import run_experiment, tally
from tui.lab.sheet import check_lines

NOTHING = Request(lambda name: pytest.fail("no model was to be loaded"))


def run(experiment, stopped=lambda: False, seen=None):
    return run_experiment(
        experiment, NOTHING, (lambda _: None) if seen is None else seen.append, stopped
    )


@pytest.mark.parametrize(
    ("experiment", "state", "mark", "good", "words"),
    [
        (SMALL, "done", "✓", True, "1 of 1 checks hold"),
        (UNDECIDED, "done", "✓", True, "1 of 1 checks hold, 1 not decidable here"),
        (FAILING, "done", "✗", False, "0 of 1 checks hold"),
        (BROKEN, "failed", "✗", False, "ZeroDivisionError: by zero [/b]"),
        (IMPOSSIBLE, "impossible", "○", True, "corpus build"),
        (scripted("empty", lambda request: iter(())), "failed", "✗", False, "without a result"),
    ],
)
def test_every_end_has_its_state_and_its_words(experiment, state, mark, good, words):
    outcome = run(experiment)
    assert (outcome.state, outcome.mark, outcome.good) == (state, mark, good)
    assert words in outcome.words()
    assert document(outcome)["state"] == state


def test_what_cannot_be_decided_is_neither_right_nor_wrong():
    assert tally(()) == "measured, nothing checked"
    open_ = Check("a slope is flat", None, "n = 1")
    assert tally([open_]) == "1 not decidable here"
    alone = scripted("open", lambda request: iter([Result("open", (), checks=(open_,))]))
    outcome = run(alone)
    assert (outcome.mark, outcome.good) == ("○", True)
    assert "○ a slope is flat (n = 1)" in "".join(check_lines(open_, 80)[0][n][0] for n in (0, 1))


def test_it_is_stopped_between_two_records_and_closed():
    script, seen = Stepwise(), []
    script.allow(1)
    outcome = run(scripted("step", script), stopped=lambda: len(seen) == 2, seen=seen)
    assert outcome.state == "stopped" and outcome.good
    assert [progress.done for progress in seen] == [0, 1]
    assert script.closed.is_set()
