"""Poems at several temperatures, and at a high one with its tail cut: how many keep to the
form, how many rare characters they use, how much they vary.

The lesson shows three poems of each and judges by eye; here hundreds are counted. It also
checks what temperature cannot do: change the order, or work on probabilities.
"""

from __future__ import annotations

import torch
from torch import Tensor

from model.config import SamplerConfig
from model.lab.base import (
    Cell,
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
from model.lab.counted import Counted, count
from model.lab.distributions import all_logits
from model.lab.measures import (
    RARE_BEYOND,
    character_ranks,
)
from model.lab.texts import real_poems
from model.lab.writing import LONGEST, Written, write_poems
from model.sampling import choose, temperature

COOL, PLAIN, HOT = 0.3, 1.0, 1.5
SETTINGS: dict[str, SamplerConfig] = {
    f"T {COOL}": SamplerConfig(temperature=COOL),
    f"T {PLAIN}": SamplerConfig(temperature=PLAIN),
    f"T {HOT}": SamplerConfig(temperature=HOT),
    f"T {HOT}, top-k 20": SamplerConfig(temperature=HOT, top_k=20),
    f"T {HOT}, top-p 0.9": SamplerConfig(temperature=HOT, top_p=0.9),
}
COLD, WARM, BARE, TOP_K, TOP_P = SETTINGS
LESSON = {COLD: "3 of 3", WARM: "3 of 3", BARE: "0 of 1", TOP_K: "3 of 3", TOP_P: None}
"""Regular poems among those that the lesson prints; top-p is left to its reader as an exercise."""
POEMS, FEW = 200, 12
CLEAR = 0.1
"""Regular poems, as a share, that a setting must cost before it is said to break the form."""
SHOWN = 3
REAL = "real poems"
HEATS = (0.1, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 5.0, 20.0)
TAILS = (20, 200, 1000)
"""The tail begins behind so many of the likeliest tokens."""


def run(request: Request) -> Records:
    """One progress record each half second; poems are counted."""
    poems = FEW if request.quick else POEMS
    total = poems * len(SETTINGS)
    yield Progress(0, total, "the model")
    handle = request.handle()
    seeds = [(request.seed + n) % 2**64 for n in range(poems)]
    written: dict[str, list[Written]] = {}
    for name, sampler in SETTINGS.items():
        during = Progress(len(written) * poems, total, name)
        yield during
        written[name] = yield from write_poems(handle, sampler, seeds, during)
    texts = {name: [poem.text for poem in of_name] for name, of_name in written.items()}
    real = real_poems(poems)
    counted = count(texts | ({REAL: real} if real else {}), character_ranks(handle.tokenizer))
    logits = all_logits(handle, written[COLD][0].tokens)
    yield Result(
        "temperature",
        (_shown(written), _counts(counted)),
        (_tails(logits),),
        (_same_order(logits), _coldest(logits), _scaled(logits)),
        _findings(counted, logits),
        {"model": handle.spec.name, "seeds": [seeds[0], seeds[-1]], "longest": LONGEST},
    )


def order_changes(logits: Tensor, value: float) -> int:
    """Pairs of neighbours in the order of ``logits`` ``[N, V]`` that ``temperature`` of
    ``value`` turns round."""
    order = logits.argsort(dim=-1, descending=True, stable=True)
    ranked = temperature(logits, value=value).gather(-1, order)
    return int((ranked[..., 1:] > ranked[..., :-1]).sum())


def scaled(probabilities: Tensor, value: float) -> Tensor:
    """``probabilities`` divided by ``value`` and normalised again: what temperature is not."""
    divided = probabilities / value
    return divided / divided.sum(-1, keepdim=True)


def _shown(written: dict[str, list[Written]]) -> Table:
    rows = [
        (name, poem.seed, poem.text + ("" if poem.reason == "end_of_poem" else "……"))
        for name, poems in written.items()
        for poem in poems[:SHOWN]
    ]
    return table(
        "Poems of the same seeds",
        {"setting": "", "seed": "", "poem": ""},
        rows,
        f"From nothing, cut after {LONGEST} characters (……).",
    )


def _counts(counted: dict[str, Counted]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            c.poems,
            c.regular,
            LESSON.get(name),
            c.full,
            c.rare,
            c.distinct[0],
            c.distinct[1],
            c.length,
        )
        for name, c in counted.items()
    ]
    heads = {"setting": "", "poems": ",", "regular": ".0%", "the lesson's": ""}
    heads |= {"lines of 5 or 7": ".1%", "rare": ".2%", "distinct-1": ".1%", "distinct-2": ".1%"}
    return table(
        "Format, rare characters and variety",
        heads | {"characters": ".0f"},
        rows,
        "regular: lines of one length, 5 or 7, in couplets, closed. rare: Han characters whose "
        f"rank by frequency is above {RARE_BEYOND:,}. distinct-n: different runs of n characters "
        "among equally many. characters: of a poem, on average. Real poems: held out of training.",
    )


def _tails(logits: Tensor) -> Plot:
    series = [
        Series(
            f"beyond the {n:,} likeliest",
            tuple((heat, tail_mass(logits, heat, n)) for heat in HEATS if heat <= 2),
        )
        for n in TAILS
        if n < logits.shape[-1]
    ]
    return Plot(
        "Probability of the tail, mean over the steps of a poem",
        "temperature",
        "mass",
        tuple(series),
        note="What a cut takes away: the tail is nothing when cool and most of the mass when hot.",
    )


def tail_mass(logits: Tensor, value: float, n: int) -> float:
    """Mean probability that ``logits`` ``[N, V]`` at temperature ``value`` leave to the tokens
    behind the ``n`` likeliest."""
    probabilities = torch.softmax(temperature(logits, value=value), -1)
    return float(1 - probabilities.topk(min(n, logits.shape[-1]), -1).values.sum(-1).mean())


def _same_order(logits: Tensor) -> Check:
    changes = sum(order_changes(logits, heat) for heat in HEATS)
    return Check(
        "no temperature changes the order of the tokens",
        changes == 0,
        f"{changes} of {len(HEATS) * logits[:, 1:].numel():,} neighbours change places, "
        f"T from {HEATS[0]:g} to {HEATS[-1]:g}",
    )


def _coldest(logits: Tensor) -> Check:
    """What is drawn at ever lower temperatures, whatever u is, against the best token."""
    best = logits.argmax(-1).tolist()
    right = {
        value: sum(
            draw.token == token
            for u in (0.0, 0.5, 0.999)
            for draw, token in zip(
                choose(logits, SamplerConfig(temperature=value), [u] * len(logits)),
                best,
                strict=True,
            )
        )
        for value in (1.0, 0.1, 0.01, 0.001, 0.0)
    }
    tries = 3 * len(logits)
    gaps = logits.topk(2, -1).values
    # at T the runner-up has exp(-gap / T) of the best: below a rounding of u from here on
    decided = float((gaps[:, 0] - gaps[:, 1]).min()) / 0.001 > 20
    falling = list(right.values()) == sorted(right.values())
    return Check(
        "as T goes to 0 the draw becomes the best token, whatever u is",
        falling and right[0.0] == tries and (right[0.001] == tries or not decided),
        ", ".join(f"T {value:g}: {n}" for value, n in right.items()) + f" of {tries}",
    )


def _scaled(logits: Tensor) -> Check:
    probabilities = torch.softmax(logits.double(), -1)
    divided = max(float((scaled(probabilities, h) - probabilities).abs().max()) for h in HEATS)
    hot = torch.softmax(temperature(logits, value=HOT).double(), -1)
    moved = float((hot - probabilities).abs().max())
    return Check(
        "dividing probabilities by T and normalising again changes nothing",
        divided < 1e-12,
        f"largest change {divided:.0e}; dividing logits by {HOT:g}: {moved:.2f}",
    )


def _findings(counted: dict[str, Counted], logits: Tensor) -> tuple[str, ...]:
    cool, plain, hot = counted[COLD], counted[WARM], counted[BARE]
    cut = [counted[TOP_K], counted[TOP_P]]
    found = [
        f"Regular poems: {cool.regular:.0%} at T {COOL:g}, {plain.regular:.0%} at {PLAIN:g}, "
        f"{hot.regular:.0%} at {HOT:g}; with top-k 20 {cut[0].regular:.0%} at the same {HOT:g}, "
        f"with top-p 0.9 {cut[1].regular:.0%}. {_form_verdict(counted)}",
        f"Rare characters: {cool.rare:.2%}, {plain.rare:.2%} and {hot.rare:.2%}; with top-k 20 "
        f"{cut[0].rare:.2%}, with top-p 0.9 {cut[1].rare:.2%}. The {TAILS[0]} likeliest leave "
        f"{tail_mass(logits, PLAIN, TAILS[0]):.0%} to the tail at T {PLAIN:g} and "
        f"{tail_mass(logits, HOT, TAILS[0]):.0%} at {HOT:g}.",
        f"Pairs of characters that differ: {cool.distinct[1]:.0%} at T {COOL:g} and "
        f"{cut[0].distinct[1]:.0%} at {HOT:g} with top-k 20. "
        + _verdict(
            cut[0].distinct[1] > cool.distinct[1],
            "Hot and cut is more varied than cool.",
            "Here hot and cut is no more varied than cool.",
        ),
    ]
    if REAL in counted:
        real = counted[REAL]
        nearest = min(SETTINGS, key=lambda name: abs(counted[name].distinct[1] - real.distinct[1]))
        found.append(
            f"Real poems: {real.regular:.0%} regular, {real.rare:.2%} rare, distinct-2 "
            f"{real.distinct[1]:.0%}; nearest in variety is {nearest}."
        )
    return tuple(found)


def _form_verdict(counted: dict[str, Counted]) -> str:
    """What heat does to the form, and which cut undoes it: half of what was lost, at least."""
    lost = counted[WARM].regular - counted[BARE].regular
    if lost < CLEAR or counted[COLD].regular < counted[WARM].regular - CLEAR:
        return "That is not the lesson's order: heat alone does not break this model's form."
    back = {name: (counted[name].regular - counted[BARE].regular) / lost for name in (TOP_K, TOP_P)}
    told = " and ".join(
        f"{min(1.0, share):.0%} with {name.partition(', ')[2]}" for name, share in back.items()
    )
    return f"Heat breaks the form; of the poems that lose it {told} have it back."


def _verdict(holds: bool, yes: str, no: str) -> str:
    return yes if holds else no
