"""What inference APIs accept, and this program's settings said in their words.

The data (``providers.json``) is what the named pages said on the day they were looked up; a
setting that a page does not list is not there, and what it does not state is not known.
Nothing is asked of any API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from model.config import Controls

DATA = Path(__file__).with_name("providers.json")
NEUTRAL: dict[str, float] = {
    "temperature": 1.0,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "presence": 0.0,
    "frequency": 0.0,
    "repetition": 1.0,
}
"""The settings that are numbers, and where each does nothing."""
SETTINGS = (*NEUTRAL, "window", "seed", "max_tokens", "stop", "order", "form")


@dataclass(frozen=True, slots=True)
class Source:
    """A page."""

    title: str
    address: str
    as_of: str
    """Date, version or commit of what was read."""
    official: bool
    """By the API's own maker; else by someone who restates it."""


@dataclass(frozen=True, slots=True)
class Field:
    """How an API takes one setting."""

    key: str = ""
    """Its name there; empty where there is only something to know (the order of stages)."""
    low: float | None = None
    high: float | None = None
    """The range that is stated; ``None`` where none is."""
    low_open: bool = False
    high_open: bool = False
    """The bound itself is refused."""
    default: float | None = None
    """What applies where the field is left out."""
    off: float | None = None
    """The value that is documented to turn it off, where it is not the neutral one."""
    never_off: bool = False
    """No value is documented that turns it off."""
    all: float | None = None
    """For a window: the value that means the whole text."""
    most: int | None = None
    """For stop strings: how many at most."""
    greedy: Mapping[str, Any] = field(default_factory=dict)
    """For temperature: what is sent instead of 0."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """For temperature: what is sent beside it so that tokens are drawn at all."""
    names: Mapping[str, str] = field(default_factory=dict)
    """For the order: its names of the stages."""
    documented: tuple[str, ...] = ()
    """For the order: the stages in the documented order."""
    note: str = ""
    source: int = 0

    def takes(self, value: float) -> bool:
        """Whether ``value`` is in the stated range, if any."""
        over = self.low is None or value > self.low or (value == self.low and not self.low_open)
        under = (
            self.high is None or value < self.high or (value == self.high and not self.high_open)
        )
        return over and under

    def span(self) -> str:
        """``0 to 2``; ``accepted`` where no range is stated."""
        if self.low is None and self.high is None:
            return "accepted"
        low = "" if self.low is None else f"{'above ' if self.low_open else ''}{self.low:g}"
        if self.high is None:
            return low if self.low_open else f"{low} or more"
        return f"{low} to {'under ' if self.high_open else ''}{self.high:g}"


@dataclass(frozen=True, slots=True)
class Caveat:
    """Something that a request does not tell."""

    kind: Literal["ignored", "refused", "changed", "unknown"]
    text: str
    source: int


@dataclass(frozen=True, slots=True)
class Provider:
    """One API."""

    name: str
    api: str
    sources: tuple[Source, ...]
    settings: Mapping[str, Field | None]
    """Each of ``SETTINGS``; ``None`` where its pages list no such field."""
    caveats: tuple[Caveat, ...]

    def source(self, setting: Field | Caveat) -> Source:
        """The page that says so."""
        return self.sources[setting.source]


@dataclass(frozen=True, slots=True)
class Translation:
    """Settings in an API's words."""

    request: Mapping[str, Any]
    """Fields of the request."""
    lost: tuple[str, ...]
    """What the request cannot say, or says otherwise."""


@lru_cache(maxsize=1)
def providers() -> tuple[Provider, ...]:
    """Every API of the data file."""
    return tuple(map(_provider, json.loads(DATA.read_text("utf-8"))["providers"]))


@lru_cache(maxsize=1)
def looked_up() -> str:
    """The day on which the pages were read, as ``YYYY-MM-DD``."""
    return str(json.loads(DATA.read_text("utf-8"))["looked_up"])


def translate(provider: Provider, controls: Controls, form: str = "") -> Translation:
    """``controls`` for ``provider``, with the name of a verse form where one is asked for."""
    request: dict[str, Any] = {}
    lost: list[str] = []
    for part in (_temperature, _truncation, _penalties, _window, _order, _seed, _length, _stop):
        fields, losses = part(provider, controls)
        request |= fields
        lost += losses
    if form:
        taken = provider.settings["form"]
        if taken is None:
            lost.append(f"{form}: the pages list no grammar or regular expression")
        else:
            request[taken.key] = f"<{form}>"
    return Translation(request, tuple(lost))


Part = tuple[dict[str, Any], list[str]]


def _temperature(provider: Provider, controls: Controls) -> Part:
    taken, sampler = provider.settings["temperature"], controls.sampler
    if taken is not None and taken.greedy and sampler.greedy:
        return dict(taken.greedy), []
    value = 0.0 if sampler.greedy else sampler.temperature
    request, lost = _number(taken, "temperature", value)
    return (dict(taken.sampling) if taken else {}) | request, lost


def _truncation(provider: Provider, controls: Controls) -> Part:
    if controls.sampler.greedy:  # no truncation removes the best token
        return {}, []
    return _numbers(provider, controls, ("top_k", "top_p", "min_p"))


def _penalties(provider: Provider, controls: Controls) -> Part:
    request, lost = _numbers(provider, controls, ("presence", "frequency", "repetition"))
    if request and controls.sampler.penalised:
        lost.append("penalties: that punctuation and forced characters are exempt")
    return request, lost


def _numbers(provider: Provider, controls: Controls, names: Sequence[str]) -> Part:
    request: dict[str, Any] = {}
    lost: list[str] = []
    for name in names:
        fields, losses = _number(provider.settings[name], name, getattr(controls.sampler, name))
        request |= fields
        lost += losses
    return request, lost


def _number(taken: Field | None, name: str, value: float) -> Part:
    neutral = NEUTRAL[name]
    if taken is None:
        return {}, [f"{name} {value:g}: no such field"] if value != neutral else []
    if value == neutral:
        return _off(taken, name, neutral)
    if taken.takes(value):
        return {taken.key: value}, []
    bound = taken.low if taken.low is not None and value <= taken.low else taken.high
    if bound is not None and taken.takes(bound):
        return {taken.key: bound}, [f"{name} {value:g} becomes {bound:g}: it takes {taken.span()}"]
    return {}, [f"{name} {value:g}: it takes {taken.span()}"]


def _off(taken: Field, name: str, neutral: float) -> Part:
    """Have a setting do nothing: by leaving it out where its default does nothing."""
    off = neutral if taken.off is None else taken.off
    if taken.default == off or (taken.default is None and name != "temperature"):
        return {}, []
    if taken.never_off:
        return {}, [f"{name} off: {taken.default:g} applies, and no value is stated to be off"]
    if not taken.takes(off):
        return {}, [f"{name} off: it takes {taken.span()}"]
    return {taken.key: off}, []


def _window(provider: Provider, controls: Controls) -> Part:
    taken, window = provider.settings["window"], controls.sampler.window
    if not controls.sampler.penalised or (controls.sampler.repetition == 1.0 and not window):
        return {}, []
    if taken is None:
        return {}, [f"window {window}: no such field"] if window else []
    return {taken.key: window or taken.all}, []


def _order(provider: Provider, controls: Controls) -> Part:
    taken, sampler = provider.settings["order"], controls.sampler
    order = sampler.order
    truncated = sampler.top_k or sampler.top_p < 1 or sampler.min_p
    if sampler.greedy or not (truncated or sampler.penalised):  # one stage has no order
        return {}, []
    if taken is None:
        return {}, ["the order of the stages: not documented"]
    if taken.key:
        names = dict.fromkeys(taken.names[stage] for stage in order if stage in taken.names)
        return {taken.key: list(names)}, [f"order: {taken.note}"] if taken.note else []
    ours = [stage for stage in order if stage in taken.documented]
    if ours == list(taken.documented):
        return {}, []
    return {}, [f"the order of the stages: it is {', '.join(taken.documented)}"]


def _seed(provider: Provider, controls: Controls) -> Part:
    taken = provider.settings["seed"]
    if controls.sampler.greedy:
        return {}, []
    if taken is None:
        return {}, [f"seed {controls.seed}: no such field"]
    lost = [f"seed: {taken.note}"] if taken.note else []
    if not taken.takes(controls.seed):
        return {}, [f"seed {controls.seed}: it takes {taken.span()}"]
    return {taken.key: controls.seed}, lost


def _length(provider: Provider, controls: Controls) -> Part:
    taken = provider.settings["max_tokens"]
    if taken is None:
        return {}, [f"max_tokens {controls.max_tokens}: no such field"]
    lost = [f"max_tokens: {taken.note}"] if taken.note else []
    return {taken.key: controls.max_tokens}, lost


def _stop(provider: Provider, controls: Controls) -> Part:
    taken, stop = provider.settings["stop"], list(controls.stop)
    if not stop:
        return {}, []
    if taken is None:
        return {}, ["stop: no such field"]
    if taken.most is not None and len(stop) > taken.most:
        cut = stop[: taken.most]
        return {taken.key: cut}, [f"stop: {len(stop)} strings, it takes {taken.most}"]
    return {taken.key: stop}, []


def _provider(entry: Mapping[str, Any]) -> Provider:
    return Provider(
        entry["name"],
        entry["api"],
        tuple(Source(**source) for source in entry["sources"]),
        {name: _field(entry["settings"][name]) for name in SETTINGS},
        tuple(Caveat(**caveat) for caveat in entry["caveats"]),
    )


def _field(entry: Mapping[str, Any] | None) -> Field | None:
    if entry is None:
        return None
    return Field(**{**entry, "documented": tuple(entry.get("documented", ()))})
