"""The nucleus experiment against distributions whose answer is known."""

from __future__ import annotations

import pytest
import torch

from model.lab.base import collect
from model.lab.distributions import entropy_bits, nucleus_size, nucleus_sizes
from model.lab.nucleus import MASSES, TEMPERATURES, run
from tests.lab.helpers import tiny_request


def test_the_lessons_question():
    """A .6, B .25, C .1: with p = 0.8 A alone is not enough, A and B are."""
    p = torch.tensor([0.1, 0.6, 0.05, 0.25])
    assert nucleus_sizes(p, (0.6, 0.61, 0.8, 0.85, 0.86, 1.0)) == [1, 2, 2, 2, 3, 4]


def test_one_token_over_p_is_kept_alone():
    assert nucleus_size(torch.tensor([0.85, 0.1, 0.05]), 0.8) == 1


@pytest.mark.parametrize("size", [2, 8, 128])
def test_of_a_flat_distribution_it_takes_the_share(size: int):
    flat = torch.full((size,), 1 / size)
    assert nucleus_size(flat, 0.5) == size // 2
    assert entropy_bits(flat) == pytest.approx(torch.tensor(float(size)).log2().item())


def test_the_table_grows_with_temperature_and_mass():
    result = collect(run(tiny_request(prompt="春眠")))
    sizes = result.tables[0]
    assert sizes.column("T") == list(TEMPERATURES)
    for row in sizes.rows:
        counts = list(row[1 : 1 + len(MASSES)])
        assert counts == sorted(counts)  # type: ignore[type-var]
    for mass in MASSES:
        column = sizes.column(f"{mass:.0%}")
        assert column == sorted(column)  # type: ignore[type-var]
    assert result.holds


def test_a_fixed_k_lets_through_or_throws_away():
    result = collect(run(tiny_request(prompt="春眠")))
    for k, kept, through, through_mass, away, away_mass in result.tables[1].rows:
        assert through == 0 or away == 0
        assert (through == 0) == (through_mass == 0)
        assert (away == 0) == (away_mass == 0)
        assert 0 <= away_mass <= 1 - kept + 1e-6  # type: ignore[operator]
        assert through <= k  # type: ignore[operator]
