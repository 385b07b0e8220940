"""A run's folder belongs to one training at a time, and a kill gives it back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from model.claim import LOCK, STATE, claimed
from model.distributed import Processes
from model.errors import InputError

ALONE = Processes(0, 1, torch.device("cpu"))
HOLDER = """
import sys, time
from pathlib import Path
import torch
from model.claim import claimed
from model.distributed import Processes
with claimed(Path(sys.argv[1]), Processes(0, 1, torch.device("cpu"))):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds ``folder``, killed at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_another_training_is_refused_by_number_until_a_kill_frees_the_folder(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "runs" / "mine"
    with held_elsewhere(folder) as holder:
        told = rf"the run mine is being trained already \(by process {holder.pid}\); .*--name"
        for _ in range(2):  # being refused takes nothing from the holder
            with pytest.raises(InputError, match=told), claimed(folder, ALONE):
                pytest.fail("two hold it")
        holder.send_signal(signal.SIGKILL)
        assert holder.wait(timeout=60) == -signal.SIGKILL
        assert names(folder) == [LOCK]  # a kill takes nothing away
        with claimed(folder, ALONE):
            assert (folder / LOCK).read_text().split() == [str(os.getpid())]


def test_what_a_kill_left_half_written_is_taken_away_and_all_else_stays(tmp_path: Path) -> None:
    for name in (f".{STATE}.x1y2", STATE, ".mine.safetensors.ab", "loss.png"):
        (tmp_path / name).write_text("kept")
    with claimed(tmp_path, ALONE):
        pass
    assert names(tmp_path) == [".mine.safetensors.ab", "loss.png", STATE]


def test_a_run_that_came_to_nothing_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), claimed(tmp_path / "runs" / "mine", ALONE):
        raise RuntimeError
    assert names(tmp_path) == []
    with claimed(tmp_path / "runs" / "mine", ALONE):
        (tmp_path / "runs" / "mine" / STATE).write_text("kept")
    assert names(tmp_path / "runs" / "mine") == [STATE]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    told = "cannot write in the folder .*taken"
    with pytest.raises(InputError, match=told), claimed(tmp_path / "taken", ALONE):
        pytest.fail("there is nothing to hold")


def test_only_the_main_process_of_several_holds_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = torch.ones(())
    monkeypatch.setattr(Processes, "total", lambda group, value: value + told)
    other = Processes(1, 2, torch.device("cpu"))
    told = 0 * refused
    with claimed(tmp_path, other):
        assert names(tmp_path) == []
    told = refused
    with pytest.raises(InputError), claimed(tmp_path, other):
        pytest.fail("the main process refused")
