"""Fetching with a stand-in for npm, so that no network is needed."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpora.errors import UserError
from corpora.fetch import FetchProgress, fetch, install_from
from corpora.files import put_in_place, scratch_folder
from corpora.package import MARKER, Package, is_installed
from corpora.places import source_folder
from tests.corpora.helpers import pinned, tarball

GOOD = {
    "package/LICENSE": b"MIT",
    "package/dist/a.json": b"[]",
    "package/dist/deep/b.json": b"[]",
    "package/README.md": b"not wanted",
}

posix_only = pytest.mark.skipif(os.name != "posix", reason="the stand-in for npm is a script")


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    return tarball(tmp_path / "good.tgz", GOOD)


@pytest.fixture
def package(packed: Path) -> Package:
    return pinned(packed)


def left_over(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir()) if root.exists() else []


def files_of(root: Path) -> set[str]:
    folder = source_folder(root)
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


# Installing ------------------------------------------------------------------------------------


def test_only_the_wanted_members_are_written(
    tmp_path: Path, packed: Path, package: Package
) -> None:
    root = tmp_path / "cache"
    *_, last = install_from(packed, root, package)
    assert last == FetchProgress("done", package.size, package.size)
    assert files_of(root) == {"LICENSE", "dist/a.json", "dist/deep/b.json", MARKER}
    assert is_installed(source_folder(root), package)
    assert left_over(root) == [source_folder(root).name]


def test_a_second_call_does_nothing(tmp_path: Path, packed: Path, package: Package) -> None:
    list(install_from(packed, tmp_path / "cache", package))
    (again,) = install_from(tmp_path / "gone.tgz", tmp_path / "cache", package)
    assert again.stage == "present"


def test_another_package_than_the_pinned_one_is_refused(
    tmp_path: Path, packed: Path, package: Package
) -> None:
    packed.write_bytes(packed.read_bytes() + b"\0")
    with pytest.raises(UserError, match="sha512 differs"):
        list(install_from(packed, tmp_path / "cache", package))
    assert left_over(tmp_path / "cache") == []


def test_a_truncated_package_is_refused(tmp_path: Path, packed: Path, package: Package) -> None:
    packed.write_bytes(packed.read_bytes()[:60])
    with pytest.raises(UserError, match=r"60 bytes, \d+ expected"):
        list(install_from(packed, tmp_path / "cache", package))
    assert left_over(tmp_path / "cache") == []


@pytest.mark.parametrize("content", [b"", b"no archive at all", "half"])
def test_a_pinned_file_that_is_no_archive_is_told_in_words(
    tmp_path: Path, packed: Path, content: bytes | str
) -> None:
    whole = packed.read_bytes()
    packed.write_bytes(whole[: len(whole) // 2] if isinstance(content, str) else content)
    with pytest.raises(UserError, match="cannot be unpacked"):
        list(install_from(packed, tmp_path / "cache", pinned(packed)))
    assert left_over(tmp_path / "cache") == []


@pytest.mark.parametrize(
    "name",
    ["package/dist/../../evil.json", "/evil.json", "../evil.json", "package/dist/..\\evil.json"],
)
def test_a_path_that_leads_outside_refuses_the_package(tmp_path: Path, name: str) -> None:
    bad = tarball(tmp_path / "bad.tgz", GOOD | {name: b"evil"})
    with pytest.raises(UserError, match="outside its folder"):
        list(install_from(bad, tmp_path / "cache", pinned(bad)))
    assert left_over(tmp_path / "cache") == []
    assert not list(tmp_path.rglob("*evil*"))


def test_links_are_not_written(tmp_path: Path) -> None:
    packed = tarball(tmp_path / "links.tgz", GOOD, links={"package/dist/c.json": "/etc/passwd"})
    list(install_from(packed, tmp_path / "cache", pinned(packed)))
    assert "dist/c.json" not in files_of(tmp_path / "cache")


@pytest.mark.parametrize("stage", ["check", "unpack"])
def test_an_install_broken_off_leaves_nothing(
    tmp_path: Path, packed: Path, package: Package, stage: str
) -> None:
    steps = install_from(packed, tmp_path / "cache", package)
    assert any(step.stage == stage for step in steps)
    steps.close()
    assert left_over(tmp_path / "cache") == []


def test_a_file_gone_missing_is_fetched_again(
    tmp_path: Path, packed: Path, package: Package
) -> None:
    root = tmp_path / "cache"
    list(install_from(packed, root, package))
    (source_folder(root) / "dist/a.json").unlink()
    assert not is_installed(source_folder(root), package)
    list(install_from(packed, root, package))
    assert "dist/a.json" in files_of(root)
    assert left_over(root) == [source_folder(root).name]


@pytest.mark.parametrize("marker", ["", "[]", "{}", '{"integrity": 1}', '{"files": null}'])
def test_a_marker_that_cannot_be_read_means_not_installed(
    tmp_path: Path, package: Package, marker: str
) -> None:
    (tmp_path / MARKER).write_text(marker)
    assert not is_installed(tmp_path, package)


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, packed: Path, package: Package
) -> None:
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(UserError, match="cache"):
        list(install_from(packed, tmp_path / "cache", package))


def test_a_missing_tarball_is_named(tmp_path: Path, package: Package) -> None:
    with pytest.raises(UserError, match=r"nowhere\.tgz"):
        list(install_from(tmp_path / "nowhere.tgz", tmp_path / "cache", package))


def test_installs_side_by_side_end_in_one_whole_package(
    tmp_path: Path, packed: Path, package: Package
) -> None:
    root = tmp_path / "cache"
    failures: list[BaseException] = []

    def install() -> None:
        try:
            list(install_from(packed, root, package))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=install) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert is_installed(source_folder(root), package)
    assert left_over(root) == [source_folder(root).name]


# npm -------------------------------------------------------------------------------------------


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is the whole PATH; a test writes its own npm into it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    yield folder


def write_npm(folder: Path, body: str) -> None:
    script = folder / "npm"
    script.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, shutil, sys, time, os\n"
        "options = dict(a[2:].split('=', 1) for a in sys.argv if a.startswith('--'))\n"
        "target = pathlib.Path(options['pack-destination'])\n" + body
    )
    script.chmod(script.stat().st_mode | stat.S_IEXEC)


def test_without_npm_it_says_so_and_what_still_works(tmp_path: Path, npm: Path) -> None:
    with pytest.raises(UserError, match=r"npm was not found.*Node\.js.*work without it"):
        list(fetch(tmp_path / "cache"))
    assert left_over(tmp_path / "cache") == []


@posix_only
def test_a_fetch_is_what_npm_packs(
    tmp_path: Path, npm: Path, packed: Path, package: Package
) -> None:
    write_npm(npm, f"assert sys.argv[1:3] == ['pack', {package.spec!r}]\n"
                   f"shutil.copy({str(packed)!r}, target / 'poems-1.0.0.tgz')\n")  # fmt: skip
    *steps, last = fetch(tmp_path / "cache", package)
    assert last.stage == "done"
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages == ["download", "check", "unpack"]
    assert all(0 <= step.done <= step.total == package.size for step in steps)
    assert left_over(tmp_path / "cache") == [source_folder(tmp_path).name]
    (again,) = fetch(tmp_path / "cache", package)
    assert again.stage == "present"


@posix_only
def test_the_download_can_be_watched(tmp_path: Path, npm: Path, package: Package) -> None:
    write_npm(npm, "cache = pathlib.Path(options['cache'], 'tmp')\n"
                   "cache.mkdir(parents=True)\n"
                   "(cache / 'part').write_bytes(b'x' * 40)\n"
                   "time.sleep(60)\n")  # fmt: skip
    steps = fetch(tmp_path / "cache", package)
    assert any(step == FetchProgress("download", 40, package.size) for step in steps)
    steps.close()


@posix_only
def test_closing_ends_npm_and_leaves_nothing(tmp_path: Path, npm: Path, package: Package) -> None:
    told = tmp_path / "pid"
    write_npm(npm, f"pathlib.Path({str(told)!r}).write_text(str(os.getpid()) + '.')\n"
                   "(target / 'part').write_bytes(b'x' * 10)\n"
                   "time.sleep(60)\n")  # fmt: skip
    steps = fetch(tmp_path / "cache", package)
    for _ in steps:
        if told.exists() and told.read_text().endswith("."):
            break
    steps.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()[:-1]), 0)
    assert left_over(tmp_path / "cache") == []


@posix_only
def test_what_npm_complains_of_is_passed_on(tmp_path: Path, npm: Path, package: Package) -> None:
    write_npm(npm, "sys.exit('npm error code ENOTFOUND\\nnpm error errno ENOTFOUND\\n'\n"
                   "'npm error network request to http://nowhere/poems failed')\n")  # fmt: skip
    with pytest.raises(UserError, match=r"request to http://nowhere/poems failed\..*registry"):
        list(fetch(tmp_path / "cache", package))
    assert left_over(tmp_path / "cache") == []


@posix_only
@pytest.mark.parametrize(("body", "told"), [("sys.exit(3)\n", "exit status 3"), ("", "no package")])
def test_an_npm_that_says_nothing(
    tmp_path: Path, npm: Path, package: Package, body: str, told: str
) -> None:
    write_npm(npm, body)
    with pytest.raises(UserError, match=told):
        list(fetch(tmp_path / "cache", package))


# Folders in place ------------------------------------------------------------------------------


def test_what_a_killed_process_left_is_swept_after_a_day(tmp_path: Path) -> None:
    old, new = tmp_path / ".fetch-old", tmp_path / ".fetch-new"
    for folder in (old, new):
        folder.mkdir()
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    with scratch_folder(tmp_path, ".fetch-"):
        pass
    assert left_over(tmp_path) == [".fetch-new"]


def test_a_folder_in_place_stays_where_it_is_good(tmp_path: Path) -> None:
    for name in ("fresh", "target", "scratch"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mark").write_text(name)
    put_in_place(*(tmp_path / n for n in ("fresh", "target", "scratch")), stays=lambda _: True)
    assert (tmp_path / "target/mark").read_text() == "target"
    put_in_place(*(tmp_path / n for n in ("fresh", "target", "scratch")), stays=lambda _: False)
    assert (tmp_path / "target/mark").read_text() == "fresh"


def test_the_marker_names_every_file(tmp_path: Path, packed: Path, package: Package) -> None:
    list(install_from(packed, tmp_path / "cache", package))
    marker = json.loads((source_folder(tmp_path / "cache") / MARKER).read_text())
    assert marker["files"] == {"LICENSE": 3, "dist/a.json": 2, "dist/deep/b.json": 2}
