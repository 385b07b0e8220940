"""One prompt alone and among others: do its logits change, and does that change a token?
Sixteen greedy texts are read alone and in batches of 2, 4, 8 and 16, in one pass and token by
token with a cache, and every logit of every row is compared with the one it has alone.

Nothing in a row of a batch depends on the other rows, but a product of more rows is added up
in another order, and ``sums`` shows what that does. Whether it is seen in the text depends on
how near the best two logits ever come to each other.

Thinking Machines 2025, "Defeating nondeterminism in LLM inference".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from model.lab.base import (
    Check,
    Plot,
    Progress,
    Records,
    Request,
    Result,
    Series,
    Table,
    table,
)
from model.lab.distributions import below
from model.lab.texts import OPENINGS, greedy_texts
from model.protocol import LanguageModel

SIZES = (2, 4, 8, 16)
REPEATS = 20
TOKENS = 60
"""Greedy tokens of each text."""
AT_ONCE = 20
"""Tokens read between two progress records."""


@dataclass(frozen=True, slots=True)
class Against:
    """Logits of rows within a batch, against those of the same rows alone."""

    size: int
    steps: int
    differing: float
    """Share of all logits that are not equal to the bit, [0, 1]."""
    largest: float
    """Largest absolute change of any logit."""
    flipped: int
    """Steps whose likeliest token is another."""


def run(request: Request) -> Records:
    """One progress record a text written or ``AT_ONCE`` tokens read."""
    openings = OPENINGS[: max(SIZES)]
    tokens = 12 if request.quick else TOKENS
    total = len(openings) + (1 + len(SIZES)) * (-(-tokens // AT_ONCE) + 1) + 1
    yield Progress(done := 0, total, "the model")
    handle = request.handle()
    texts: list[list[int]] = []
    for text in greedy_texts(handle, openings, tokens):
        yield Progress(done := done + 1, total, f"greedy from {openings[len(texts)]}")
        texts.append(text)
    ids = torch.tensor([text[: min(map(len, texts))] for text in texts])  # [16, T]
    yield Progress(done := done + 1, total, f"{REPEATS} passes of a batch of one")
    same = _repeated(handle.model, ids[:1])
    passes = [one_pass(handle.model, ids, size) for size in SIZES]
    alone: list[Tensor] = []
    for row in range(len(ids)):
        alone.append(torch.cat(list(token_by_token(handle.model, ids[row : row + 1])), 1))
        if row % 4 == 3:
            yield Progress(min(done := done + 1, total), total, "each text by itself")
    solo = torch.cat(alone)  # [16, T, V]
    decoded = []
    for size in SIZES:
        parts = []
        for part in token_by_token(handle.model, ids[:size]):
            parts.append(part)
            yield Progress(min(done := done + 1, total), total, f"a batch of {size}")
        decoded.append(against(torch.cat(parts, 1), solo[:size]))
    margins = top_two_margins(solo).flatten()
    yield Result(
        "batch",
        (_passes(passes, ids.shape[1]), _decoded(decoded, margins)),
        (_margin_plot(margins, decoded),),
        _checks(same, passes, decoded, float(solo.abs().max())),
        _findings(passes, decoded, margins),
        {"model": handle.spec.name, "openings": list(openings), "tokens": ids.shape[1]},
    )


def against(batched: Tensor, alone: Tensor) -> Against:
    """Compare logits ``[B, T, V]`` from a batch with those of its rows alone."""
    change = (batched - alone).abs()
    return Against(
        len(batched),
        batched.shape[0] * batched.shape[1],
        float((batched != alone).float().mean()),
        float(change.max()),
        int((batched.argmax(-1) != alone.argmax(-1)).sum()),
    )


@torch.inference_mode()
def one_pass(model: LanguageModel, ids: Tensor, size: int) -> Against:
    """The logits after the first of ``ids`` ``[N, T]`` when ``size`` of them go through the
    model in one pass, against those when it goes alone."""
    batched = model(ids[:size], last=True)[:1]
    return replace(against(batched, model(ids[:1], last=True)), size=size)


@torch.inference_mode()
def token_by_token(model: LanguageModel, ids: Tensor) -> Iterator[Tensor]:
    """Logits ``[B, AT_ONCE, V]`` at a time, of ``ids`` ``[B, T]`` decoded with a cache."""
    cache = model.new_cache(len(ids))
    for first in range(0, ids.shape[1], AT_ONCE):
        places = range(first, min(first + AT_ONCE, ids.shape[1]))
        # a fast pass may hand out one buffer again and again: keep copies
        yield torch.cat([model(ids[:, t : t + 1], cache).clone() for t in places], 1)


def top_two_margins(logits: Tensor) -> Tensor:
    """How far the best logit is above the second one: ``[..., V]`` to ``[...]``."""
    best = logits.topk(2, -1).values
    return best[..., 0] - best[..., 1]


@torch.inference_mode()
def _repeated(model: LanguageModel, ids: Tensor) -> int:
    """How many of ``REPEATS`` passes give the first one's logits to the bit."""
    first = model(ids)
    return 1 + sum(torch.equal(model(ids), first) for _ in range(REPEATS - 1))


def _passes(passes: list[Against], length: int) -> Table:
    return table(
        f"The logits after one prompt of {length} tokens, read in one pass",
        {"in a batch of": ",", "logits that differ": ".1%", "largest change": ".1e"},
        [(p.size, p.differing, p.largest) for p in passes],
        "against the same prompt alone",
    )


def _decoded(decoded: list[Against], margins: Tensor) -> Table:
    smallest = float(margins.min())
    return table(
        "Greedy texts decoded token by token, in a batch against alone",
        {
            "in a batch of": ",",
            "steps": ",",
            "logits that differ": ".1%",
            "largest change": ".1e",
            "tokens that flip": ",",
            "smallest margin": ".1e",
        },
        [(d.size, d.steps, d.differing, d.largest, d.flipped, smallest) for d in decoded],
        f"smallest margin: between the best two logits, over all {len(margins):,} steps. "
        "Every row is held against itself alone.",
    )


def _margin_plot(margins: Tensor, decoded: list[Against]) -> Plot:
    largest = max(d.largest for d in decoded)
    series = [below("steps with a smaller margin", margins.tolist())]
    if largest > 0:
        series.append(Series("largest change", ((largest, 0.0), (largest, 1.0))))
    return Plot(
        "How near the best two logits come",
        "margin (logits)",
        "share of steps",
        tuple(series),
        log_x=True,
        note="Only steps left of the upright line, the largest change of a logit, could flip.",
    )


def _checks(
    same: int, passes: list[Against], decoded: list[Against], greatest: float
) -> tuple[Check, ...]:
    largest = max(one.largest for one in (*decoded, *passes))
    return (
        Check(
            f"{REPEATS} passes of a batch of one are identical to the bit",
            same == REPEATS,
            f"{same} of {REPEATS}",
        ),
        Check(
            "no logit moves by more than a ten-thousandth of the greatest",
            largest < greatest * 1e-4,
            f"{largest:.1e} of {greatest:.0f}",
        ),
    )


def _findings(passes: list[Against], decoded: list[Against], margins: Tensor) -> tuple[str, ...]:
    largest = max(d.largest for d in decoded)
    smallest = float(margins.min())
    flips = sum(d.flipped for d in decoded)
    moved = max(p.differing for p in (*passes, *decoded))
    if moved == 0:
        return ("In no batch did a logit differ: this machine adds up every row alike.",)
    ratio = f"{smallest / largest:,.0f} times" if largest else "infinitely often"
    return (
        f"Among others up to {moved:.0%} of the logits differ, by at most {largest:.1e}; the "
        "lesson saw 97 % and 2.5e-5 on another model and machine.",
        f"The smallest margin of {len(margins):,} steps is {smallest:.1e}, {ratio} the largest "
        f"change (the lesson: 2.5e-3, a hundred times), and "
        + ("no token flips." if not flips else f"{flips} tokens flip."),
    )
