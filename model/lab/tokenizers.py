"""Characters against pieces: what a token is, what it costs, and what is gained, all by the
character, so that models of different tokens compare.

Bits a token mean nothing between tokenizers: a longer token is harder to foresee. Divided by
characters they do. Poems are written in turns by every model, under one form, so that all
write the same number of characters.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

import torch

from corpora.forms import FORMS
from model.config import Controls, GPTConfig, SamplerConfig
from model.constraints import FixedForm
from model.data import encode_poems, token_characters
from model.generate import Generator as Run
from model.generate import Prompt
from model.gpt import GPT
from model.held_out import held_out_loss
from model.lab.base import Check, Progress, Records, Request, Result, Table, table
from model.lab.texts import real_poems
from model.lab.timing import clock
from model.registry import ModelHandle, specs
from model.steps import Step
from model.tokenizers import CharTokenizer

FORM = FORMS["七绝"]
POEMS, QUICK_POEMS = 12, 2
"""Written by each model; one more, the first, is not counted."""
REAL, QUICK_REAL = 400, 8
"""Unseen poems that are read."""
AT_ONCE = 50
"""Poems read between two progress records."""
ALIKE = 0.02
"""Bits a character within which two models are alike."""
SAMPLER = SamplerConfig(temperature=0.8, top_p=0.95)


@dataclass
class Measured:
    """One model."""

    handle: ModelHandle
    bits: float | None = None
    """Cross-entropy over unseen poems, bits a character."""
    characters_a_token: float | None = None
    """Of the same poems."""
    unchanged: bool = True
    """Each of them was the same after it was encoded and decoded."""
    tokens: list[int] = field(default_factory=list)
    """Of each written poem."""
    seconds: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.handle.spec.name

    @property
    def pieces(self) -> bool:
        """Its tokens are not characters."""
        return not isinstance(self.handle.tokenizer, CharTokenizer)

    @property
    def written_a_token(self) -> float:
        """Characters of the written poems by their tokens."""
        return FORM.length * len(self.tokens) / sum(self.tokens)

    @property
    def second_a_character(self) -> float:
        """Median over the poems."""
        return median(self.seconds) / FORM.length

    @property
    def cache_a_token(self) -> int:
        """Bytes of keys and values."""
        return self.handle.model.new_cache().bytes_per_token

    @property
    def cache_a_character(self) -> float:
        """Bytes of keys and values, over what was written."""
        return self.cache_a_token / self.written_a_token


def run(request: Request) -> Records:
    """A progress record for each poem written and each fifty read."""
    yield Progress(0, 1, "the models")
    names = [request.model] if request.model else _own_models()
    models = [Measured(request.load(name)) for name in names]
    real = real_poems(QUICK_REAL if request.quick else REAL)
    for one in models:
        yield from _read(one, real)
    poems = QUICK_POEMS if request.quick else POEMS
    yield from _write(models, range(request.seed, request.seed + poems + 1))
    yield Result(
        "tokenizers",
        (_tokens(models), _costs(models, len(real))),
        (),
        tuple(_checks(models)),
        tuple(_findings(models)),
        {"models": names, "seed": request.seed, "poems": poems, "read": len(real)},
    )


def _own_models() -> list[str]:
    return [spec.name for spec in specs() if spec.kind == "own" and spec.available]


def _read(one: Measured, texts: Sequence[str]) -> Generator[Progress, None, None]:
    """Bits and characters a token over ``texts``, if there are any."""
    model, tokenizer = one.handle.model, one.handle.tokenizer
    if not texts or not isinstance(model, GPT):
        return
    widths = token_characters(tokenizer)
    nats, characters, tokens = 0.0, 0, 0
    for at in range(0, len(texts), AT_ONCE):
        yield Progress(at, len(texts), f"{one.name} reads")
        part = texts[at : at + AT_ONCE]
        one.unchanged &= all(
            tokenizer.decode(tokenizer.encode(text, "drop")) == text
            for text in part
            if one.pieces or tokenizer.unk_id not in tokenizer.encode(text, "unk")
        )
        poems = encode_poems(part, tokenizer)
        counted = sum(int(widths[poem[1:]].sum()) for poem in map(torch.from_numpy, poems))
        nats += held_out_loss(model, poems, tokenizer, torch.device("cpu")) * counted
        characters += counted
        tokens += sum(int((poem[1:] != tokenizer.unk_id).sum()) for poem in poems)
    one.bits = nats / characters / math.log(2)
    one.characters_a_token = characters / tokens


def _write(models: Sequence[Measured], seeds: range) -> Generator[Progress, None, None]:
    """A poem of each model for each seed, in turns; the first seed warms up."""
    constraint, now = FixedForm(FORM), clock()
    for number, seed in enumerate(seeds):
        for one in models:
            yield Progress(number, len(seeds), f"{one.name} writes")
            began = now()
            run = Run(
                one.handle.model,
                one.handle.tokenizer,
                Prompt(),
                Controls(SAMPLER, seed=seed),
                constraint=constraint,
                inspected=False,
            )
            tokens = sum(isinstance(event, Step) for event in run)
            if number:
                one.tokens.append(tokens)
                one.seconds.append(now() - began)


def _tokens(models: Sequence[Measured]) -> Table:
    rows = []
    for one in models:
        model = one.handle.model
        shape = model.config
        embedding = shape.vocab_size * shape.n_embd if isinstance(shape, GPTConfig) else None
        rows.append(
            (
                one.name,
                "pieces" if one.pieces else "characters",
                shape.vocab_size,
                model.n_parameters / 1e6,
                embedding / model.n_parameters if embedding else None,
                one.characters_a_token,
                sum(one.tokens) / len(one.tokens),
            )
        )
    heads = {"model": "", "tokens are": "", "vocabulary": ",", "M parameters": ".2f"}
    heads |= {"in the embedding": ".0%", "characters a token": ".3f"}
    return table(
        "What a token is",
        heads | {f"tokens a {FORM.name}": ".1f"},
        rows,
        f"characters a token: of unseen poems, an end counted as one. A {FORM.name} has "
        f"{FORM.length} characters; n = {len(models[0].tokens)} written by each model.",
    )


def _costs(models: Sequence[Measured], read: int) -> Table:
    rows = [
        (
            one.name,
            one.bits,
            one.bits * one.characters_a_token if one.bits and one.characters_a_token else None,
            one.second_a_character * one.written_a_token * 1e3,
            1 / one.second_a_character,
            one.cache_a_token,
            one.cache_a_character,
        )
        for one in models
    ]
    heads = {"model": "", "bits a character": ".3f", "bits a token": ".3f", "ms a token": ".2f"}
    heads |= {"characters/s": ",.0f", "cache bytes a token": ",", "a character": ",.0f"}
    return table(
        "What it costs and what it gives",
        heads,
        rows,
        f"bits: over {read} unseen poems, characters unknown to a model left out of its count; "
        "a dash: the corpus is not built. characters/s: medians, the models taking turns, of the "
        "processor's time.",
    )


def _checks(models: Sequence[Measured]) -> Iterator[Check]:
    read = [one for one in models if one.bits is not None]
    if read:
        yield Check(
            "poems are the same after they were encoded and decoded",
            all(one.unchanged for one in read),
            ", ".join(one.name for one in read),
        )
    for one in models:
        if not one.pieces:
            yield Check(
                f"{one.name}: a token is a character",
                one.written_a_token == 1.0,
                f"{one.written_a_token:.3f} characters a token",
            )


def _findings(models: Sequence[Measured]) -> Iterator[str]:
    of_pieces = [one for one in models if one.pieces]
    of_characters = [one for one in models if not one.pieces]
    if not of_pieces or not of_characters:
        yield (
            "Only one kind of token was measured: run.py train --tokenizer bpe trains a model of "
            "pieces, --model measures a checkpoint."
        )
        return
    for pieces in of_pieces:
        # Beside the one that is nearest to it in the time that a character takes.
        near = min(
            of_characters, key=lambda o: abs(o.second_a_character - pieces.second_a_character)
        )
        yield _compared(pieces, near)
        if pieces.bits is not None:
            yield _better(pieces, of_characters)


def _compared(pieces: Measured, other: Measured) -> str:
    saved = 1 - sum(pieces.tokens) / sum(other.tokens)
    pace = other.second_a_character / pieces.second_a_character
    memory = pieces.cache_a_character / other.cache_a_character
    return (
        f"{pieces.name} takes {saved:.0%} fewer tokens for a {FORM.name} than {other.name}, "
        f"writes {pace:.2f} times as many characters a second, and keeps {memory:.2f} times the "
        "bytes of keys and values for each."
    )


def _better(pieces: Measured, characters: Sequence[Measured]) -> str:
    """Whether pieces or characters spend as many parameters better, in bits a character."""
    size = pieces.handle.model.n_parameters
    expected, how = at_size(
        size, [(one.handle.model.n_parameters, one.bits or math.nan) for one in characters]
    )
    apart = (pieces.bits or math.nan) - expected
    better = f"{'pieces' if apart < 0 else 'characters'} are the better way to spend them"
    verdict = "neither is the better way to spend them" if abs(apart) < ALIKE else better
    return (
        f"{pieces.name} takes {pieces.bits:.2f} bits a character with {size / 1e6:.1f} M "
        f"parameters; a model of characters of that size would take about {expected:.2f} ({how}). "
        f"That is {abs(apart):.2f} {'less' if apart < 0 else 'more'} for pieces: {verdict}, as far "
        "as these models were trained alike (run.py models NAME tells)."
    )


def at_size(size: int, known: Sequence[tuple[int, float]]) -> tuple[float, str]:
    """Bits a character to be expected of a model of ``size`` parameters, from models whose
    (size, bits) are known, and in words how: on a line through the two nearest by the
    logarithm of the size, or as the only one there is."""
    near = sorted(known, key=lambda one: abs(math.log(one[0] / size)))[:2]
    (first, bits), *rest = near
    if not rest or rest[0][0] == first:
        return bits, f"that of {first / 1e6:.1f} M"
    (second, others) = rest[0]
    share = math.log(size / first) / math.log(second / first)
    low, high = sorted((first, second))
    return bits + share * (others - bits), f"on a line from {low / 1e6:.1f} to {high / 1e6:.1f} M"
