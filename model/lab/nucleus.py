"""How many tokens make up 50 to 99 % of the probability, by temperature, for a prompt that
leaves little choice and one that leaves much; and what a fixed k does there instead.

Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration".
"""

from __future__ import annotations

import torch
from torch import Tensor

from model.lab.base import Check, Plot, Progress, Records, Request, Result, Series, Table, table
from model.lab.distributions import entropy_bits, legal_logits, nucleus_size, nucleus_sizes

MASSES = (0.5, 0.8, 0.9, 0.95, 0.99)
TEMPERATURES = (0.5, 1.0, 1.5, 2.0)
CONFIDENT, OPEN = "床前明月光，疑是地上霜", ""
"""A couplet's last character, after which a mark must come; and the beginning of a poem."""
FIXED_K = (5, 20, 40, 200)
SPOKEN_OF = 40
"""The lesson's k."""
WIDE = 0.9
"""The mass that k is held against."""
LESSON = (
    "The lesson, on two prompts of English: 1 token makes 90 % after a question of fact and 467 "
    "after an open one; k = 40 lets 39 through there, of 3.6 %, and throws 21 % away here. At "
    "T = 2 the 90 % of the question of fact are 32,966 tokens wide."
)


def run(request: Request) -> Records:
    """One progress record a prompt."""
    handle = request.handle()
    prompts = (CONFIDENT, OPEN) if request.prompt is None else (request.prompt,)
    tables: list[Table] = []
    plots: list[Plot] = []
    findings: list[str] = []
    for number, prompt in enumerate(prompts):
        yield Progress(number, len(prompts), _named(prompt))
        logits = legal_logits(handle, prompt)
        tables += [_sizes(prompt, logits), _fixed_k(prompt, logits)]
        plots.append(_curve(prompt, logits))
        findings.append(_finding(prompt, logits))
    yield Result(
        "nucleus",
        tuple(tables),
        tuple(plots),
        (_known_answer(), _one_over()),
        tuple(findings),
        {"model": handle.spec.name, "prompts": list(prompts)},
    )


def _sizes(prompt: str, logits: Tensor) -> Table:
    rows = []
    for temperature in TEMPERATURES:
        p = torch.softmax(logits / temperature, -1)
        rows.append((temperature, *nucleus_sizes(p, MASSES), entropy_bits(p)))
    heads = {"T": ".1f"} | {f"{mass:.0%}": "," for mass in MASSES} | {"entropy (bits)": ".2f"}
    return table(f"Tokens needed for a share of the mass, after {_named(prompt)}", heads, rows)


def _fixed_k(prompt: str, logits: Tensor) -> Table:
    """What a k keeps, against the nucleus of ``WIDE`` at T = 1."""
    ranked = torch.softmax(logits, -1).sort(descending=True).values
    wanted = nucleus_size(ranked, WIDE)
    rows = [
        (
            k,
            float(ranked[:k].sum()),
            max(0, k - wanted),
            float(ranked[wanted:k].sum()),
            max(0, wanted - k),
            float(ranked[k:wanted].sum()),
        )
        for k in FIXED_K
    ]
    return table(
        f"A fixed k against the nucleus of {WIDE:.0%} ({_tokens(wanted)}), after {_named(prompt)}",
        {
            "k": ",",
            "mass kept": ".1%",
            "let through": ",",
            "of mass": ".1%",
            "thrown away": ",",
            "their mass": ".1%",
        },
        rows,
        "let through: tokens of the k outside the nucleus; thrown away: of the nucleus outside "
        f"k.{f' {LESSON}' if prompt == CONFIDENT else ''}",
    )


def _curve(prompt: str, logits: Tensor) -> Plot:
    """The mass of the n likeliest tokens, by n."""
    series = []
    for temperature in TEMPERATURES:
        running = torch.softmax(logits / temperature, -1).sort(descending=True).values.cumsum(0)
        counts = sorted({round(1.3**i) for i in range(40)} | {len(running)})
        points = tuple((float(n), float(running[n - 1])) for n in counts if n <= len(running))
        series.append(Series(f"T {temperature:g}", points))
    return Plot(
        f"Mass of the likeliest tokens, after {_named(prompt)}",
        "tokens kept",
        "mass",
        tuple(series),
        log_x=True,
        note=f"Where a line crosses {WIDE:g} is the nucleus of top-p {WIDE:g}; a fixed k is a "
        "vertical line.",
    )


def _finding(prompt: str, logits: Tensor) -> str:
    cool, warm = (
        nucleus_size(torch.softmax(logits / t, -1), WIDE)
        for t in (TEMPERATURES[0], TEMPERATURES[-1])
    )
    ranked = torch.softmax(logits, -1).sort(descending=True).values
    wanted = nucleus_size(ranked, WIDE)
    if wanted < SPOKEN_OF:
        mass = float(ranked[wanted:SPOKEN_OF].sum())
        fixed = f"lets {_tokens(SPOKEN_OF - wanted)} more through, with {mass:.1%}"
    else:
        mass = float(ranked[SPOKEN_OF:wanted].sum())
        fixed = f"throws {_tokens(wanted - SPOKEN_OF)} of these away, with {mass:.1%}"
    return (
        f"After {_named(prompt)} {WIDE:.0%} of the mass takes {_tokens(cool)} at "
        f"T = {TEMPERATURES[0]:g} and {_tokens(warm)} at T = {TEMPERATURES[-1]:g}. At T = 1 it "
        f"takes {_tokens(wanted)}: k = {SPOKEN_OF} {fixed}."
    )


def _known_answer() -> Check:
    """The lesson's question: A .6, B .25, C .1 and the rest .05, with p = 0.8."""
    size = nucleus_size(torch.tensor([0.6, 0.25, 0.1, 0.05]), 0.8)
    return Check(
        "A = 0.6, B = 0.25, C = 0.1, rest = 0.05: p = 0.8 keeps A and B", size == 2, f"{size} kept"
    )


def _one_over() -> Check:
    size = nucleus_size(torch.tensor([0.85, 0.1, 0.05]), 0.8)
    return Check("where one token alone is over p it alone is kept", size == 1, f"{size} kept")


def _tokens(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"


def _named(prompt: str) -> str:
    return f"「{prompt}」" if prompt else "the start of a poem"
