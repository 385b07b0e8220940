"""Text that takes exactly so many terminal cells.

A Han character is two cells wide, a combining accent none, and what a joined emoji
takes depends on the terminal. Columns stay straight only where every string is first
made of characters whose width nobody disputes, and is then cut and padded by cells.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich.cells import cell_len, split_graphemes

__all__ = ["cell_len", "fit", "shown", "shown_lines"]

_DISPUTED = frozenset(
    chr(code)
    for low, high in ((0xFE00, 0xFE0F), (0x1F1E6, 0x1F1FF), (0x1F3FB, 0x1F3FF))
    for code in range(low, high + 1)
)
"""Variation selectors, halves of flags, skin tones: whether these widen, join or change
the character before differs from terminal to terminal."""
_NAMED = {"\n": "⏎", "\r": "␍", "\t": "⇥"}
_CARRIER = "◌"
"""Shown under an accent that has no character of its own to stand on."""


@lru_cache(maxsize=4096)
def shown(text: str) -> str:
    """``text`` on one line, without anything that moves the cursor or hides.

    Control and format characters (the joiner in an emoji among them), separators other
    than the plain space, surrogates, unassigned code points, variation selectors, flags
    and skin tones are written as code points, ``U+200D``. An accent at the start gets a
    dotted circle.
    """
    parts: list[str] = []
    for char in text:
        mark = unicodedata.category(char)
        if char in _NAMED:
            parts.append(_NAMED[char])
        elif char == " ":
            parts.append(char)
        elif mark[0] in "CZ" or char in _DISPUTED:
            parts.append(f"U+{ord(char):04X}")
        elif mark[0] == "M" and not parts:
            parts.append(_CARRIER + char)
        else:
            parts.append(char)
    return "".join(parts)


def shown_lines(text: str) -> str:
    """As ``shown``, with line feeds kept: for messages that may have several lines."""
    return "\n".join(shown(line) for line in text.splitlines())


@lru_cache(maxsize=4096)
def fit(text: str, width: int, *, right: bool = False) -> str:
    """``text`` in exactly ``width`` cells (0 or more): padded with spaces on the right,
    with ``right`` on the left; cut where it is longer, with … for what is missing.

    A wide character that would be split is left out whole and a space stands in for its
    half, so the result has ``width`` cells whatever goes in.
    """
    text = shown(text)
    missing = width - cell_len(text)
    if missing < 0:
        text = _cut(text, width)
        missing = width - cell_len(text)
    return " " * missing + text if right else text + " " * missing


def _cut(text: str, width: int) -> str:
    """The longest beginning that leaves room for …, and that; empty for no width."""
    if width <= 0:
        return ""
    spans, _ = split_graphemes(text)
    used = end = 0
    for _, stop, cells in spans:
        if used + cells > width - 1:
            break
        used, end = used + cells, stop
    return text[:end] + "…"
