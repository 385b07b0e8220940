"""Requests that run on tiny models, for the tests of experiments."""

from __future__ import annotations

from pathlib import Path

from model.errors import InputError
from model.lab.base import Request
from model.lab.handles import CHAT
from model.registry import ModelHandle, ModelSpec
from tests.helpers import CHARACTERS, ByteTokenizer, tiny_gpt


def tiny_handle(name: str | None = None, **shape: int) -> ModelHandle:
    """A handle on a random model over a few characters."""
    return ModelHandle(
        ModelSpec(name or "tiny", Path("nowhere.safetensors")),
        tiny_gpt(**shape),  # type: ignore[arg-type]
        CHARACTERS,
        {},
        {"dtype": "float32"},
    )


def prose_handle(**shape: int) -> ModelHandle:
    """A handle on a random model over bytes, which any text can be written in."""
    tokenizer = ByteTokenizer()
    return ModelHandle(
        ModelSpec(CHAT, Path("nowhere.gguf"), kind="pretrained"),
        tiny_gpt(tokenizer.vocab_size, **{"block_size": 192, **shape}),  # type: ignore[arg-type]
        tokenizer,
        {},
        {"dtype": "float32"},
    )


def tiny_request(*, prose: bool = False, **asked: object) -> Request:
    """A quick request whose every model is the tiny one. The model of prose is there only
    where asked for, as it is only once fetched."""

    def load(name: str | None) -> ModelHandle:
        if name != CHAT:
            return tiny_handle(name)
        if not prose:
            raise InputError(f"{CHAT} is not here yet")
        return prose_handle()

    return Request(load, quick=True, **asked)  # type: ignore[arg-type]
