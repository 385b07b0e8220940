"""Runs that many tests look at."""

from __future__ import annotations

from functools import lru_cache

from model.config import Controls, SamplerConfig
from model.generate import Generator, Prompt
from tests.helpers import CHARACTERS, Endless, Ran, ScriptedModel, collect, tiny_gpt

CONTROLS = Controls(SamplerConfig(temperature=1.1, top_p=0.95, repetition=1.2), seed=9)
LENGTH = 45
"""Past the block of 32: every property below holds across a slide of the window."""


def generator(controls: object = CONTROLS, prompt: str = "春眠", **kwargs: object) -> Generator:
    if isinstance(controls, Controls):
        controls = Controls(controls.sampler, controls.cache, controls.seed, LENGTH, controls.stop)
    kwargs.setdefault("inspected", False)
    return Generator(Endless(tiny_gpt()), CHARACTERS, Prompt(prompt), controls, **kwargs)  # type: ignore[arg-type]


def scripted(text: str, controls: Controls | None = None, *, end: bool = True) -> Ran:
    """A run of a model that says ``text`` whatever is asked, then the end token."""
    ids = CHARACTERS.encode(text) + [CHARACTERS.end_id] * end
    model = ScriptedModel(ids, CHARACTERS.vocab_size, prompt=1)
    return collect(Generator(model, CHARACTERS, Prompt(), controls or Controls()))


@lru_cache(maxsize=1)
def whole() -> Ran:
    """What the generator above writes when nothing disturbs it."""
    return collect(generator())
