"""Text as the index sees it: every character a word of its own.

So a search finds what was typed wherever it stands, one Chinese character as well as half an
English word, and no character has a meaning of its own. Upper and lower case are the same,
as are full and half width, and any run of blanks is one.

A change of what ``fold`` gives needs a migration that builds the index anew.
"""

from __future__ import annotations

from functools import lru_cache

WIDE = 0xFEE0
"""From an ASCII character to its full-width form."""
BLANK = "\u3000"


def fold(text: str) -> tuple[list[str], list[int]]:
    """Characters to be compared, and for each the place in ``text`` that it comes from."""
    folded: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        small = _small(char)
        if small == BLANK and (not folded or folded[-1] == BLANK):
            continue
        folded.extend(small)
        places.extend([place] * len(small))
    return folded, places


@lru_cache(maxsize=16_384)
def _small(char: str) -> str:
    """What a character is compared by: mostly one character, for ß two."""
    return BLANK if char.isspace() else "".join(map(_one_width, char.casefold()))


def _one_width(char: str) -> str:
    """Letters and digits half, marks full width: SQLite's tokenizer passes over ASCII marks."""
    half = chr(ord(char) - WIDE) if "！" <= char <= "～" else char
    if half.isascii() and not half.isalnum():
        return chr(ord(half) + WIDE)
    return half


def words(text: str) -> str:
    """``text`` for the index."""
    return " ".join(fold(text)[0])


def phrase(text: str) -> str:
    """``text`` as something to look for in the index; empty where it is blank."""
    parts = (" ".join(fold(part)[0]) for part in text.split())
    return " AND ".join(f'"{part}"' for part in parts)
