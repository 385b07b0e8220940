"""Which models can be had, and one that is loaded.

This program's own checkpoints, and models of other makers: ``smollm2``, which is fetched,
and any folder or GGUF file. A ``ModelSpec`` says what could be loaded and costs nothing;
``load`` makes a ``ModelHandle`` of it. A handle's lock keeps two runs from going through
one model together; caches belong to runs, so nothing of one model ever serves another.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import torch

from corpora.package import SMOLLM2, installed_file
from model.checkpoint import load_checkpoint
from model.config import DEFAULT_MODEL, Precision
from model.errors import InputError
from model.hashing import file_hash
from model.labels import model_label
from model.protocol import LanguageModel
from model.tokenizers import Tokenizer

if TYPE_CHECKING:
    from model.pretrained.template import ChatTemplate

WEIGHTS = Path(__file__).parent / "weights"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model that can be loaded."""

    name: str
    path: Path
    note: str = ""
    """One line for lists."""
    kind: Literal["own", "pretrained"] = "own"
    """A checkpoint of this program, or a model of another maker."""
    licence: str = ""
    """Where it is known without opening the file."""

    @property
    def available(self) -> bool:
        """The file or folder is there."""
        return _exists(self.path)


class LoadedModel(LanguageModel, Protocol):
    """A model in memory."""

    @property
    def n_parameters(self) -> int:
        """Values, a tied head counted once."""


@dataclass(frozen=True)
class ModelHandle:
    """A loaded model with its tokenizer."""

    spec: ModelSpec
    model: LoadedModel
    tokenizer: Tokenizer
    training: dict[str, Any]
    """How it was made, as far as its file says."""
    fingerprint: dict[str, Any]
    """What must be equal for the same seed to mean the same text."""
    precision: Precision = "float32"
    chat: ChatTemplate | None = None
    """Turns a conversation into ids; ``None`` for a model that only continues text."""
    lock: threading.Lock = field(default_factory=threading.Lock, compare=False)
    """Held by the one run that uses the model."""

    @property
    def title(self) -> str:
        """``tang-base 5.7M float32``."""
        millions = self.model.n_parameters / 1e6
        return f"{self.spec.name} {millions:.1f}M {self.precision}"

    @property
    def full_cache_bytes(self) -> int:
        """Bytes of keys and values at the longest context."""
        return self.model.new_cache().bytes_per_token * self.model.config.block_size


def specs() -> list[ModelSpec]:
    """Every model that has a name, the default first; ``smollm2`` is there once fetched."""
    return [
        ModelSpec(
            DEFAULT_MODEL,
            WEIGHTS / f"{DEFAULT_MODEL}.safetensors",
            "writes best; default",
            licence="MIT",
        ),
        ModelSpec(
            "tang-small",
            WEIGHTS / "tang-small.safetensors",
            "the lesson's shape; faster",
            licence="MIT",
        ),
        ModelSpec(
            "verse-bpe",
            WEIGHTS / "verse-bpe.safetensors",
            "pieces of Tang and Song verse instead of characters; knows every character",
            licence="MIT",
        ),
        ModelSpec(
            SMOLLM2.name_here,
            installed_file(SMOLLM2, ".gguf"),
            SMOLLM2.what,
            "pretrained",
            SMOLLM2.licence,
        ),
    ]


def find(name: str) -> ModelSpec:
    """The model of this name, or the one at this path: a checkpoint file, a folder with
    safetensors, or a GGUF file.

    Raises ``InputError`` that lists the names there are.
    """
    for spec in specs():
        if spec.name == name:
            return spec
    path = Path(name)
    if path.suffix == ".safetensors":
        return ModelSpec(model_label(name), path, "a checkpoint of yours")
    if name and (path.suffix == ".gguf" or _exists(path)):
        return ModelSpec(model_label(name), path, "a model of yours", "pretrained")
    known = ", ".join(spec.name for spec in specs())
    raise InputError(
        f"there is no model named {name!r}; use one of {known}, or the path of a "
        ".safetensors checkpoint of this program, of a model's folder, or of a .gguf file"
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long, a folder that may not be read
        return False


def load(
    spec: ModelSpec,
    threads: int = 1,
    precision: Precision = "float32",
    tell: Callable[[str], object] = lambda text: None,
) -> ModelHandle:
    """Read a model from disk, ready to decode: about a fifth of a second for the shipped
    ones, a few seconds for ``smollm2``, a minute where a GGUF file is converted first.

    ``threads``: torch's thread count, for the whole process. One is fastest for small
    models on busy machines. ``tell`` hears of work that takes long, in a line. Raises
    ``CheckpointError`` that names the file, and ``InputError`` where the model has not been
    fetched or what it needs is not installed.
    """
    torch.set_num_threads(threads)
    if spec.kind == "pretrained":
        return _load_pretrained(spec, threads, precision, tell)
    if precision != "float32":
        raise InputError(
            f"{spec.name} is read in float32 only; {precision} is for models of other makers"
        )
    checkpoint = load_checkpoint(spec.path)
    return ModelHandle(
        spec,
        checkpoint.model.lay_out_for_decoding(),
        checkpoint.tokenizer,
        checkpoint.training,
        fingerprint([spec.path], checkpoint.tokenizer, threads),
    )


def _load_pretrained(
    spec: ModelSpec, threads: int, precision: Precision, tell: Callable[[str], object]
) -> ModelHandle:
    if spec.name == SMOLLM2.name_here and not spec.available:
        raise InputError(
            f"{spec.name} is not here yet; `run.py models fetch {spec.name}` gets it "
            f"({SMOLLM2.size / 1e6:.0f} MB, {SMOLLM2.licence})"
        )
    from model.pretrained.load import open_pretrained

    opened = open_pretrained(spec.path, precision, tell)
    source = opened.source
    made = {"architecture": source.architecture, "licence": source.licence or spec.licence}
    return ModelHandle(
        spec,
        opened.model,
        opened.tokenizer,
        made,
        fingerprint(source.weights, opened.tokenizer, threads, precision),
        precision,
        opened.chat,
    )


def fingerprint(
    paths: Sequence[Path], tokenizer: Tokenizer, threads: int, precision: Precision = "float32"
) -> dict[str, Any]:
    """Everything that decides the logits: hashes of weights and tokenizer, dtype,
    threads, versions."""
    return {
        "checkpoint": " ".join(map(file_hash, paths)),
        "tokenizer": tokenizer.hash,
        "dtype": precision,
        "threads": threads,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
