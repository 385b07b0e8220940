"""A saved state is continued by its own run alone; what differs is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from model.checkpoint import read_safetensors, write_safetensors
from model.config import TrainConfig
from model.errors import CheckpointError
from model.tokenizers import CharTokenizer
from model.train import (
    STATE_FORMAT,
    STATE_VERSION,
)
from tests.helpers import CHARACTERS
from tests.model.training import CONFIG, POEMS, SHAPE, corpus, same_weights, trainer, weights


def changed(**changes: Any) -> TrainConfig:
    return replace(CONFIG, **changes)


OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "shape": ("another model .*n_layer 1 there, 2 here", {"shape": replace(SHAPE, n_layer=2)}),
    "dropout": ("another model .*dropout 0.2 there", {"shape": replace(SHAPE, dropout=0.0)}),
    "tokenizer": (
        "another tokenizer",
        {"tokenizer": CharTokenizer(CHARACTERS.characters[::-1])},
    ),
    "fewer poems": ("another poems", {"data": corpus(POEMS[:-1])}),
    "other poems": ("another corpus", {"data": corpus([*POEMS[:-1], POEMS[0]])}),
    "rate": ("another train .*muon_lr 0.02 there, 0.03 here", {"config": changed(muon_lr=0.03)}),
    "seed": ("another train .*seed 5 there, 6 here", {"config": changed(seed=6)}),
    "longer after decay": ("another train .*steps 8 there, 20 here", {"config": changed(steps=20)}),
}


@pytest.mark.parametrize(("match", "change"), OTHERS.values(), ids=OTHERS)
def test_the_state_of_another_run_is_refused_by_name(
    tmp_path: Path, match: str, change: dict[str, Any]
) -> None:
    first = trainer(tmp_path)
    list(first.run())  # its decay has begun
    other = trainer(tmp_path, **change)
    before = weights(other)
    with pytest.raises(CheckpointError, match=match) as error:
        other.resume()
    assert "state.safetensors" in str(error.value)
    assert other.step == 0
    assert all(torch.equal(p, before[n]) for n, p in other.model.named_parameters())


def test_a_run_can_be_made_longer_before_its_decay_begins(tmp_path: Path) -> None:
    running = trainer(tmp_path / "a").run()
    for _ in range(4):  # of 8 steps the last 40 % decay: from step 4.8 on
        next(running)
    running.close()
    longer = trainer(tmp_path / "a", changed(steps=12))
    assert longer.resume()
    list(longer.run())
    whole = trainer(tmp_path / "b", changed(steps=12))
    list(whole.run())
    assert same_weights(longer, whole)


def test_a_state_from_before_the_corpus_was_hashed_is_continued(tmp_path: Path) -> None:
    first = trainer(tmp_path)
    first.save()
    tensors, header = read_safetensors(first.state_file, STATE_FORMAT, STATE_VERSION)
    start = header["fixed"].index('"corpus"')
    header["fixed"] = header["fixed"][:start] + header["fixed"][header["fixed"].index('"train"') :]
    write_safetensors(first.state_file, tensors, header)
    assert trainer(tmp_path).resume()


@pytest.mark.parametrize("entry", ["progress", "fixed"])
@pytest.mark.parametrize("value", [None, "{", "{}", "3"])
def test_a_damaged_state_is_a_message(tmp_path: Path, entry: str, value: str | None) -> None:
    first = trainer(tmp_path)
    first.save()
    tensors, header = read_safetensors(first.state_file, STATE_FORMAT, STATE_VERSION)
    if value is None:
        del header[entry]
    else:
        header[entry] = value
    write_safetensors(first.state_file, tensors, header)
    with pytest.raises(CheckpointError, match=r"state\.safetensors.*damaged"):
        trainer(tmp_path).resume()
