"""What is no whole model file of this program is refused by name, and nothing in it is run."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import model.checkpoint
from model.checkpoint import load_checkpoint, read_safetensors, save_checkpoint, write_safetensors
from model.errors import CheckpointError
from model.tokenizers import CharTokenizer
from tests.helpers import CHARACTERS, tiny_gpt


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "poet.safetensors"
    save_checkpoint(path, tiny_gpt(), CHARACTERS, {"steps": 7}, torch.float32)
    return path


def rewritten(path: Path, **changes: str | None) -> Path:
    """The file with header entries changed, or removed where None."""
    with safe_open(path, framework="pt") as file:
        header: dict[str, str | None] = {**file.metadata(), **changes}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, path, metadata={k: v for k, v in header.items() if v is not None})
    return path


def refused(path: Path, *, match: str | None = None) -> None:
    """Loading is refused on one line that names the file."""
    with pytest.raises(CheckpointError, match=match) as error:
        load_checkpoint(path)
    assert path.name in str(error.value)


def test_missing_and_unreadable(tmp_path: Path) -> None:
    refused(tmp_path / "none.safetensors", match="no such model file")
    (tmp_path / "folder.safetensors").mkdir()
    refused(tmp_path / "folder.safetensors", match="no such model file")
    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path / ("x" * 5000))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_truncated(saved: Path, share: float) -> None:
    data = saved.read_bytes()
    saved.write_bytes(data[: int(len(data) * share)])
    refused(saved)


@pytest.mark.parametrize("seed", range(6))
def test_noise(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "noise.safetensors"
    path.write_bytes(random.Random(seed).randbytes(5000))
    refused(path)


def test_any_byte_of_the_header_may_be_damaged(saved: Path) -> None:
    data = saved.read_bytes()
    size = int.from_bytes(data[:8], "little")
    rng = random.Random(0)
    refusals = 0
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(rng.choice([1, 1, 3])):
            broken[rng.randrange(8 + size)] = rng.randrange(256)
        saved.write_bytes(broken)
        try:
            load_checkpoint(saved)  # a digit of the training record may well change unnoticed
        except CheckpointError as error:
            refusals += 1
            assert saved.name in str(error)
    assert refusals > 75


def marker_pickle(marker: Path) -> bytes:
    class Evil:
        def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
            return (Path.touch, (marker,))

    return pickle.dumps(Evil())


@pytest.mark.parametrize("kind", ["pickle", "torch", "numpy"])
@pytest.mark.parametrize("suffix", [".safetensors", ".pt", ".pkl", ".npy"])
def test_code_in_a_file_is_never_run(tmp_path: Path, kind: str, suffix: str) -> None:
    marker = tmp_path / "marker"
    path = tmp_path / f"evil{suffix}"
    evil = marker_pickle(marker)
    if kind == "pickle":
        path.write_bytes(evil)
    elif kind == "torch":
        torch.save({"weights": np.frombuffer(evil, np.uint8)}, path)
    else:
        with path.open("wb") as file:
            np.save(file, np.array([evil], dtype=object), allow_pickle=True)
    refused(path, match="not a whole safetensors file")
    assert not marker.exists()
    pickle.loads(evil)
    assert marker.exists(), "the file would have done it"


def test_a_foreign_safetensors_file(tmp_path: Path) -> None:
    path = tmp_path / "foreign.safetensors"
    save_file({"a": torch.zeros(2)}, path)
    refused(path, match="not one of this program")


def test_another_version(saved: Path) -> None:
    refused(rewritten(saved, version="2"), match="version 2, this program reads 1")


@pytest.mark.parametrize("key", ["config", "tokenizer", "tokenizer_hash", "training", "version"])
@pytest.mark.parametrize("value", [None, "", "{", "[1]", "3", "null", '"x"', "[" * 9999])
def test_a_damaged_header(saved: Path, key: str, value: str | None) -> None:
    refused(rewritten(saved, **{key: value}))


@pytest.mark.parametrize(
    "change",
    [
        {"n_layer": 3},
        {"n_layer": 10**9},
        {"n_embd": 64},
        {"n_embd": 10**30},
        {"block_size": 64},
        {"block_size": 10**30},
        {"n_layer": 0},
        {"n_head": 3},
        {"n_head": "2"},
        {"flavour": 1},
        {"vocab_size": 44},
    ],
)
def test_a_shape_that_is_not_that_of_the_weights(saved: Path, change: dict[str, Any]) -> None:
    config = {
        "vocab_size": CHARACTERS.vocab_size,
        "block_size": 32,
        "n_layer": 2,
        "n_head": 2,
        "n_embd": 32,
        "dropout": 0.0,
    }
    assert load_checkpoint(rewritten(saved, config=json.dumps(config)))
    refused(rewritten(saved, config=json.dumps(config | change)))


@pytest.mark.parametrize(
    ("characters", "match"),
    [
        (CHARACTERS.characters[::-1], "not the one the model was trained with"),
        (CHARACTERS.characters[:-1], "not the one the model was trained with"),
        (("雲", *CHARACTERS.characters[1:]), "hash"),
        (("a", *CHARACTERS.characters[:-1], "a"), "each once"),
        (("\ud800", *CHARACTERS.characters[1:]), "each once"),
    ],
    ids=["order", "size", "one-character", "twice", "surrogate"],
)
def test_the_tokenizer_of_another_run(saved: Path, characters: tuple[str, ...], match: str) -> None:
    document = {**CHARACTERS.to_json(), "characters": "".join(characters)}
    refused(rewritten(saved, tokenizer=json.dumps(document)), match=match)


def test_the_tokenizer_of_another_run_with_its_own_hash_but_another_size(saved: Path) -> None:
    other = CharTokenizer(CHARACTERS.characters[:-1])
    changed = rewritten(saved, tokenizer=json.dumps(other.to_json()), tokenizer_hash=other.hash)
    refused(changed, match="not the one the model was trained with")


def test_a_missing_and_a_surplus_weight(tmp_path: Path) -> None:
    path = tmp_path / "poet.safetensors"
    for change in ("missing", "surplus"):
        save_checkpoint(path, tiny_gpt(), CHARACTERS, {})
        tensors, header = read_safetensors(path, model.checkpoint.FORMAT, model.checkpoint.VERSION)
        if change == "missing":
            del tensors["ln.bias"]
        else:
            tensors["extra"] = torch.zeros(1)
        write_safetensors(path, tensors, header)
        refused(path, match="ln.bias" if change == "missing" else "extra")
