"""A session as JSON documents and back. Knows every field that comes back on the next
start, and nothing of files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from model.config import Controls
from model.records import from_json
from model.steps import Finished, Step
from tui.session import UNLIMITED, Branch, FormSettings, Look, Session, Settings

VERSION = 1
PLAIN = tuple(
    field.name
    for field in fields(Step)
    if field.name not in ("controls", "inspection", "race", "logprob")
)
"""What of a step is written as it is. Inspections are computed again when looked at."""


def head_document(session: Session) -> dict[str, Any]:
    """Everything but the branches."""
    look = asdict(session.look)
    look["pace"] = None if session.look.pace == UNLIMITED else session.look.pace
    return {
        "version": VERSION,
        "settings": asdict(session.settings),
        "look": look,
        "model": session.model,
        "current": session.current,
        "cursor": session.cursor,
    }


def branch_document(branch: Branch, length: int) -> dict[str, Any]:
    """A branch with its first ``length`` steps."""
    controls: list[Controls] = []
    rows = []
    for step in branch.steps[:length]:
        if not controls or step.controls is not controls[-1]:
            controls.append(step.controls)
        logprob = step.logprob if math.isfinite(step.logprob) else None
        rows.append([*(getattr(step, name) for name in PLAIN), logprob, len(controls) - 1])
    return {
        "id": branch.id,
        "prompt": branch.prompt,
        "form": asdict(branch.form),
        "model": branch.model,
        "parent": branch.parent,
        "fork": branch.fork,
        "chosen": sorted(branch.chosen),
        "unknown": branch.unknown,
        "controls": [asdict(each) for each in controls],
        "steps": rows,
        "finished": asdict(branch.finished) if branch.finished else None,
    }


def restore(session: Session, documents: Sequence[Any]) -> None:
    """Fill ``session`` from a head and its branches.

    Raises ``TypeError``, ``ValueError``, ``KeyError`` or ``SettingError`` where they are
    not what this version writes; ``session`` is then unchanged.
    """
    head, *rest = documents
    if head["version"] != VERSION:
        raise ValueError(f"version {head['version']!r}; this program reads {VERSION}")
    settings = from_json(Settings, _filled(head["settings"], asdict(Settings())))
    pace = UNLIMITED if head["look"]["pace"] is None else head["look"]["pace"]
    look = from_json(Look, _filled({**head["look"], "pace": pace}, asdict(Look())))
    branches = [_branch(document) for document in rest]
    model, current, cursor = str(head["model"]), head["current"], head["cursor"]
    session.settings, session.look, session.model = settings, look, model
    session.take(branches, current, cursor)


def _filled(document: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """``document`` with the defaults of fields that it was written without."""
    filled = {**defaults, **document}
    for name, default in defaults.items():
        if isinstance(default, dict) and isinstance(filled[name], dict):
            filled[name] = _filled(filled[name], default)
    return {name: _listed(value) for name, value in filled.items()}


def _listed(value: Any) -> Any:
    # defaults come with tuples where JSON has lists
    return list(value) if isinstance(value, tuple) else value


def _branch(document: dict[str, Any]) -> Branch:
    defaults = asdict(Controls())
    controls = [from_json(Controls, _filled(each, defaults)) for each in document["controls"]]
    steps = [_step(row, controls) for row in document["steps"]]
    finished = document["finished"]
    return Branch(
        int(document["id"]),
        str(document["prompt"]),
        from_json(FormSettings, document["form"]),
        str(document["model"]),
        parent=document["parent"],
        fork=int(document["fork"]),
        chosen=frozenset(map(int, document["chosen"])),
        unknown=document["unknown"],
        steps=steps,
        # what had no end was being written when the last session broke off
        finished=from_json(Finished, finished)
        if finished
        else Finished("cancelled", "", len(steps), 0.0, 0.0),
    )


def _step(row: list[Any], controls: list[Controls]) -> Step:
    *plain, logprob, place = row
    values = dict(zip(PLAIN, plain, strict=True))
    for name in ("position", "token"):
        if type(values[name]) is not int:
            raise TypeError(f"{name} is {values[name]!r}")
    if type(values["text"]) is not str:
        raise TypeError(f"text is {values['text']!r}")
    return Step(
        **values,
        logprob=-math.inf if logprob is None else float(logprob),
        controls=controls[place],
    )
