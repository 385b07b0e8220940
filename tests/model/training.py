"""Small training runs, and what is left of them to compare."""

from __future__ import annotations

from pathlib import Path

import torch

from model.config import GPTConfig, TrainConfig
from model.data import encode_corpus
from model.distributed import Processes
from model.gpt import GPT
from model.tokenizers import CharTokenizer
from model.train import (
    Corpus,
    Trainer,
)
from tests.helpers import CHARACTERS, HAN

POEMS = [HAN[i : i + 5] + "，" + HAN[i + 5 : i + 10] + "。" for i in range(0, 30, 2)]
CONFIG = TrainConfig(
    steps=8, batch_tokens=80, accumulate=2, warmup=2, eval_every=4, save_every=3, seed=5
)
SHAPE = GPTConfig(CHARACTERS.vocab_size, 32, 1, 2, 16, dropout=0.2)
ALONE = Processes(0, 1, torch.device("cpu"))


def corpus(poems: list[str] = POEMS, tokenizer: CharTokenizer = CHARACTERS) -> Corpus:
    return encode_corpus(poems, POEMS[:3], [HAN[:14]], tokenizer)


def trainer(
    folder: Path,
    config: TrainConfig = CONFIG,
    *,
    shape: GPTConfig = SHAPE,
    data: Corpus | None = None,
    tokenizer: CharTokenizer = CHARACTERS,
    seed: int = 7,
) -> Trainer:
    torch.manual_seed(seed)
    return Trainer(GPT(shape), tokenizer, data or corpus(), config, ALONE, folder)


def weights(of: Trainer) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in of.model.named_parameters()}


def same_weights(a: Trainer, b: Trainer) -> bool:
    return all(torch.equal(x, weights(b)[name]) for name, x in weights(a).items())
