"""``bench``: a table for people, and one JSON line that ends it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest

from model import benchmarks as engine
from model.benchmarks import BenchmarkError, Workload
from model.config import GPTConfig
from model.subjects import stand_in
from tests.cli.conftest import Answer

RATIOS = ("vs_hf", "cached_3", "cached_6", "cached_9", "batch_32")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model and texts that take no time."""
    subject = stand_in(GPTConfig(vocab_size=60, block_size=48, n_layer=1, n_head=1, n_embd=16))
    monkeypatch.setattr("model.subjects.shipped", lambda name: subject)
    work = Workload(lengths=(3, 6), long=9, long_block=64, repeats=2, quick_repeats=1)
    monkeypatch.setattr("model.benchmarks.benchmarks", partial(engine.benchmarks, work=work))


def test_the_last_line_is_json_with_every_ratio(run: Callable[..., Answer]) -> None:
    answer = run("bench", "--quick")
    assert answer.code == 0, answer.stderr
    *table, last = answer.stdout.splitlines()
    document = json.loads(last)
    assert set(RATIOS) <= set(document)
    assert document["vs_hf"] is None
    assert all(isinstance(document[key], float) for key in RATIOS[1:])
    assert "Weights: random, for tang-small is not there." in table
    for figure in ("cached_6", "batch_32"):
        assert any(f"{document[figure]:.1f}×" in line for line in table)
    assert any("36,864 bytes a token" in line for line in table)
    assert max(len(line) for line in table) <= 80


def test_json_prints_that_line_alone(run: Callable[..., Answer]) -> None:
    answer = run("bench", "--quick", "--json")
    assert answer.stdout.count("\n") == 1
    assert set(RATIOS) <= set(answer.json)


def test_quick_repeats_less_often(run: Callable[..., Answer]) -> None:
    assert run("bench", "--quick", "--json").json["runs"]["cached_6"]["n"] == 1
    assert run("bench", "--json").json["runs"]["cached_6"]["n"] == 2


def test_missing_peers_are_refused_before_anything_is_measured(
    run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.peers.find_spec", lambda name: None)
    answer = run("bench", "--peers")
    assert (answer.code, answer.stdout) == (2, "")
    assert "transformers is not installed" in answer.stderr
    assert "pip install -e '.[peers]'" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_results_that_differ_end_without_a_figure(
    run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise BenchmarkError("120 characters: the cache changed the text")

    monkeypatch.setattr("model.benchmarks.against_uncached", broken)
    answer = run("bench", "--json")
    assert (answer.code, answer.stdout) == (1, "")
    assert answer.stderr == "120 characters: the cache changed the text\n"
