"""Locks that the kernel gives back however their holder ends, a kill -9 included.

Between processes, not between threads of one. Knows files only.
"""

from __future__ import annotations

from typing import IO, Any

try:
    import fcntl

    def lock(file: IO[Any], *, wait: bool) -> bool:
        """Hold `file` until it is closed; False where another process does and `wait` is not."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:  # a disk without locks: nobody can be seen to hold anything there
            return True
        return True

except ImportError:  # Windows
    import msvcrt

    def lock(file: IO[Any], *, wait: bool) -> bool:
        """Hold `file` until it is closed; False where another process does and `wait` is not."""
        mode = msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK  # type: ignore[attr-defined]
        try:
            msvcrt.locking(file.fileno(), mode, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
