"""Poems written under a form or without one, and what each step paid for the form.

Knows how to sample and what to note of a step; what is made of it is ``constraint``'s.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from corpora.forms import FORMS, VerseForm
from model.config import SamplerConfig
from model.constraints import FixedForm
from model.lab.base import Progress
from model.lab.writing import write_poems
from model.protocol import LanguageModel
from model.registry import ModelHandle
from model.steps import Step
from model.tokenizers import Tokenizer

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
    handle: ModelHandle, form: VerseForm | None, seed: int, count: int
) -> Generator[Progress, None, list[Written]]:
    """``count`` poems at temperature 1; without a form they go on to an end or to twice the
    longest form."""
    poems = yield from write_poems(
        replace(handle, model=Writable(handle.model, handle.tokenizer)),  # type: ignore[arg-type]
        SAMPLER,
        [(seed + n) % 2**64 for n in range(count)],
        Progress(0, count, form.name if form else "without a form"),
        longest=2 * max(known.length for known in FORMS.values()),
        constraint=FixedForm(form) if form else None,
        inspected=form is not None,
    )
    return [_noted(poem.steps, poem.text) for poem in poems]


def _noted(steps: Sequence[Step], text: str) -> Written:
    noted = Written()
    for step in steps:
        noted.add(step)
    noted.text = text  # what was held back at the end belongs to it
    return noted


SIGMAS = 4.0
"""Standard errors within which two estimates of one number agree."""
TOO_COARSE = 0.4
"""A tolerance of more than this tells nothing about a probability."""


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
    def agree(self) -> bool | None:
        """Within ``SIGMAS`` standard errors; ``None`` where these are too large to tell."""
        tolerance = SIGMAS * math.hypot(self.counted_error, self.computed_error)
        if tolerance > TOO_COARSE:
            return None
        return abs(self.counted - self.computed) <= tolerance


def chance(form: VerseForm, held: Sequence[Written], samples: Sequence[Written]) -> Chance:
    """From poems ``held`` to the form, and from free ``samples``."""
    hits = [float(form.holds(poem.text[: form.length])) for poem in samples]
    weights = [2.0**-poem.paid for poem in held]
    return Chance(form.name, mean(hits), standard_error(hits), mean(weights),
                  standard_error(weights))  # fmt: skip


def standard_error(shares: Sequence[float]) -> float:
    """Of the mean of values in [0, 1]: at most that of a coin of the same mean, and so taken,
    since a few poems show little of how widely such values scatter. One value more at each
    end, so that 0 of n is not taken for certainty."""
    n = len(shares)
    middle = (sum(shares) + 1) / (n + 2)
    return math.sqrt(middle * (1 - middle) / n)


def by_position(poems: Sequence[Written]) -> dict[int, list[Place]]:
    """The places of all poems by how many characters stood before."""
    places: dict[int, list[Place]] = {}
    for poem in poems:
        for place in poem.places:
            places.setdefault(place.position, []).append(place)
    return dict(sorted(places.items()))
