"""What a seed fixes: comparisons of texts that are known, and the experiment itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.config import Controls
from model.lab.base import collect
from model.lab.company import compare, edges, margin
from model.lab.desk import CHANGES, SIZES, WAYS
from model.lab.parting import first_difference
from model.lab.seed import FEW, repeats, run
from model.lab.writing import Written
from model.steps import Inspection, Step
from tests.lab.helpers import tiny_request


def step(token: int, u: float, below: float, probability: float) -> Step:
    """An inspected step whose token stands between ``below`` and ``below + probability``."""
    seen = Inspection((), 1.0, 1.0, 5, 0.0, False, below)
    return Step(
        *(1, token, str(token), probability, -1.0, u, False, "decode", 1, 0, 0.0, 0.0, 0),
        Controls(),
        seen,
    )


def written(*steps: Step) -> Written:
    return Written(1, "".join(s.text for s in steps), steps, "length")


def test_the_distance_of_u_to_an_edge():
    assert margin(step(3, 0.35, 0.3, 0.2)) == pytest.approx(0.05)
    assert margin(step(3, 0.45, 0.3, 0.2)) == pytest.approx(0.05)
    assert margin(step(3, 0.01, 0.0, 0.2)) == pytest.approx(0.19)  # below 0 lies no token
    assert margin(step(3, 0.99, 0.8, 0.2)) == pytest.approx(0.19)  # nor above 1
    assert margin(step(3, 0.5, 0.0, 1.0)) == 1
    assert edges(step(3, 0.35, 0.3, 0.2)) == (0.3, 0.5)


def test_an_edge_that_moves_is_measured():
    alone = [written(step(3, 0.35, 0.3, 0.2), step(4, 0.1, 0.0, 0.2))]
    moved = [written(step(3, 0.35, 0.301, 0.2), step(4, 0.1, 0.0, 0.2))]
    found = compare(2, alone, moved)
    assert (found.texts, found.same, found.steps) == (1, 1, 2)
    assert found.moved == pytest.approx(0.001)
    assert found.nearest == pytest.approx(0.05)
    assert found.closest == pytest.approx(0.02)


def test_what_comes_after_a_difference_is_not_compared():
    alone = [written(step(3, 0.35, 0.3, 0.2), step(4, 0.5, 0.4, 0.2))]
    other = [written(step(5, 0.35, 0.34, 0.2), step(4, 0.5, 0.1, 0.8))]
    found = compare(4, alone, other)
    assert (found.same, found.steps, found.moved) == (0, 1, 0)


def test_where_two_texts_part():
    assert first_difference([1, 2, 3], [1, 2, 4]) == 2
    assert first_difference([1, 2], [1, 2, 3]) == 2
    assert first_difference([5], [6]) == 0
    assert first_difference([1, 2], [1, 2]) is None


def test_the_same_text_twice_is_chance_only_where_it_is_likely():
    """Each step here has a log-probability of -1."""
    short, other = written(step(3, 0.35, 0.3, 0.2)), written(step(4, 0.35, 0.3, 0.2))
    assert repeats([short, other]) == (0, True)
    assert repeats([short, other, short]) == (1, True)
    long = written(*(step(n, 0.35, 0.3, 0.2) for n in range(12)))
    assert repeats([long, other, long]) == (1, False)  # e^-24 of three pairs


def test_a_step_that_was_not_looked_at_is_refused():
    with pytest.raises(ValueError, match="not inspected"):
        edges(replace(step(3, 0.5, 0.0, 1.0), inspection=None))


def test_the_result():
    result = collect(run(tiny_request(prompt="春眠", seed=11)))
    assert result.holds, result.checks
    fixed, batches, changed = result.tables
    assert fixed.column("written") == list(WAYS)
    assert set(fixed.column("the same")) == {FEW}
    assert batches.column("in batches of") == list(SIZES)
    assert batches.column("an edge moves by")[0] == 0  # a batch of one is the text alone
    assert changed.column("changed") == list(CHANGES)
    assert set(changed.column("the same u")) == {True}
    assert result.settings["seeds"] == [11, 11 + FEW - 1]
