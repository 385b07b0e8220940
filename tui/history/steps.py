"""Steps of a run as JSON and back. Inspections are left out: they are computed again when
somebody looks."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
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
REQUIRED = {
    field.name for field in fields(Step) if field.name in NAMES and field.default is MISSING
}


def encode(steps: Sequence[Step]) -> str:
    """A chunk of steps; controls are written once for all the steps that used them."""
    controls: list[Controls] = []
    rows = []
    for step in steps:
        last = controls[-1] if controls else None
        if step.controls is not last and step.controls != last:
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
    names: list[str] = document["names"]
    missing = REQUIRED - set(names)
    if missing:
        raise KeyError(f"the steps lack {', '.join(sorted(missing))}")
    places = [(place, name) for place, name in enumerate(names) if name in NAMES]
    return [_step(places, row, controls) for row in document["rows"]]


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


def _step(places: list[tuple[int, str]], row: list[Any], controls: list[Controls]) -> Step:
    """``places``: where in the row each field stands; the last two are log-probability and
    the number of the controls."""
    values = {name: row[place] for place, name in places}
    for name, kind in (("position", int), ("token", int), ("text", str)):
        if type(values[name]) is not kind:
            raise TypeError(f"{name} is {values[name]!r}")
    logprob = row[-2]
    return Step(
        **values,
        logprob=-math.inf if logprob is None else float(logprob),
        controls=controls[row[-1]],
    )
