"""Swapped stages, on distributions whose result can be worked out."""

from __future__ import annotations

import math

import pytest
import torch

from model.config import STAGES
from model.lab.base import collect
from model.lab.order import run
from model.lab.swapped import (
    ALPHA,
    CUT_FIRST,
    HEAT_FIRST,
    PENALTY_LAST,
    effective_penalty,
    kept,
    leading,
    moved,
)
from tests.lab.helpers import tiny_request

LOGITS = torch.tensor([0.15, 0.5, 0.1, 0.25]).log()


def test_the_orders_are_what_they_are_called():
    assert HEAT_FIRST.index("temperature") < HEAT_FIRST.index("top_p")
    assert CUT_FIRST.index("top_p") < CUT_FIRST.index("temperature")
    assert PENALTY_LAST.index("temperature") < PENALTY_LAST.index("presence_frequency")
    assert sorted(CUT_FIRST) == sorted(PENALTY_LAST) == sorted(STAGES)
    assert moved("mask", "min_p")[-1] == "mask"


@pytest.mark.parametrize(
    ("value", "heat_first", "cut_first"),
    [
        (0.5, 1, 2),  # squared and normalised: .725 alone reaches .7
        (1.0, 2, 2),  # .5 + .25
        (2.0, 3, 2),  # roots, normalised: .366 + .258 = .624, with .200 .825
        (100.0, 3, 2),  # nearly flat: three quarters
    ],
)
def test_the_nucleus_by_the_order(value: float, heat_first: int, cut_first: int):
    assert kept(LOGITS, HEAT_FIRST, temperature=value, top_p=0.7) == heat_first
    assert kept(LOGITS, CUT_FIRST, temperature=value, top_p=0.7) == cut_first


@pytest.mark.parametrize("value", [0.5, 1.0, 1.5, 2.0])
def test_a_penalty_before_the_temperature_acts_as_a_share_of_it(value: float):
    assert effective_penalty(LOGITS, value, STAGES) == pytest.approx(ALPHA / value, abs=1e-5)
    assert effective_penalty(LOGITS, value, PENALTY_LAST) == pytest.approx(ALPHA, abs=1e-5)


def test_a_model_that_is_sure_beyond_rounding_is_penalised_all_the_same():
    sure = torch.tensor([0.0, 400.0, 1.0])
    assert leading(sure, 0.5, STAGES) == 1
    assert effective_penalty(sure, 0.5, STAGES) == pytest.approx(2.0, abs=1e-3)


def test_the_leading_token_by_hand():
    """At T = 2 with α = 1: √(.5/e) against √.25 + √.15 + √.1, or √.5 / e."""
    others = math.sqrt(0.25) + math.sqrt(0.15) + math.sqrt(0.1)
    before, after = math.sqrt(0.5 / math.e), math.sqrt(0.5) / math.e
    assert leading(LOGITS, 2.0, STAGES) == pytest.approx(before / (before + others))
    assert leading(LOGITS, 2.0, PENALTY_LAST) == pytest.approx(after / (after + others))
    assert leading(LOGITS, 1.0, STAGES) == leading(LOGITS, 1.0, PENALTY_LAST)


def test_the_result():
    result = collect(run(tiny_request(prompt="春眠")))
    assert result.holds, result.checks
    cut, penalised, poems = result.tables
    at_one = cut.column("T").index(1.0)
    assert cut.rows[at_one][1] == cut.rows[at_one][2]
    assert len(set(cut.column("cut first"))) == 1  # no heat widens what was cut before
    assert penalised.column("factor")[at_one] == 1
    assert poems.column("order") == ["temperature first", "cut first"]
