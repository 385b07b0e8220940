"""What benchmarks measure: a model, and a way to write texts of a given length with it.

Knows nothing of clocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.batch import BatchGenerator
from model.checkpoint import load_checkpoint
from model.config import CacheMode, Controls, GPTConfig, SamplerConfig
from model.generate import Generator, Prompt
from model.gpt import GPT
from model.protocol import LanguageModel
from model.registry import find
from model.steps import Step
from model.tokenizers import CharTokenizer, Tokenizer

TEMPERATURE = 0.8
VOCABULARY = 6548
"""Tokens of a model that stands in where no weights are there: as many as Tang verse has."""
SPREAD = 3.0
"""Standard deviation of a stand-in's logits: about as uncertain as a trained model, so
that its sampling has as much to do."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model to be measured, laid out for decoding."""

    model: GPT
    tokenizer: Tokenizer
    weights: str
    """Name of the model, or ``random``."""

    def write(self, tokens: int, cache: CacheMode = "on") -> list[int]:
        """Exactly ``tokens`` ids after a start token, as the command line writes without
        statistics. The same for both cache modes."""
        return [step.token for step in steps(self.model, self.tokenizer, tokens, cache)]

    def write_batch(self, tokens: int, seeds: Sequence[int]) -> int:
        """That for each of ``seeds``, all at once; how many ids were written altogether."""
        rows = BatchGenerator(
            self.model,
            self.tokenizer,
            Prompt(),
            _controls(tokens, "on"),
            seeds,
            constraint=Endless(),
        )
        return sum(isinstance(row.event, Step) for row in rows)


def steps(
    model: LanguageModel, tokenizer: Tokenizer, tokens: int, cache: CacheMode = "on"
) -> Iterator[Step]:
    """``tokens`` tokens after a start token, without statistics and without an end; the same
    ones for both cache modes."""
    run = Generator(
        model,
        tokenizer,
        Prompt(),
        _controls(tokens, cache),
        constraint=Endless(),
        inspected=False,
    )
    return (event for event in run if isinstance(event, Step))


def shipped(name: str) -> Subject:
    """The model of this name, or random weights of the lesson's shape where its file is
    not there. Sets torch to one thread."""
    torch.set_num_threads(1)
    spec = find(name)
    if not spec.available:
        return stand_in(GPTConfig(VOCABULARY))
    checkpoint = load_checkpoint(spec.path)
    return Subject(checkpoint.model.lay_out_for_decoding(), checkpoint.tokenizer, spec.name)


def stand_in(config: GPTConfig) -> Subject:
    """Random weights of this shape, the same at every call."""
    torch.manual_seed(0)
    model = GPT(config).eval()
    with torch.no_grad():  # the head's values have a deviation of 0.02, and n_embd of them add up
        model.ln.weight.fill_(SPREAD / (0.02 * math.sqrt(config.n_embd)))
    characters = [chr(0x4E00 + i) for i in range(config.vocab_size - len(CharTokenizer.SPECIALS))]
    return Subject(model.lay_out_for_decoding(), CharTokenizer(characters), "random")


class Endless:
    """Text without end, so that runs have one length: bans the tokens that are no text."""

    def check(self, opening: str = "") -> None:
        """Any opening will do."""

    def compile(self, tokenizer: Tokenizer) -> _EndlessMatcher:
        """The matcher of one run."""
        return _EndlessMatcher(tokenizer)

    def describe(self) -> str:
        """On one line."""
        return "endless"


class _EndlessMatcher:
    finished = False
    forced = False

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.structural = torch.zeros(tokenizer.vocab_size, dtype=torch.bool)
        self._mask = ~self.structural
        self._mask[list(tokenizer.special_ids)] = False

    def mask(self) -> Tensor:
        return self._mask

    def accept(self, token: int) -> None:
        pass

    def rollback(self, n: int) -> None:
        pass


def _controls(tokens: int, cache: CacheMode) -> Controls:
    return Controls(SamplerConfig(temperature=TEMPERATURE), cache, max_tokens=tokens)
