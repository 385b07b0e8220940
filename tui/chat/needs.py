"""What a conversation needs that is not there, told without importing any of it."""

from __future__ import annotations

from importlib.util import find_spec

from corpora.package import SMOLLM2, installed_file

EXTRA = ("transformers", "gguf", "accelerate")


def what_is_missing(model: str) -> str:
    """How to get what chatting with ``model`` takes, in a line; empty where all is there."""
    todo = []
    if any(find_spec(name) is None for name in EXTRA):
        todo.append("`pip install -e '.[chat]'`")
    if model == SMOLLM2.name_here and not installed_file(SMOLLM2, ".gguf").exists():
        size = f"{SMOLLM2.size / 1e6:.0f} MB, {SMOLLM2.licence}"
        todo.append(f"`run.py models fetch {model}` ({size})")
    return f"To chat, run {' and '.join(todo)}; then ask again" if todo else ""
