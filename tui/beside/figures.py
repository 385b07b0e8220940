"""What can be compared between models whose tokens are not the same: figures a character.

A token of one model may be a character and of another two: tokens a second, bits a token and
bytes a token say nothing beside each other. Knows steps and a reading of the meter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from model.speed import LIVE
from model.steps import Step
from tui.panes.speed import DASH, kilobytes, rate
from tui.widgets.lines import Line, Lines, wrap


@dataclass(slots=True)
class Tally:
    """What a text has come to, kept while it grows."""

    tokens: int = 0
    characters: int = 0
    bits: float = 0.0
    """Information of the tokens under the model alone, form and sampler aside; infinite where
    a reader chose a token that the model's table did not show."""
    ended: bool = False
    """The last token is the end of the poem, which stands for no character."""

    def add(self, steps: Sequence[Step]) -> None:
        """Take in the next steps of the text."""
        self.tokens += len(steps)
        self.characters += sum(len(step.text) for step in steps)
        self.bits -= sum(step.logprob for step in steps) / math.log(2)

    @property
    def characters_a_token(self) -> float | None:
        """``None`` before the first character."""
        return self.characters / (self.tokens - self.ended) if self.characters else None

    @property
    def bits_a_character(self) -> float | None:
        """The end of the poem, a token without characters, is paid for too."""
        known = self.characters and math.isfinite(self.bits)
        return self.bits / self.characters if known else None


class Figures(Lines):
    """Speed, bits and memory a character."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"strong"}
    DEFAULT_CSS = """
    Figures {
        height: 2; padding: 0 2; color: $text-muted;
        & > .strong { text-style: bold; color: $foreground; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []

    def show(self, steps: Sequence[Step], tally: Tally, cache: int) -> None:
        """``steps``: of the text, at least the newest ``LIVE``. ``cache``: bytes that a token
        takes in the cache, 0 where there is none."""
        each = tally.characters_a_token
        bits = tally.bits_a_character
        newest = steps[-LIVE:]
        seconds = sum(
            step.forward_s + step.sampling_s + (step.race.uncached_s if step.race else 0.0)
            for step in newest
        )
        per_second = len(newest) / seconds if seconds else None
        written = sum(len(step.text) for step in newest)
        characters = per_second * written / len(newest) if per_second else None
        memory = kilobytes(cache / each) if cache and each else f"{DASH} KB"
        parts = [
            rate(characters, "char/s"),
            rate(per_second),
            f"{bits:.2f} bits/char" if bits is not None else f"{DASH} bits/char",
            f"cache {memory}/char",
            f"{each:.2f} char/tok" if each else f"{DASH} char/tok",
        ]  # the last one gives way: the poem's border says it in whole numbers
        if parts != self._parts:
            self._parts = parts
            self.changed()

    def build(self, width: int, height: int) -> list[Line]:
        """One line of speed and bits, one of memory and length."""
        first, *others = wrap(self._parts, width)[:height] or [""]
        return [[(first, "strong")], *([(line, "")] for line in others)]
