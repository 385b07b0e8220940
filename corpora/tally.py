"""The table of what cleaning met and did, as data. Rendering it is a front end's business."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from corpora.clean import RULES
from corpora.split import SHINGLE

SET_RULES = {
    "nonbmp": "characters beyond the BMP: kept",
    "titles": "notes and marks in titles and names removed",
    "duplicate": "the same poem again, after normalisation",
    "leak": f"shares {SHINGLE} characters in a row with a held-out poem",
    "irregular": "lines not all of 5 or all of 7 characters: set apart (Tang), left out (Song)",
}
"""Classes that are decided outside the text rules."""


@dataclass(frozen=True)
class RuleRow:
    """One line of the table: in how many poems of a part a class was met, and what became of them.

    seen = repaired + dropped + elsewhere. `repaired` poems were kept with the class dealt with,
    `dropped` fell to this class, `elsewhere` showed it too but fell to another class.
    """

    part: str
    rule: str
    title: str
    seen: int
    repaired: int
    dropped: int
    elsewhere: int


@dataclass
class Tally:
    """Counts of one part while it is being cleaned. Every poem is booked exactly once."""

    part: str
    poems: int = 0
    kept: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def book(self, classes: Iterable[str], dropped_by: str | None) -> None:
        """Count one poem under every class that it showed, as kept or as dropped by one of them."""
        names = set(classes)
        self.poems += 1
        if dropped_by is None:
            self.kept += 1
            self.repaired.update(names)
        else:
            names.add(dropped_by)
            self.dropped[dropped_by] += 1
        self.seen.update(names)

    def rows(self) -> Iterator[RuleRow]:
        """The table of this part, in the order of the rules; classes never met are left out."""
        titles = {rule.key: rule.title for rule in RULES} | SET_RULES
        for key, title in titles.items():
            seen, repaired, dropped = self.seen[key], self.repaired[key], self.dropped[key]
            if seen:
                elsewhere = seen - repaired - dropped
                yield RuleRow(self.part, key, title, seen, repaired, dropped, elsewhere)
