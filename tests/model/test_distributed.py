"""Two processes train as one with the same global batch."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from model.distributed import Processes, processes
from tests.model import training_worker


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def environment(world: int) -> list[dict[str, str]]:
    """What ``torchrun`` tells each of ``world`` processes, so that they find each other."""
    shared = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": free_port(),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "CUDA_VISIBLE_DEVICES": "",
    }
    return [{**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(world)]


def started(folder: Path, world: int) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen(
            [sys.executable, "-m", "tests.model.training_worker", str(folder)],
            env=env,
            cwd=Path(__file__).parents[2],
            stderr=subprocess.PIPE,
            text=True,
        )
        for env in environment(world)
    ]


def test_two_processes_have_the_loss_curve_of_one(tmp_path: Path) -> None:
    workers = started(tmp_path, 2)
    try:
        alone = training_worker.curves(Processes(0, 1, torch.device("cpu")), tmp_path / "alone")
        for worker in workers:
            _, errors = worker.communicate(timeout=500)
            assert worker.returncode == 0, errors
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    for rank in (0, 1):
        # A thread of the group that outlived it could abort the process while Python shuts down.
        left = (tmp_path / f"threads.{rank}").read_text()
        assert "gloo" not in left and "tcpstore" not in left
    first, second = (json.loads((tmp_path / f"curves.{rank}.json").read_text()) for rank in (0, 1))
    assert first == second, "every process reports the same losses"
    assert first.keys() == alone.keys()
    for name, curve in alone.items():
        assert curve[-1][0] < curve[0][0]
        for (loss, held_out), (single, measured) in zip(first[name], curve, strict=True):
            assert loss == pytest.approx(single, rel=1e-4)
            assert held_out == (None if measured is None else pytest.approx(measured, rel=1e-4))
        assert [p.name for p in (tmp_path / name).iterdir()] == ["state.safetensors"]


@pytest.mark.parametrize(
    ("gpus", "here", "local", "expected"),
    [
        (0, 1, 0, "cpu"),
        (1, 1, 0, "cuda:0"),
        (1, 2, 0, "cpu"),
        (1, 2, 1, "cpu"),
        (2, 2, 1, "cuda:1"),
    ],
)
def test_all_processes_of_a_machine_agree_on_gpu_or_processor(
    monkeypatch: pytest.MonkeyPatch, gpus: int, here: int, local: int, expected: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.setattr(
        torch.distributed, "init_process_group", lambda backend: made.append(backend)
    )
    monkeypatch.setattr(torch.distributed, "destroy_process_group", lambda: None)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: local)
    made: list[str] = []
    for name, value in {"WORLD_SIZE": here, "LOCAL_WORLD_SIZE": here, "LOCAL_RANK": local}.items():
        monkeypatch.setenv(name, str(value))
    with processes() as group:
        assert str(group.device) == expected
        assert group.world == here and group.main is (local == 0)
    assert made == ([] if here == 1 else ["nccl" if expected.startswith("cuda") else "gloo"])
