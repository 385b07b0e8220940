"""Poems written under a form or without one, and what each step paid for the form.

Knows how to sample and what to note of a step; what is made of it is ``constraint``'s.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor

from corpora.forms import FORMS, VerseForm
from model.batch import BatchGenerator
from model.config import Controls, SamplerConfig
from model.constraints import FixedForm
from model.generate import Prompt
from model.lab.base import Progress
from model.protocol import LanguageModel
from model.steps import Finished, Step
from model.tokenizers import Tokenizer

ROWS = 16
"""Poems of one batch."""
EVENTS = 256
"""Tokens between two progress records."""
SAMPLER = SamplerConfig(temperature=1.0)
"""The model's own distribution: what is paid is paid for the form alone."""


@dataclass(frozen=True, slots=True)
class Place:
    """One step of a constrained poem."""

    position: int
    """Characters that stood before it."""
    forbidden: float
    """Mass that the mask forbids, [0, 1]."""
    paid: float
    """Bits: log2 of the probability drawn with over the model's own."""
    own: float
    """Bits that the token costs under the model alone: -log2 of its probability."""


@dataclass(slots=True)
class Written:
    """One poem."""

    text: str = ""
    places: list[Place] = field(default_factory=list)

    @property
    def paid(self) -> float:
        """Bits of the whole poem."""
        return sum(place.paid for place in self.places)

    def add(self, step: Step) -> None:
        """Take in a step."""
        own = -step.logprob / math.log(2)
        forbidden = step.inspection.forbidden if step.inspection else 0.0
        paid = math.log2(step.probability) + own
        self.places.append(Place(len(self.text), forbidden, paid, own))
        self.text += step.text


class Writable:
    """A model that gives no probability to what no run ever writes: tokens that are no text
    and, right after the start token, an end. What they hold is not the form's to forbid."""

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer) -> None:
        self.config = model.config
        self.new_cache = model.new_cache
        self._model = model
        self._never = torch.zeros(model.config.vocab_size, dtype=torch.bool)
        self._never[list(tokenizer.special_ids - tokenizer.end_ids)] = True
        self._nor_first = self._never.clone()
        self._nor_first[list(tokenizer.end_ids)] = True

    def __call__(self, ids: Tensor, cache: Any = None, *, last: bool = False) -> Tensor:
        read = ids.shape[1] + (cache.position if cache is not None else 0)
        banned = self._nor_first if read == 1 else self._never
        return self._model(ids, cache, last=last).masked_fill(banned, float("-inf"))


def write(
    model: LanguageModel, tokenizer: Tokenizer, form: VerseForm | None, seed: int, count: int
) -> Generator[Progress, None, list[Written]]:
    """``count`` poems at temperature 1, ``ROWS`` at a time; without a form they go on to an
    end or to twice the longest form."""
    controls = Controls(SAMPLER, max_tokens=2 * max(known.length for known in FORMS.values()))
    poems = [Written() for _ in range(count)]
    written = 0
    for first in range(0, count, ROWS):
        seeds = [seed * 1_000_003 + n for n in range(first, min(first + ROWS, count))]
        batch = BatchGenerator(
            model,
            tokenizer,
            Prompt(),
            controls,
            seeds,
            constraint=FixedForm(form) if form else None,
            inspected=form is not None,
        )
        for number, row in enumerate(batch):
            if isinstance(row.event, Finished):
                poems[first + row.row].text += row.event.text
                written += 1
            else:
                poems[first + row.row].add(row.event)
            if number % EVENTS == 0:
                yield Progress(written, count, form.name if form else "without a form")
    return poems


@dataclass(frozen=True, slots=True)
class Chance:
    """The probability that a free sample begins as a whole poem of a form."""

    form: str
    counted: float
    """Share of the free samples that do."""
    counted_error: float
    computed: float
    """Mean of 2^-paid over poems written under the form."""
    computed_error: float

    @property
    def agree(self) -> bool:
        """Within four standard errors, and one sample."""
        return abs(self.counted - self.computed) <= 4 * math.hypot(
            self.counted_error, self.computed_error
        )


def chance(form: VerseForm, held: Sequence[Written], samples: Sequence[Written]) -> Chance:
    """From poems ``held`` to the form, and from free ``samples``."""
    n = len(samples)
    hits = sum(form.holds(poem.text[: form.length]) for poem in samples)
    share = hits / n
    # of one sample more each way, so that 0 of n is not taken for certainty
    smoothed = (hits + 1) / (n + 2)
    weights = [2.0**-poem.paid for poem in held]
    return Chance(
        form.name,
        share,
        math.sqrt(smoothed * (1 - smoothed) / n),
        mean(weights),
        stdev(weights) / math.sqrt(len(weights)) if len(weights) > 1 else math.inf,
    )


def by_position(poems: Sequence[Written]) -> dict[int, list[Place]]:
    """The places of all poems by how many characters stood before."""
    places: dict[int, list[Place]] = {}
    for poem in poems:
        for place in poem.places:
            places.setdefault(place.position, []).append(place)
    return dict(sorted(places.items()))
