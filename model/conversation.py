"""The turns of a conversation, as any model is told of them.

Needs none of the libraries that read other makers' models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str
    tokens: tuple[int, ...] = ()
    """Where given, the turn's text as the model wrote it: its ids stay as they were, so that
    a cache over them stays good. Control tokens among them are left out."""
