"""Stop strings as one line of text, and back.

Several stand in one field with | between them. A line feed, a tab, a | or a \\ that is
meant is written ``\\n``, ``\\t``, ``\\|``, ``\\\\``; spaces around a | are for the eye,
and one that is meant there is written ``\\`` and a space.
"""

from __future__ import annotations

_WRITTEN = {"\n": "\\n", "\t": "\\t", "|": "\\|", "\\": "\\\\"}
_MEANT = {"n": "\n", "t": "\t"}


def parse_stops(text: str) -> tuple[str, ...]:
    """The strings that ``text`` lists, each once, in order; empty ones are left out."""
    parts: list[list[str]] = [[]]  # characters, those that must not be stripped as escapes
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            at += 1
            parts[-1].append("\\" + text[at])
        elif char == "|":
            parts.append([])
        else:
            parts[-1].append(char)
        at += 1
    stops = ("".join(_plain(c) for c in _stripped(part)) for part in parts)
    return tuple(dict.fromkeys(stop for stop in stops if stop))


def format_stops(stops: tuple[str, ...]) -> str:
    """The text that ``parse_stops`` reads as ``stops``."""
    return " | ".join(map(_written, stops))


def lines_to_stops(pasted: str) -> str:
    """Pasted lines as text for the field: one stop string a line, nothing dropped but
    empty lines. A single line is taken as it is typed, with its | and escapes."""
    lines = [line for line in pasted.splitlines() if line]
    return lines[0] if len(lines) == 1 else format_stops(tuple(lines))


def _stripped(part: list[str]) -> list[str]:
    while part and part[0] == " ":
        part = part[1:]
    while part and part[-1] == " ":
        part = part[:-1]
    return part


def _plain(char: str) -> str:
    if len(char) == 1:
        return char
    return _MEANT.get(char[1], char[1])


def _written(stop: str) -> str:
    text = "".join(_WRITTEN.get(c, c) for c in stop)
    lead = len(text) - len(text.lstrip(" "))
    text = "\\ " * lead + text[lead:]
    trail = len(text) - len(text.rstrip(" "))
    if trail and lead < len(stop):
        text = text[: len(text) - trail] + "\\ " * trail
    return text
