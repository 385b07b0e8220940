"""Steps of a run as JSON and back. Inspections are left out: they are computed again when
somebody looks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, fields
from typing import Any

from model.config import Controls
from model.records import from_json
from model.steps import Step

NAMES = tuple(
    field.name
    for field in fields(Step)
    if field.name not in ("controls", "inspection", "race", "logprob")
)
"""What of a step is written as it is."""


def encode(steps: Sequence[Step]) -> str:
    """A chunk of steps; controls are written once for all the steps that used them."""
    controls: list[Controls] = []
    rows = []
    for step in steps:
        if not controls or step.controls is not controls[-1]:
            controls.append(step.controls)
        logprob = step.logprob if math.isfinite(step.logprob) else None
        rows.append([*(getattr(step, name) for name in NAMES), logprob, len(controls) - 1])
    document = {"names": NAMES, "controls": [asdict(each) for each in controls], "rows": rows}
    return json.dumps(document, ensure_ascii=True, separators=(",", ":"))


def decode(chunk: str) -> list[Step]:
    """The steps of a chunk. Fields that a later program left out have their defaults, those
    that it added are passed over.

    Raises ``ValueError``, ``TypeError``, ``KeyError`` or ``SettingError`` for anything else.
    """
    document = json.loads(chunk)
    controls = [read_controls(each) for each in document["controls"]]
    return [_step(document["names"], row, controls) for row in document["rows"]]


def read_controls(document: dict[str, Any]) -> Controls:
    """``Controls`` as ``asdict`` wrote them, fields of another version aside."""
    return from_json(Controls, filled(document, asdict(Controls())))


def filled(document: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """``document`` with the defaults of fields that it was written without, and without
    fields that it has in excess."""
    return {
        name: filled(document[name], default)
        if isinstance(default, dict) and isinstance(document.get(name), dict)
        else _listed(document.get(name, default))
        for name, default in defaults.items()
    }


def _listed(value: Any) -> Any:
    # defaults come with tuples where JSON has lists
    return list(value) if isinstance(value, tuple) else value


def _step(names: Iterable[str], row: list[Any], controls: list[Controls]) -> Step:
    *plain, logprob, place = row
    given = dict(zip(names, plain, strict=True))
    known = {field.name: field.default for field in fields(Step) if field.name in NAMES}
    values = {name: given[name] for name in known if name in given}
    missing = [name for name, default in known.items() if name not in given and default is MISSING]
    if missing:
        raise KeyError(f"a step lacks {', '.join(missing)}")
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
