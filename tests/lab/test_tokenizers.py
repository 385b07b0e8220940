"""The tokenizers experiment: a model of characters beside one of pieces."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from model.data import encode_poems
from model.held_out import held_out_loss
from model.lab.base import Request, Result, collect
from model.lab.tokenizers import at_size, run
from model.registry import ModelHandle, ModelSpec
from model.tokenizers import CharTokenizer
from tests.helpers import PIECES, VERSE, tiny_gpt
from tests.lab.helpers import tiny_handle

LETTERS = CharTokenizer(sorted(set("".join(VERSE))))


def handle(name: str | None) -> ModelHandle:
    tokenizer = PIECES if name == "pieces" else LETTERS
    model = tiny_gpt(tokenizer.vocab_size, block_size=160)
    spec = ModelSpec(name or "letters", Path("nowhere.safetensors"))
    return ModelHandle(spec, model, tokenizer, {}, {"dtype": "float32"})


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch) -> Result:
    here = Path(__file__)
    listed = [ModelSpec(name, here) for name in ("letters", "pieces")]
    monkeypatch.setattr("model.lab.tokenizers.specs", lambda: listed)
    monkeypatch.setattr("model.lab.tokenizers.real_poems", lambda count: list(VERSE))
    return collect(run(Request(handle, quick=True)))


def test_bits_a_character_are_comparable(result: Result) -> None:
    tokens, costs = result.tables
    for name, bits, per_token, width in zip(
        costs.column("model"),
        costs.column("bits a character"),
        costs.column("bits a token"),
        tokens.column("characters a token"),
        strict=True,
    ):
        one = handle(str(name))
        poems = encode_poems(VERSE, one.tokenizer)
        nats = held_out_loss(one.model, poems, one.tokenizer, torch.device("cpu"))  # type: ignore[arg-type]
        assert bits == pytest.approx(nats / math.log(2), rel=1e-5)
        characters = sum(map(len, VERSE)) + len(VERSE)  # and an end each
        assert width == pytest.approx(characters / sum(len(poem) - 1 for poem in poems))
        assert per_token == pytest.approx(bits * width)


def test_a_token_of_one_character_costs_what_the_model_costs(result: Result) -> None:
    tokens, costs = result.tables
    assert tokens.column("tokens are") == ["characters", "pieces"]
    assert tokens.column("tokens a 七绝")[0] == 32
    assert costs.column("cache bytes a token") == [2 * 2 * 32 * 4] * 2
    assert costs.column("a character")[0] == 2 * 2 * 32 * 4
    assert all(isinstance(pace, float) and pace > 0 for pace in costs.column("characters/s"))
    assert result.holds
    assert len(result.checks) == 2


def test_a_sentence_says_which_spends_its_parameters_better(result: Result) -> None:
    compared, better = result.findings
    assert compared.startswith("pieces takes")
    theirs, ours = result.tables[1].column("bits a character")
    fewer = "pieces" if ours < theirs else "characters"  # type: ignore[operator]
    assert f"for pieces: {fewer} are the better way" in better


def test_what_to_expect_of_a_size_lies_on_a_line_through_the_nearest() -> None:
    """By the logarithm: halfway from 1 to 4 is 2."""
    known = [(4_000_000, 5.0), (1_000_000, 7.0), (64_000_000, 1.0)]
    expected, how = at_size(2_000_000, known)
    assert expected == pytest.approx(6.0) and how == "on a line from 1.0 to 4.0 M"
    assert at_size(16_000_000, known)[0] == pytest.approx(3.0)
    assert at_size(3_000_000, known[:1]) == (5.0, "that of 4.0 M")


def test_without_a_corpus_bits_are_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.lab.tokenizers.real_poems", lambda count: [])
    result = collect(run(Request(tiny_handle, model="tiny", quick=True)))
    assert result.tables[1].column("bits a character") == [None]
    assert "Only one kind of token" in result.findings[0]
