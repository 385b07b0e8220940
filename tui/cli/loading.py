"""Finding and loading the model that a command asked for."""

from __future__ import annotations

from model.config import Precision
from model.registry import ModelHandle, ModelSpec, find, load, specs
from tui.cli.output import say


def spec_of(name: str | None) -> ModelSpec:
    """The model called ``name``; without a name the default, or the next that is there."""
    if name is not None:
        return find(name)
    return next((spec for spec in specs() if spec.available), specs()[0])


def load_model(name: str | None, threads: int, precision: Precision = "float32") -> ModelHandle:
    """That model, loaded. Raises ``InputError`` or ``CheckpointError``."""
    return load(spec_of(name), threads, precision, say)


class Models:
    """Models loaded once and shared, for a command that uses several."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._loaded: dict[str, ModelHandle] = {}

    def __call__(self, name: str | None) -> ModelHandle:
        """The model called ``name``, or the default one. Raises as ``load_model`` does."""
        spec = spec_of(name)
        key = str(spec.path)
        if key not in self._loaded:
            self._loaded[key] = load(spec, self._threads, tell=say)
        return self._loaded[key]

    @property
    def loaded(self) -> list[ModelHandle]:
        """Every model that was asked for, in that order."""
        return list(self._loaded.values())
