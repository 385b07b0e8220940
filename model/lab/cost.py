"""What writing N tokens costs in multiply-adds, with and without a cache.

Without one, step t reads t tokens again: products with weights add up to N²·d²/2, attention
to N³·d/3. With one, each step reads a single token: N·d² and N²·d/2. Counted here by the
formula and by watching every product that is computed, and the exponents are fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from model.config import GPTConfig
from model.errors import InputError
from model.gpt import GPT
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
from model.lab.multiplications import Counter, Work, by_formula
from model.lab.precision import cast
from model.protocol import LanguageModel
from model.subjects import stand_in

WIDTHS = (32, 64, 128, 256)
LENGTHS = (16, 32, 64, 128)
QUICK_WIDTHS, QUICK_LENGTHS = (16, 32, 64), (8, 16, 32)
LAYERS, HEADS = 2, 2
VOCABULARY = 1000
"""Of the models whose exponents are fitted; no multiple of a width, so that the head's
product is told from the others."""
MODES = ("without cache", "with cache")
EXPECTED = {
    ("without cache", "layers"): (2, 2),
    ("without cache", "attention"): (3, 1),
    ("with cache", "layers"): (1, 2),
    ("with cache", "attention"): (2, 1),
}
"""Exponents of N and of d in the lesson's table."""
AT_ONCE = 16
"""Steps between two progress records."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model spent on N tokens, for each N up to the longest."""

    counted: dict[str, tuple[Work, ...]]
    """By mode: the work of the first 1, 2, 3, … tokens."""

    def of(self, mode: str, part: str, n: int) -> int:
        """Multiply-adds of ``part`` for the first ``n`` tokens."""
        return int(getattr(self.counted[mode][n - 1], part))


def run(request: Request) -> Records:
    """One progress record ``AT_ONCE`` steps. Raises ``InputError`` for another maker's model."""
    yield Progress(0, 1, "the model")
    handle = request.handle()
    if not isinstance(handle.model, GPT):
        raise InputError(
            f"the multiply-adds of {handle.spec.name} cannot be counted: not all of its products "
            "go through torch; take one of this program's own models: --model tang-small"
        )
    widths = QUICK_WIDTHS if request.quick else WIDTHS
    lengths = QUICK_LENGTHS if request.quick else LENGTHS
    longest = min(max(lengths), handle.model.config.block_size)
    total = 2 * (-(-longest // AT_ONCE) + len(widths) * -(-max(lengths) // AT_ONCE))
    done = 0
    spent: Spent | None = None
    for state in counting(_readable(handle.model), longest):
        yield Progress(done := min(done + 1, total), total, handle.spec.name)
        spent = state
    assert spent is not None
    by_width: dict[int, Spent] = {}
    for width in widths:
        model = stand_in(GPTConfig(VOCABULARY, max(lengths), LAYERS, HEADS, width)).model
        for state in counting(_readable(model), max(lengths)):
            yield Progress(done := min(done + 1, total), total, f"random weights, width {width}")
            by_width[width] = state
    fits = _fits(by_width, lengths)
    known = [n for n in lengths if n <= longest]
    config = handle.model.config
    yield Result(
        "cost",
        (_totals(handle.spec.name, spent, known, config), _exponents(fits, by_width, lengths)),
        (_plot(handle.spec.name, spent, longest),),
        _checks(spent, known, config, fits),
        _findings(handle.spec.name, spent, longest, config),
        {"model": handle.spec.name, "lengths": list(lengths), "widths": list(widths)},
    )


def _readable(model: LanguageModel) -> LanguageModel:
    """A copy that is not laid out for decoding: there NumPy multiplies, and nobody counts."""
    return cast(model, torch.float32) if isinstance(model, GPT) else model


@torch.no_grad()
def counting(model: LanguageModel, tokens: int) -> Iterator[Spent]:
    """Write ``tokens`` tokens in both modes; what has been counted so far, every ``AT_ONCE``
    steps. Which tokens does not matter: every pass over as many costs the same."""
    vocab_size = model.config.vocab_size
    ids = torch.arange(tokens).remainder(vocab_size).view(1, -1)
    counted: dict[str, list[Work]] = {mode: [] for mode in MODES}
    for mode in MODES:
        cache = model.new_cache() if mode == "with cache" else None
        total = Work()
        for t in range(1, tokens + 1):
            with Counter(vocab_size) as counter:
                if cache is None:
                    model(ids[:, :t], last=True)
                else:
                    model(ids[:, t - 1 : t], cache, last=True)
            total += counter.work
            counted[mode].append(total)
            if t % AT_ONCE == 0 or t == tokens:
                yield Spent({known: tuple(works) for known, works in counted.items()})


def formula(config: GPTConfig, mode: str, tokens: int) -> Work:
    """The work of writing ``tokens`` tokens after nothing, step by step."""
    cached = mode == "with cache"
    steps = (
        by_formula(config, 1, t - 1) if cached else by_formula(config, t)
        for t in range(1, tokens + 1)
    )
    return sum(steps, Work())


def exponent(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The slope of a line through the logarithms: k where y ∝ x^k."""
    return float(np.polyfit(np.log(np.array(xs, float)), np.log(np.array(ys, float)), 1)[0])


Fits = dict[tuple[str, str], tuple[float, float]]
"""By mode and part: the exponents of N, at the greatest d, and of d, at the greatest N."""


def _fits(by_width: dict[int, Spent], lengths: Sequence[int]) -> Fits:
    widest, longest = max(by_width), max(lengths)
    return {
        (mode, part): (
            exponent(lengths, [by_width[widest].of(mode, part, n) for n in lengths]),
            exponent(
                list(by_width), [spent.of(mode, part, longest) for spent in by_width.values()]
            ),
        )
        for mode, part in EXPECTED
    }


def _totals(name: str, spent: Spent, lengths: Sequence[int], config: GPTConfig) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for n in lengths:
        for mode in MODES:
            work = spent.counted[mode][n - 1]
            by = formula(config, mode, n).total / 1e6
            parts = [work.layers / 1e6, work.attention / 1e6, work.head / 1e6, work.total / 1e6]
            rows.append((n, mode, *parts, by))
    heads = {"tokens": ",", "": "", "layers": ",.2f", "attention": ",.2f", "head": ",.2f"}
    heads |= {"total": ",.2f", "by formula": ",.2f"}
    return table(
        f"Millions of multiply-adds to write N tokens, {name}",
        heads,
        rows,
        "counted at every product that torch computed. layers: products with weights. "
        "attention: with keys and values. head: with the vocabulary, at the last token only.",
    )


def _exponents(fits: Fits, by_width: dict[int, Spent], lengths: Sequence[int]) -> Table:
    rows = [
        (mode, part, fits[mode, part][0], n, fits[mode, part][1], d)
        for (mode, part), (n, d) in EXPECTED.items()
    ]
    heads = {"": "", "part": "", "N^": ".2f", "the lesson's": "", "d^": ".2f", "its d^": ""}
    return table(
        "Exponents fitted to the counts",
        heads,
        rows,
        f"random weights, {LAYERS} layers, d = {', '.join(map(str, by_width))}, "
        f"N = {', '.join(map(str, lengths))}. N(N+1)/2 is a little less than quadratic at small N.",
    )


def _plot(name: str, spent: Spent, longest: int) -> Plot:
    series = tuple(
        Series(
            f"{part}, {mode}",
            tuple((float(n), float(spent.of(mode, part, n))) for n in range(1, longest + 1)),
        )
        for mode in MODES
        for part in ("layers", "attention")
    )
    return Plot(
        f"Multiply-adds to write N tokens, {name}",
        "tokens written",
        "multiply-adds",
        series,
        log_x=True,
        log_y=True,
        note="On two logarithmic axes a power is a straight line: the steeper, the higher.",
    )


def _checks(
    spent: Spent, lengths: Sequence[int], config: GPTConfig, fits: Fits
) -> tuple[Check, ...]:
    off = max(
        abs(found - wanted)
        for key, pair in EXPECTED.items()
        for found, wanted in zip(fits[key], pair, strict=True)
    )
    wrong = [
        f"{n} {mode}"
        for n in lengths
        for mode in MODES
        if spent.counted[mode][n - 1] != formula(config, mode, n)
    ]
    return (
        Check(
            "O(N²d²) + O(N³d) without cache, O(Nd²) + O(N²d) with",
            off < 0.2,
            f"no fitted exponent is further than {off:.2f} from the lesson's",
        ),
        Check(
            "the formula gives what is counted, part by part",
            not wrong,
            "; ".join(wrong) or f"for {len(lengths)} lengths in both modes",
        ),
    )


def _findings(name: str, spent: Spent, longest: int, config: GPTConfig) -> tuple[str, ...]:
    without, cached = (spent.counted[mode][longest - 1] for mode in MODES)
    return (
        f"To write {longest} tokens {name} spends {without.total / 1e6:,.0f} million multiply-adds "
        f"without a cache and {cached.total / 1e6:,.0f} million with one, "
        f"{without.total / cached.total:.0f} times fewer; {cached.head / cached.total:.0%} of what "
        "is left is the head's, which no cache saves.",
        "That is work and not time: what the clock gains, the experiment cache measures.",
        f"Attention is {without.attention / without.total:.0%} of the work at this length. It "
        f"would overtake the layers' products at a context of 6·d = {6 * config.n_embd:,} "
        "tokens: until there, N²d² is the term that counts.",
    )
