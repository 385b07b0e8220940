"""What lies at a path: a model's folder, a GGUF file, or something that is never opened.

Reads headers only, so that a wrong file is refused at once, before any library that
takes seconds to import has seen it. No pickle is ever read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from model.errors import CheckpointError
from model.pretrained.gguf import read_header

TAKES = (
    "a folder with config.json and .safetensors files, or one .gguf file "
    "(pickles, as .bin and .pt files are, may run code and are never opened)"
)
_INDEX = "model.safetensors.index.json"
_LICENCE = re.compile(r"^license:\s*[\"']?([\w.+-]+)", re.MULTILINE)
_LONGEST_HEADER = 100_000_000
_GGUF_NAMES = {
    "n_layer": "block_count",
    "n_embd": "embedding_length",
    "n_head": "attention.head_count",
    "block_size": "context_length",
    "vocab_size": "vocab_size",
}
_CONFIG_NAMES = {
    "n_layer": ("num_hidden_layers", "n_layer"),
    "n_embd": ("hidden_size", "n_embd"),
    "n_head": ("num_attention_heads", "n_head"),
    "block_size": ("max_position_embeddings", "n_positions", "n_ctx"),
    "vocab_size": ("vocab_size",),
}
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Source:
    """A model on disk, described but not loaded."""

    path: Path
    kind: Literal["folder", "gguf"]
    architecture: str
    """``llama``, ``qwen2``, …"""
    parameters: int
    shape: Mapping[str, int]
    """``n_layer``, ``n_embd``, ``n_head``, ``block_size``, ``vocab_size``; 0 where not told."""
    licence: str
    """As the file says it; empty where it does not."""
    weights: tuple[Path, ...]
    document: Mapping[str, Any] = field(repr=False)
    """The folder's ``config.json``, or the fields of the GGUF header."""

    @property
    def bytes(self) -> int:
        """Size of the weights on disk."""
        return sum(path.stat().st_size for path in self.weights)


def look_at(path: Path) -> Source:
    """Describe what lies at ``path`` and check that it is whole.

    Raises ``CheckpointError`` that says what is wrong and what is taken.
    """
    try:
        if path.is_dir():
            return _folder(path)
        if not path.is_file():
            raise CheckpointError(f"{path}: there is nothing; give {TAKES}")
        with path.open("rb") as file:
            begins = file.read(4)
        if begins == b"GGUF":
            return _gguf(path)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror or error})") from error
    raise CheckpointError(f"{path} is not a model that can be opened; give {TAKES}")


def _gguf(path: Path) -> Source:
    header = read_header(path)
    name = header.architecture
    if not name:
        raise CheckpointError(f"{path}: its header names no architecture")
    fields = {our: header.of_architecture(their) for our, their in _GGUF_NAMES.items()}
    fields["vocab_size"] = fields["vocab_size"] or header.fields.get("tokenizer.ggml.tokens")
    licence = str(header.fields.get("general.license", ""))
    shape = _whole(fields)
    return Source(path, "gguf", name, header.parameters, shape, licence, (path,), header.fields)


def _folder(path: Path) -> Source:
    document = read_json(path / "config.json")
    name = document.get("model_type")
    if not isinstance(name, str):
        raise CheckpointError(f"{path}: config.json names no model_type; give {TAKES}")
    weights = _weights(path)
    text = document.get("text_config") or document
    fields = {
        our: next((text[key] for key in theirs if key in text), 0)
        for our, theirs in _CONFIG_NAMES.items()
    }
    parameters = sum(map(_checked_safetensors, weights))
    licence = _licence(path)
    return Source(path, "folder", name, parameters, _whole(fields), licence, weights, document)


def _whole(fields: Mapping[str, Any]) -> dict[str, int]:
    return {name: value if isinstance(value, int) else 0 for name, value in fields.items()}


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in ``path``. Raises ``CheckpointError`` where there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"{path.parent}: there is no {path.name}; give {TAKES}") from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not JSON ({error}); get it again") from error
    if not isinstance(document, dict):
        raise CheckpointError(f"{path}: not a JSON object; get it again")
    return document


def _weights(folder: Path) -> tuple[Path, ...]:
    """The files of weights, in order."""
    single = folder / "model.safetensors"
    if single.is_file():
        return (single,)
    if not (folder / _INDEX).is_file():
        pickles = sorted(p.name for p in folder.iterdir() if p.suffix in (".bin", ".pt", ".pth"))
        found = f"only {', '.join(pickles[:3])}" if pickles else "no model.safetensors"
        raise CheckpointError(f"{folder}: it has {found}; give {TAKES}")
    try:
        names = sorted({str(name) for name in read_json(folder / _INDEX)["weight_map"].values()})
    except _DAMAGE as error:
        raise CheckpointError(f"{folder / _INDEX}: it maps no weights; get it again") from error
    for name in names:
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise CheckpointError(f"{folder / _INDEX}: it names {name!r}, which is no file of it")
        if not (folder / name).is_file():
            raise CheckpointError(f"{folder}: {name} is missing; get the folder again")
    return tuple(folder / name for name in names)


def _checked_safetensors(path: Path) -> int:
    """How many values the file holds. Raises ``CheckpointError`` where it is not whole."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(size, _LONGEST_HEADER):
                raise ValueError(f"a header of {length:,} bytes")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        ends = [tensor["data_offsets"][1] for tensor in header.values()]
        if 8 + length + max(ends, default=0) != size:
            raise ValueError(
                f"{8 + length + max(ends, default=0):,} bytes expected, {size:,} there"
            )
        return sum(math.prod(tensor["shape"]) for tensor in header.values())
    except _DAMAGE as error:
        raise CheckpointError(
            f"{path}: not a whole safetensors file ({error}); get it again"
        ) from error


def _licence(folder: Path) -> str:
    """From the model card's head."""
    card = folder / "README.md"
    if not card.is_file():
        return ""
    with card.open(encoding="utf-8", errors="replace") as file:
        found = _LICENCE.search(file.read(4096))
    return found[1] if found else ""
