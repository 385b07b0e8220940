"""Multiply-adds against products counted by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from model.config import GPTConfig
from model.errors import InputError
from model.lab.base import Request, collect
from model.lab.cost import EXPECTED, counting, exponent, formula, run
from model.lab.multiplications import Counter, Work, by_formula
from tests.helpers import tiny_gpt
from tests.lab.helpers import tiny_handle, tiny_request

V = 1000


@torch.no_grad()
def test_a_product_is_n_k_m():
    with Counter(V) as counter:
        torch.ones(3, 4) @ torch.ones(4, 5)
        F.linear(torch.ones(2, 3, 4), torch.ones(5, 4), torch.ones(5))
    assert counter.work == Work(layers=3 * 4 * 5 + 2 * 3 * 4 * 5)


@torch.no_grad()
def test_the_product_with_the_vocabulary_is_the_head():
    with Counter(V) as counter:
        F.linear(torch.ones(1, 1, 4), torch.ones(V, 4))
    assert counter.work == Work(head=4 * V)


@torch.no_grad()
@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_attention_meets_keys_and_values(context: type):
    query, keys = torch.ones(1, 2, 3, 8), torch.ones(1, 2, 7, 8)
    with context(), Counter(V) as counter:
        F.scaled_dot_product_attention(query, keys, keys)
    assert counter.work == Work(attention=2 * (2 * 3 * 7 * 8))


def test_the_formula_by_hand():
    config = GPTConfig(vocab_size=7, block_size=16, n_layer=1, n_head=1, n_embd=2)
    # qkv 2·6, out 2·2, perceptron 2·8 and 8·2; one key, one value of width 2; head 2·7
    assert by_formula(config, 1) == Work(12 + 4 + 16 + 16, 4, 14)
    # three more tokens after five: each over eight keys and values
    assert by_formula(config, 3, 5) == Work(3 * 48, 3 * 8 * 2 * 2, 14)


def test_steps_add_up():
    config = GPTConfig(vocab_size=7, block_size=16, n_layer=1, n_head=1, n_embd=2)
    without, cached = formula(config, "without cache", 4), formula(config, "with cache", 4)
    assert without.layers == (1 + 2 + 3 + 4) * 48
    assert without.attention == (1 + 4 + 9 + 16) * 4
    assert cached.layers == 4 * 48
    assert cached.attention == (1 + 2 + 3 + 4) * 4
    assert without.head == cached.head == 4 * 14


def test_what_is_counted_is_what_the_formula_says():
    model = tiny_gpt()
    *_, spent = counting(model, 20)
    for mode in spent.counted:
        for n in (1, 7, 20):
            assert spent.counted[mode][n - 1] == formula(model.config, mode, n)


def test_an_exponent_is_a_slope():
    assert exponent([1, 2, 4, 8], [3, 24, 192, 1536]) == pytest.approx(3)


def test_the_lessons_table():
    result = collect(run(tiny_request()))
    assert result.holds, result.checks
    fitted = result.tables[1]
    for row, (n, d) in zip(fitted.rows, EXPECTED.values(), strict=True):
        assert row[2] == pytest.approx(n, abs=0.2)
        assert row[4] == pytest.approx(d, abs=0.01)


def test_a_model_of_another_maker_is_refused_in_a_line():
    def load(name: str | None) -> Any:
        return SimpleNamespace(model=object(), spec=tiny_handle().spec)

    with pytest.raises(InputError, match="tang-small"):
        collect(run(Request(load, quick=True)))
