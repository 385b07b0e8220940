"""Ink on dark and on paper: the same accent for what was drawn, everywhere."""

from __future__ import annotations

from textual.theme import Theme

DARK = "yinchuang-ink"
LIGHT = "yinchuang-paper"

THEMES = (
    Theme(
        name=DARK,
        primary="#c9a26b",
        secondary="#8fa9b5",
        accent="#f0674f",
        warning="#e3b341",
        error="#f0674f",
        success="#7fb685",
        foreground="#e8e4da",
        background="#14161a",
        surface="#1b1e23",
        panel="#23272d",
        dark=True,
    ),
    Theme(
        name=LIGHT,
        primary="#7a4e1d",
        secondary="#345766",
        accent="#b3261e",
        warning="#8a5a00",
        error="#b3261e",
        success="#2f6b3a",
        foreground="#1f1b16",
        background="#faf6ec",
        surface="#f3eddf",
        panel="#e9e1cf",
        dark=False,
    ),
)
