"""A training run from its settings: what is trained on what, and the record that a
checkpoint carries of it.

Knows the corpus' names and the engine; prints nothing.
"""

from __future__ import annotations

import json
import math
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from corpora.places import PACKAGE_NAME, PACKAGE_VERSION, RULES_VERSION
from corpora.poems import read_built
from model.checkpoint import load_checkpoint, read_safetensors, save_checkpoint
from model.claim import STATE
from model.config import GPTConfig, TrainConfig
from model.data import encode_corpus
from model.distil import Teacher
from model.distributed import Processes
from model.errors import CheckpointError, InputError
from model.gpt import GPT
from model.grow import deepen
from model.hashing import file_hash
from model.registry import find
from model.tokenizers import CharTokenizer, Tokenizer, tokenizer_from_json
from model.train import STATE_FORMAT, STATE_VERSION, Trainer

MINIMUM = 2
"""A character that Tang training verse holds less often than this is unknown."""

LIBRARIES = ("torch", "numpy", "safetensors", "sentencepiece", "opencc")


def saved_settings(folder: Path) -> dict[str, Any]:
    """The settings of the run whose state is in ``folder``, by the names of ``GPTConfig`` and
    ``TrainConfig``; empty where there is none. Raises ``CheckpointError`` for a damaged one."""
    header = _saved_header(folder)
    if not header:
        return {}
    fixed = json.loads(header["fixed"])
    model = {name: value for name, value in fixed["model"].items() if name != "vocab_size"}
    return {**model, **fixed["train"]}


def make_trainer(
    settings: dict[str, Any],
    processes: Processes,
    folder: Path,
    *,
    grow_from: Path | None = None,
) -> Trainer:
    """A trainer over the built corpus, at its first step.

    ``settings``: fields of ``GPTConfig`` and ``TrainConfig``; what is left out has their
    defaults. ``grow_from``: a checkpoint whose weights the model begins with, of the same
    width and no deeper. Raises ``SettingError`` for a value, ``UserError`` where the corpus is
    missing, ``CheckpointError`` or ``InputError`` where the model cannot grow from that one
    or learn from that teacher.
    """
    shape = {k: v for k, v in settings.items() if k in GPTConfig.__dataclass_fields__}
    config = TrainConfig(**{k: v for k, v in settings.items() if k not in shape})
    GPTConfig(vocab_size=1, **shape)  # refuse before reading anything
    texts, held_out = _texts("tang.train"), _texts("tang.heldout")
    if not texts or not held_out:
        raise InputError(
            "the built corpus has no poems to train on or none to measure with; "
            "build it anew: run.py corpus build --again"
        )
    bpe = config.tokenizer == "bpe"
    songs = _texts("song.train") if bpe or config.song_share else []
    ci = _texts("ci.train") if bpe else []
    tokenizer = _saved_tokenizer(folder) or _train_tokenizer(config, texts, [*songs, *ci])
    mixed = (songs, ci) if config.song_share else ([], [])
    corpus = encode_corpus(texts, held_out, mixed[0], tokenizer, mixed[1])
    torch.manual_seed(config.seed)
    wanted = GPTConfig(vocab_size=tokenizer.vocab_size, **shape)
    teacher = _teacher(config, wanted, tokenizer, processes)
    model, origin = _grown(grow_from, wanted, tokenizer) if grow_from else (GPT(wanted), "")
    return Trainer(model, tokenizer, corpus, config, processes, folder, origin, teacher)


def _texts(name: str) -> list[str]:
    return [poem.text for poem in read_built(name)]


def _train_tokenizer(config: TrainConfig, tang: list[str], others: list[str]) -> Tokenizer:
    """Characters of Tang verse, or pieces of everything."""
    if config.tokenizer == "char":
        return CharTokenizer.train(tang, MINIMUM)
    from model.sentencepieces import SentencePieceTokenizer

    return SentencePieceTokenizer.train([*tang, *others], config.pieces)


def _saved_tokenizer(folder: Path) -> Tokenizer | None:
    """The tokenizer of the run whose state is in ``folder``: taking pieces from the corpus
    again would give the same ones, a minute later. Early states do not hold it."""
    header = _saved_header(folder)
    return tokenizer_from_json(json.loads(header["tokenizer"])) if "tokenizer" in header else None


def _saved_header(folder: Path) -> dict[str, str]:
    """The header of the state in ``folder``; empty where there is none."""
    state = folder / STATE
    if not state.exists():
        return {}
    _, header = read_safetensors(state, STATE_FORMAT, STATE_VERSION)
    return header


def _grown(path: Path, wanted: GPTConfig, tokenizer: Tokenizer) -> tuple[GPT, str]:
    """The checkpoint's model in the wanted shape, and a line that says where it came from."""
    old = load_checkpoint(path)
    if old.tokenizer.hash != tokenizer.hash:
        raise CheckpointError(
            f"{path}: trained with another vocabulary than this corpus gives; "
            "grow from a model of the same corpus"
        )
    model = deepen(old.model, wanted.n_layer, wanted.block_size, dropout=wanted.dropout)
    if model.config != wanted:
        raise InputError(
            f"{path} has width {old.model.config.n_embd} and {old.model.config.n_head} heads; "
            f"a grown model keeps them, not {wanted.n_embd} and {wanted.n_head}"
        )
    steps, tokens = old.training.get("steps"), old.training.get("tokens")
    return model, (
        f"{path.stem} of {old.model.config.n_layer} layers after {steps} steps, {tokens} tokens"
    )


def _teacher(
    config: TrainConfig, student: GPTConfig, tokenizer: Tokenizer, processes: Processes
) -> Teacher | None:
    """The model that the configuration names, where it gives any part of the targets."""
    if not config.teacher or not config.teacher_share:
        return None
    spec = find(config.teacher)
    if spec.kind != "own":
        raise InputError(f"--teacher takes a checkpoint of this program, not {config.teacher}")
    checkpoint = load_checkpoint(spec.path)
    if checkpoint.tokenizer.hash != tokenizer.hash:
        raise CheckpointError(
            f"{spec.name}: trained with another vocabulary than this run has; "
            "a teacher must mean the same characters by the same ids"
        )
    block = checkpoint.model.config.block_size
    if block < student.block_size:
        raise InputError(
            f"{spec.name} reads {block} tokens at most, and this run shows {student.block_size}; "
            f"give --block {block} or less, or a teacher with a longer block"
        )
    model = checkpoint.model.eval().requires_grad_(False).to(processes.device)
    return Teacher(model, config.teacher_share, file_hash(spec.path)[:16])


def export(trainer: Trainer, path: Path, name: str, held_out_loss: float) -> dict[str, Any]:
    """Write the trainer's model to ``path``; the training record that it carries."""
    record = training_record(trainer, name, held_out_loss)
    save_checkpoint(path, trainer.model, trainer.tokenizer, record)
    return record


def training_record(trainer: Trainer, name: str, held_out_loss: float) -> dict[str, Any]:
    """How a model came about: data, steps, loss, seed, settings, versions."""
    corpus = trainer.corpus
    return {
        "name": name,
        "data": {
            "corpus": f"{PACKAGE_NAME} {PACKAGE_VERSION}, rules {RULES_VERSION}",
            "train_poems": len(corpus.train),
            "train_tokens": sum(len(poem) - 1 for poem in corpus.train),
            "song_poems": len(corpus.song),
            "held_out_poems": len(corpus.held_out),
            "held_out_tokens": sum(len(poem) - 1 for poem in corpus.held_out),
            "vocabulary": trainer.tokenizer.vocab_size,
        },
        "origin": trainer.origin or "random weights",
        "steps": trainer.step,
        "tokens": trainer.tokens,
        "held_out_loss": held_out_loss,
        "held_out_bits_per_character": held_out_loss / math.log(2),
        "seed": trainer.config.seed,
        "processes": trainer.processes.world,
        "settings": asdict(trainer.config),
        "versions": {
            "python": platform.python_version(),
            **{library: version(library) for library in LIBRARIES},
        },
    }
