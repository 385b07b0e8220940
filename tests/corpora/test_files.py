"""A file in place whole or not at all; devices, pipes and links are what they are."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from corpora.files import check_writable, whole_file


def put(path: Path, text: str = "new") -> None:
    with whole_file(path) as fresh:
        fresh.write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "poem.txt"
    put(path, "old")
    with whole_file(path) as fresh:
        fresh.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["poem.txt"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "poem.txt"
    put(path, "old")
    with pytest.raises(error), whole_file(path) as fresh:
        fresh.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert names(tmp_path) == ["poem.txt"]


def test_a_link_goes_on_pointing_to_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link", tmp_path / "there" / "poem.txt"
    link.symlink_to(target)
    put(link)
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert names(tmp_path / "there") == ["poem.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX")
def test_a_pipe_is_written_into_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    put(pipe)
    reader.join()
    assert read == ["new"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["", "none/at/all.txt", "file/poem.txt", "n" * 300])
def test_what_cannot_be_written_is_known_before(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        check_writable(tmp_path / name)
    assert names(tmp_path) == ["file"]


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("春" * 85)  # 255 bytes
    check_writable(path)
    put(path)
    assert path.read_text() == "new"
