"""Text on its way in: typed, pasted, or committed by an input method.

What cannot be part of a poem's opening is taken out at the door and said; what the
models read in another script is converted and said. Nothing is replaced silently.
"""

from __future__ import annotations

import unicodedata

SPACES = " \t\u3000\u00a0"


def clean(text: str) -> tuple[str, str]:
    """``text`` on one line, and what had to go, in words (empty where nothing had).

    Lines are joined without a space: a verse goes on in the next line. Spaces at the
    ends of lines go with the line feed; control and format characters, lone surrogates
    and unassigned code points are dropped.
    """
    lines = text.splitlines()
    joined = lines[0] if len(lines) == 1 else "".join(line.strip(SPACES) for line in lines)
    kept = "".join(char for char in joined if not _stray(char))
    told = []
    if len(lines) > 1:
        told.append(f"{len(lines)} lines became one")
    if strays := dict.fromkeys(char for char in joined if _stray(char)):
        names = " ".join(f"U+{ord(char):04X}" for char in strays)
        told.append(f"left out: {names}")
    return kept, "; ".join(told)


def clean_lines(text: str) -> tuple[str, str]:
    """``text`` with all its lines, and what had to go, in words: control characters but for
    line ends and tabs, which is what no keyboard types, and lone surrogates."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    strays = dict.fromkeys(char for char in text if _unwritable(char))
    kept = "".join(char for char in text if char not in strays) if strays else text
    names = " ".join(f"U+{ord(char):04X}" for char in strays)
    return kept, f"left out: {names}" if strays else ""


def _unwritable(char: str) -> bool:
    return char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cs")


def _stray(char: str) -> bool:
    # Cc, Cf, Cs, Cn, Co: controls, invisible marks, surrogates, unassigned, private use
    return unicodedata.category(char).startswith("C")


def read_opening(text: str) -> tuple[str, str]:
    """The opening as the models read it, simplified and with full-width marks, and what
    was changed, in words (empty where nothing was)."""
    from model.script import read_verse

    kept = clean(text)[0]
    verse = "".join(char for char in kept if char not in SPACES)
    conversion = read_verse(verse)
    told = [conversion.describe()] if conversion.describe() else []
    if verse != kept.strip(SPACES):
        told.append("without its spaces")
    return conversion.text, f"Read as {conversion.text}: {'; '.join(told)}" if told else ""
