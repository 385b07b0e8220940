"""Writing folders whole or not at all: a scratch folder beside the target, then one rename.

Knows nothing of poems or packages. Raises OSError as it comes; callers know what to tell a user.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_STALE_SECONDS = 24 * 3600
_ATTEMPTS = 10


@contextmanager
def scratch_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder in `parent` (so on the target's disk), removed however the block ends.

    What a killed process left there a day or more ago is removed first.
    """
    parent.mkdir(parents=True, exist_ok=True)
    _sweep(parent, prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put_in_place(fresh: Path, target: Path, scratch: Path, stays: Callable[[Path], bool]) -> None:
    """Rename the folder `fresh` to `target`, moving what stands there into `scratch`.

    A target for which `stays` is true is left alone. Others may do the same at the same time:
    whoever comes second finds a whole folder, and either keeps or replaces it.
    """
    for attempt in range(_ATTEMPTS):
        if stays(target):
            return
        with suppress(FileNotFoundError):
            target.rename(scratch / f"old-{attempt}")
        try:
            fresh.rename(target)
            return
        except OSError:
            if not target.exists() or attempt == _ATTEMPTS - 1:
                raise


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` and wait until the disk has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sweep(parent: Path, prefix: str) -> None:
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
