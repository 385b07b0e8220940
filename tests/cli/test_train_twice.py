"""Two trainings that are given one folder: the second is refused, the first goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from model.claim import LOCK, claimed
from model.distributed import Processes
from tests.cli.conftest import ROOT, RUN, Answer
from tests.model.test_distributed import environment

FOLDER = Path("runs") / "tiny"


def test_a_second_training_is_refused_and_a_killed_one_goes_on(
    run: Callable[..., Answer], place: Path
) -> None:
    command = [sys.executable, str(ROOT / "run.py"), *RUN, "--steps", "100000"]
    first = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    with first:
        assert first.stdout is not None
        next(line for line in first.stdout if line.startswith("step 75"))  # saved at 50
        second = run("train", "--name", "tiny")
        told = f"the run tiny is being trained already (by process {first.pid}); wait"
        assert (second.code, second.stdout) == (2, "")
        assert second.stderr.startswith(told) and second.stderr.count("\n") == 1
        snapshot = run("train", "--name", "tiny", "--export-only", "--out", "snapshot.safetensors")
        assert snapshot.code == 0, snapshot.stderr
        assert first.poll() is None, "neither disturbs the first"
        first.send_signal(signal.SIGKILL)
    saved = run("train", "--name", "tiny", "--export-only").stdout
    step = int(saved.partition("step ")[2].partition(",")[0])
    assert step >= 50 and step % 50 == 0
    on = run("train", "--name", "tiny", "--steps", str(step + 1), "--decay", "0")
    assert on.code == 0, on.stderr
    assert f"the run goes on from step {step} of {step + 1}" in on.stdout
    assert not (FOLDER / LOCK).exists()


def test_processes_that_train_together_are_refused_together(place: Path) -> None:
    command = [sys.executable, str(ROOT / "run.py"), *RUN, "--steps", "4"]
    with claimed(FOLDER, Processes(0, 1, torch.device("cpu"))):
        workers = [
            subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
            for env in environment(2)
        ]
        said = [worker.communicate(timeout=500)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [2, 2]
    assert [f"(by process {os.getpid()})" in told for told in said] == [True, False]
    assert said[0].count("\n") == 1 and said[1] == ""
