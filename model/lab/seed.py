"""What a seed fixes and what it does not.

It fixes u, the number that each draw walks to, as a function of seed and position. The
distribution that u falls on is the model's, and anything that moves the distribution can
move a token: other settings surely, other sums of the same numbers only where u stands
nearer to an edge between two tokens than the edge moves.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from model.config import Controls, SamplerConfig
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
from model.lab.company import Company, compare, first_difference, margin
from model.lab.writing import Written, write_one, write_poems
from model.registry import ModelHandle

SAMPLER = SamplerConfig(temperature=1.0)
"""Nothing is cut: a nucleus that takes in one token more moves every edge at once."""
SIZES = (1, 2, 4, 8, 16)
SEEDS, FEW = 16, 4
MANY, MANY_QUICK = 100, 12
LONGEST = 60
"""Tokens of a text: more than half of the poems end before."""
FORK = 15
ONCE, FORKED = "once", f"forked after {FORK} tokens"
WAYS: Mapping[str, dict[str, Any]] = {
    ONCE: {},
    "again": {},
    "with the cache off": {"cache": "off"},
    "in a race of both modes": {"cache": "race"},
    "inspected": {},
    FORKED: {},
}
"""Each with what it changes in the controls: nothing that may change a token."""
CHANGES: Mapping[str, dict[str, Any]] = {
    "T 1 to 1.05": {"temperature": 1.05},
    "top-p 1 to 0.95": {"top_p": 0.95},
    "repetition 1 to 1.1": {"repetition": 1.1},
    "one character more before it": {},
}
MORE = "春"


@dataclass(slots=True)
class Desk:
    """Where texts are written, and how many have been."""

    handle: ModelHandle
    prompt: Prompt
    seeds: list[int]
    total: int
    done: int = 0

    @property
    def longest(self) -> int:
        """Tokens of a text, so that it fits the block, with one character more before it too."""
        held = len(self.prompt.encode(self.handle.tokenizer)) + len(MORE)
        return max(1, min(LONGEST, self.handle.model.config.block_size - held))

    def write(
        self, title: str, prompt: Prompt | None = None, **asked: Any
    ) -> Generator[Progress, None, list[Written]]:
        """A text of each seed, one by one; ``asked`` changes the controls."""
        texts = []
        for place, seed in enumerate(self.seeds):
            during = Progress(self.done, self.total, title)
            yield during
            given = asked.get("given", ())
            controls = Controls(SAMPLER, seed=seed, max_tokens=self.longest)
            text = yield from write_one(
                self.handle,
                replace(controls, **asked.get("controls", {})),
                during,
                prompt=prompt or self.prompt,
                given=given[place] if given else (),
                inspected=asked.get("inspected", False),
            )
            texts.append(text)
            self.done += 1
        return texts


def run(request: Request) -> Records:
    """Progress counts texts."""
    few, many = (FEW, MANY_QUICK) if request.quick else (SEEDS, MANY)
    total = few * (len(WAYS) + len(SIZES) + len(CHANGES)) + many
    yield Progress(0, total, "the model")
    seeds = [(request.seed + n) % 2**64 for n in range(few)]
    desk = Desk(request.handle(), Prompt(request.prompt or ""), seeds, total)
    ways = yield from _in_ways(desk)
    company = yield from _in_batches(desk, ways["inspected"])
    changed = yield from _changed(desk)
    during = Progress(desk.done, total, "other seeds")
    others = [(request.seed + few + n) % 2**64 for n in range(many)]
    different = yield from write_poems(desk.handle, SAMPLER, others, during, prompt=desk.prompt)
    yield Result(
        "seed",
        (_fixed(ways), _batches(company), _moves(changed, ways[ONCE])),
        (_margins(ways["inspected"], company),),
        _checks(ways, company, different),
        _findings(ways, company, changed),
        {"model": desk.handle.spec.name, "prompt": desk.prompt.text, "seeds": seeds[:: few - 1]},
    )


def _in_ways(desk: Desk) -> Generator[Progress, None, dict[str, list[Written]]]:
    ways: dict[str, list[Written]] = {}
    for way, controls in WAYS.items():
        given = [text.tokens[:FORK] for text in ways[ONCE]] if way == FORKED else ()
        ways[way] = yield from desk.write(
            way, controls=controls, given=given, inspected=way == "inspected"
        )
    return ways


def _in_batches(desk: Desk, alone: Sequence[Written]) -> Generator[Progress, None, list[Company]]:
    company = []
    for size in SIZES:
        during = Progress(desk.done, desk.total, f"in batches of {size}")
        yield during
        together = yield from write_poems(
            desk.handle,
            SAMPLER,
            desk.seeds,
            during,
            prompt=desk.prompt,
            longest=desk.longest,
            inspected=True,
            at_once=size,
        )
        company.append(compare(size, alone, together))
        desk.done += len(desk.seeds)
    return company


def _changed(desk: Desk) -> Generator[Progress, None, dict[str, list[Written]]]:
    changed = {}
    for name, settings in CHANGES.items():
        prompt = desk.prompt if settings else replace(desk.prompt, text=MORE + desk.prompt.text)
        controls = {"sampler": replace(SAMPLER, **settings)}
        changed[name] = yield from desk.write(name, prompt, controls=controls)
    return changed


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
        "part of that distance which an edge moved at one step: at 100 % the token changes.",
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
    ranked = sorted(m for text in alone for m in map(margin, text.steps) if m > 0)
    moved = max(c.moved for c in company)
    points = tuple((m, (n + 1) / len(ranked)) for n, m in enumerate(ranked))
    series = [Series("steps with u nearer to an edge", points)]
    if moved > 0:
        series.append(Series("an edge moves by", ((moved, 0.0), (moved, 1.0))))
    return Plot(
        "How near u comes to the edge of its token",
        "distance",
        "share of steps",
        tuple(series),
        log_x=True,
    )


def _checks(
    ways: Mapping[str, Sequence[Written]],
    company: Sequence[Company],
    different: Sequence[Written],
) -> tuple[Check, ...]:
    once, texts = ways[ONCE], len(ways[ONCE])
    same = {way: _same(of_way, once) for way, of_way in ways.items() if way != ONCE}
    again = same.pop("again")
    parted = [c for c in company if c.same < c.texts]
    distinct = len({text.text for text in different})
    return (
        Check(
            "the same seed gives the same text, byte for byte",
            again == texts,
            f"{again} of {texts}",
        ),
        Check(
            "the cache, being looked at and being forked change nothing",
            all(count == texts for count in same.values()),
            ", ".join(f"{way}: {count} of {texts}" for way, count in same.items()),
        ),
        Check(
            "other seeds give other texts",
            distinct == len(different),
            f"{distinct} different ones of {len(different)}",
        ),
        Check(
            "in a batch a text changes only where u is nearer to an edge than the edge moves",
            all(c.nearest <= 2 * c.moved for c in parted),
            f"{sum(c.texts - c.same for c in company)} of {sum(c.texts for c in company)} changed",
        ),
    )


def _findings(
    ways: Mapping[str, Sequence[Written]],
    company: Sequence[Company],
    changed: Mapping[str, Sequence[Written]],
) -> tuple[str, ...]:
    moved, closest = max(c.moved for c in company), max(c.closest for c in company)
    flips = sum(c.texts - c.same for c in company)
    held = sum(_same(texts, ways[ONCE]) for texts in changed.values())
    count = sum(map(len, changed.values()))
    found = [
        "A seed fixes every u. That makes a text repeatable as long as the distributions are "
        "the same to within the distance of u from an edge.",
        f"In company an edge moves by {moved:.1e} at most, and at no step by more than "
        f"{closest:.0%} of the way to u: "
        + (f"{flips} texts change all the same." if flips else "no text changes.")
        if moved
        else "On this machine a batch adds up every row as it would alone: no edge moves at all.",
        f"A change of a setting moves edges by far more: {count - held} of {count} texts part.",
    ]
    return tuple(found)
