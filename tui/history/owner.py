"""Which writers are alive: each holds a lock on a file of its own as long as its process lives.

The kernel gives the lock back however a process ends, so that a number that is used again or
a clock that jumps cannot make a dead writer look alive. Knows files and locks only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from corpora.locks import lock
from tui.history.records import new_id

YOUNG_S = 60.0


class Owner:
    """This writer, alive until ``close`` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        """``folder`` holds the locks. Raises ``OSError`` where it cannot be written."""
        folder.mkdir(parents=True, exist_ok=True)
        self.id = new_id()
        self._path = folder / self.id
        self._file = self._path.open("w", encoding="utf-8")
        lock(self._file, wait=True)  # before anybody can have heard of the id

    def close(self) -> None:
        """From now on this writer counts as dead."""
        with suppress(OSError):
            self._path.unlink()
        self._file.close()


def alive(folder: Path, owner: str) -> bool:
    """Whether the process of this writer still runs. A dead one's file is cleared away."""
    path = folder / owner
    try:
        with path.open("r+", encoding="utf-8") as file:
            if not lock(file, wait=False):
                return True
    except FileNotFoundError:
        return False
    except OSError:
        return True  # not ours to judge
    with suppress(OSError):
        path.unlink()
    return False


def sweep(folder: Path) -> None:
    """Clear away what dead writers left; not what is too young to be locked yet."""
    with suppress(OSError):
        for path in folder.iterdir():
            if time.time() - path.stat().st_mtime > YOUNG_S:
                alive(folder, path.name)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """While the block runs no other program is in a block of the same ``path``."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8") as file:
        lock(file, wait=True)
        yield
