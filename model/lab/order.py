"""Two stages swapped: the nucleus cut before or after the temperature, a penalty subtracted
before or after it. The same settings, another distribution.

The order of the stages is a setting (``SamplerConfig.order``), so nothing here computes what
the sampler does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from model.config import STAGES, SamplerConfig
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
from model.lab.distributions import legal_logits
from model.lab.measures import character_ranks, is_regular, rare_share
from model.lab.nucleus import CONFIDENT, OPEN
from model.lab.swapped import (
    ALPHA,
    CUT_FIRST,
    HEAT_FIRST,
    PENALTY_LAST,
    effective_penalty,
    kept,
    lead_seen,
    leading,
)
from model.lab.writing import Written, write_poems
from model.sampling import apply_stages

HEATS = (0.5, 1.0, 1.5, 2.0)
P = 0.9
CTRL = 1.2
LESSON_SIZES, LESSON_FACTOR = {2.0: (32_966, 1)}, {1.0: 1.0, 2.0: 1.58}
"""Of the lesson's factual prompt: the nucleus with the temperature first and with the cut first,
by T; and by which factor the leading token's probability differs between the two orders."""
HOT = 1.5
POEMS, FEW = 60, 6
CLEAR = 0.1
"""Regular poems, as a share, by which the orders must differ before it is said."""
SHOWN = 2


def run(request: Request) -> Records:
    """Progress counts poems."""
    poems = FEW if request.quick else POEMS
    yield Progress(0, 2 * poems, "the model")
    handle = request.handle()
    prompts = (CONFIDENT, OPEN) if request.prompt is None else (request.prompt,)
    logits = {prompt: legal_logits(handle, prompt) for prompt in prompts}
    seeds = [(request.seed + n) % 2**64 for n in range(poems)]
    written: dict[str, list[Written]] = {}
    for name, order in (("temperature first", HEAT_FIRST), ("cut first", CUT_FIRST)):
        during = Progress(len(written) * poems, 2 * poems, f"poems, {name}")
        sampler = SamplerConfig(temperature=HOT, top_p=P, order=order)
        written[name] = yield from write_poems(handle, sampler, seeds, during)
    ranks = character_ranks(handle.tokenizer)
    yield Result(
        "order",
        (
            *(_cut(prompt, of_prompt) for prompt, of_prompt in logits.items()),
            *(_penalised(prompt, of_prompt) for prompt, of_prompt in logits.items()),
            _poems(written, ranks),
        ),
        tuple(_curve(prompt, of_prompt) for prompt, of_prompt in logits.items()),
        _checks(list(logits.values())),
        _findings(logits, written, ranks),
        {"model": handle.spec.name, "prompts": list(prompts), "seeds": [seeds[0], seeds[-1]]},
    )


def _cut(prompt: str, logits: Tensor) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for value in HEATS:
        sizes = [kept(logits, o, temperature=value, top_p=P) for o in (HEAT_FIRST, CUT_FIRST)]
        theirs = LESSON_SIZES.get(value, (None, None)) if prompt == CONFIDENT else ()
        rows.append((value, *sizes, *theirs))
    heads = {"T": ".1f", "temperature first": ",", "cut first": ","}
    note = ""
    if prompt == CONFIDENT:
        heads |= {"the lesson's": ",", "the lesson's, cut first": ","}
        note = "The lesson's are of its factual prompt, in a vocabulary of 151,936."
    return table(f"Tokens that top-p {P:g} keeps, after {_named(prompt)}", heads, rows, note)


def _penalised(prompt: str, logits: Tensor) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for value in HEATS:
        before, after = (leading(logits, value, order) for order in (STAGES, PENALTY_LAST))
        rows.append(
            (
                value,
                before,
                after,
                max(before, after) / min(before, after),
                LESSON_FACTOR.get(value),
                *(effective_penalty(logits, value, order) for order in (STAGES, PENALTY_LAST)),
            )
        )
    heads = {"T": ".1f", "penalty first": ".2%", "temperature first": ".2%", "factor": ".2f"}
    heads |= {"the lesson's factor": ".2f", "acts as": ".3f", "temperature first, as": ".3f"}
    return table(
        f"The likeliest token with a presence penalty of {ALPHA:g}, after {_named(prompt)}",
        heads,
        rows,
        "Its probability, and by how many nats the penalty lowers its log-odds.",
    )


def _poems(written: dict[str, list[Written]], ranks: dict[str, int]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, poems in written.items():
        texts = [poem.text for poem in poems]
        rows.append(
            (
                name,
                len(poems),
                sum(map(is_regular, texts)) / len(texts),
                rare_share(texts, ranks),
                " / ".join(text[:24] for text in texts[:SHOWN]),
            )
        )
    return table(
        f"Poems at T {HOT:g} with top-p {P:g}, the same seeds",
        {"order": "", "poems": ",", "regular": ".0%", "rare": ".2%", "they begin": ""},
        rows,
    )


def _curve(prompt: str, logits: Tensor) -> Plot:
    heats = [0.25 + 0.25 * n for n in range(12)]
    series = [
        Series(
            name,
            tuple((t, float(kept(logits, order, temperature=t, top_p=P))) for t in heats),
        )
        for name, order in (("temperature first", HEAT_FIRST), ("cut first", CUT_FIRST))
    ]
    return Plot(
        f"Tokens that top-p {P:g} keeps, after {_named(prompt)}",
        "temperature",
        "tokens",
        tuple(series),
        log_y=True,
        note="Cut first, the temperature finds the same tokens however hot it is.",
    )


def _checks(all_logits: Sequence[Tensor]) -> tuple[Check, ...]:
    small = torch.tensor([0.5, 0.25, 0.15, 0.1]).log()
    sizes = [kept(small, o, temperature=2.0, top_p=0.7) for o in (HEAT_FIRST, CUT_FIRST)]
    wrong = max(
        abs(effective_penalty(logits, value, order) - expected)
        for logits in (small, *all_logits)
        for value in HEATS
        for order, expected in ((STAGES, ALPHA / value), (PENALTY_LAST, ALPHA))
    )
    return (
        Check(
            ".5 .25 .15 .1 at T = 2 with p = .7: three tokens with the temperature first, two "
            "with the cut first",
            sizes == [3, 2],
            f"{sizes[0]} and {sizes[1]}",
        ),
        Check(
            "a penalty α acts as α / T before the temperature and as α behind it",
            wrong < 1e-3,
            f"largest deviation {wrong:.0e} nats",
        ),
        _one_at_one(all_logits),
        _indifferent(all_logits),
    )


def _one_at_one(all_logits: Sequence[Tensor]) -> Check:
    """At T = 1 each order leaves the same scores, to the bit."""
    same = total = 0
    for logits in all_logits:
        history = lead_seen(logits)
        scores = [
            apply_stages(
                logits,
                SamplerConfig(presence=ALPHA, top_p=P, order=order),
                history=history,
            )
            for order in (STAGES, CUT_FIRST, PENALTY_LAST)
        ]
        total += len(scores) - 1
        same += sum(torch.equal(scores[0], other) for other in scores[1:])
    return Check(
        "at T = 1 every order gives the same distribution", same == total, f"{same} of {total}"
    )


def _indifferent(all_logits: Sequence[Tensor]) -> Check:
    """What divides commutes with what divides, and k tokens are k tokens at any heat."""
    apart = 0.0
    counts: set[int] = set()
    for logits in all_logits:
        history = lead_seen(logits)
        scores = [
            apply_stages(
                logits,
                SamplerConfig(temperature=HOT, repetition=CTRL, top_k=3, order=order),
                history=history,
            )
            for order in (STAGES, CUT_FIRST, PENALTY_LAST)
        ]
        counts |= {int((one > -math.inf).sum()) for one in scores}
        finite = [one.softmax(-1) for one in scores]
        apart = max(apart, *(float((one - finite[0]).abs().max()) for one in finite))
    return Check(
        "top-k and the CTRL penalty do not care where the temperature stands",
        apart < 1e-6 and len(counts) == 1,
        f"largest difference of a probability {apart:.0e}",
    )


def _findings(
    logits: dict[str, Tensor], written: dict[str, list[Written]], ranks: dict[str, int]
) -> tuple[str, ...]:
    found = []
    for prompt, of_prompt in logits.items():
        hot, cut = (
            kept(of_prompt, o, temperature=HEATS[-1], top_p=P) for o in (HEAT_FIRST, CUT_FIRST)
        )
        before, after = (leading(of_prompt, HEATS[-1], o) for o in (STAGES, PENALTY_LAST))
        found.append(
            f"After {_named(prompt)} at T = {HEATS[-1]:g} top-p {P:g} keeps {hot:,} tokens where "
            f"the temperature comes first and {cut:,} where the cut does{_lesson_sizes(prompt)}. A "
            f"presence penalty of {ALPHA:g} leaves the likeliest token {before:.2%} where the "
            f"penalty comes first and {after:.2%} where the temperature does."
        )
    shares = [sum(is_regular(p.text) for p in poems) / len(poems) for poems in written.values()]
    rare = [rare_share([p.text for p in poems], ranks) for poems in written.values()]
    found.append(
        f"The same numbers, T {HOT:g} and p {P:g}, give {shares[0]:.0%} regular poems with "
        f"{rare[0]:.1%} rare characters when the temperature comes first, and {shares[1]:.0%} with "
        f"{rare[1]:.1%} when the cut does: "
        + (
            "without its order a setting is not defined."
            if abs(shares[0] - shares[1]) >= CLEAR
            else "in these poems the order hardly shows."
        )
    )
    return tuple(found)


def _lesson_sizes(prompt: str) -> str:
    """The lesson's prompt was one that leaves no choice, so it stands beside ours."""
    if prompt != CONFIDENT:
        return ""
    first, second = LESSON_SIZES[HEATS[-1]]
    return f" (the lesson, after a question of fact: {first:,} and {second})"


def _named(prompt: str) -> str:
    return f"「{prompt}」" if prompt else "the start of a poem"
