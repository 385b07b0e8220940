"""How an experiment ended, as JSON can hold it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tui.lab.outcome import Outcome


def document(outcome: Outcome) -> dict[str, Any]:
    """Name, state, seconds, the reason where there is no result, and the result's fields."""
    made: dict[str, Any] = {
        "name": outcome.experiment.name,
        "state": outcome.state,
        "seconds": round(outcome.seconds, 3),
    }
    if outcome.error is not None:
        made["reason"] = str(outcome.error)
    if outcome.result is not None:
        made.update(outcome.result.to_json())
    cleaned: dict[str, Any] = _finite(made)
    return cleaned


def _finite(value: Any) -> Any:
    """``value`` with null for every number that JSON has no way to write."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value
