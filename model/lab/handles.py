"""Which models an experiment runs on when it has something to show on each kind."""

from __future__ import annotations

from model.errors import UserError
from model.lab.base import Request
from model.registry import ModelHandle

CHAT = "smollm2"
"""The model of English prose, tables and code that experiments use where it is there."""
WITHOUT_CHAT = f"{CHAT} is not here, so its rows are left out; run.py models fetch {CHAT} gets it."


def poet(request: Request) -> ModelHandle | None:
    """The model of verse: the one asked for, or the default; ``None`` where one of prose
    is asked for."""
    handle = request.handle()
    return None if writes_prose(handle) else handle


def prose_writer(request: Request) -> ModelHandle | None:
    """The model of prose, tables and code: the one asked for, or ``CHAT``; ``None`` where
    one of verse is asked for, or where it is not there."""
    if request.model is not None:
        handle = request.handle()
        return handle if writes_prose(handle) else None
    try:
        return request.load(CHAT)
    except UserError:
        return None


def writes_prose(handle: ModelHandle) -> bool:
    """Whether the model is one of another maker's, which has read all sorts of text."""
    return handle.spec.kind == "pretrained"
