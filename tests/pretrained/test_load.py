"""Opening what lies on disk: folders and GGUF files."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from model.config import Controls, SamplerConfig
from model.errors import CheckpointError, InputError
from model.generate import Generator, Prompt
from model.pretrained.load import open_pretrained
from model.pretrained.source import look_at
from model.registry import ModelSpec, find, load
from tests.helpers import collect
from tests.pretrained.makers import (
    byte_tokenizer,
    library_model,
    needs_extra,
    write_folder,
    write_tokenizer,
)

pytestmark = needs_extra
CLOSE = 1e-4
IDS = torch.tensor([[5, 9, 40, 41, 7, 300]])


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gpt2"])
@torch.inference_mode()
def test_a_folder_is_opened_with_tokenizer_and_template(kind: str, tmp_path: Path) -> None:
    theirs = write_folder(tmp_path / kind, kind)
    opened = open_pretrained(tmp_path / kind)
    assert (opened.model(IDS) - theirs(IDS).logits).abs().max() <= CLOSE
    assert opened.source.architecture == kind
    assert opened.source.parameters == opened.model.n_parameters
    assert opened.model.config.block_size == opened.source.shape["block_size"] == 64
    assert opened.chat is not None
    assert opened.tokenizer.vocab_size == theirs.config.vocab_size
    names = {opened.tokenizer.name(token) for token in opened.tokenizer.end_ids}
    assert names == {"<|im_end|>", "<|endoftext|>"}


@torch.inference_mode()
def test_weights_in_several_files_are_one_model(tmp_path: Path) -> None:
    theirs = library_model("llama", byte_tokenizer().get_vocab_size())
    theirs.save_pretrained(tmp_path, max_shard_size="40KB")
    write_tokenizer(tmp_path, byte_tokenizer(), template=None)
    assert len(look_at(tmp_path).weights) > 1
    opened = open_pretrained(tmp_path)
    assert (opened.model(IDS) - theirs(IDS).logits).abs().max() <= CLOSE
    assert opened.chat is None
    (tmp_path / look_at(tmp_path).weights[0].name).unlink()
    with pytest.raises(CheckpointError, match="is missing"):
        open_pretrained(tmp_path)


@torch.inference_mode()
def test_a_gguf_file_is_converted_once_and_kept(
    gguf: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, theirs = gguf
    monkeypatch.setattr("model.pretrained.convert.cache_root", lambda: tmp_path)
    told: list[str] = []
    opened = open_pretrained(path, tell=told.append)
    assert told == ["converting tiny.gguf, once: this takes a minute"]
    assert (opened.model(IDS) - theirs(IDS).logits).abs().max() <= CLOSE
    assert opened.chat is not None and opened.source.licence == "mit"
    ends = {opened.tokenizer.name(token) for token in opened.tokenizer.end_ids}
    # what the file lists as eos and as eot, and what its template ends a turn with
    assert ends == {"<|endoftext|>", "<|im_start|>x", "<|im_end|>"}
    began = time.monotonic()
    again = open_pretrained(path, tell=told.append)
    assert time.monotonic() - began < 5
    assert len(told) == 1
    assert torch.equal(again.model(IDS), opened.model(IDS))
    assert [entry.name.startswith(".") for entry in (tmp_path / "pretrained").iterdir()] == [False]


def test_a_handle_writes_text_and_answers(folder: Path) -> None:
    handle = load(find(str(folder)))
    assert handle.title == "tiny 0.1M float32"
    assert handle.full_cache_bytes == 64 * handle.model.new_cache().bytes_per_token
    assert handle.chat is not None
    from model.conversation import Message

    ids = handle.chat.encode([Message("user", "Where is the fox?")])
    controls = Controls(SamplerConfig(temperature=0.9), max_tokens=12, seed=4)
    for prompt in (Prompt(ids=tuple(ids)), Prompt("The quick"), Prompt()):
        modes = [
            collect(Generator(handle.model, handle.tokenizer, prompt, each))
            for each in (controls, Controls(controls.sampler, "off", seed=4, max_tokens=12))
        ]
        assert modes[0].tokens == modes[1].tokens
        assert not set(modes[0].tokens[:-1]) & handle.tokenizer.special_ids


def test_precisions_are_two_fingerprints(folder: Path) -> None:
    whole, half = load(find(str(folder))), load(find(str(folder)), precision="bfloat16")
    assert half.title == "tiny 0.1M bfloat16"
    assert whole.fingerprint != half.fingerprint
    assert whole.full_cache_bytes == 2 * half.full_cache_bytes
    with pytest.raises(InputError, match="tang-small is read in float32 only"):
        load(find("tang-small"), precision="bfloat16")


def test_what_has_not_been_fetched_says_how(tmp_path: Path) -> None:
    spec = ModelSpec("smollm2", tmp_path / "missing.gguf", kind="pretrained")
    with pytest.raises(InputError, match=r"models fetch smollm2.*93 MB, Apache-2\.0"):
        load(spec)


def test_without_the_extra_it_says_how_to_install_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.pretrained.load.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"optional extra chat.*pip install -e '\.\[chat\]'"):
        load(find(str(folder)))


def test_nothing_here_imports_the_library_for_a_llama(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from model.pretrained.load import open_pretrained\n"
        f"open_pretrained(Path({str(folder)!r})); print('transformers' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "False"
