"""Imports go one way, and what must be light stays light; each asked in a fresh process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import ROOT

WALK = """
import importlib, pkgutil, sys
for name in {packages}:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as missing:  # without the chat extra, what reads its models
            needs = {{"transformers", "tokenizers", "gguf", "accelerate", "jinja2"}}
            if not module.name.startswith("model.pretrained.") or missing.name not in needs:
                raise
"""


def loaded(code: str) -> set[str]:
    """The top-level packages that a fresh process has loaded after ``code``."""
    report = "\nprint('|' + ' '.join({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code + report], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("|")[2].split())


def test_corpora_know_no_torch_and_nothing_above_them() -> None:
    found = loaded(WALK.format(packages=["corpora"]))
    assert "corpora" in found
    assert not found & {"torch", "textual", "model", "tui"}


def test_the_engine_and_the_command_line_know_no_textual() -> None:
    found = loaded(WALK.format(packages=["model", "tui.cli"]))
    assert {"torch", "model", "tui"} <= found
    assert "textual" not in found


def test_what_the_commands_share_with_the_window_knows_no_textual() -> None:
    shared = ("document", "export", "markdown", "outcome", "pictures", "sheet")
    found = loaded("import sys, tui.files, " + ", ".join(f"tui.lab.{name}" for name in shared))
    assert "rich" in found
    assert not found & {"textual", "torch", "matplotlib"}


def test_the_engine_knows_no_interface() -> None:
    found = loaded(WALK.format(packages=["model"]))
    assert not found & {"textual", "tui", "typer", "rich"}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["write", "--help"], ["train", "--help"], ["write", "-t", "hot"]]
)
def test_help_and_refusals_wait_for_nothing(arguments: list[str]) -> None:
    call = f"import sys\nfrom tui.cli.main import app\napp({arguments}, standalone_mode=False)"
    found = loaded(call)
    assert "typer" in found
    assert not found & {"torch", "textual", "numpy", "opencc"}
