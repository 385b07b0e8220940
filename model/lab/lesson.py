"""The Chinese lesson's page (生成文字和 KV 快取) in one run on our models: its six sections, each
beside the figures that it prints.

The other experiments ask more of each section; this one repeats the lesson as it stands.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from model.config import Controls, SamplerConfig
from model.constraints import Acrostic
from model.errors import UnknownCharacters
from model.generate import Prompt
from model.lab import lesson_figures as lesson
from model.lab.base import Progress, Records, Request, Result
from model.lab.distributions import next_logits
from model.lab.lesson_tables import checks, findings, plot, tables
from model.lab.timing import Pair, pair
from model.lab.top8 import likeliest
from model.lab.writing import Written, write_one, write_poems
from model.registry import ModelHandle, specs

POEMS = 3
"""Of each setting, as in the lesson."""
TASTE = SamplerConfig(temperature=0.8)
"""The lesson's temperature for acrostics; its openings are continued with the same."""
BUDGET, QUICK_BUDGET = 6.0, 0.0
"""Seconds for the counted runs of one length."""


@dataclass(slots=True)
class Sections:
    """What one model did in each section."""

    handle: ModelHandle
    top: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    """1. By opening: the likeliest next characters."""
    poems: dict[str, list[Written]] = field(default_factory=dict)
    """2 and 3. By setting."""
    continued: dict[str, str] = field(default_factory=dict)
    """4. By opening: the poem, or which characters the vocabulary lacks."""
    acrostics: dict[str, Written] = field(default_factory=dict)
    """5. By heads."""
    pairs: list[Pair] = field(default_factory=list)
    """6. Both cache modes, by length."""

    @property
    def name(self) -> str:
        return self.handle.spec.name

    @property
    def bytes_per_token(self) -> int:
        """Keys and values of one token, as the cache counts them."""
        return self.handle.model.new_cache().bytes_per_token


SETTINGS = {
    **{f"T {t:g}": SamplerConfig(temperature=t) for t in lesson.TEMPERATURES},
    f"T {lesson.HOT:g}, top-k {lesson.HOT_TOP_K}": SamplerConfig(
        temperature=lesson.HOT, top_k=lesson.HOT_TOP_K
    ),
}


def run(request: Request) -> Records:
    """Progress counts the sections of all models."""
    names = models(request)
    found: list[Sections] = []
    for number, name in enumerate(names):
        during = Progress(5 * number, 5 * len(names), name or "the model")
        yield during
        sections = Sections(request.load(name))
        yield from _measure(sections, request, during)
        found.append(sections)
    yield Result(
        "lesson",
        tuple(tables(found)),
        (plot(found),),
        tuple(checks(found)),
        tuple(findings(found)),
        {"models": [one.name for one in found], "seed": request.seed},
    )


def models(request: Request) -> list[str | None]:
    """The model asked for, or every model of verse that ships with the program."""
    if request.model is not None:
        return [request.model]
    return [spec.name for spec in specs() if spec.kind == "own" and spec.available] or [None]


def _measure(sections: Sections, request: Request, during: Progress) -> Generator[Progress]:
    handle, name = sections.handle, sections.name
    for opening in lesson.TOP:
        logits = next_logits(handle, opening, fragment=opening in lesson.FRAGMENTS)
        best = likeliest(logits.softmax(-1))
        sections.top[opening] = [(handle.tokenizer.name(token), p) for token, p in best]
    here = Progress(during.done + 1, during.total, f"{name}: poems")
    seeds = [(request.seed + n) % 2**64 for n in range(POEMS)]
    for setting, sampler in SETTINGS.items():
        yield here
        still = Progress(here.done, here.total + POEMS, here.doing)
        sections.poems[setting] = yield from write_poems(handle, sampler, seeds, still)
    yield (here := Progress(during.done + 2, during.total, f"{name}: openings"))
    controls = Controls(TASTE, seed=request.seed)
    for opening in lesson.OPENINGS:
        try:
            prompt = Prompt(opening)
            poem = yield from write_one(handle, controls, here, prompt=prompt)
            sections.continued[opening] = poem.text
        except UnknownCharacters as error:
            sections.continued[opening] = f"the vocabulary lacks {error.characters}"
    yield (here := Progress(during.done + 3, during.total, f"{name}: acrostics"))
    for heads, width in lesson.ACROSTICS.items():
        try:
            constraint = Acrostic(heads, width)
            sections.acrostics[heads] = yield from write_one(
                handle, controls, here, constraint=constraint
            )
        except UnknownCharacters:
            continue  # no row: the model cannot write these heads
    budget = QUICK_BUDGET if request.quick else BUDGET
    for length in lesson.MILLISECONDS:
        yield Progress(during.done + 4, during.total, f"{name}: {length} characters in both modes")
        measured = yield from pair(
            handle.model, handle.tokenizer, length, budget, f"{name}, {length} characters"
        )
        sections.pairs.append(measured)
