"""Writing files and folders whole or not at all: beside the target, then one rename.

Knows nothing of poems or packages. Raises OSError as it comes; callers know what to tell a user.
"""

from __future__ import annotations

import errno
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


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path to write at. What stands there when the block ends takes the place of `path`, on the
    disk and at once; where the block raises, `path` is as it was.

    A link is followed. A device or a pipe is written into: there is nothing to keep whole.
    """
    check_writable(path)
    special = _is_special(path)
    target = path if special else path.resolve()
    beside = None if special else target.parent
    handle, name = tempfile.mkstemp(dir=beside, prefix=f".{path.name[:40]}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if special:
            target.write_bytes(temporary.read_bytes())
            return
        with temporary.open("r+b") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raises OSError where `whole_file` could not write `path`: to be asked before long work."""
    if path.is_dir() or not path.name:
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not _is_special(path):
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass


def _is_special(path: Path) -> bool:
    """True for what is there and neither a file nor a folder: /dev/null, /dev/stdout, a pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()


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
