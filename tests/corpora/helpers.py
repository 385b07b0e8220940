"""Small made-up packages: raw files in the layout of the real one, and tarballs of them."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from corpora.build import Built, build
from corpora.package import Package
from corpora.places import PACKAGE_NAME, PACKAGE_VERSION

FIVE = "白日依山盡，黃河入海流。欲窮千里目，更上一層樓。"


def record(text: str, **fields: str) -> dict[str, Any]:
    """One raw poem; its id is made from its text unless given."""
    made = {"id": hashlib.md5(text.encode()).hexdigest(), "title": "題", "author": "某"}
    return made | fields | {"paragraphs": [text]}


def ci(text: str) -> dict[str, Any]:
    """One raw ci: a tune, an author and no id."""
    return {"rhythmic": "望江南", "author": "某", "paragraphs": [text]}


def write_source(
    folder: Path,
    tang: Iterable[dict[str, Any]] = (),
    song: Iterable[dict[str, Any]] = (),
    ci: Iterable[dict[str, Any]] = (),
) -> Path:
    """An unpacked package with one file of each part."""
    files = {
        "dist/quantangshi/poet.tang.0.json": list(tang),
        "dist/quantangshi/poet.song.0.json": list(song),
        "dist/songci/ci.song.0.json": list(ci),
    }
    for name, records in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return folder


def built_from(tmp_path: Path, **parts: Iterable[dict[str, Any]]) -> Built:
    """Build a made-up package below `tmp_path` and return the last record."""
    source = write_source(tmp_path / "source", **parts)
    *_, last = build(root=tmp_path, source=source, rebuild=True)
    assert isinstance(last, Built)
    return last


def tarball(path: Path, members: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    """A gzipped tar at `path`, with `members` and symbolic `links`."""
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type = tarfile.SYMTYPE
            info.linkname = target
            archive.addfile(info)
    return path


def pinned(path: Path) -> Package:
    """The Package whose pin is the file at `path`."""
    data = path.read_bytes()
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    wanted = ("dist/*.json", "LICENSE")
    return Package(PACKAGE_NAME, PACKAGE_VERSION, f"sha512-{digest}", len(data), wanted)
