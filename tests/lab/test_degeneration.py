"""Degeneration: loops found where they are, and a model that goes round told so."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from model.errors import InputError
from model.lab.base import Load, collect
from model.lab.degeneration import KNOWN, QUICK_LENGTHS, WAYS, run
from model.lab.loops import Loop, commonest, goes_on_alike, in_rounds, loop_of
from model.registry import ModelHandle
from tests.helpers import CHARACTERS, ScriptedModel
from tests.lab.helpers import tiny_handle, tiny_request


def test_a_loop_is_found_where_it_begins():
    assert loop_of("春眠不觉晓" + "花落" * 10) == Loop(5, 2)
    assert loop_of("花" * 30) == Loop(0, 1)
    assert loop_of("白日依山尽。" * 3) == Loop(0, 6)
    assert loop_of("黄河入海流" + "白日依山尽。" * 3 + "白日依") == Loop(5, 6)


def test_what_does_not_end_in_rounds_is_no_loop():
    assert loop_of("白日依山尽。" * 2) is None  # two rounds are a refrain
    assert loop_of("花落" * 10 + "春眠不觉晓") is None
    assert loop_of("知不不不") is None
    assert loop_of("") is None


def test_the_commonest_window():
    assert commonest([1, 2, 3, 1, 2, 4, 1, 2], 2) == ((1, 2), 3)
    assert commonest([1], 2) == ((), 0)


def test_how_often_it_goes_on_as_before():
    assert goes_on_alike([1, 2, 3, 1, 2, 3, 1, 2, 4, 1, 2], (1, 2)) == 1
    assert goes_on_alike([5, 5, 5, 5], (5,)) == 2
    assert goes_on_alike([1, 2], (1, 2)) == 0


def test_a_phrase_after_itself_is_measured_copy_by_copy():
    """A model that is sure of 春眠 春眠 春眠 and of nothing else."""
    handle = looping("春眠")
    assert in_rounds(handle, CHARACTERS.encode("春眠"), 3) == pytest.approx([1, 1, 1])
    assert in_rounds(handle, CHARACTERS.encode("花落"), 2) == pytest.approx([0, 0])


class Looping(ScriptedModel):
    """Goes round a text for ever, whatever it has read; gives logits at every position."""

    def __init__(self, text: str) -> None:
        ids = CHARACTERS.encode(text)
        super().__init__(ids * 1000, CHARACTERS.vocab_size, 1)
        self._round = ids

    def __call__(self, ids, cache=None, *, last=False):  # type: ignore[no-untyped-def]
        held = 0 if cache is None else cache.position
        if cache is not None:
            cache.advance(ids.shape[1])
        places = [held + ids.shape[1] - 1] if last else range(held, held + ids.shape[1])
        logits = torch.full((1, len(places), self.config.vocab_size), -40.0)
        for row, place in enumerate(places):
            logits[0, row, self._round[place % len(self._round)]] = 40.0
        return logits


def looping(text: str) -> ModelHandle:
    return replace(tiny_handle(), model=Looping(text))  # type: ignore[arg-type]


def only(handle: ModelHandle) -> Load:
    """A loader of this one model."""

    def load(name: str | None) -> ModelHandle:
        if name is not None:
            raise InputError(f"{name} is not here")
        return handle

    return load


def test_a_model_that_only_loops_repeats_everything():
    result = collect(run(replace(tiny_request(), load=only(looping("春")))))
    by_length, greedy, _ = result.tables
    n = QUICK_LENGTHS[-1]
    for way in WAYS:
        assert by_length.column(way)[-1] == pytest.approx((n - 4) / (n - 3))
    assert set(greedy.column("tokens a round")) == {1}
    assert result.holds, result.checks
    assert "smollm2 is not here" in result.findings[-1]


def test_the_known_answer_is_in_the_result():
    result = collect(run(tiny_request()))
    assert result.checks[0].holds
    assert f"{KNOWN[-1]:,} tokens" in result.checks[0].detail
    assert result.holds


def test_a_prompt_of_ones_own():
    result = collect(run(tiny_request(prompt="夜来风雨")))
    assert result.tables[1].column("opening") == ["夜来风雨"]


def test_a_model_of_prose_has_tables_of_its_own():
    result = collect(run(tiny_request(prose=True)))
    assert [table.title.split(", ")[-1] for table in result.tables] == ["tiny"] * 3 + [
        "smollm2"
    ] * 3
    assert result.holds
    assert not any("not here" in finding for finding in result.findings)
    alone = collect(run(tiny_request(prose=True, model="smollm2")))
    assert alone.settings["models"] == ["smollm2"]
