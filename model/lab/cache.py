"""The lesson's table: the same text with the cache and without. Both write in turns, the first
turn is not counted, medians are taken; the time of each token against the length of the text
is fitted by a line; and the tensors that a cache holds are weighed.

Of every model that is there, or of the one that is asked for. What would take long without a
cache is left out, and said.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from model.config import CacheMode
from model.errors import UserError
from model.lab.base import Check, Plot, Progress, Records, Request, Result, Series, Table, table
from model.lab.memory import Memory, gpt2_memory, held_memory
from model.lab.portion import WHOLE, portion
from model.lab.timing import MODES, NAMES, Line, Pair, is_flat, line, pace, pair
from model.registry import ModelHandle, specs

LENGTHS, QUICK_LENGTHS = (32, 64, 120, 500), (32, 64)
BUDGET, QUICK_BUDGET = 5.0, 1.0
"""Seconds of computing for the counted runs of one length."""
TOO_LONG, QUICK_TOO_LONG = 60.0, 5.0
"""Seconds that a run without cache may be expected to take; longer ones are left out."""
LESSON = {32: (23, 12, 1.8), 64: (52, 26, 2.0), 120: (130, 49, 2.6)}
"""Milliseconds without cache, with, and their ratio, for 4 layers of 128."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One model."""

    handle: ModelHandle
    pairs: tuple[Pair, ...]
    left_out: tuple[int, ...]
    memory: Memory

    @property
    def name(self) -> str:
        return self.handle.spec.name

    @property
    def longest(self) -> Pair:
        """The longest text that was written."""
        return self.pairs[-1]

    def pace(self, mode: CacheMode) -> list[float]:
        """Seconds of each token while the text fits the block; the first, a prefill, left out.
        Token ``i`` of these is read with ``i + 2`` tokens of context."""
        return pace(self.pairs, mode)[1 : self.handle.model.config.block_size]

    def line(self, mode: CacheMode) -> Line:
        """A token's time against what stands before it."""
        return line(self.pace(mode), first=2)


def run(request: Request) -> Records:
    """A progress record twice a second."""
    yield Progress(0, 1, "the models")
    there = [spec.name for spec in specs() if spec.available]
    measured: list[Measured] = []
    absent: list[str] = []
    names = [request.model] if request.model else there
    for name in names:
        yield Progress(len(measured) * WHOLE // len(names), WHOLE, f"{name}: loading")
        try:
            handle = request.load(name)
        except UserError as error:  # its libraries may be missing, though its file is there
            if request.model is not None:
                raise
            absent.append(f"{name} is left out: {error}")
            continue
        begun = len(measured) / len(names)
        measured.append(
            (yield from portion(_measure(handle, request.quick), begun, begun + 1 / len(names)))
        )
    reference = gpt2_memory()
    yield Result(
        "cache",
        (
            *(_times(m) for m in measured),
            _slopes(measured),
            _memory([*(m.memory for m in measured), reference]),
        ),
        tuple(_pace_plot(m) for m in measured),
        (*_checks(measured), _gpt2_check(reference)),
        (*_findings(measured), *absent),
        {
            "models": [m.name for m in measured],
            "lengths": list(QUICK_LENGTHS if request.quick else LENGTHS),
            "budget_s": QUICK_BUDGET if request.quick else BUDGET,
        },
    )


def _measure(handle: ModelHandle, quick: bool) -> Generator[Progress, None, Measured]:
    """One model at every length that does not take too long."""
    lengths = QUICK_LENGTHS if quick else LENGTHS
    budget, too_long = (QUICK_BUDGET, QUICK_TOO_LONG) if quick else (BUDGET, TOO_LONG)
    pairs: list[Pair] = []
    for tokens in lengths:
        if pairs and _expected(pairs[-1], tokens, handle.model.config.block_size) > too_long:
            continue
        title = f"{handle.spec.name}, {tokens} tokens"
        turns = pair(handle.model, handle.tokenizer, tokens, budget, title)
        done = len(pairs) / len(lengths)
        pairs.append((yield from portion(turns, done, done + 1 / len(lengths))))
    left_out = tuple(n for n in lengths if n not in [p.tokens for p in pairs])
    memory = held_memory(handle.spec.name, handle.model.new_cache(), handle.model)
    return Measured(handle, tuple(pairs), left_out, memory)


def _expected(known: Pair, tokens: int, block: int) -> float:
    """Seconds without cache: a token's time grows with its context."""
    grows = tokens * min(tokens, block) / (known.tokens * min(known.tokens, block))
    return known.total("off") * grows


def _times(measured: Measured) -> Table:
    rows: list[tuple[Any, ...]] = []
    for p in measured.pairs:
        taken = [p.total(mode) * 1000 for mode in MODES]
        rows.append((p.tokens, *taken, p.ratio, *LESSON.get(p.tokens, (None,) * 3), p.same, p.n))
    rows += [(n, *(None,) * 8) for n in measured.left_out]
    heads = {"tokens": ",", "without (ms)": ",.0f", "with (ms)": ",.0f", "faster": ".1f"}
    heads |= {"the lesson's without": ",.0f", "its with": ",.0f", "its faster": ".1f"}
    return table(
        f"{measured.handle.title}: the same text in both modes",
        heads | {"identical": "", "n": ""},
        rows,
        "processor time, medians over n turns; the lesson's model has 4 layers of 128 and 6,289 "
        "characters." + _block_note(measured) + _left_out_note(measured),
    )


def _block_note(measured: Measured) -> str:
    block = measured.handle.model.config.block_size
    if measured.longest.tokens < block:
        return ""
    return (
        f" Past {block} tokens the window slides: the oldest half is dropped and, with the "
        "cache too, the rest is read again."
    )


def _left_out_note(measured: Measured) -> str:
    if not measured.left_out:
        return ""
    first = measured.left_out[0]
    seconds = _expected(measured.longest, first, measured.handle.model.config.block_size)
    return f" {first} tokens would take {seconds:,.0f} s without cache here: left out."


def _slopes(measured: Sequence[Measured]) -> Table:
    rows = []
    for m in measured:
        for mode in MODES:
            fit = m.line(mode)
            error = fit.error * 1e6 if math.isfinite(fit.error) else None
            n = sum(p.n for p in m.pairs)
            rows.append((m.name, NAMES[mode], fit.base * 1e3, fit.rise * 1e6, error, n))
    return table(
        "A token's time against the length of the text, a line fitted",
        {
            "model": "",
            "": "",
            "at none (ms)": ".2f",
            "a token more (µs)": ".2f",
            "±": ".2f",
            "n": "",
        },
        rows,
        "through medians of eight neighbours, over n texts that begin alike, while the text "
        "fits the block; ±: one standard error",
    )


def _memory(memories: Sequence[Memory]) -> Table:
    return table(
        "What the cache takes",
        {
            "model": "",
            "2 · layers · width · bytes": "",
            "bytes a token": ",",
            "measured": ",.0f",
            "longest context": ",",
            "MB when full": ",.1f",
        },
        [
            (m.name, m.formula or None, m.by_formula, m.measured, m.block_size, m.full / 1e6)
            for m in memories
        ],
        "measured: the tensors that hold keys and values, for each token held. MB: 10⁶ bytes.",
    )


def _pace_plot(measured: Measured) -> Plot:
    series = tuple(
        Series(
            NAMES[mode],
            tuple((float(i + 2), s * 1000) for i, s in enumerate(measured.pace(mode))),
        )
        for mode in MODES
    )
    return Plot(
        f"{measured.name}: a token's time by length",
        "tokens of context",
        "milliseconds",
        series,
        note="The slopes of the table above are those of these lines.",
    )


def _checks(measured: Sequence[Measured]) -> Iterator[Check]:
    for m in measured:
        yield Check(
            f"{m.name}: both modes write the same text",
            all(p.agrees for p in m.pairs),
            ", ".join(p.agreement for p in m.pairs),
        )
        off, on = (m.line(mode) for mode in MODES)
        yield Check(
            f"{m.name}: with the cache a token's time is flat, without it linear",
            is_flat(off, on),
            f"{on.rise * 1e6:.1f} µs and {off.rise * 1e6:.1f} µs more a token",
        )
        if m.memory.by_formula is not None:
            yield Check(
                f"{m.name}: the cache takes what the formula says",
                m.memory.measured == m.memory.by_formula,
                f"{m.memory.measured:,.0f} bytes a token, {m.memory.formula}",
            )


def grows(fit: Line) -> str:
    """By how much a token's time grows, in words, where that is more than its scatter."""
    if fit.rise <= 2 * fit.error:
        return "no more that could be told from scatter"
    return f"{fit.rise * 1e6:,.1f} µs more"


def _gpt2_check(memory: Memory) -> Check:
    return Check(
        "GPT-2 small in float16: 36,864 bytes a token, 37.7 MB at 1,024",
        memory.by_formula == memory.measured == 36_864 and round(memory.full / 1e6, 1) == 37.7,
        f"{memory.measured:,.0f} bytes, {memory.full / 1e6:.1f} MB",
    )


def _findings(measured: Sequence[Measured]) -> Iterator[str]:
    for m in measured:
        p = m.longest
        yield (
            f"{m.name}: {p.tokens} tokens are {p.ratio:.1f} times faster with the cache. Without "
            f"it a token takes {grows(m.line('off'))} for each token before it, with it "
            f"{grows(m.line('on'))}."
        )
        parted = next((p for p in m.pairs if not p.identical), None)
        if parted is not None and parted.parting is not None:
            yield (
                f"{m.name}: after {parted.parting.at} of {parted.tokens} tokens the two modes "
                f"part, where u is {parted.parting.apart:.0e} from the other mode's token: the "
                "same sums in another order, as the experiment sums tells, and another text from "
                "there on."
            )
    own = [m for m in measured if m.handle.spec.kind == "own"]
    known = [(m, p) for m in own for p in m.pairs if p.tokens in LESSON]
    if known:
        m, p = max(known, key=lambda each: each[1].tokens)
        ours, theirs = p.ratio, LESSON[p.tokens][2]
        why = (
            "a pass over one token is written for that here, so that less is spent besides the "
            "computing, which is all that the cache saves"
            if ours > theirs
            else "more is spent here besides the computing, which is all that the cache saves"
        )
        yield f"At {p.tokens} tokens {m.name} gains {ours:.1f}, the lesson's model {theirs}: {why}."
    yield (
        "Processor time of one thread, both modes in turns, so that what else the machine does "
        "matters little."
    )
