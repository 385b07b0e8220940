"""Figures of the built corpus, as data: forms, characters, vocabulary, and what follows a word.

Knows the built files only. Rendering is a front end's business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from corpora.places import BUILT_NAMES
from corpora.poems import PUNCTUATION, Poem, read_built

COVERAGES = (0.5, 0.9, 0.99, 0.999)
"""Shares of the running text for which SetStats.covering says how many characters they need."""

VERSE = ("tang.train", "tang.heldout")
"""Together the cleaned Tang verse of 5 and 7 characters, in which frequencies are counted."""


@dataclass(frozen=True)
class FormCount:
    """Poems of one form."""

    form: str
    poems: int


@dataclass(frozen=True)
class SetStats:
    """Figures of one built file.

    `characters` counts marks, `han` does not; `vocabulary` is the number of distinct characters,
    marks included; `once` of them occur a single time. `covering` pairs a share of the running
    text with the number of commonest characters that make it up. `marks` counts punctuation.
    """

    name: str
    poems: int
    characters: int
    han: int
    vocabulary: int
    once: int
    covering: tuple[tuple[float, int], ...]
    marks: tuple[tuple[str, int], ...]
    forms: tuple[FormCount, ...]


@dataclass(frozen=True)
class Following:
    """How often `fragment` occurs, and how often the character after it is each of `after`."""

    fragment: str
    count: int
    after: tuple[tuple[str, int], ...]

    def share(self, char: str) -> float:
        """The share of occurrences that `char` follows; 0 where the fragment does not occur."""
        return dict(self.after).get(char, 0) / self.count if self.count else 0.0


def corpus_stats(
    root: Path | None = None, names: Iterable[str] = BUILT_NAMES
) -> Iterator[SetStats]:
    """Figures of each built file, one file after another. Raises UserError where it is missing."""
    for name in names:
        yield set_stats(name, read_built(name, root))


def set_stats(name: str, poems: Iterable[Poem]) -> SetStats:
    """Figures of `poems`, under `name`."""
    characters: Counter[str] = Counter()
    forms: Counter[str] = Counter()
    for poem in poems:
        characters.update(poem.text)
        forms[poem.form] += 1
    total = characters.total()
    marks = tuple((mark, characters[mark]) for mark in PUNCTUATION)
    return SetStats(
        name=name,
        poems=forms.total(),
        characters=total,
        han=total - sum(count for _, count in marks),
        vocabulary=len(characters),
        once=sum(1 for count in characters.values() if count == 1),
        covering=tuple((share, _covering(characters, share)) for share in COVERAGES),
        marks=marks,
        forms=tuple(FormCount(form, count) for form, count in forms.most_common()),
    )


def following(fragment: str, poems: Iterable[Poem]) -> Following:
    """Count what follows `fragment` in `poems`: characters and marks, commonest first.

    An occurrence that ends its poem is followed by "".
    """
    if not fragment:
        raise ValueError("fragment must hold at least one character")
    after: Counter[str] = Counter()
    for poem in poems:
        start = poem.text.find(fragment)
        while start >= 0:
            end = start + len(fragment)
            after[poem.text[end : end + 1]] += 1
            start = poem.text.find(fragment, start + 1)
    return Following(fragment, after.total(), tuple(after.most_common()))


def verse(root: Path | None = None) -> Iterator[Poem]:
    """The cleaned Tang verse of 5 and 7 characters, training and held-out together."""
    for name in VERSE:
        yield from read_built(name, root)


def _covering(characters: Counter[str], share: float) -> int:
    """How many of the commonest characters make up at least `share` of the running text."""
    needed = share * characters.total()
    reached = 0
    for rank, (_, count) in enumerate(characters.most_common(), 1):
        reached += count
        if reached >= needed:
            return rank
    return 0
