"""The lesson's sections as tables, ours and the lesson's side by side. Measures nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from corpora.forms import VerseForm
from model.config import GPTConfig
from model.lab import lesson_figures as lesson
from model.lab.base import Cell, Check, Plot, Series, Table, table
from model.lab.measures import character_ranks, is_regular, rare_characters

if TYPE_CHECKING:
    from model.lab.lesson import Sections

REGULAR = {"T 0.3": "3 of 3", "T 1": "3 of 3", "T 1.5": "0 of 1", "T 1.5, top-k 20": "3 of 3"}
"""Of the poems that the lesson prints."""
SPRING_WIND = "春风"
WITHIN = 0.03


def tables(found: Sequence[Sections]) -> Iterator[Table]:
    """All six sections, in the lesson's order."""
    for opening, theirs in lesson.TOP.items():
        yield _top(opening, theirs, found)
    yield _poems(found)
    yield _continued(found)
    yield _acrostics(found)
    yield _times(found)
    yield _memory(found)


def _top(opening: str, theirs: Sequence[tuple[str, float]], found: Sequence[Sections]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for place, (character, share) in enumerate(theirs):
        ours = [cell for one in found for cell in one.top[opening][place]]
        rows.append((place + 1, *ours, character, share))
    heads = {"rank": ""}
    for one in found:
        heads |= {one.name: "", f"{one.name} %": ".1%"}
    note = "Read as text from anywhere." if opening in lesson.FRAGMENTS else ""
    return table(
        f"Section 1: after 「{opening}」",
        heads | {"the lesson": "", "the lesson %": ".1%"},
        rows,
        note,
    )


def _poems(found: Sequence[Sections]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for setting, theirs in REGULAR.items():
        for one in found:
            poems = one.poems[setting]
            ranks = character_ranks(one.handle.tokenizer)
            rare = "".join(char for poem in poems for char in rare_characters(poem.text, ranks))
            regular = sum(is_regular(poem.text) for poem in poems)
            rows.append(
                (setting, one.name, f"{regular} of {len(poems)}", theirs, rare[:12], poems[0].text)
            )
    heads = {"setting": "", "model": "", "regular": "", "the lesson's": "", "rare": ""}
    return table(
        "Sections 2 and 3: poems at three temperatures, and at the highest with top-k 20",
        heads | {"the first": ""},
        rows,
        "regular: lines of one length in couplets, closed. rare: the first of them. The lesson "
        "calls 麕 酲 炯 娩 rare at T 1, and prints one broken poem of T 1.5.",
    )


def _continued(found: Sequence[Sections]) -> Table:
    rows = [
        (opening, one.name, one.continued[opening]) for opening in lesson.OPENINGS for one in found
    ]
    return table(
        "Section 4: openings continued",
        {"opening": "", "model": "", "poem": ""},
        rows,
        "The lesson's model too goes on from 人工智能, which no Tang poet wrote: its characters "
        "are there, one by one.",
    )


def _acrostics(found: Sequence[Sections]) -> Table:
    rows = [
        (heads, one.name, poem.text)
        for heads in lesson.ACROSTICS
        for one in found
        if (poem := one.acrostics.get(heads))
    ]
    return table("Section 5: acrostics", {"heads": "", "model": "", "poem": ""}, rows)


def _times(found: Sequence[Sections]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        for pair in one.pairs:
            off, on = (1000 * pair.total(mode) for mode in ("off", "on"))
            theirs = lesson.MILLISECONDS[pair.tokens]
            rows.append((pair.tokens, one.name, off, on, pair.ratio, *theirs, pair.n))
    heads = {"characters": "", "model": "", "off, ms": ",.0f", "on, ms": ",.0f", "times": ".1f"}
    heads |= {"the lesson's off": "", "its on": "", "its times": ".1f", "n": ""}
    return table(
        "Section 6: the same text with the cache off and on",
        heads,
        rows,
        "Medians of n runs in turns, a first one of each not counted.",
    )


def _memory(found: Sequence[Sections]) -> Table:
    rows: list[tuple[Cell, ...]] = [("the lesson", lesson.CACHE_PER_TOKEN, lesson.BLOCK)]
    rows += [(one.name, one.bytes_per_token, one.handle.model.config.block_size) for one in found]
    return table(
        "Section 6: what the cache takes",
        {"model": "", "bytes a token": ",", "longest context": ",", "bytes in all": ","},
        [(name, each, block, each * block) for name, each, block in rows],  # type: ignore[operator]
    )


def plot(found: Sequence[Sections]) -> Plot:
    """How many times faster the cache is, by length."""
    series = [
        Series(one.name, tuple((float(pair.tokens), pair.ratio) for pair in one.pairs))
        for one in found
    ]
    theirs = tuple((float(n), times) for n, (_, _, times) in lesson.MILLISECONDS.items())
    return Plot(
        "The cache: times faster",
        "characters",
        "times",
        (*series, Series("the lesson", theirs)),
        note="The gain grows with the text, because only the uncached time does.",
    )


def checks(found: Sequence[Sections]) -> Iterator[Check]:
    """What the lesson says must be so, of each model."""
    for one in found:
        pair = one.pairs[-1]
        yield Check(
            f"{one.name}: with and without cache the same {lesson.IDENTICAL} characters",
            pair.agrees and pair.tokens == lesson.IDENTICAL,
            f"{pair.agreement}, in {2 * pair.n} runs",
        )
        exact = [is_acrostic(poem.text, heads) for heads, poem in one.acrostics.items()]
        yield Check(
            f"{one.name}: acrostics begin with their heads and have whole lines",
            all(exact),
            f"{sum(exact)} of {len(exact)}",
        )
        config = one.handle.model.config
        if isinstance(config, GPTConfig):
            formula = 2 * config.n_layer * config.n_embd * 4
            shape = f"2 × {config.n_layer} layers × {config.n_embd} × 4 bytes"
            yield Check(
                f"{one.name}: a token takes {shape}",
                one.bytes_per_token == formula,
                f"{one.bytes_per_token:,} bytes, by the formula {formula:,}",
            )


def is_acrostic(text: str, heads: str) -> bool:
    """Whether ``text`` is whole lines that begin with ``heads``, one of the lesson's."""
    width = lesson.ACROSTICS[heads]
    return VerseForm("acrostic", len(heads), width).holds(text) and text[:: width + 1] == heads


def findings(found: Sequence[Sections]) -> Iterator[str]:
    """A sentence for each section, all models beside the lesson's."""
    theirs = lesson.SPRING_WIND_STOP / lesson.SPRING_WIND
    shares = [f"{one.name} {dict(one.top[SPRING_WIND]).get('。', 0.0):.1%}" for one in found]
    yield (
        f"After {SPRING_WIND} 。 has {', '.join(shares)}; the lesson's model gives it "
        f"{dict(lesson.TOP[SPRING_WIND])['。']:.1%}, and in its training text it follows "
        f"{theirs:.1%} of the time."
    )
    for opening, original in lesson.ORIGINAL.items():
        known = [one.name for one in found if original in dict(one.top[opening])]
        yield (
            f"After 「{opening}」 {original}, as the poem goes on, is among the eight of "
            f"{', '.join(known) or 'none'}; it is not among the lesson's. Whether that is knowing "
            "verse or knowing this poem, the experiment memorised asks."
        )
    hot, cut = "T 1.5", "T 1.5, top-k 20"
    regular = [f"{one.name} {_regular(one, hot)} and {_regular(one, cut)}" for one in found]
    yield (
        f"Regular poems of {len(found[0].poems[hot])} at {hot}, and with top-k 20: "
        f"{', '.join(regular)}. The lesson prints one that breaks and three that hold. So few say "
        "little: the experiment temperature counts hundreds."
    )
    yield from _gained(found)


def _regular(one: Sections, setting: str) -> int:
    return sum(is_regular(poem.text) for poem in one.poems[setting])


def _gained(found: Sequence[Sections]) -> Iterator[str]:
    """How many times faster the cache makes each, and the lesson's model."""
    for tokens, (_, _, theirs) in lesson.MILLISECONDS.items():
        ratios = {one.name: p.ratio for one in found for p in one.pairs if p.tokens == tokens}
        told = ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items())
        yield f"{tokens} characters with the cache: {told} times as fast; the lesson's {theirs}."
    if all(p.ratio > lesson.MILLISECONDS[p.tokens][2] for one in found for p in one.pairs):
        yield (
            "More than the lesson's throughout: its step spends most of its time between the "
            "operations, which no cache saves; ours spends less there."
        )
