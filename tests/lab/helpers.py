"""Requests that run on tiny models, for the tests of experiments."""

from __future__ import annotations

from pathlib import Path

from model.lab.base import Request
from model.registry import ModelHandle, ModelSpec
from tests.helpers import CHARACTERS, tiny_gpt


def tiny_handle(name: str | None = None, **shape: int) -> ModelHandle:
    """A handle on a random model over a few characters."""
    return ModelHandle(
        ModelSpec(name or "tiny", Path("nowhere.safetensors")),
        tiny_gpt(**shape),  # type: ignore[arg-type]
        CHARACTERS,
        {},
        {"dtype": "float32"},
    )


def tiny_request(**asked: object) -> Request:
    """A quick request whose every model is the tiny one."""
    return Request(tiny_handle, quick=True, **asked)  # type: ignore[arg-type]
