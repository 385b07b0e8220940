"""A work as Markdown for people, and as a JSON document that holds all of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tui.history.reading import Reading
from tui.history.records import HistoryError, Turn, Work, local_time

SPEAKERS = {"system": "System", "user": "You", "assistant": "Assistant", "poem": "Poem"}
ENDINGS = {
    "writing": "being written",
    "stopped": "stopped",
    "interrupted": "interrupted",
    "error": "broken off",
}
"""What must be said of a turn that is not done."""


def as_document(history: Reading, work: Work) -> dict[str, Any]:
    """Everything about a work but the steps' figures. Raises ``HistoryError``."""
    active = {turn.id for turn in history.path(work.active)} if work.active else set()
    return {
        **summary(work),
        "settings": dict(work.settings),
        "turns": [
            {**_turn_document(turn, turn.id in active), "token_ids": list(history.tokens(turn.id))}
            for turn in history.turns(work.id)
        ],
    }


def summary(work: Work) -> dict[str, Any]:
    """A work's row of a list."""
    return {
        "id": work.id,
        "kind": work.kind,
        "name": work.name,
        "title": work.title or None,
        "model": work.model,
        "state": work.state,
        "created": local_time(work.created).isoformat(),
        "updated": local_time(work.updated).isoformat(),
        "turn_count": work.turns,
    }


def _turn_document(turn: Turn, active: bool) -> dict[str, Any]:
    """``active``: it is on the path that is shown."""
    return {
        "id": turn.id,
        "parent": turn.parent,
        "origin": turn.origin,
        "fork": turn.fork if turn.origin else None,
        "active": active,
        "role": turn.role,
        "text": turn.text,
        "state": turn.state,
        "finish_reason": turn.finished.reason if turn.finished else None,
        "detail": (turn.finished.detail if turn.finished else "") or None,
        "model": turn.model or None,
        "seed": turn.seed,
        "controls": turn.controls,
        "settings": dict(turn.settings),
        "created": local_time(turn.created).isoformat(),
        "updated": local_time(turn.updated).isoformat(),
    }


def as_markdown(history: Reading, work: Work) -> str:
    """The conversation on show, or the poem with its branches, the one on show first.

    What a person or a model wrote in a conversation is Markdown and stays as it is; a poem
    stands in a block that Markdown leaves alone. Raises ``HistoryError``.
    """
    turns = history.turns(work.id)
    if work.kind == "chat":
        path = history.path(work.active) if work.active else []
        body = [_chat_turn(turn) for turn in path]
        others = len(turns) - len(path)
        if others:
            body.append(f"*Turns of other branches, not shown: {others}*\n")
    else:
        shown = sorted(turns, key=lambda turn: turn.id != work.active)
        body = [_branch(turn, turns) for turn in shown]
    when = f"{local_time(work.created):%Y-%m-%d %H:%M}"
    head = f"# {_escaped(work.name)}\n\n*{when} · {_escaped(work.model)}*\n"
    return "\n".join([head, *body])


def rendered(history: Reading, works: Sequence[Work], suffix: str, *, listed: bool) -> str:
    """Works as the text of a ``.md`` or a ``.json`` file; ``listed``: as JSON ``{"works":
    [...]}`` instead of the one document. Raises ``HistoryError`` for another suffix."""
    if suffix == ".md":
        return "\n".join(as_markdown(history, work) for work in works)
    if suffix != ".json":
        raise HistoryError(f"{suffix or 'a name without a suffix'}: use .md or .json")
    documents = [as_document(history, work) for work in works]
    whole = {"works": documents} if listed else documents[0]
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _chat_turn(turn: Turn) -> str:
    speaker = _escaped(turn.model) if turn.model else SPEAKERS[turn.role]
    return f"## {speaker}\n\n{turn.text.strip()}\n{_ending(turn)}"


def _branch(turn: Turn, turns: Sequence[Turn]) -> str:
    number = [each.id for each in turns].index(turn.id) + 1
    facts = [f"branch {number} of {len(turns)}", turn.model]
    if turn.seed is not None:
        facts.append(f"seed {turn.seed}")
    fence = fence_for(turn.text)
    return (
        f"{fence}text\n{verse_lines(turn.text)}\n{fence}\n\n"
        f"*{_escaped(' · '.join(facts))}*\n{_ending(turn)}"
    )


def _ending(turn: Turn) -> str:
    return f"\n*({ENDINGS[turn.state]})*\n" if turn.state in ENDINGS else ""


def verse_lines(text: str) -> str:
    """``text`` with a line feed after each 。, as poems are printed."""
    return text.replace("。", "。\n").rstrip("\n")


def fence_for(text: str) -> str:
    """A fence of backticks that ``text`` cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return fence


def _escaped(text: str) -> str:
    """``text`` as Markdown shows it literally."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>#~|&!" else char for char in text)
