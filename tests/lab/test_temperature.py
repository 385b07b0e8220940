"""The temperature experiment: what is counted, and what heat can and cannot do."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from model.lab.base import Progress, collect
from model.lab.temperature import REAL, SETTINGS, count, order_changes, run, scaled, tail_mass
from tests.lab.helpers import tiny_request

JUEJU = "白日依山尽，黄河入海流。"
RANKS = {char: rank for rank, char in enumerate("白日依山尽黄河入海流", 1)}


def test_the_order_of_the_tokens_never_changes():
    logits = torch.tensor([[2.0, 7.0, -3.0, 7.0], [0.1, 0.10001, 0.0, -0.2]])
    for value in (0.01, 0.5, 1.0, 3.0, 100.0):
        assert order_changes(logits, value) == 0


def test_an_order_that_changes_would_be_seen(monkeypatch: pytest.MonkeyPatch):
    """Were temperature to turn the scores round, each pair of neighbours would count."""
    monkeypatch.setattr("model.lab.temperature.temperature", lambda logits, value: -logits)
    assert order_changes(torch.tensor([[2.0, 7.0, -3.0, 1.0]]), 1.0) == 3


def test_scaling_probabilities_does_nothing():
    probabilities = torch.tensor([0.6, 0.25, 0.1, 0.05], dtype=torch.float64)
    assert torch.allclose(scaled(probabilities, 1.5), probabilities, atol=1e-15)


def test_the_tail_of_a_distribution():
    """ln of .5 .25 .15 .1 at T = 1: behind the two likeliest stand .15 and .1."""
    logits = torch.tensor([[0.25, 0.1, 0.5, 0.15]]).log()
    assert tail_mass(logits, 1.0, 2) == pytest.approx(0.25)
    assert tail_mass(logits, 1.0, 4) == pytest.approx(0, abs=1e-6)
    squared = 0.25 + 0.0625 + 0.0225 + 0.01  # T = 1/2 squares them
    assert tail_mass(logits, 0.5, 1) == pytest.approx(1 - 0.25 / squared, abs=1e-6)


def test_counting():
    counted = count({"good": [JUEJU, JUEJU], "bad": ["白日依山，黄河入海流麕。"]}, RANKS)
    good, bad = counted["good"], counted["bad"]
    assert (good.poems, good.regular, good.full, good.rare, good.length) == (2, 1, 1, 0, 12)
    assert (bad.regular, bad.full, bad.rare) == (0, 0, 1 / 10)
    # both have 12 characters and 11 pairs to compare: good's first poem alone
    assert good.distinct == bad.distinct == (1, 1)
    assert count({"only": [JUEJU, JUEJU]}, RANKS)["only"].distinct == (1 / 2, 1 / 2)


def test_poems_of_every_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # no corpus
    progress: list[Progress] = []
    result = collect(run(tiny_request(seed=7)), progress.append)
    assert result.holds, result.checks
    shown, counts = result.tables
    assert shown.column("seed") == [7, 8, 9] * len(SETTINGS)
    assert counts.column("setting") == list(SETTINGS)
    assert REAL not in counts.column("setting")
    assert [p.done for p in progress] == sorted(p.done for p in progress)
    assert all(p.done < p.total for p in progress)


def test_it_can_be_stopped_between_two_records():
    records = run(tiny_request())
    assert isinstance(next(records), Progress)
    records.close()  # type: ignore[attr-defined]
    assert list(records) == []
