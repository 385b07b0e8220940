"""A tiny random checkpoint, and three ways to call the program: here, in a process of its own,
and on a terminal."""

from __future__ import annotations

import json
import os
import pty
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from corpora.places import BUILT_NAMES, built_folder
from model.checkpoint import save_checkpoint
from model.config import GPTConfig
from model.gpt import GPT
from model.tokenizers import CharTokenizer
from tests.helpers import PIECES, unsized
from tui.cli.main import app

ROOT = Path(__file__).parents[2]
HAN = "春眠不觉晓处闻啼鸟夜来风雨声花落知多少床前明月光疑是地上霜白日依山尽黄河入海流"

SHAPE = ["--layers", "1", "--heads", "2", "--width", "16", "--block", "32", "--batch-tokens", "128"]
RUN = ["train", "--name", "tiny", *SHAPE, "--seed", "3", "--eval-every", "4", "--save-every", "50"]
"""A training run of a second or two; ``--steps`` is for the test to say."""


@dataclass(frozen=True)
class Answer:
    """What a call printed and how it ended."""

    stdout: str
    stderr: str
    code: int

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights, sharpened so that its choices differ from a uniform draw's."""
    tokenizer = CharTokenizer([*"，。", *HAN])
    torch.manual_seed(5)
    config = GPTConfig(tokenizer.vocab_size, n_layer=2, n_head=2, n_embd=32, block_size=80)
    model = GPT(config)
    with torch.no_grad():
        model.tokens.weight.mul_(4)
    path = tmp_path_factory.mktemp("model") / "tiny.safetensors"
    save_checkpoint(path, model, tokenizer, {"held_out_loss": 5.5, "steps": 0})
    return path


@pytest.fixture(scope="session")
def bpe_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with pieces of verse and bytes instead of characters."""
    torch.manual_seed(6)
    config = GPTConfig(PIECES.vocab_size, n_layer=2, n_head=2, n_embd=32, block_size=160)
    model = GPT(config)
    with torch.no_grad():
        model.tokens.weight.mul_(4)
    path = tmp_path_factory.mktemp("model") / "tiny-bpe.safetensors"
    save_checkpoint(path, model, PIECES, {"held_out_loss": 5.5, "steps": 0})
    return path


@pytest.fixture
def run() -> Callable[..., Answer]:
    """Calls the program in this process; standard output and error are pipes to it."""

    def call(*arguments: str, stdin: bytes | None = None) -> Answer:
        result = CliRunner().invoke(app, list(arguments), input=stdin)
        return Answer(result.stdout, result.stderr, result.exit_code)

    return call


@pytest.fixture
def poem(run: Callable[..., Answer], checkpoint: Path) -> Callable[..., Answer]:
    """Like ``run``, with the tiny model and, where none is given, a seed."""

    def call(*arguments: str, stdin: bytes | None = None) -> Answer:
        seed = [] if "--seed" in arguments else ["--seed", "7"]
        return run(*arguments, *seed, "--model", str(checkpoint), stdin=stdin)

    return call


def start(arguments: Sequence[str | bytes], **popen: Any) -> subprocess.Popen[bytes]:
    """The program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        **popen,
    )


def in_process(*arguments: str | bytes, **environment: str) -> Answer:
    """Calls the program in a process of its own, its output in pipes."""
    env = {**os.environ, **environment}
    process = start(arguments, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=300)
    return Answer(out.decode(), err.decode(), process.returncode)


def on_terminal(*arguments: str, **environment: str) -> Answer:
    """Calls the program on a terminal of its own; what it shows is all in ``stdout``."""
    ours, theirs = pty.openpty()
    env = {**unsized(), "TERM": "xterm-256color", **environment}
    process = start(arguments, env=env, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        shown += data
    os.close(ours)
    return Answer(shown.decode().replace("\r\n", "\n"), "", process.wait(timeout=300))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder to train in, with a small built corpus in a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    random_ = random.Random(1)
    folder = built_folder()
    folder.mkdir(parents=True)
    for name in BUILT_NAMES:
        lines = []
        for number in range(60):
            text = "".join("".join(random_.choices(HAN, k=5)) + end for end in "，。，。")
            poem = {"id": str(number), "title": "", "author": "", "text": text}
            lines.append(json.dumps(poem, ensure_ascii=False))
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path
