"""A poem as rows of glyphs: where each token stands, and what adding one changes.

Adding a token touches the last row only, so that its cost does not grow with the poem.
Rows end after 。 and at the pane's width, there after a ， or between words where the row has
such a place. Knows cells and characters; knows nothing of widgets or styles.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Literal

from corpora.forms import is_han
from tui.cells import cell_len, shown

Kind = Literal["opening", "written", "forced", "chosen"]

ENDS = frozenset("。！？\n")
PAUSES = frozenset("，；：、")
CLOSING = frozenset("”’」』）》")
MARKS = ENDS | PAUSES | CLOSING
HANGING = 2
"""Cells kept free at the right, so that a mark need not begin a row."""


@dataclass(slots=True)
class Glyph:
    """A character, or all that one token shows where that is not one."""

    text: str
    index: int
    """Step that wrote it; -1 for the opening."""
    kind: Kind
    probability: float = 1.0
    shown: str = ""
    """As drawn: converted, and control characters by name."""
    over: str = ""
    """The reading above it; empty without one."""
    x: int = 0
    """Cells from the left of its row."""
    width: int = 0
    """Cells that it takes, its reading included."""


@dataclass(slots=True)
class Row:
    """A line on the screen."""

    glyphs: list[Glyph] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Nothing but a closing mark is added to it any more."""
        return bool(self.glyphs) and _closes(self.glyphs)

    @property
    def width(self) -> int:
        """Cells."""
        return self.glyphs[-1].x + self.glyphs[-1].width if self.glyphs else 0


class Verse:
    """All rows of a poem for one width."""

    def __init__(self, width: int, *, traditional: bool = False, pinyin: bool = False) -> None:
        """``width``: cells of a row, at least 4 are used."""
        self.width = max(4, width)
        self.traditional = traditional
        self.pinyin = pinyin
        self.rows: list[Row] = [Row()]

    def add(self, text: str, index: int, kind: Kind, probability: float = 1.0) -> int:
        """Set ``text`` after what stands there; the first row that has changed."""
        first = len(self.rows) - 1
        for char in text:
            last = self.rows[-1].glyphs[-1] if self.rows[-1].glyphs else None
            if last and _joins(char):
                last.text += char
                self._dress(self.rows[-1])
                continue
            if self.rows[-1].ended and char not in CLOSING:
                self.rows.append(Row())
            self.rows[-1].glyphs.append(Glyph(char, index, kind, probability))
            first = min(first, self._flow())
        return first

    def _flow(self) -> int:
        """Break the last row where it has grown too long; the first row changed."""
        row = self.rows[-1]
        first = len(self.rows) - 1
        self._dress_newest(row)
        room = self.width - (HANGING if self.width >= 20 else 0)
        newest = row.glyphs[-1]
        limit = self.width if newest.text in MARKS or newest.text == " " else room
        if row.width > limit and len(row.glyphs) > 1:
            cut = _break(row.glyphs)
            row.glyphs, rest = row.glyphs[:cut], row.glyphs[cut:]
            self.rows.append(Row(rest))
            self._dress(row)
            self._dress(self.rows[-1])
        return first

    def _dress_newest(self, row: Row) -> None:
        """The same as ``_dress`` where only the last glyph is new. Conversions and readings
        go by words, so that a character can change those before it; plain text cannot."""
        if self.traditional or self.pinyin:
            self._dress(row)
            return
        newest = row.glyphs[-1]
        newest.shown = " " if newest.text == "\n" else shown(newest.text)
        newest.width = cell_len(newest.shown)
        if len(row.glyphs) > 1:
            before = row.glyphs[-2]
            newest.x = before.x + before.width

    def _dress(self, row: Row) -> None:
        """Decide how each glyph of a row is drawn and where it stands."""
        texts = [glyph.text for glyph in row.glyphs]
        drawn = _converted(texts) if self.traditional else texts
        readings = read_aloud(tuple(texts)) if self.pinyin else ("",) * len(texts)
        x = 0
        for glyph, text, over in zip(row.glyphs, drawn, readings, strict=True):
            glyph.shown = " " if text == "\n" else shown(text)
            glyph.over = over
            glyph.x = x
            glyph.width = max(cell_len(glyph.shown), cell_len(over) + 1 if over else 0)
            x += glyph.width

    def row_of(self, index: int) -> int:
        """The row in which step ``index`` stands; of a step without text, the one before it."""
        return max(
            0,
            bisect_right(self.rows, index, key=lambda r: r.glyphs[0].index if r.glyphs else -1) - 1,
        )

    def glyph_at(self, row: int, x: int) -> Glyph | None:
        """What stands at cell ``x`` of a row."""
        if not 0 <= row < len(self.rows):
            return None
        return next((g for g in self.rows[row].glyphs if g.x <= x < g.x + g.width), None)

    def text(self, start: tuple[int, int] | None, end: tuple[int, int] | None) -> str:
        """The written text from (row, glyph) up to, not including, another; None is the edge."""
        first = min(max(0, start[0]), len(self.rows)) if start else 0
        last = min(end[0], len(self.rows) - 1) if end else len(self.rows) - 1
        lines = []
        for number in range(first, last + 1):
            glyphs = self.rows[number].glyphs
            left = start[1] if start and number == start[0] else 0
            right = end[1] if end and number == end[0] else len(glyphs)
            lines.append("".join(glyph.text for glyph in glyphs[left:right]).rstrip("\n"))
        return "\n".join(lines)

    def glyphs(self) -> Iterator[Glyph]:
        """All glyphs in order."""
        for row in self.rows:
            yield from row.glyphs


def _closes(glyphs: list[Glyph]) -> bool:
    """Whether the last mark that is no closing bracket ends a sentence."""
    for glyph in reversed(glyphs):
        if glyph.text not in CLOSING:
            return glyph.text in ENDS
    return False


def _joins(char: str) -> bool:
    """Whether a character is drawn on top of the one before: an accent, a selector."""
    return cell_len(char) == 0 and shown(char).endswith(char)


def _break(glyphs: list[Glyph]) -> int:
    """Where to cut a row that is too long: after its last pause; else a word stays whole; else
    before the newest."""
    cuts = range(len(glyphs) - 1, 0, -1)
    paused = next((cut for cut in cuts if glyphs[cut - 1].text in PAUSES), None)
    if paused is not None or is_han(glyphs[-1].text):
        return paused or len(glyphs) - 1
    return next((cut for cut in cuts if glyphs[cut - 1].text == " "), len(glyphs) - 1)


def _converted(texts: list[str]) -> Iterable[str]:
    from model.script import to_traditional

    joined = "".join(texts)
    changed = to_traditional(joined)
    if len(changed) == len(joined) == len(texts):
        return changed
    return [to_traditional(text) for text in texts]


@lru_cache(maxsize=512)
def read_aloud(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The pinyin of each character, by the words of the row; empty for what has none."""
    from pypinyin import Style, lazy_pinyin

    read: list[str] = []
    for han, group in groupby(texts, key=is_han):
        part = list(group)
        # only whole runs of Han characters: the words in them decide how 行 is read
        readings = lazy_pinyin("".join(part), style=Style.TONE) if han else []
        read += readings if len(readings) == len(part) else [""] * len(part)
    return tuple(read)
