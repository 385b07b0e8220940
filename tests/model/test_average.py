"""The mean of models: its values, its record, and what has none."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from model.average import average
from model.checkpoint import Checkpoint
from model.config import GPTConfig
from model.errors import CheckpointError, InputError
from model.gpt import GPT
from model.tokenizers import CharTokenizer


def checkpoint(seed: int, characters: str = "春眠不觉晓", width: int = 16) -> Checkpoint:
    torch.manual_seed(seed)
    tokenizer = CharTokenizer(tuple(characters))
    config = GPTConfig(tokenizer.vocab_size, block_size=8, n_layer=2, n_head=2, n_embd=width)
    return Checkpoint(GPT(config).eval(), tokenizer, {"name": f"run-{seed}", "seed": seed})


def values(model: GPT) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def test_each_value_is_the_weighted_mean():
    first, second = checkpoint(1), checkpoint(2)
    a, b = values(first.model), values(second.model)
    mixed = values(average([first, second], [3, 1]).model)
    assert mixed.keys() == a.keys()
    for name, value in mixed.items():
        torch.testing.assert_close(value, 0.75 * a[name] + 0.25 * b[name], atol=1e-7, rtol=0)


def test_the_mean_of_a_model_with_itself_is_the_model():
    before = values(checkpoint(1).model)
    after = values(average([checkpoint(1), checkpoint(1), checkpoint(1)], [1, 1, 1]).model)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_the_record_says_what_went_in():
    record = average([checkpoint(1), checkpoint(2)], [1, 3]).training
    assert record["name"] == "run-1"
    assert [(part["name"], part["share"]) for part in record["mean_of"]] == [
        ("run-1", 0.25),
        ("run-2", 0.75),
    ]


@pytest.mark.parametrize(
    ("shares", "said"),
    [([1], "1 shares for 2"), ([1, 0], "not 1, 0"), ([1, float("nan")], "nan"), ([2, -1], "-1")],
)
def test_shares_that_mean_nothing_are_refused(shares, said):
    with pytest.raises(InputError, match=said):
        average([checkpoint(1), checkpoint(2)], shares)


def test_models_trained_with_different_dropout_have_a_mean():
    first, second = checkpoint(1), checkpoint(2)
    second.model.config = replace(second.model.config, dropout=0.1)
    assert average([first, second], [1, 1]).model.config.dropout == 0.0


def test_models_that_have_no_mean_are_refused():
    with pytest.raises(InputError, match="two models or more"):
        average([checkpoint(1)], [1])
    with pytest.raises(CheckpointError, match="two shapes"):
        average([checkpoint(1), checkpoint(2, width=32)], [1, 1])
    with pytest.raises(CheckpointError, match="two vocabularies"):
        average([checkpoint(1), checkpoint(2, characters="春眠不觉处")], [1, 1])
