"""The lesson's exercise: block 512, 500 characters, with the cache and without, in turns.

No shipped model may have so long a block. One with a shorter block is lengthened: its weights
stay, and its learnt positions are repeated until there are 512. What it writes past its own
block is no verse, but costs what verse would cost, and both modes must write the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median

import torch

from model.gpt import GPT
from model.lab.base import Check, Plot, Progress, Records, Request, Result, Series, Table, table
from model.lab.timing import MODES, NAMES, Pair, gains_more, line, pace, pair
from model.protocol import LanguageModel
from model.registry import ModelHandle

BLOCK = 512
TOKENS, QUICK_TOKENS = 500, 150
PART = 100
"""Characters of a row of the second table."""
BUDGET = 20.0
"""Seconds of computing for the turns that are counted."""
MOST = 3


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some characters in a row, in milliseconds each (median)."""

    first: int
    last: int
    off: float
    on: float

    @property
    def ratio(self) -> float:
        """How many times faster the cache is here."""
        return self.off / self.on


def run(request: Request) -> Records:
    """A progress record twice a second."""
    yield Progress(0, 1, "the model")
    handle = request.handle()
    model, note = long_enough(handle)
    tokens = QUICK_TOKENS if request.quick else TOKENS
    budget = 0.0 if request.quick else BUDGET
    title = f"{handle.spec.name}, block {BLOCK}"
    written = yield from pair(model, handle.tokenizer, tokens, budget, title, MOST)
    parts = list(stretches(written))
    yield Result(
        "block512",
        (_total(handle.spec.name, written, note), _parts(parts, written)),
        (_plot(written),),
        _checks(written, parts),
        tuple(_findings(handle.spec.name, written, parts, note)),
        {"model": handle.spec.name, "block": BLOCK, "tokens": tokens, "weights": note},
    )


def long_enough(handle: ModelHandle) -> tuple[LanguageModel, str]:
    """A model with a block of at least ``BLOCK``, and in words where its positions are from."""
    block = handle.model.config.block_size
    if block >= BLOCK or not isinstance(handle.model, GPT):
        return handle.model, f"its own, block {block:,}"
    return (
        lengthened(handle.model, BLOCK),
        f"its own; positions {block} to {BLOCK - 1} repeat the first {block}, which were learnt",
    )


def lengthened(model: GPT, block_size: int) -> GPT:
    """A copy with a longer block, laid out for decoding. Within the old block it computes
    what ``model`` does; beyond, position p is the learnt position p modulo the old block."""
    weights = dict(model.state_dict())
    learnt = weights["positions.weight"]
    weights["positions.weight"] = learnt[torch.arange(block_size) % len(learnt)]
    longer = GPT(replace(model.config, block_size=block_size))
    longer.load_state_dict(weights)
    return longer.eval().lay_out_for_decoding()


def stretches(written: Pair) -> Iterator[Stretch]:
    """The pace by ``PART`` characters."""
    off, on = (pace([written], mode) for mode in MODES)
    for first in range(0, written.tokens, PART):
        at = slice(first, first + PART)
        last = min(first + PART, written.tokens)
        yield Stretch(first + 1, last, median(off[at]) * 1000, median(on[at]) * 1000)


def _total(name: str, written: Pair, note: str) -> Table:
    off, on = (written.total(mode) for mode in MODES)
    return table(
        f"{written.tokens} characters with a block of {BLOCK}",
        {
            "model": "",
            "without cache (s)": ".2f",
            "with (s)": ".2f",
            "faster": ".1f",
            "identical": "",
            "n": "",
        },
        [(name, off, on, off / on, written.same, written.n)],
        f"processor time, medians over n turns. Weights: {note}. The lesson gives no figure for "
        "this exercise.",
    )


def _parts(parts: list[Stretch], written: Pair) -> Table:
    return table(
        "Milliseconds a character, as the text grows",
        {"characters": "", "without cache": ".2f", "with": ".2f", "faster": ".1f"},
        [(f"{p.first} to {p.last}", p.off, p.on, p.ratio) for p in parts],
        f"medians over the characters, each the median of {written.n}",
    )


def _plot(written: Pair) -> Plot:
    series = tuple(
        Series(
            NAMES[mode],
            tuple((float(i + 1), s * 1000) for i, s in enumerate(pace([written], mode))),
        )
        for mode in MODES
    )
    note = "The slope of the upper line is the work that the cache saves; the lower has hardly one."
    return Plot("A character's time by place", "character", "milliseconds", series, note=note)


def _checks(written: Pair, parts: list[Stretch]) -> tuple[Check, ...]:
    return (
        Check(
            f"both modes write the same {written.tokens} characters",
            written.agrees,
            f"{written.agreement}, in {written.n} turns of each",
        ),
        Check(
            "the longer the text, the more the cache saves",
            gains_more(*(line(pace([written], mode)[1:], first=2) for mode in MODES)),
            f"{parts[0].ratio:.1f} times at first, {parts[-1].ratio:.1f} times at the end",
        ),
    )


def _findings(name: str, written: Pair, parts: list[Stretch], note: str) -> Iterator[str]:
    first, last = parts[0], parts[-1]
    yield (
        f"{written.tokens} characters take {written.total('off'):.1f} s without the cache and "
        f"{written.total('on'):.2f} s with it: {written.ratio:.1f} times less, on {name}."
    )
    yield (
        f"From the first {PART} characters to the last a character becomes "
        f"{last.off / first.off:.1f} times slower without it and {last.on / first.on:.1f} times "
        "with it, where nothing but attention has more to read."
    )
    if "repeat" in note:
        yield (
            "Time does not depend on what a weight is worth: repeated positions measure as well as "
            "learnt ones."
        )
