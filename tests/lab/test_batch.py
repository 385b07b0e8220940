"""The batch experiment on logits whose comparison is known."""

from __future__ import annotations

import pytest
import torch

from model.lab.base import collect
from model.lab.batch import (
    AT_ONCE,
    REPEATS,
    SIZES,
    against,
    one_pass,
    run,
    token_by_token,
    top_two_margins,
)
from tests.helpers import tiny_gpt
from tests.lab.helpers import tiny_request


def test_equal_logits_differ_nowhere():
    logits = torch.randn(2, 3, 10)
    same = against(logits.clone(), logits)
    assert (same.size, same.steps) == (2, 6)
    assert (same.differing, same.largest, same.flipped) == (0, 0, 0)


def test_one_flip_is_found():
    alone = torch.tensor([[[1.0, 2.0, 0.0, 0.0], [5.0, 0.0, 0.0, 0.0]]])
    batched = alone.clone()
    batched[0, 0, 0] = 2.5
    found = against(batched, alone)
    assert found.flipped == 1
    assert found.largest == pytest.approx(1.5)
    assert found.differing == 1 / 8


def test_the_margin_is_between_the_best_two():
    assert top_two_margins(torch.tensor([[3.0, -1.0, 2.5], [7.0, 7.0, 0.0]])).tolist() == [0.5, 0.0]


@torch.inference_mode()
def test_token_by_token_is_the_whole_pass():
    model = tiny_gpt()
    ids = torch.randint(4, 40, (3, AT_ONCE + 7))
    parts = list(token_by_token(model, ids))
    assert [part.shape[1] for part in parts] == [AT_ONCE, 7]
    assert torch.allclose(torch.cat(parts, 1), model(ids), atol=1e-4)


@torch.inference_mode()
def test_a_pass_says_how_many_went_through():
    model = tiny_gpt()
    found = one_pass(model, torch.randint(4, 40, (8, 10)), 4)
    assert (found.size, found.steps) == (4, 1)
    assert found.largest < 1e-3


def test_a_batch_of_one_is_the_same_to_the_bit():
    result = collect(run(tiny_request()))
    assert result.holds, result.checks
    assert result.checks[0].detail == f"{REPEATS} of {REPEATS}"
    passes, decoded = result.tables
    assert passes.column("in a batch of") == decoded.column("in a batch of") == list(SIZES)
    assert all(0 <= share <= 1 for share in decoded.column("logits that differ"))  # type: ignore
