"""A training run from its settings: what is trained on what, and the record that a
checkpoint carries of it.

Knows the corpus' names and the engine; prints nothing.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from corpora.places import PACKAGE_NAME, PACKAGE_VERSION, RULES_VERSION
from corpora.poems import read_built
from model.checkpoint import read_safetensors, save_checkpoint
from model.config import GPTConfig, TrainConfig
from model.distributed import Processes
from model.gpt import GPT
from model.tokenizers import CharTokenizer
from model.train import STATE_FORMAT, STATE_VERSION, Trainer, encode_corpus

MINIMUM = 2
"""A character that Tang training verse holds less often than this is unknown."""

LIBRARIES = ("torch", "numpy", "safetensors", "opencc")


def saved_settings(folder: Path) -> dict[str, Any]:
    """The settings of the run whose state is in ``folder``, by the names of ``GPTConfig`` and
    ``TrainConfig``; empty where there is none. Raises ``CheckpointError`` for a damaged one."""
    state = folder / "state.safetensors"
    if not state.exists():
        return {}
    _, header = read_safetensors(state, STATE_FORMAT, STATE_VERSION)
    fixed = json.loads(header["fixed"])
    model = {name: value for name, value in fixed["model"].items() if name != "vocab_size"}
    return {**model, **fixed["train"]}


def make_trainer(
    settings: dict[str, Any], processes: Processes, folder: Path, *, song: bool = False
) -> Trainer:
    """A trainer over the built corpus, at its first step.

    ``settings``: fields of ``GPTConfig`` and ``TrainConfig``; what is left out has their
    defaults. Raises ``SettingError`` for a value, ``UserError`` where the corpus is missing.
    """
    shape = {k: v for k, v in settings.items() if k in GPTConfig.__dataclass_fields__}
    config = TrainConfig(**{k: v for k, v in settings.items() if k not in shape})
    GPTConfig(vocab_size=1, **shape)  # refuse before reading anything
    texts = [poem.text for poem in read_built("tang.train")]
    held_out = [poem.text for poem in read_built("tang.heldout")]
    songs = [poem.text for poem in read_built("song.train")] if song else []
    tokenizer = CharTokenizer.train(texts, MINIMUM)
    corpus = encode_corpus(texts, held_out, songs, tokenizer)
    torch.manual_seed(config.seed)
    model = GPT(GPTConfig(vocab_size=tokenizer.vocab_size, **shape))
    return Trainer(model, tokenizer, corpus, config, processes, folder)


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
            "held_out_poems": len(corpus.held_out),
            "held_out_tokens": sum(len(poem) - 1 for poem in corpus.held_out),
        },
        "steps": trainer.step,
        "tokens": trainer.tokens,
        "held_out_loss": held_out_loss,
        "seed": trainer.config.seed,
        "processes": trainer.processes.world,
        "settings": asdict(trainer.config),
        "versions": {
            "python": platform.python_version(),
            **{library: version(library) for library in LIBRARIES},
        },
    }
