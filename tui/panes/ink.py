"""The poem's rows as Textual draws them. Styles are asked for once: Textual works one out
anew at each question, which costs more than drawing the character.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip
from textual.widget import Widget

from tui.cells import fit
from tui.panes.verse import Glyph

SHADES = (0.02, 0.1, 0.3, 0.6)
"""Bounds of the probability shading: five grounds, the least expected the strongest."""


KEPT = 512
"""Rows that are kept drawn, at most."""


class Ink:
    """Rows of one widget, and its styles by the names of its component classes."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._known: dict[tuple[str, ...], Style] = {}
        self._drawn: dict[int, Strip] = {}

    def clear(self) -> None:
        """The theme, the focus, or the whole poem has changed."""
        self._known.clear()
        self._drawn.clear()

    def named(self, *names: str) -> Style:
        """The widget's own style with the components ``names`` laid over it in turn."""
        style = self._known.get(names)
        if style is None:
            style = under = self._widget.rich_style
            for name in names:
                style += self._widget.get_component_rich_style(name, partial=True)
                style += self._blended(name, under)
            self._known[names] = style
        return style

    def _blended(self, name: str, under: Style) -> Style:
        """A component's colours over the ground ``under`` it. A rich style knows no transparency:
        12 % of the ink's colour as a ground would be the ink's colour, and nothing to read; and
        what Textual picks by the ground it would take for white."""
        styles = self._widget.get_component_styles(name)
        if under.bgcolor is None:
            return Style()
        ground, ink = Color.from_rich_color(under.bgcolor), styles.color
        seen = Style()
        if 0 < styles.background.a < 1:
            ground += styles.background
            seen += Style(bgcolor=ground.rich_color)
        if styles.has_rule("color") and 0 < ink.a < 1:
            over = ground.get_contrast_text(ink.a) if styles.auto_color else ink
            seen += Style(color=(ground + over).rich_color)
        return seen

    def of(self, glyph: Glyph, *, marked: bool, shaded: bool, part: str = "") -> Style:
        """A character's style. ``marked``: under the cursor. ``part``: which part of a piece
        of several characters it is, ``joined`` to the next one or the ``last``."""
        names: list[str] = ["piece"] if part else []
        if part == "joined":
            names.append(part)
        if shaded and glyph.index >= 0:
            names.append(f"shade{sum(glyph.probability >= bound for bound in SHADES)}")
        if glyph.kind != "written":
            names.append(glyph.kind)
        if marked:
            names.append("cursor")
        return self.named(*names)

    def readings(self, glyphs: Sequence[Glyph], width: int) -> Strip:
        """What stands above a row, in ``width`` cells."""
        style = self.named("reading")
        return self._filled([Segment(fit(g.over, g.width), style) for g in glyphs], width)

    def row(
        self,
        glyphs: Sequence[Glyph],
        number: int,
        width: int,
        *,
        cursor: int | None = None,
        shaded: bool = False,
        selected: range = range(0),
        selection: Style | None = None,
    ) -> Strip:
        """Row ``number`` of the poem in ``width`` cells. ``cursor``: the step that is marked;
        ``selected``: the glyphs that have ``selection`` laid over them.

        Without a selection the row is drawn once, and is the same until it is forgotten.
        """
        if selection is None and number in self._drawn:
            return self._drawn[number]

        def look(place: int) -> tuple[Style, int]:
            glyph = glyphs[place]
            part = _part(glyphs, place)
            style = self.of(glyph, marked=glyph.index == cursor, shaded=shaded, part=part)
            if selection is not None and place in selected:
                style += selection
            # Textual counts a selection's characters from the start of their segment, so what
            # is drawn as several characters, or with a reading above it, stands alone
            return style, place if glyph.over or len(glyph.shown) != 1 else -1

        segments = []  # one for all characters of a style: Textual's work grows with these
        for (style, _), alike in groupby(range(len(glyphs)), look):
            places = list(alike)
            text = "".join(fit(glyphs[place].shown, glyphs[place].width) for place in places)
            segments.append(Segment(text, style + offset_style(places[0], number)))
        strip = self._filled(segments, width)
        if selection is None:
            if len(self._drawn) >= KEPT:
                self._drawn.clear()
            self._drawn[number] = strip
        return strip

    def forget(self, rows: Iterable[int]) -> None:
        """These rows have changed."""
        for number in rows:
            self._drawn.pop(number, None)

    def _filled(self, segments: list[Segment], width: int) -> Strip:
        return Strip(segments).adjust_cell_length(width, self.named())


def _part(glyphs: Sequence[Glyph], place: int) -> str:
    """Which part of a piece of several characters stands at ``place``; empty for a token of
    one character and for the opening."""
    index = glyphs[place].index
    if index < 0:
        return ""
    if place + 1 < len(glyphs) and glyphs[place + 1].index == index:
        return "joined"
    return "last" if place and glyphs[place - 1].index == index else ""


@lru_cache(maxsize=4096)
def offset_style(place: int, row: int) -> Style:
    """What tells Textual's selection which glyph of which row a cell belongs to."""
    return Style.from_meta({"offset": (place, row)})
