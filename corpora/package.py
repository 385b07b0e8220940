"""A pinned npm package: what it must be, checking it, and unpacking the part that is wanted.

Knows tarballs and digests; knows nothing of npm, networks or poems.
"""

from __future__ import annotations

import base64
import hashlib
import json
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

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
    tarball's, in bytes. `members` are patterns of paths below the package's top folder.
    """

    name: str
    version: str
    integrity: str
    size: int
    members: tuple[str, ...]

    @property
    def spec(self) -> str:
        """What the client is asked for."""
        return f"{self.name}@{self.version}"


POEMS = Package(
    name=places.PACKAGE_NAME,
    version=places.PACKAGE_VERSION,
    integrity=(
        "sha512-KtYARvV7CWNtax0na9+Jn6PlhGgSoid7PWyDzXI4KsCEm2odZcqEQyval5koaLygZnM/"
        "EQ3lfJ//25K8p3uHNg=="
    ),
    size=85_464_664,
    members=("dist/quantangshi/poet.*.json", "dist/songci/*.json", "LICENSE"),
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


def check(tarball: Path, package: Package) -> Iterator[int]:
    """Compare the digest of `tarball` with the pinned one; yields the bytes read so far."""
    algorithm, _, expected = package.integrity.partition("-")
    digest = hashlib.new(algorithm)
    done = 0
    with tarball.open("rb") as file:
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


def unpack(tarball: Path, folder: Path, package: Package) -> Iterator[int]:
    """Write the wanted members below `folder`, and the marker last; yields bytes read so far.

    Links and devices are never written. A path that leads outside refuses the whole package.
    """
    sizes: dict[str, int] = {}
    try:
        with tarball.open("rb") as raw, tarfile.open(fileobj=raw, mode="r|gz") as archive:
            for member in archive:
                name = _inner_name(member.name, package)
                content = archive.extractfile(member) if _wanted(member, name, package) else None
                if content is not None:
                    sizes[name] = _write_member(folder / name, content.read())
                    yield raw.tell()
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise UserError(
            f"The package {package.spec} cannot be unpacked ({error}). Fetch again."
        ) from error
    marker = {"package": package.spec, "integrity": package.integrity, "files": sizes}
    write_bytes(folder / MARKER, (json.dumps(marker, indent=1) + "\n").encode("utf-8"))


def _write_member(path: Path, data: bytes) -> int:
    # Not flushed one by one: should the machine stop, the sizes in the marker give it away.
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.write_bytes(data)


def _inner_name(path: str, package: Package) -> str:
    """The path below the package's top folder; one that leads outside is refused."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or ":" in path:
        raise UserError(
            f"The package {package.spec} holds a path that leads outside its folder "
            f"({path!r}); nothing of it was kept."
        )
    return "/".join(pure.parts[1:])


def _wanted(member: tarfile.TarInfo, name: str, package: Package) -> bool:
    return member.isfile() and any(fnmatchcase(name, pattern) for pattern in package.members)
