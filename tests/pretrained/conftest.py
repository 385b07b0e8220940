"""Tiny models on disk: a folder, and a GGUF file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.pretrained.makers import (
    write_folder,
    write_gguf,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("llama") / "tiny"
    write_folder(path)
    return path


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    shutil.copytree(folder, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    model, _ = write_gguf(path, end_of_turn=3)
    return path, model
