"""What lies on disk and must not be opened: pickles, code, damage."""

from __future__ import annotations

import json
import pickle
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from model.errors import CheckpointError
from model.pretrained.gguf import read_header
from model.pretrained.load import open_pretrained
from tests.pretrained.makers import (
    needs_extra,
    write_folder,
)

pytestmark = needs_extra


class Marker:
    """What unpickling would run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def refused(path: Path, told: str) -> None:
    """``path`` is refused by name, in under a second, and no library was asked."""
    began = time.monotonic()
    with pytest.raises(CheckpointError, match=told) as error:
        open_pretrained(path)
    assert time.monotonic() - began < 1
    assert path.name in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["model.pt", "pytorch_model.bin", "model.gguf", "model.npy"])
def test_a_pickle_is_never_opened(tmp_path: Path, name: str) -> None:
    marker = tmp_path / "marker"
    (tmp_path / name).write_bytes(pickle.dumps(Marker(marker)))
    refused(tmp_path / name, "never opened")
    assert not marker.exists()


def test_neither_is_one_in_a_folder(copied: Path, tmp_path: Path) -> None:
    (copied / "model.safetensors").unlink()
    for name in ("pytorch_model.bin", "training_args.bin"):
        (copied / name).write_bytes(pickle.dumps(Marker(tmp_path / "marker")))
    refused(copied, "only pytorch_model.bin, training_args.bin; give")
    pickled = pickle.dumps(Marker(tmp_path / "marker"))
    (copied / "model.safetensors").write_bytes(pickled)
    refused(copied, "not a whole safetensors file")
    assert not (tmp_path / "marker").exists()


def test_code_that_lies_in_a_folder_is_not_run(copied: Path, tmp_path: Path) -> None:
    config = json.loads((copied / "config.json").read_text())
    config["model_type"] = "evil"
    config["auto_map"] = {
        "AutoConfig": "evil.EvilConfig",
        "AutoModelForCausalLM": "evil.EvilModel",
    }
    (copied / "config.json").write_text(json.dumps(config))
    (copied / "evil.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w')\n")
    with pytest.raises(CheckpointError, match="transformers cannot load this evil model"):
        open_pretrained(copied)
    assert not (tmp_path / "marker").exists()


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda f: shutil.rmtree(f) or f.mkdir(), "no config.json"),
    "config is no JSON": (lambda f: (f / "config.json").write_text("{"), "not JSON"),
    "config is a list": (lambda f: (f / "config.json").write_text("[]"), "not a JSON object"),
    "config says nothing": (lambda f: (f / "config.json").write_text("{}"), "names no model_type"),
    "config nests": (lambda f: (f / "config.json").write_text("[" * 10**5), "not JSON"),
    "weights cut short": (
        lambda f: (f / "model.safetensors").write_bytes(
            (f / "model.safetensors").read_bytes()[:-100]
        ),
        "not a whole safetensors file",
    ),
    "weights too long": (
        lambda f: (f / "model.safetensors").write_bytes(
            (f / "model.safetensors").read_bytes() + b"x"
        ),
        "not a whole safetensors file",
    ),
    "weights empty": (lambda f: (f / "model.safetensors").write_bytes(b""), "not a whole"),
    "weights no header": (
        lambda f: (f / "model.safetensors").write_bytes(struct.pack("<Q", 2**60) + b"{}"),
        "not a whole safetensors file",
    ),
    "index leads outside": (
        lambda f: (
            (f / "model.safetensors").unlink(),
            (f / "model.safetensors.index.json").write_text(
                json.dumps({"weight_map": {"a": "../model.safetensors"}})
            ),
        ),
        "which is no file of it",
    ),
    "index maps nothing": (
        lambda f: (
            (f / "model.safetensors").unlink(),
            (f / "model.safetensors.index.json").write_text("{}"),
        ),
        "maps no weights",
    ),
    "shape of another": (lambda f: _configured(f, hidden_size=64), "do not fit"),
    "no heads": (lambda f: _configured(f, num_attention_heads=0), "damaged"),
    "width in words": (lambda f: _configured(f, hidden_size="wide"), "damaged|do not fit"),
    "layers missing": (lambda f: _configured(f, num_hidden_layers=10**9), "is missing"),
    "tokenizer cut short": (
        lambda f: (f / "tokenizer.json").write_text((f / "tokenizer.json").read_text()[:99]),
        "cannot be read",
    ),
    "tokenizer of another": (lambda f: _configured(f, vocab_size=100), "do not fit|ids up to"),
    "template broken": (
        lambda f: (f / "chat_template.jinja").write_text("{% if %}"),
        "chat template cannot be read",
    ),
}


def _configured(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_folder_is_refused_in_words(copied: Path, name: str) -> None:
    damage, told = DAMAGES[name]
    damage(copied)
    refused(copied, told)


def test_a_missing_weight_is_not_made_up(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    write_folder(tmp_path / "gpt", "gpt2")
    file = tmp_path / "gpt" / "model.safetensors"
    weights = load_file(file)
    del weights["transformer.h.1.mlp.c_fc.weight"]
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"weight .*h\.1\.mlp\.c_fc\.weight' is missing"):
        open_pretrained(tmp_path / "gpt")


def test_a_gguf_cut_anywhere_is_refused(gguf: tuple[Path, Any], tmp_path: Path) -> None:
    path, _ = gguf
    data = path.read_bytes()
    assert read_header(path).parameters == sum(p.numel() for p in gguf[1].parameters())
    cut = tmp_path / "cut.gguf"
    for length in [4, 8, 23, 24, 100, *range(200, len(data), len(data) // 40), len(data) - 32]:
        cut.write_bytes(data[:length])
        refused(cut, "not a whole GGUF file")


@pytest.mark.parametrize(
    "content",
    [
        b"GGUF" + struct.pack("<IQQ", 3, 2**63, 2**63),
        b"GGUF" + struct.pack("<IQQ", 99, 1, 1) + b"\0" * 64,
        b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + struct.pack("<Q", 2**62),
        b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 1) + b"k" + struct.pack("<IIQ", 9, 8, 2**50),
        b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 1) + b"k" + struct.pack("<IIQ", 9, 4, 2**61),
        b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 1) + b"k" + struct.pack("<I", 77),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 0),
        b"FUGG" + b"\0" * 64,
        b"",
    ],
)
def test_a_hostile_gguf_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "[evil].gguf"
    path.write_bytes(content)
    refused(path, "GGUF|never opened")


def test_a_gguf_that_the_library_cannot_convert_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gguf

    path = tmp_path / "odd.gguf"
    writer = gguf.GGUFWriter(path, "oddity")
    writer.add_tensor("t", torch.zeros(4).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    monkeypatch.setattr("model.pretrained.convert.cache_root", lambda: tmp_path / "cache")
    with pytest.raises(
        CheckpointError, match=r"odd\.gguf: transformers cannot convert it \(.*oddity"
    ):
        open_pretrained(path)
    assert not list((tmp_path / "cache" / "pretrained").iterdir())


def test_the_converting_process_ends_with_the_one_that_waits(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "import model.pretrained.convert as c; c._end_with_parent()"],
        stdin=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(timeout=60) == 1
