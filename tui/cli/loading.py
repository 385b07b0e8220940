"""Finding and loading the model that a command asked for."""

from __future__ import annotations

from model.registry import ModelHandle, ModelSpec, find, load, specs


def spec_of(name: str | None) -> ModelSpec:
    """The model called ``name``; without a name the default, or the next that is there."""
    if name is not None:
        return find(name)
    return next((spec for spec in specs() if spec.available), specs()[0])


def load_model(name: str | None, threads: int) -> ModelHandle:
    """That model, loaded. Raises ``InputError`` or ``CheckpointError``."""
    return load(spec_of(name), threads)
