"""Which models can be had, and one that is loaded.

A ``ModelSpec`` says what could be loaded and costs nothing; ``load`` makes a
``ModelHandle`` of it. A handle's lock keeps two runs from going through one model
together; caches belong to runs, so nothing of one model ever serves another.
"""

from __future__ import annotations

import hashlib
import platform
import threading
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from model.checkpoint import load_checkpoint
from model.errors import InputError
from model.gpt import GPT
from model.tokenizers import Tokenizer

WEIGHTS = Path(__file__).parent / "weights"
DEFAULT_MODEL = "tang-small"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model that can be loaded."""

    name: str
    path: Path
    note: str = ""
    """One line for lists."""

    @property
    def available(self) -> bool:
        """The file is there."""
        return _is_file(self.path)


@dataclass(frozen=True)
class ModelHandle:
    """A loaded model with its tokenizer."""

    spec: ModelSpec
    model: GPT
    tokenizer: Tokenizer
    training: dict[str, Any]
    fingerprint: dict[str, Any]
    """What must be equal for the same seed to mean the same text."""
    lock: threading.Lock = field(default_factory=threading.Lock, compare=False)
    """Held by the one run that uses the model."""

    @property
    def title(self) -> str:
        """``tang-base 5.7M float32``."""
        millions = self.model.n_parameters / 1e6
        return f"{self.spec.name} {millions:.1f}M float32"


def specs() -> list[ModelSpec]:
    """Every model that ships with the program, the default first."""
    return [
        ModelSpec("tang-small", WEIGHTS / "tang-small.safetensors", "the lesson's shape; default"),
        ModelSpec("tang-base", WEIGHTS / "tang-base.safetensors", "deeper, longer block; slower"),
    ]


def find(name: str) -> ModelSpec:
    """The model of this name, or the checkpoint file at this path.

    Raises ``InputError`` that lists the names there are.
    """
    for spec in specs():
        if spec.name == name:
            return spec
    path = Path(name)
    if path.suffix == ".safetensors" or _is_file(path):
        return ModelSpec(path.stem, path, "a checkpoint of yours")
    known = ", ".join(spec.name for spec in specs())
    raise InputError(
        f"there is no model named {name!r}; use one of {known}, or the path of a .safetensors file"
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long, a folder that may not be read
        return False


def load(spec: ModelSpec, threads: int = 1) -> ModelHandle:
    """Read a model from disk, ready to decode; about a fifth of a second for the shipped ones.

    ``threads``: torch's thread count, for the whole process. One is fastest for small
    models on busy machines. Raises ``CheckpointError`` that names the file.
    """
    torch.set_num_threads(threads)
    checkpoint = load_checkpoint(spec.path)
    return ModelHandle(
        spec,
        checkpoint.model.lay_out_for_decoding(),
        checkpoint.tokenizer,
        checkpoint.training,
        fingerprint(spec.path, checkpoint.tokenizer, threads),
    )


def fingerprint(path: Path, tokenizer: Tokenizer, threads: int) -> dict[str, Any]:
    """Everything that decides the logits: file and tokenizer hash, dtype, threads, versions."""
    return {
        "checkpoint": _file_hash(path, path.stat().st_mtime_ns),
        "tokenizer": tokenizer.hash,
        "dtype": "float32",
        "threads": threads,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


@lru_cache(maxsize=16)
def _file_hash(path: Path, modified: int) -> str:
    """SHA-256 of a file; ``modified`` keeps an old answer from serving a new file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
