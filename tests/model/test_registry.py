"""Models by name or by path."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from corpora.forms import is_han
from corpora.poems import PUNCTUATION
from model.checkpoint import save_checkpoint
from model.config import DEFAULT_MODEL
from model.errors import CheckpointError, InputError
from model.labels import model_label
from model.registry import ModelSpec, find, load, specs
from tests.helpers import CHARACTERS, tiny_gpt


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.safetensors"
    save_checkpoint(path, tiny_gpt(), CHARACTERS, {"steps": 3})
    return path


def test_models_are_found_by_name_the_default_first() -> None:
    assert [spec.name for spec in specs()] == ["tang-base", "tang-small", "verse-bpe", "smollm2"]
    assert specs()[0].name == DEFAULT_MODEL
    for spec in specs():
        assert find(spec.name) == spec
        assert spec.note and "\n" not in spec.note


def test_a_checkpoint_is_found_by_its_path(mine: Path) -> None:
    assert find(str(mine)) == ModelSpec("mine", mine, "a checkpoint of yours")
    assert find(str(mine)).available


@pytest.mark.parametrize("name", ["", "tang", "TANG-BASE", "x" * 5000, "a\0b", "[/]", "\udcff"])
def test_a_name_that_is_none_lists_those_there_are(name: str) -> None:
    with pytest.raises(InputError, match="tang-base, tang-small"):
        find(name)


def test_a_file_that_is_not_there_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    spec = find(str(tmp_path / "none.safetensors"))
    assert not spec.available
    with pytest.raises(CheckpointError, match=r"none\.safetensors: there is no such model file"):
        load(spec)


def test_a_handle_holds_what_a_run_needs(mine: Path) -> None:
    handle = load(find(str(mine)))
    assert torch.get_num_threads() == 1
    assert not handle.model.training
    assert handle.tokenizer.hash == CHARACTERS.hash
    assert handle.training == {"steps": 3}
    assert handle.title.startswith("mine ") and handle.title.endswith("M float32")
    with handle.lock:
        assert handle.lock.locked()


def test_the_fingerprint_follows_the_file(mine: Path, tmp_path: Path) -> None:
    first = load(find(str(mine))).fingerprint
    assert first == load(find(str(mine))).fingerprint
    assert first["tokenizer"] == CHARACTERS.hash
    assert {"checkpoint", "dtype", "threads", "torch"} <= first.keys()
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(mine.read_bytes())
    assert load(find(str(copy))).fingerprint == first, "the content counts, not the name"
    save_checkpoint(mine, tiny_gpt(seed=2), CHARACTERS, {})
    assert load(find(str(mine))).fingerprint["checkpoint"] != first["checkpoint"]


@pytest.mark.parametrize(
    "spec", [s for s in specs() if s.kind == "own" and s.available], ids=lambda spec: spec.name
)
def test_shipped_vocabularies_hold_han_and_marks_alone(spec: ModelSpec) -> None:
    """Of the corpus's dirt (notes, digits, □, private use) nothing can be written."""
    tokenizer = load(spec).tokenizer
    drawn = {*range(tokenizer.vocab_size)} - tokenizer.special_ids  # which are never drawn
    single = {token for token in drawn if len(tokenizer.piece_bytes(token)) == 1}
    assert len(single) in (0, 256), "none, or every byte, which spells rare characters"
    texts = {tokenizer.decode([token]) for token in drawn - single} - {"\ufffd"}
    assert len(texts) > 1000
    assert [c for text in texts for c in text if not (is_han(c) or c in PUNCTUATION)] == []


@pytest.mark.parametrize(
    ("asked", "called"),
    [
        ("tang-base", "tang-base"),
        ("somewhere/else/mine.v2.safetensors", "mine.v2"),
        ("somewhere/model.Q8_0.gguf", "model.Q8_0"),
        ("models/Qwen2.5-0.5B", "Qwen2.5-0.5B"),
        ("models/Qwen2.5-0.5B/", "Qwen2.5-0.5B"),
    ],
)
def test_a_model_asked_for_by_its_path_has_a_short_name(asked: str, called: str) -> None:
    assert model_label(asked) == called


def test_a_folder_keeps_its_whole_name(tmp_path: Path) -> None:
    folder = tmp_path / "Qwen2.5-0.5B"
    folder.mkdir()
    assert find(str(folder)).name == "Qwen2.5-0.5B"
