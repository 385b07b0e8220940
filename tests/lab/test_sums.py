"""Sums of float32 whose rounding can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from model.lab.base import Progress, collect
from model.lab.sums import chunked, exact, pairwise, run, sequential
from tests.lab.helpers import tiny_request

BIG = 2.0**24
"""From here on float32 counts in twos: adding 1 changes nothing."""


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def test_one_by_one_small_numbers_are_lost():
    assert sequential(floats(BIG, *[1.0] * 1000)) == BIG
    assert sequential(floats(*[1.0] * 1000, BIG)) == BIG + 1000


def test_a_chunk_of_small_numbers_is_added_before_it_meets_the_big_one():
    numbers = floats(BIG, *[0.0] * 255, *[1.0] * 256)
    assert sequential(numbers) == BIG
    assert chunked(numbers, 2) == BIG + 256


def test_one_chunk_is_the_pairwise_sum_and_a_chunk_each_the_sequential_one():
    numbers = np.random.default_rng(0).standard_normal(1000, dtype=np.float32)
    assert chunked(numbers, 1) == pairwise(numbers)
    assert chunked(numbers, 1000) == sequential(numbers)


def test_sequential_is_the_loop_that_it_says_it_is():
    numbers = np.random.default_rng(1).standard_normal(5000, dtype=np.float32)
    total = np.float32(0)
    for number in numbers:
        total = np.float32(total + number)
    assert sequential(numbers) == total


def test_exact_loses_nothing():
    assert exact(floats(BIG, 1.0, -BIG)) == 1.0
    assert exact(floats(0.1, 0.2)) == math.fsum([float(np.float32(0.1)), float(np.float32(0.2))])


def test_a_million_numbers():
    result = collect(run(tiny_request()))
    assert result.holds, [check for check in result.checks if not check.holds]
    single, _ = result.tables
    reference = single.rows[-1][1]
    for way, total, error, _ in single.rows[:-1]:
        assert error == pytest.approx(abs(total - reference)), way


def test_the_errors_are_of_the_lessons_size():
    _, spread = collect(run(tiny_request(seed=7))).tables
    medians = dict(zip(spread.column("added"), spread.column("median error"), strict=True))
    assert 1e-3 < medians["sequential"] < 1e-1
    assert all(medians[f"{n} chunks"] < 2e-4 for n in (4, 8, 16))


def test_another_seed_adds_other_numbers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("model.lab.sums.DRAWS", 1)

    def total(seed: int) -> object:
        return collect(run(tiny_request(seed=seed))).tables[0].rows[-1][1]

    assert total(1) == total(1) != total(2)


def test_it_can_be_stopped_between_draws():
    records = run(tiny_request())
    assert isinstance(next(records), Progress)
    records.close()  # type: ignore[attr-defined]
