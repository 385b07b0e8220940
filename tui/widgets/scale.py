"""Numbers as a slider spans them and as a reader types them.

Knows text and ranges; knows no widget.
"""

from __future__ import annotations

from dataclasses import dataclass

Number = int | float


@dataclass(frozen=True, slots=True)
class Scale:
    """What a slider spans. Typed values may lie outside, where ``check`` lets them."""

    low: float
    high: float
    step: float
    decimals: int
    """Shown after the point; 0 makes the values whole numbers."""
    words: tuple[tuple[float, str], ...] = ()
    """Values with a name, such as 0 for off."""
    slider: bool = True
    """False leaves the arrows only: for a seed."""

    def number(self, value: float) -> Number:
        """``value`` without the dust of binary fractions."""
        return round(value, self.decimals) if self.decimals else round(value)

    def text(self, value: Number) -> str:
        """As shown and as typed; more digits where the value has them."""
        if not self.decimals or isinstance(value, int):
            return str(value)
        short = f"{value:.{self.decimals}f}"
        return short if float(short) == value else f"{value:g}"

    def word(self, value: Number) -> str:
        """The value's name, or nothing."""
        return dict(self.words).get(float(value), "")


def parse(text: str, whole: bool) -> Number | str:
    """The number that ``text`` writes in plain ASCII; the text itself where it is none,
    for the settings to refuse by name. ``nan`` and ``inf`` are numbers here: they too are
    refused there."""
    text = text.strip()
    if not text.isascii() or "_" in text:
        return text
    try:
        return int(text) if whole else float(text)
    except ValueError:
        return text
