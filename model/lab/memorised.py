"""Does the model recite? The longest run of characters of each generated poem that stands in
the poems it was trained on, against the same for real poems of the same form that it never
saw. Punctuation is left out on both sides; the search is exact.

Verse shares phrases, so that even a poem nobody copied has runs of three or four characters in
common with fourteen million others; only more than real poems have is a sign of memory. Needs
the built corpus.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import mean, median

from corpora.clean import han_only
from corpora.forms import FORMS
from corpora.poems import Poem, read_built
from corpora.split import SHINGLE
from model.config import SamplerConfig
from model.constraints import FixedForm
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
from model.lab.portion import portion
from model.lab.runs import Codes, Corpus, Run, encode
from model.lab.writing import write_poems
from model.registry import ModelHandle

TRAINING = ("tang.train", "song.train")
"""What the shipped models were trained on."""
SHAPES = ("七绝", "五律")
TEMPERATURES = (0.3, 0.8, 1.0)
POEMS, QUICK_POEMS = 100, 10
"""Of each shape, in each group."""
KNOWN = 20
"""Training poems looked up for the known answer."""
AT_ONCE = 10_000
"""Poems read between two progress records."""
ABOUT = 280_000
"""Training poems, about: for the progress only."""
SHARES = (5, 7, SHINGLE)
"""Runs of a short line, of a long one, and of the length that the split forbids."""
ALIKE = 0.1
"""Characters within which two mean runs are one."""
LONGEST_SHOWN = 2
"""Runs of each group that are shown."""
HELD_OUT = "held-out poems"


@dataclass(frozen=True, slots=True)
class Looked:
    """A poem and its longest run."""

    group: str
    shape: str
    text: str
    run: Run

    @property
    def shared(self) -> str:
        """The run's characters."""
        return han_only(self.text)[self.run.start : self.run.start + self.run.length]


def run(request: Request) -> Records:
    """Raises ``UserError`` that says how to build the corpus where it is not there."""
    count = QUICK_POEMS if request.quick else POEMS
    yield Progress(0, 1, "the model")
    handle = request.handle()
    read = yield from portion(_read(), 0.0, 0.3)
    poems = list(_real(HELD_OUT, read_built("tang.heldout"), count))
    poems += yield from portion(_written(handle, request.seed, count), 0.3, 0.6)
    asked = [*(text for *_, text in poems), *read.known]
    runs = yield from portion(read.corpus.longest_runs(asked), 0.6, 1.0)
    looked = [Looked(*poem, found) for poem, found in zip(poems, runs, strict=False)]
    yield Result(
        "memorised",
        (_counts(looked), _longest(looked, read.named)),
        (_plot(looked),),
        _checks(looked, read.known, runs[len(poems) :]),
        tuple(_findings(looked, read.corpus.characters)),
        {
            "model": handle.spec.name,
            "seed": request.seed,
            "poems": count,
            "training": list(TRAINING),
        },
    )


@dataclass(frozen=True, slots=True)
class Read:
    """The training poems."""

    corpus: Corpus
    named: tuple[str, ...]
    """Author and title of each."""
    known: tuple[str, ...]
    """Some of them."""


def _read() -> Generator[Progress, None, Read]:
    parts: list[Codes] = []
    named: list[str] = []
    known: list[str] = []
    for name in TRAINING:
        for some in _several(read_built(name)):
            yield Progress(len(named), max(ABOUT, len(named)), f"reading {name}")
            parts.append(encode(poem.text for poem in some))
            named += [f"{poem.author}《{poem.title}》" for poem in some]
            known.append(some[0].text)
    return Read(Corpus.joined(parts), tuple(named), tuple(known[:KNOWN]))


def _several(poems: Iterator[Poem]) -> Iterator[list[Poem]]:
    while some := list(islice(poems, AT_ONCE)):
        yield some


Unread = tuple[str, str, str]
"""Group, shape and text of a poem."""


def _real(group: str, poems: Iterator[Poem], count: int) -> Iterator[Unread]:
    """The first ``count`` poems of each shape."""
    left = dict.fromkeys(SHAPES, count)
    for poem in poems:
        if left.get(poem.form, 0):
            left[poem.form] -= 1
            yield group, poem.form, poem.text


def _written(handle: ModelHandle, seed: int, count: int) -> Generator[Progress, None, list[Unread]]:
    poems: list[Unread] = []
    total = count * len(TEMPERATURES) * len(SHAPES)
    for temperature in TEMPERATURES:
        for shape in SHAPES:
            group = f"T {temperature:g}"
            doing = Progress(len(poems), total, f"{shape} at {group}")
            yield doing
            written = yield from write_poems(
                handle,
                SamplerConfig(temperature=temperature),
                range(seed * 1000, seed * 1000 + count),
                doing,
                constraint=FixedForm(FORMS[shape]),
            )
            poems += [(group, shape, poem.text) for poem in written]
    return poems


def _groups(looked: Sequence[Looked]) -> dict[tuple[str, str], list[Looked]]:
    groups: dict[tuple[str, str], list[Looked]] = {}
    for shape in SHAPES:
        for poem in looked:
            if poem.shape == shape:
                groups.setdefault((shape, poem.group), []).append(poem)
    return groups


def _counts(looked: Sequence[Looked]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for (shape, group), poems in _groups(looked).items():
        lengths = [poem.run.length for poem in poems]
        shares = [mean(length >= n for length in lengths) for n in SHARES]
        rows.append(
            (shape, group, len(poems), mean(lengths), median(lengths), max(lengths), *shares)
        )
    heads = {"shape": "", "poems": "", "n": ",", "mean run": ".2f", "median": "g", "longest": ","}
    return table(
        "Longest run of a poem that stands in the training corpus, in characters",
        heads | {f"{n} or more": ".0%" for n in SHARES},
        rows,
        "one run a poem; punctuation is left out, so that a run may go over a line's end. "
        f"Poems that share {SHINGLE} characters with a held-out one were taken out of training, "
        "which is why no held-out poem has a longer run.",
    )


def _longest(looked: Sequence[Looked], named: Sequence[str]) -> Table:
    rows: list[tuple[str | int, ...]] = []
    for (_, group), poems in _groups(looked).items():
        ranked = sorted(poems, key=lambda poem: -poem.run.length)
        rows += [
            (group, p.run.length, p.shared, named[p.run.text], p.text)
            for p in ranked[:LONGEST_SHOWN]
            if p.run.length
        ]
    heads = {"poems": "", "run": ",", "characters": "", "stand in": "", "poem": ""}
    return table("The longest runs", heads, rows, "stand in: the first training poem that has it")


def _plot(looked: Sequence[Looked]) -> Plot:
    lengths: dict[str, list[int]] = {}
    for poem in looked:
        lengths.setdefault(poem.group, []).append(poem.run.length)
    longest = max((max(found) for found in lengths.values()), default=1)
    series = tuple(
        Series(group, tuple((float(n), mean(x >= n for x in found)) for n in range(1, longest + 2)))
        for group, found in lengths.items()
    )
    note = "A model that recites would lie to the right of the held-out poems."
    return Plot(
        "Poems whose longest run is at least so long", "characters", "share", series, note=note
    )


def _checks(
    looked: Sequence[Looked], known: Sequence[str], whole: Sequence[Run]
) -> tuple[Check, ...]:
    short = [
        text
        for text, found in zip(known, whole, strict=True)
        if found.length != len(han_only(text))
    ]
    held = [poem.run.length for poem in looked if poem.group == HELD_OUT]
    return (
        Check(
            "a training poem gives its whole length",
            not short,
            "; ".join(short[:2]) or f"{len(known)} of {len(known)}",
        ),
        Check(
            f"no held-out poem shares {SHINGLE} characters or more with training",
            max(held, default=0) < SHINGLE,
            f"at most {max(held, default=0)}",
        ),
    )


def _compared(real: float, found: dict[str, float]) -> str:
    """At which temperatures runs are longer than a real poem's, and at which they are not."""
    longer = [group for group, length in found.items() if length > real + ALIKE]
    shorter = [group for group, length in found.items() if length < real - ALIKE]
    parts = [f"longer at {', '.join(longer)}"] if longer else []
    parts += [f"shorter at {', '.join(shorter)}"] if shorter else []
    return "; ".join(parts) or "no longer and no shorter"


def _findings(looked: Sequence[Looked], characters: int) -> Iterator[str]:
    yield f"The training corpus has {characters:,} characters of verse."
    for shape in SHAPES:
        found = {
            group: mean(poem.run.length for poem in poems)
            for (its, group), poems in _groups(looked).items()
            if its == shape
        }
        real = found.pop(HELD_OUT, None)
        if real is None or not found:
            continue
        ours = ", ".join(f"{length:.2f} at {group}" for group, length in found.items())
        yield (
            f"{shape}: a real poem's longest run is {real:.2f} characters on average, a generated "
            f"one's {ours}: {_compared(real, found)}."
        )
    generated = [poem.run.length for poem in looked if poem.group != HELD_OUT]
    copied = sum(length >= SHINGLE for length in generated)
    yield (
        f"{copied} of {len(generated)} generated poems share {SHINGLE} characters or more with a "
        "training poem. "
        + (
            "The model composes from the phrases that poets share; it does not recite."
            if copied * 100 <= len(generated)
            else "These are recited, or are phrases that several poets wrote."
        )
    )
