"""The allocator keeps freed memory: a second block of the same size costs no page again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from model.allocator import keep_memory

# In a process of its own: the setting holds for the rest of the process.
SCRIPT = """
import resource, torch
from model.allocator import keep_memory
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        torch.zeros(8_000_000).sum()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
before = faults()
agreed = keep_memory()
faults()
print(agreed, before, faults())
"""


def test_blocks_are_kept_where_glibc_is_there_and_nothing_happens_elsewhere() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    agreed, before, after = done.stdout.split()
    if agreed == "False":
        pytest.skip("the C library is not glibc")
    assert int(before) > 4 * 1000  # 32 MB each in pages of 4 KB, or of 16
    assert int(after) < int(before) / 10


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    monkeypatch.setattr("ctypes.CDLL", lambda name: pytest.fail("it was asked"))
    assert keep_memory() is False
