"""The sampler's settings as a reader meets them: names, ranges of the sliders, presets.

A table. What a setting takes is decided by ``SamplerConfig`` and ``Controls`` alone:
values are handed to them as they were typed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from model.config import POEM_SAMPLER, Controls, SamplerConfig
from tui.widgets.scale import Number, Scale

OFF = ((0.0, "off"),)


@dataclass(frozen=True, slots=True)
class Setting:
    """One number among the controls."""

    name: str
    """A field of ``SamplerConfig`` or ``Controls``."""
    label: str
    scale: Scale

    def read(self, controls: Controls) -> Number:
        """Its value."""
        owner = controls.sampler if self.name in SAMPLER_FIELDS else controls
        value: Number = getattr(owner, self.name)
        return value

    def write(self, controls: Controls, value: Number | str) -> Controls:
        """``controls`` with it set to ``value``. Raises ``SettingError``, naming the setting,
        the value and what it takes; text is always refused."""
        if self.name in SAMPLER_FIELDS:
            return controls.with_sampler(**{self.name: value})
        return replace(controls, **{self.name: value})  # type: ignore[arg-type]


SAMPLER_FIELDS = frozenset(f.name for f in fields(SamplerConfig))

SETTINGS = (
    Setting("temperature", "temperature", Scale(0.0, 2.0, 0.05, 2, ((0.0, "greedy"),))),
    Setting("top_k", "top-k", Scale(0, 100, 1, 0, OFF)),
    Setting("top_p", "top-p", Scale(0.0, 1.0, 0.01, 2, ((1.0, "off"),))),
    Setting("min_p", "min-p", Scale(0.0, 1.0, 0.01, 2, OFF)),
    Setting("presence", "presence", Scale(-2.0, 2.0, 0.1, 1, OFF)),
    Setting("frequency", "frequency", Scale(-2.0, 2.0, 0.1, 1, OFF)),
    Setting("repetition", "repetition", Scale(0.5, 2.0, 0.05, 2, ((1.0, "off"),))),
    Setting("max_tokens", "max tokens", Scale(10, 1000, 10, 0)),
)
SEED = Setting("seed", "seed", Scale(0, 2**64 - 1, 1, 0, slider=False))

PRESETS: tuple[tuple[str, SamplerConfig], ...] = (
    ("verse", POEM_SAMPLER),
    ("0.3", SamplerConfig(temperature=0.3)),
    ("1.0", SamplerConfig()),
    ("1.5", SamplerConfig(temperature=1.5)),
    ("1.5 k20", SamplerConfig(temperature=1.5, top_k=20)),
)
"""What a poem begins with, and the lesson's four: nothing but a temperature, and once a top-k."""


def preset_of(sampler: SamplerConfig) -> str | None:
    """The preset that ``sampler`` is, its order and window aside; ``None`` for none."""
    return next((name for name, preset in PRESETS if with_preset(sampler, preset) == sampler), None)


def with_preset(sampler: SamplerConfig, preset: SamplerConfig) -> SamplerConfig:
    """``preset`` in the stage order and with the window of ``sampler``."""
    return replace(preset, order=sampler.order, window=sampler.window)
