"""Presence, frequency and the CTRL penalty over their strengths: at how many steps each takes
another token than the model would, what that does to repetition, and what it breaks.

Greedy, so that every altered step is the penalty's doing. Keskar et al. 2019 (CTRL) divides;
the OpenAI interface's presence and frequency subtract.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from statistics import mean

import torch

from corpora.forms import FORMS
from model.config import Controls, SamplerConfig
from model.constraints import FixedForm
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
from model.lab.distributions import all_logits
from model.lab.handles import WITHOUT_CHAT, poet, prose_writer
from model.lab.measures import full_lines, repeated_share, until_last_mark
from model.lab.structure import TASKS, answers, answers_table
from model.lab.structure import findings as structure_findings
from model.lab.texts import OPENINGS, PROSE
from model.lab.writing import Written, write_one, write_poems
from model.registry import ModelHandle
from model.sampling import History, presence_frequency, repetition
from model.subjects import Endless

STRENGTHS: dict[str, tuple[float, ...]] = {
    "presence": (0.5, 1.0, 2.0),
    "frequency": (0.25, 0.5, 1.0),
    "repetition": (1.1, 1.2, 1.5),
}
NAMES = {"none": "none", "presence": "presence", "frequency": "frequency", "repetition": "CTRL"}
Setting = tuple[str, float]
NONE: Setting = ("none", 0.0)
SETTINGS = (NONE, *((kind, value) for kind, values in STRENGTHS.items() for value in values))
STEPS, QUICK_STEPS = 120, 24
LESSON_ALTERED = {("presence", 0.5): 3, ("frequency", 0.5): 12, ("repetition", 1.2): 35}
"""Steps of 120 that the lesson's model altered; 12 is its "four times as many"."""
LESSON_REPEATED = {NONE: 0.855}
TEXTS = 4
FORM = FORMS["七律"]
POEMS, POEMS_QUICK = 20, 3


@dataclass(frozen=True, slots=True)
class Effect:
    """One penalty at one strength, over several texts."""

    altered: float
    """Steps of a text, on average, at which the token is not the one without the penalty."""
    repeated: float
    lines: float
    """Share of lines with 5 or 7 characters."""
    text: str
    """What was written in the first text."""


Effects = dict[Setting, Effect]


def run(request: Request) -> Records:
    """Progress counts texts."""
    yield Progress(0, 1, "the models")
    verse, prose = poet(request), prose_writer(request)
    steps = QUICK_STEPS if request.quick else STEPS
    tables: list[Table] = []
    plots: list[Plot] = []
    checks: list[Check] = []
    findings: list[str] = []
    if verse:
        openings = OPENINGS[: 1 if request.quick else TEXTS]
        prompts = [Prompt(text) for text in (openings if not request.prompt else [request.prompt])]
        effects = yield from _effects(verse, prompts, steps)
        tables.append(_table(verse, effects, steps, lines=True))
        plots.append(_plot(verse, effects, steps))
        checks += [_nothing(verse), (yield from _in_a_form(verse, request))]
        findings += _findings(verse, effects, steps)
    if prose:
        prompt = Prompt(request.prompt or PROSE[0], fragment=True)
        effects = yield from _effects(prose, [prompt], steps)
        tables.append(_table(prose, effects, steps, lines=False))
        plots.append(_plot(prose, effects, steps))
        asked = yield from answers(prose, TASKS, Progress(0, 1, "a table and code"))
        tables += [answers_table(task, asked[task.name], prose.spec.name) for task in TASKS]
        checks.append(_nothing(prose))
        findings += [*_findings(prose, effects, steps), *structure_findings(asked)]
    elif request.model is None:
        findings.append(WITHOUT_CHAT)
    settings = {"models": [h.spec.name for h in (verse, prose) if h], "steps": steps}
    yield Result("penalties", tuple(tables), tuple(plots), tuple(checks), tuple(findings), settings)


def sampler_of(setting: Setting) -> SamplerConfig:
    """Greedy decoding under one penalty."""
    kind, value = setting
    greedy = SamplerConfig(temperature=0.0)
    return greedy if setting == NONE else replace(greedy, **{kind: value})  # type: ignore[arg-type]


def _effects(
    handle: ModelHandle, prompts: Sequence[Prompt], steps: int
) -> Generator[Progress, None, Effects]:
    effects: Effects = {}
    total = len(SETTINGS) * len(prompts)
    for setting in SETTINGS:
        texts: list[Written] = []
        for prompt in prompts:
            done = len(effects) * len(prompts) + len(texts)
            during = Progress(done, total, f"{handle.spec.name}, {_said(setting)}")
            yield during
            controls = Controls(sampler_of(setting), max_tokens=steps)
            text = yield from write_one(
                handle, controls, during, prompt=prompt, constraint=Endless(), inspected=True
            )
            texts.append(text)
        effects[setting] = Effect(
            mean(altered(text) for text in texts),
            mean(repeated_share(text.tokens) for text in texts),
            mean(full_lines(until_last_mark(text.text)) for text in texts),
            texts[0].text[len(prompts[0].text) :],
        )
    return effects


def altered(text: Written) -> int:
    """Steps of an inspected greedy text whose token is not the likeliest without penalties."""
    return sum(step.inspection.altered for step in text.steps if step.inspection)


def _said(setting: Setting) -> str:
    kind, value = setting
    return NAMES[kind] if setting == NONE else f"{NAMES[kind]} {value:g}"


def _table(handle: ModelHandle, effects: Effects, steps: int, *, lines: bool) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for setting, effect in effects.items():
        row: list[Cell] = [
            _said(setting),
            effect.altered,
            LESSON_ALTERED.get(setting) if steps == STEPS else None,
            effect.repeated,
            LESSON_REPEATED.get(setting) if steps == STEPS else None,
        ]
        rows.append((*row, *([effect.lines] if lines else []), effect.text[:40]))
    heads = {"penalty": "", f"altered of {steps}": ".1f", "the lesson's": ",.0f"}
    heads |= {"repeated 4-grams": ".1%", "the lesson's 4-grams": ".1%"}
    if lines:
        heads["lines of 5 or 7"] = ".0%"
    return table(
        f"Greedy texts of {steps} tokens under each penalty, {handle.spec.name}",
        heads | {"the first goes on": ""},
        rows,
        "altered: steps at which the token is not the one that the model put first. The text may "
        "not end, so that all have one length; without a form even marks are penalised.",
    )


def _plot(handle: ModelHandle, effects: Effects, steps: int) -> Plot:
    series = []
    for kind, values in STRENGTHS.items():
        ranked = sorted((effects[kind, v].altered, effects[kind, v].repeated) for v in values)
        start = (effects[NONE].altered, effects[NONE].repeated)
        series.append(Series(NAMES[kind], (start, *ranked)))
    return Plot(
        f"What an altered step buys, {handle.spec.name}",
        f"steps altered of {steps}",
        "repeated 4-grams",
        tuple(series),
        note="Each line begins without a penalty; the lower and the further left it ends, the less "
        "had to be changed for less repetition.",
    )


def _nothing(handle: ModelHandle) -> Check:
    """Penalties that are off leave every logit of a text as it is, to the bit."""
    text = OPENINGS[0] if handle.chat is None and handle.spec.kind == "own" else PROSE[0]
    ids = handle.tokenizer.encode(text)
    logits = all_logits(handle, ids)
    seen = torch.zeros_like(logits)
    for place, token in enumerate(ids):
        seen[place + 1 :, token] += 1  # what stands before each place
    history = History(seen, seen.bool(), torch.zeros_like(seen, dtype=torch.bool))
    off = presence_frequency(logits, presence=0.0, frequency=0.0, history=history)
    off = repetition(off, penalty=1.0, history=history)
    changed = int((off != logits).sum())
    return Check(
        f"penalties of 0, 0 and 1 alter nothing, {handle.spec.name}",
        changed == 0,
        f"{changed} of {logits.numel():,} logits differ",
    )


def _in_a_form(handle: ModelHandle, request: Request) -> Generator[Progress, None, Check]:
    """Marks of a form are exempt, so the strongest penalties leave every line whole."""
    poems = POEMS_QUICK if request.quick else POEMS
    sampler = SamplerConfig(presence=2.0, frequency=2.0, repetition=2.0)
    seeds = [(request.seed + n) % 2**64 for n in range(poems)]
    during = Progress(0, poems, FORM.name)
    constraint = FixedForm(FORM)
    written = yield from write_poems(handle, sampler, seeds, during, constraint=constraint)
    whole = sum(FORM.holds(poem.text) for poem in written)
    return Check(
        f"in {FORM.name} the strongest penalties (2, 2 and 2) break no line",
        whole == poems,
        f"{whole} of {poems} poems exact",
    )


def _findings(handle: ModelHandle, effects: Effects, steps: int) -> list[str]:
    plain = effects[NONE]
    said = [
        f"{handle.spec.name}: {plain.repeated:.0%} of the 4-grams are repeats without a penalty"
    ]
    for setting in LESSON_ALTERED:
        effect = effects[setting]
        lesson = f" (the lesson: {LESSON_ALTERED[setting]})" if steps == STEPS else ""
        said.append(
            f"{_said(setting)} alters {effect.altered:.0f} of {steps} steps{lesson} and leaves "
            f"{effect.repeated:.0%}"
        )
    found = ["; ".join(said) + "."]
    if plain.lines:
        ctrl = effects["repetition", 1.2]
        verdict = "breaks" if ctrl.lines < plain.lines - 0.05 else "hardly touches"
        found.append(
            "Verse repeats by definition too, in its marks: outside a form, where they are "
            f"penalised like any token, CTRL 1.2 {verdict} its lines ({plain.lines:.0%} of 5 or 7 "
            f"characters without, {ctrl.lines:.0%} with it)."
        )
    return found
