"""A model file is whole or refused by name, and a write never costs the old one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import model.checkpoint
from model.checkpoint import load_checkpoint, save_checkpoint
from model.config import GPTConfig
from model.data import encode_poems
from model.errors import CheckpointError
from model.gpt import GPT
from model.held_out import held_out_loss
from model.registry import find, load
from tests.helpers import CHARACTERS, HAN, tiny_gpt

RECORD = {"steps": 7, "held_out": 4.5, "note": "一二[/]"}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "poet.safetensors"
    save_checkpoint(path, tiny_gpt(), CHARACTERS, RECORD, torch.float32)
    return path


def only(folder: Path, *names: str) -> None:
    assert sorted(p.name for p in folder.iterdir()) == sorted(names), "no temporary files are left"


# -- round trip


def test_round_trip(saved: Path) -> None:
    loaded = load_checkpoint(saved)
    assert loaded.training == RECORD
    assert loaded.tokenizer.hash == CHARACTERS.hash
    assert loaded.model.config == tiny_gpt().config
    assert not loaded.model.training
    for (name, ours), (other, theirs) in zip(
        tiny_gpt().named_parameters(), loaded.model.named_parameters(), strict=True
    ):
        assert name == other and torch.equal(ours, theirs) and theirs.dtype == torch.float32
    only(saved.parent, saved.name)
    assert saved.stat().st_mode & 0o777 == 0o644


def test_half_precision_on_disk_halves_the_file_and_hardly_moves_the_loss(
    saved: Path, tmp_path: Path
) -> None:
    half = tmp_path / "half.safetensors"
    save_checkpoint(half, tiny_gpt(), CHARACTERS, RECORD)
    assert half.stat().st_size < 0.6 * saved.stat().st_size
    loaded = load_checkpoint(half).model
    assert {p.dtype for p in loaded.parameters()} == {torch.float32}
    poems = encode_poems([HAN[i : i + 20] for i in range(0, 20, 2)], CHARACTERS)
    device = torch.device("cpu")
    before, after = (held_out_loss(m, poems, CHARACTERS, device) for m in (tiny_gpt(), loaded))
    assert before != after
    assert abs(before - after) < 1e-3


def test_a_model_laid_out_for_decoding_saves_the_same_values(tmp_path: Path) -> None:
    torch.manual_seed(1)
    gpt = GPT(GPTConfig(CHARACTERS.vocab_size, 32, 1, 1, 16)).eval()
    values = {n: p.clone() for n, p in gpt.named_parameters()}
    path = tmp_path / "a.safetensors"
    save_checkpoint(path, gpt.lay_out_for_decoding(), CHARACTERS, {}, torch.float32)
    for name, value in load_checkpoint(path).model.named_parameters():
        assert torch.equal(value, values[name])


def test_loading_through_the_registry(saved: Path) -> None:
    handle = load(find(str(saved)))
    assert handle.spec.name == "poet" and handle.training == RECORD
    assert handle.fingerprint["tokenizer"] == CHARACTERS.hash


# -- writing


class Full(OSError):
    """A disk without room."""


@pytest.mark.parametrize("fault", ["save_file", "fsync", "replace"])
@pytest.mark.parametrize("error", [Full("no space"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    saved: Path, monkeypatch: pytest.MonkeyPatch, fault: str, error: BaseException
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        if fault == "save_file":  # half of it is on the disk already
            Path(args[1]).write_bytes(b"half")
        raise error

    place: dict[str, Any] = {"save_file": model.checkpoint, "fsync": os, "replace": Path}
    with monkeypatch.context() as patched:
        patched.setattr(place[fault], fault, fail)
        expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else CheckpointError
        with pytest.raises(expected, match="poet" if expected is CheckpointError else None):
            save_checkpoint(saved, tiny_gpt(seed=2), CHARACTERS, {"steps": 8})
    only(saved.parent, saved.name)
    assert load_checkpoint(saved).training == RECORD


def test_a_folder_that_cannot_be_made_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"file/poet\.safetensors"):
        save_checkpoint(tmp_path / "file" / "poet.safetensors", tiny_gpt(), CHARACTERS, {})


SAVER = """
import sys
from pathlib import Path
import torch
from model.checkpoint import save_checkpoint
from model.config import GPTConfig
from model.gpt import GPT
from model.tokenizers import CharTokenizer
tokenizer = CharTokenizer("春眠不觉晓")
gpt = GPT(GPTConfig(tokenizer.vocab_size, 64, 2, 2, 96))
for number in range(10**9):
    save_checkpoint(Path(sys.argv[1]), gpt, tokenizer, {"number": number}, torch.float32)
    print(number, flush=True)
"""


def test_a_kill_at_any_moment_leaves_a_file_that_loads(tmp_path: Path) -> None:
    path = tmp_path / "poet.safetensors"
    rng = random.Random(0)
    process = subprocess.Popen(
        [sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        latest = int(process.stdout.readline())
        for _ in range(20):
            # Read on to a later save, then stop the process at whatever it is doing by the
            # time the signal arrives, look, and let it go on: a kill finds the file like that.
            for _ in range(rng.randrange(1, 3)):
                latest = int(process.stdout.readline())
            spin(rng.randrange(20_000))
            process.send_signal(signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)
            assert load_checkpoint(path).training["number"] >= latest
            process.send_signal(signal.SIGCONT)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert load_checkpoint(path).training["number"] >= latest


def spin(rounds: int) -> None:
    """Pass a little time, a different amount at each call."""
    for _ in range(rounds):
        pass
