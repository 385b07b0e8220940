"""A verse form or an acrostic in words, ``七绝 · 藏头 春眠不觉``: written and read here alone;
and what a model is called.

Imports no torch: traces, history and window name both too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from corpora.forms import FORMS

WIDTHS: Final[dict[str, Literal[5, 7]]] = {"五言": 5, "七言": 7}
"""What an acrostic's lines are called → characters of a line."""

_HEADS = " · 藏头 "


MODEL_FILES = (".safetensors", ".gguf")


def model_label(asked: str) -> str:
    """What a model that was asked for by name or by path is called: the name, the file's
    without its suffix, or the folder's."""
    path = Path(asked).resolve()
    return path.stem if path.suffix in MODEL_FILES else path.name


def label(name: str, heads: str = "") -> str:
    """``name`` (of a form or of ``WIDTHS``) and, where there are any, the first characters of the
    lines."""
    return name + _HEADS + heads if heads else name


def width_name(characters: int) -> str:
    """What lines of 5 or 7 characters are called."""
    return next(name for name, width in WIDTHS.items() if width == characters)


def read_label(words: str) -> tuple[str, str] | None:
    """The name and the heads that ``label`` was given; None where this version knows no such
    form, or for an acrostic without heads."""
    name, _, heads = words.partition(_HEADS)
    return (name, heads) if name in FORMS or (name in WIDTHS and heads) else None
