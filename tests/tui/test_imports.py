"""The first frame waits for nothing heavy, and the state knows no interface."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def loaded(module: str) -> set[str]:
    """Top-level packages that importing ``module`` brings in."""
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


@pytest.mark.parametrize("module", ["tui.start", "tui.app", "tui.instruments"])
def test_the_window_opens_without_torch(module):
    assert not loaded(module) & {"torch", "numpy", "opencc", "pypinyin"}


@pytest.mark.parametrize(
    "module", ["tui.session", "tui.keeping", "tui.history", "tui.poemfiles", "tui.orders"]
)
def test_the_state_knows_no_interface(module):
    assert not loaded(module) & {"textual", "torch"}


def test_loading_a_model_does_not_load_the_compiler():
    code = (
        "import sys; from model.registry import find, load; load(find('tang-small'));"
        "print('torch' in sys.modules, 'torch._dynamo' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["True", "False"]
