"""The hash of a file, computed once for each state of it."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path


def file_hash(path: Path) -> str:
    """SHA-256 of a file, as hex digits. Raises ``OSError`` as it comes."""
    state = path.stat()
    return _hash(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=64)
def _hash(path: Path, size: int, modified: int) -> str:
    """``size`` and ``modified`` keep an old answer from serving a new file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
