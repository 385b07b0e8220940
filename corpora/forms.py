"""Verse forms as data: how many lines, how many characters a line, which line ends.

Knows what a form looks like on paper; knows nothing of models or tokens.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from corpora.errors import UserError

COMMA = "，"
STOP = "。"
LINE_ENDS = COMMA + STOP
"""What a line may end with; the last line of a poem ends with the second."""

_HAN_RANGES = (
    (0x3007, 0x3007),  # 〇, a numeral in verse though it stands among the punctuation
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)


class UnknownForm(UserError):
    """A name that is no form's. Says which forms there are."""

    def __init__(self, name: str) -> None:
        known = ", ".join(f"{f.name} ({alias})" for alias, f in _romanised().items())
        super().__init__(f"there is no form {name!r}; the forms are {known}")
        self.name = name


@dataclass(frozen=True, slots=True)
class VerseForm:
    """So many lines of so many Han characters, each closed by one of ``LINE_ENDS``."""

    name: str
    lines: int
    """Lines of a poem; at least 1."""
    characters: int
    """Han characters of a line, its end not counted; at least 1."""

    def __post_init__(self) -> None:
        if self.lines < 1 or self.characters < 1:
            raise ValueError(f"a form has at least one line and one character a line, not {self!r}")

    @property
    def length(self) -> int:
        """Characters of a whole poem, line ends included."""
        return self.lines * (self.characters + 1)

    def holds(self, text: str) -> bool:
        """Whether ``text`` is exactly one poem of this form: no title, no line feeds."""
        if len(text) != self.length or not text.endswith(STOP):
            return False
        width = self.characters + 1
        return all(
            char in LINE_ENDS if i % width == self.characters else is_han(char)
            for i, char in enumerate(text)
        )


FORMS: dict[str, VerseForm] = {
    known.name: known
    for known in (
        VerseForm("五绝", 4, 5),
        VerseForm("七绝", 4, 7),
        VerseForm("五律", 8, 5),
        VerseForm("七律", 8, 7),
    )
}
"""The four forms of regulated verse, by their simplified name."""

_ALIASES = {
    "五絕": "五绝",
    "七絕": "七绝",
    "wujue": "五绝",
    "qijue": "七绝",
    "wulü": "五律",
    "wulv": "五律",
    "qilü": "七律",
    "qilv": "七律",
}


def form(name: str) -> VerseForm:
    """The form called ``name``: 七绝, 七絕 or qijue, whatever the case.

    Raises ``UnknownForm``, which names the known ones.
    """
    key = unicodedata.normalize("NFC", name.strip()).casefold()
    found = FORMS.get(_ALIASES.get(key, key))
    if found is None:
        raise UnknownForm(name)
    return found


def shape_of(text: str) -> VerseForm | None:
    """The form of ``FORMS`` that ``text`` fills exactly, or ``None``."""
    return next((known for known in FORMS.values() if known.holds(text)), None)


def is_han(char: str) -> bool:
    """Whether ``char`` is one Han character: no punctuation, no part of a character."""
    return len(char) == 1 and any(low <= ord(char) <= high for low, high in _HAN_RANGES)


def han_characters() -> Iterator[str]:
    """Every character that ``is_han`` takes for one, by code point: about 98,000."""
    for low, high in _HAN_RANGES:
        yield from map(chr, range(low, high + 1))


def _romanised() -> dict[str, VerseForm]:
    """Each form once, by its alias in Latin letters without marks."""
    return {a: FORMS[name] for a, name in _ALIASES.items() if a.isascii()}
