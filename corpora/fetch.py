"""Fetching a pinned package with its registry's own client, npm or pip.

A generator of progress records; knows nothing of who listens. Everything happens in a scratch
folder and is renamed into place, so that closing the generator, a full disk or a second fetch at
the same time leaves either the whole package or nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from corpora.clients import Client, client_of
from corpora.errors import UserError
from corpora.files import put_in_place, scratch_folder
from corpora.package import POEMS, Package, check, is_installed, unpack

_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class FetchProgress:
    """`done` of `total` bytes in `stage`: download, check, unpack; at last done, or present.

    "present" means that there was nothing to do.
    """

    stage: str
    done: int
    total: int


def fetch(
    root: Path | None = None, package: Package = POEMS
) -> Generator[FetchProgress, None, None]:
    """Get `package` unless it is there; the last record's stage is "done" or "present".

    Raises UserError without the client, network, room or a package of the pinned hash. Closing
    the generator ends the client and removes what was written.
    """
    target = package.folder(root)
    if is_installed(target, package):
        yield FetchProgress("present", package.size, package.size)
        return
    client = client_of(package)
    with _scratch(target, package) as scratch:
        yield from _download(client, package, scratch)
        yield from _install(_arrived_file(client, scratch, package), target, scratch, package)
    yield FetchProgress("done", package.size, package.size)


def install_from(
    archive: Path, root: Path | None = None, package: Package = POEMS
) -> Generator[FetchProgress, None, None]:
    """Install an archive that the client has already left, with every check of `fetch`."""
    target = package.folder(root)
    if is_installed(target, package):
        yield FetchProgress("present", package.size, package.size)
        return
    if not archive.is_file():
        raise UserError(f"There is no package at {archive}; fetch {package.spec} first.")
    with _scratch(target, package) as scratch:
        yield from _install(archive, target, scratch, package)
    yield FetchProgress("done", package.size, package.size)


@contextmanager
def _scratch(target: Path, package: Package) -> Iterator[Path]:
    """A scratch folder; a disk's refusal is told in words."""
    try:
        with scratch_folder(target.parent, ".fetch-") as folder:
            yield folder
    except OSError as error:
        raise UserError(
            f"{package.what} could not be stored in {target.parent} ({error.strerror or error}). "
            f"Make room there or correct its permissions, then fetch again. {package.without}"
        ) from error


def _install(
    archive: Path, target: Path, scratch: Path, package: Package
) -> Iterator[FetchProgress]:
    for done in check(archive, package):
        yield FetchProgress("check", done, package.size)
    fresh = scratch / "unpacked"
    for done in unpack(archive, fresh, package):
        yield FetchProgress("unpack", done, package.size)
    # Where another fetch was faster its result is as good: it stays.
    put_in_place(fresh, target, scratch, stays=partial(is_installed, package=package))


def _download(client: Client, package: Package, scratch: Path) -> Iterator[FetchProgress]:
    """Run the client, watching the files that it writes: their size is the only sign of
    progress that npm gives, and all that pip gives to a program."""
    log_path = scratch / "client.log"
    with log_path.open("wb") as log:
        child = _start(client, package, scratch, log)
        try:
            while child.poll() is None:
                yield FetchProgress("download", _arrived(scratch, package), package.size)
                _wait(child)
        finally:
            _end(child)
    if child.returncode != 0:
        said = log_path.read_text(encoding="utf-8", errors="replace")
        gist = client.gist(said) or f"exit status {child.returncode}"
        raise UserError(
            f"{client.name} could not get {package.spec}: {gist.rstrip('.')}. Check the network, "
            f"and the registry and proxy that {client.name} is set to. {package.without}"
        )


def _start(
    client: Client, package: Package, scratch: Path, log: IO[bytes]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        client.command(package, scratch),
        cwd=scratch,  # a package.json or .npmrc where the user happens to stand has no say
        env={**os.environ, "TMPDIR": str(scratch)},  # where pip lets a download grow
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
        start_new_session=os.name == "posix",
    )


def _wait(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the client and what it started; nothing to do where it has ended by itself."""
    if child.poll() is not None:
        return
    if os.name == "posix":
        os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()


def _arrived(scratch: Path, package: Package) -> int:
    """Bytes of the largest file so far: the package on its way through the client's cache."""
    largest = 0
    # The client moves and removes files and whole folders while they are listed. os.walk passes
    # over a folder that has gone; Path.rglob raises.
    for folder, _, names in os.walk(scratch):
        for name in names:
            with suppress(OSError):
                largest = max(largest, Path(folder, name).stat().st_size)
    return min(largest, package.size)


def _arrived_file(client: Client, scratch: Path, package: Package) -> Path:
    archives = list(scratch.glob(client.leaves))
    if len(archives) != 1:
        raise UserError(
            f"{client.name} left no package of {package.spec}. Fetch again. {package.without}"
        )
    return archives[0]
