"""What a seed fixes and what it does not.

It fixes u, the number that each draw walks to, as a function of seed and position. The
distribution that u falls on is the model's, and anything that moves the distribution can
move a token: other settings surely, other sums of the same numbers only where u stands
nearer to an edge between two tokens than the edge moves. There the engine draws again from
one pass that is the same in every cache mode and batch, where the window is not too long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from model.generate import Prompt
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
from model.lab.company import Company, margin
from model.lab.desk import (
    CHANGES,
    FORK,
    FORKED,
    LONGEST,
    ONCE,
    SAMPLER,
    SIZES,
    WAYS,
    Desk,
    in_batches,
    in_ways,
    with_changes,
)
from model.lab.distributions import below
from model.lab.parting import Parting, first_difference
from model.lab.writing import Written, write_poems

SEEDS, FEW = 16, 4
MANY, MANY_QUICK = 100, 12
UNHEARD_OF = 1e-6
"""A coincidence of less probability is none."""


def run(request: Request) -> Records:
    """Progress counts texts."""
    few, many = (FEW, MANY_QUICK) if request.quick else (SEEDS, MANY)
    total = few * (len(WAYS) + len(SIZES) + len(CHANGES)) + many
    yield Progress(0, total, "the model")
    seeds = [(request.seed + n) % 2**64 for n in range(few)]
    desk = Desk(request.handle(), Prompt(request.prompt or ""), seeds, total)
    ways = yield from in_ways(desk)
    company, in_company = yield from in_batches(desk, ways["inspected"])
    parted = [
        one
        for way, texts in ways.items()
        for one in desk.partings(ways[ONCE], texts, FORK if way == FORKED else 0)
    ]
    changed = yield from with_changes(desk)
    during = Progress(desk.done, total, "other seeds")
    others = [(request.seed + few + n) % 2**64 for n in range(many)]
    different = yield from write_poems(desk.handle, SAMPLER, others, during, prompt=desk.prompt)
    yield Result(
        "seed",
        (_fixed(ways), _batches(company), _moves(changed, ways[ONCE])),
        (_margins(ways["inspected"], company),),
        _checks(ways, parted, in_company, different),
        _findings(ways, company, changed, [*parted, *in_company]),
        {"model": desk.handle.spec.name, "prompt": desk.prompt.text, "seeds": seeds[:: few - 1]},
    )


def _same(texts: Sequence[Written], others: Sequence[Written]) -> int:
    """How many texts are equal byte for byte."""
    pairs = zip(texts, others, strict=True)
    return sum(one.text.encode() == other.text.encode() for one, other in pairs)


def _fixed(ways: Mapping[str, Sequence[Written]]) -> Table:
    once = ways[ONCE]
    rows: list[tuple[Cell, ...]] = [
        (way, len(texts), _same(texts, once), texts[0].text[:32]) for way, texts in ways.items()
    ]
    return table(
        "What a seed fixes: the same text, byte for byte",
        {"written": "", "texts": ",", "the same": ",", "the first begins": ""},
        rows,
        f"T {SAMPLER.temperature:g}, at most {LONGEST} tokens.",
    )


def _batches(company: Sequence[Company]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (c.size, c.texts, c.same, c.steps, c.moved, c.nearest, c.closest) for c in company
    ]
    heads = {"in batches of": ",", "texts": ",", "the same": ",", "steps": ","}
    return table(
        "What it does not fix: the sums behind the distribution",
        heads | {"an edge moves by": ".1e", "u is from an edge": ".1e", "closest call": ".1%"},
        rows,
        "Edges are where one token's share of [0, 1) ends and the next one's begins. The largest "
        "move of an edge beside the chosen token, the least distance of u to one, and the largest "
        "part of that distance which an edge moved at one step: at 100 % the token would change. "
        "Draws that come near it are made again by one and the same pass, which moves nothing.",
    )


def _moves(changed: Mapping[str, Sequence[Written]], once: Sequence[Written]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, texts in changed.items():
        first = [first_difference(a.tokens, b.tokens) for a, b in zip(texts, once, strict=True)]
        differ = [place for place in first if place is not None]
        rows.append(
            (
                name,
                len(texts) - len(differ),
                median(differ) if differ else None,
                _same_numbers(texts, once),
            )
        )
    return table(
        "Nor the distribution itself",
        {"changed": "", "texts the same": ",", "tokens before they part": ".1f", "the same u": ""},
        rows,
        "Of the same seeds; the median of those that part. The same u: at the same position.",
    )


def _same_numbers(texts: Sequence[Written], once: Sequence[Written]) -> bool:
    """Whether u is the same at each position that both runs drew at."""
    return all(
        numbers.get(step.position, step.u) == step.u
        for text, other in zip(texts, once, strict=True)
        for numbers in [{step.position: step.u for step in other.steps}]
        for step in text.steps
    )


def _margins(alone: Sequence[Written], company: Sequence[Company]) -> Plot:
    moved = max(c.moved for c in company)
    margins = (margin(step) for text in alone for step in text.steps)
    series = [below("steps with u nearer to an edge", margins)]
    if moved > 0:
        series.append(Series("an edge moves by", ((moved, 0.0), (moved, 1.0))))
    return Plot(
        "How near u comes to the edge of its token",
        "distance",
        "share of steps",
        tuple(series),
        log_x=True,
        note="Left of the upright line a batch may move an edge past u: "
        "there the draw is made again.",
    )


def _checks(
    ways: Mapping[str, Sequence[Written]],
    parted: Sequence[Parting],
    in_company: Sequence[Parting],
    different: Sequence[Written],
) -> tuple[Check, ...]:
    once, texts = ways[ONCE], len(ways[ONCE])
    same = {way: _same(of_way, once) for way, of_way in ways.items() if way != ONCE}
    again = same.pop("again")
    twice, likely = repeats(different)
    total = len(SIZES) * texts
    return (
        Check(
            "the same seed gives the same text, byte for byte",
            again == texts,
            f"{again} of {texts}",
        ),
        Check(
            "the cache, being looked at and being forked change nothing, or what rounding may",
            all(one.rounding for one in parted),
            ", ".join(f"{way}: {count} of {texts} the same" for way, count in same.items())
            + _apart(parted),
        ),
        Check(
            "other seeds give other texts, but for texts so likely that two seeds may draw them",
            likely,
            f"{len(different) - twice} different ones of {len(different)}",
        ),
        Check(
            "a batch changes a text only where u stands at the edge between two tokens",
            all(one.rounding for one in in_company),
            f"{total - len(in_company)} of {total} the same{_apart(in_company)}",
        ),
    )


def repeats(texts: Sequence[Written]) -> tuple[int, bool]:
    """How many texts of different seeds stood there before, and whether that is chance: a text
    of probability p is drawn twice in n draws with n (n - 1) / 2 · p² at most."""
    seen: set[tuple[int, ...]] = set()
    twice, likely = 0, True
    pairs = len(texts) * (len(texts) - 1) / 2
    for text in texts:
        if text.tokens in seen:
            twice += 1
            chance = math.exp(2 * sum(step.logprob for step in text.steps))
            likely &= pairs * chance >= UNHEARD_OF
        seen.add(text.tokens)
    return twice, likely


def _apart(parted: Sequence[Parting]) -> str:
    """How far u was from the other token at most, where texts part."""
    if not parted:
        return ""
    return f"; where they part, u is at most {max(one.apart for one in parted):.0e} from the other"


def _findings(
    ways: Mapping[str, Sequence[Written]],
    company: Sequence[Company],
    changed: Mapping[str, Sequence[Written]],
    parted: Sequence[Parting],
) -> tuple[str, ...]:
    moved, closest = max(c.moved for c in company), max(c.closest for c in company)
    flips = sum(c.texts - c.same for c in company)
    held = sum(_same(texts, ways[ONCE]) for texts in changed.values())
    count = sum(map(len, changed.values()))
    found = [
        "A seed fixes every u. That makes a text repeatable as long as the distributions are "
        "the same to within the distance of u from an edge.",
        f"In company an edge moves by {moved:.1e} at most. Where the texts stay the same, at no "
        f"step by more than {min(closest, 1):.0%} of the way to u, since draws that rounding could "
        "decide are made again by a pass that is the same alone and in company; "
        + (f"{flips} texts change all the same." if flips else "no text changes.")
        if moved
        else "On this machine a batch adds up every row as it would alone: no edge moves at all.",
        f"A change of a setting moves edges by far more: {count - held} of {count} texts part.",
    ]
    if parted:
        found.append(
            f"{len(parted)} texts part from those written first though no setting was changed. "
            "There u stood between two tokens nearer than rounding moves their edge; from that "
            "token on it is another text."
        )
    return tuple(found)
