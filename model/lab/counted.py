"""What is counted in many poems of one setting: form, rare characters, variety."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.lab.measures import distinct_share, full_lines, is_regular, rare_share, windows_in


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted in the poems of one setting."""

    poems: int
    regular: float
    """Share with one line length, 5 or 7, in couplets, closed."""
    full: float
    """Mean share of lines with 5 or 7 characters."""
    length: float
    """Mean characters of a poem, marks included."""
    rare: float
    """Share of Han characters that are rare."""
    distinct: tuple[float, float]
    """Different characters, and pairs of neighbours, among equal numbers of them."""


def count(texts: Mapping[str, list[str]], ranks: Mapping[str, int]) -> dict[str, Counted]:
    """Count in the poems of each setting; variety among as many windows as all have."""
    first = {n: min(windows_in(of_name, n) for of_name in texts.values()) for n in (1, 2)}
    return {
        name: Counted(
            poems=len(of_name),
            regular=_mean([is_regular(text) for text in of_name]),
            full=_mean([full_lines(text) for text in of_name]),
            length=_mean([len(text) for text in of_name]),
            rare=rare_share(of_name, ranks),
            distinct=(
                distinct_share(of_name, 1, first[1]),
                distinct_share(of_name, 2, first[2]),
            ),
        )
        for name, of_name in texts.items()
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
