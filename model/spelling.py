"""Characters spelled in bytes, one token a byte.

A vocabulary with byte fallback writes what it has no piece for in the bytes of UTF-8.
A ``Spelling`` says which byte may follow those already written so that a wanted character
can still come of them. Knows characters and bytes; knows nothing of verse.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

LONGEST = 4
"""Bytes of a character in UTF-8 at most."""


class Spelling:
    """The wanted characters by their bytes."""

    def __init__(self, characters: Iterable[str]) -> None:
        rows = [c.encode().ljust(LONGEST, b"\0") for c in characters]
        table = torch.frombuffer(bytearray(b"".join(rows)), dtype=torch.uint8) if rows else None
        self._bytes = torch.zeros(0, LONGEST, dtype=torch.uint8) if table is None else table
        self._bytes = self._bytes.view(-1, LONGEST)  # [characters, 4], zeros at the end

    def next_bytes(self, begun: bytes = b"") -> Tensor:
        """int64, ascending: the bytes that may come after ``begun``; none where no wanted
        character begins so."""
        rows = self._bytes
        for column, byte in enumerate(begun):
            rows = rows[rows[:, column] == byte]
        found: Tensor = torch.unique(rows[:, len(begun)])
        return found.long()


def byte_tokens(pieces: Iterable[tuple[int, bytes]]) -> Tensor | None:
    """The token of each byte, int64 ``[256]``; ``None`` where a byte has none: such a
    vocabulary spells nothing. The first token of a byte counts."""
    found: dict[int, int] = {}
    for token, piece in pieces:
        if len(piece) == 1:
            found.setdefault(piece[0], token)
    return torch.tensor([found[b] for b in range(256)]) if len(found) == 256 else None


def is_whole(spelled: bytes) -> bool:
    """Whether the bytes are a whole character."""
    try:
        return len(spelled.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False
