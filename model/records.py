"""Dataclasses out of JSON documents, checked field by field against their annotations.

For records that this program wrote itself and reads back. Knows no record in particular.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

R = TypeVar("R")


def from_json(kind: type[R], document: object) -> R:
    """A ``kind`` (a dataclass) of ``document``, as ``json.loads`` gives it.

    Fields may be numbers, text, booleans, None, literals, tuples, dictionaries, unions of
    these and dataclasses of them. Raises ``TypeError`` for anything that does not fit,
    naming the field, and what the dataclass itself raises for values that it refuses.
    """
    if not isinstance(document, dict):
        raise TypeError(f"{kind.__name__} is {document!r}, not a record")
    hints = _hints(kind)  # type: ignore[arg-type]
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if known != document.keys():
        wrong = ", ".join(sorted(known ^ document.keys()))
        raise TypeError(f"{kind.__name__} lacks these fields, or has them in excess: {wrong}")
    return kind(**{name: _value(hints[name], document[name], name) for name in known})


@lru_cache(maxsize=64)
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(hint: Any, value: Any, name: str) -> Any:
    """``value`` as the annotation ``hint`` of the field ``name`` wants it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:
            return None
        (hint,) = (part for part in inner if part is not NoneType)  # unions are optionals here
        return _value(hint, value, name)
    if origin is Literal and value in inner:
        return value
    if origin is tuple and isinstance(value, list):
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(_value(inner[0], part, name) for part in value)
        if len(inner) == len(value):
            return tuple(map(_value, inner, value, [name] * len(value)))
    if origin is dict and isinstance(value, dict):
        return value
    if is_dataclass(hint) and isinstance(hint, type):
        return from_json(hint, value)
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if hint in (int, str, bool) and type(value) is hint:
        return value
    raise TypeError(f"{name} is {value!r}")
