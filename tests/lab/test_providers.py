"""What APIs accept: the data is whole, and translations say what they lose."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.config import STAGES, Controls, SamplerConfig
from model.lab.apis import NEUTRAL, SETTINGS, Field, Provider, looked_up, providers, translate
from model.lab.base import collect
from model.lab.providers import run
from tests.lab.helpers import tiny_request

BY_NAME = {provider.name: provider for provider in providers()}
AN_API = providers()[0]


def api(**settings: Field | None) -> Provider:
    """An API that takes these settings only."""
    return replace(AN_API, settings=dict.fromkeys(SETTINGS) | settings)


def sampler(**settings: Any) -> Controls:
    return Controls(SamplerConfig(**settings))


@pytest.mark.parametrize("provider", providers(), ids=list(BY_NAME))
def test_each_row_names_a_page_and_a_date(provider: Provider):
    assert provider.sources
    for source in provider.sources:
        assert source.address.startswith("https://")
        assert source.title and source.as_of
    for taken in (*filter(None, provider.settings.values()), *provider.caveats):
        assert provider.source(taken) in provider.sources
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", looked_up())


@pytest.mark.parametrize("provider", providers(), ids=list(BY_NAME))
def test_ranges_are_ranges_and_defaults_lie_in_them(provider: Provider):
    for taken in filter(None, provider.settings.values()):
        if taken.low is not None and taken.high is not None:
            assert taken.low < taken.high
        for value in (taken.off, taken.most):
            assert value is None or value >= 0
        assert taken.key or taken.documented


@pytest.mark.parametrize(
    ("taken", "value", "takes"),
    [
        (Field("t", low=0, high=2), 2.0, True),
        (Field("t", low=0, high=2), 2.1, False),
        (Field("t", low=0, low_open=True), 0.0, False),
        (Field("t", low=0, low_open=True), 1e9, True),
        (Field("t", low=0, high=1, high_open=True), 1.0, False),
        (Field("t"), -5.0, True),
    ],
)
def test_a_range_with_open_ends(taken: Field, value: float, takes: bool):
    assert taken.takes(value) is takes


def test_what_cannot_be_said_is_named():
    told = translate(api(temperature=Field("temp", low=0, high=1)), sampler(top_k=20, min_p=0.1))
    assert told.request == {"temp": 1.0}
    assert "top_k 20: no such field" in told.lost
    assert "min_p 0.1: no such field" in told.lost
    assert not any(lost.startswith("top_p") for lost in told.lost)  # it was off


def test_out_of_range_becomes_the_bound_and_says_so():
    told = translate(api(temperature=Field("temp", low=0, high=1)), sampler(temperature=1.5))
    assert told.request["temp"] == 1
    assert "temperature 1.5 becomes 1: it takes 0 to 1" in told.lost


def test_an_open_bound_is_not_sent():
    told = translate(api(temperature=Field("temp", low=0, low_open=True)), sampler(temperature=0))
    assert "temp" not in told.request
    assert "temperature 0: it takes above 0" in told.lost


def test_off_is_said_where_leaving_out_would_turn_on():
    kept = api(top_k=Field("k", default=40, off=-1))
    assert translate(kept, sampler()).request["k"] == -1
    quiet = api(top_k=Field("k", default=0))
    assert "k" not in translate(quiet, sampler()).request
    never = api(top_k=Field("k", default=40, never_off=True))
    assert any("top_k off: 40 applies" in lost for lost in translate(never, sampler()).lost)


def test_greedy_and_sampling_where_a_switch_decides():
    told = api(
        temperature=Field("temp", default=1, sampling={"draw": True}, greedy={"draw": False})
    )
    assert translate(told, sampler(temperature=0)).request == {"draw": False}
    assert translate(told, sampler(temperature=0.5)).request == {"draw": True, "temp": 0.5}


def test_more_stop_strings_than_are_taken():
    controls = Controls(stop=("a", "b", "c"))
    told = translate(api(stop=Field("stop", most=2)), controls)
    assert told.request["stop"] == ["a", "b"]
    assert "stop: 3 strings, it takes 2" in told.lost


def test_the_order_is_lost_only_where_there_is_one():
    fixed = api(order=Field(documented=("top_k", "top_p", "temperature")))
    assert not any("order" in lost for lost in translate(fixed, sampler(temperature=0.5)).lost)
    assert any("order" in lost for lost in translate(fixed, sampler(top_k=5)).lost)
    cut_first = tuple(sorted(STAGES, key=lambda s: s == "temperature"))
    assert not any(
        "order" in lost for lost in translate(fixed, sampler(top_k=5, order=cut_first)).lost
    )


def test_known_apis():
    """A few rows, as their pages have them."""
    everything = sampler(temperature=1.5, top_k=20, repetition=1.2, window=64)
    anthropic = translate(BY_NAME["Anthropic"], everything, "七绝")
    assert anthropic.request["temperature"] == 1
    assert {"seed 0: no such field", "repetition 1.2: no such field"} <= {*anthropic.lost}
    llama = translate(BY_NAME["llama.cpp server"], everything, "七绝")
    assert llama.request["repeat_last_n"] == 64
    assert llama.request["samplers"][:2] == ["penalties", "temperature"]
    hugging = translate(BY_NAME["transformers"], sampler(temperature=0))
    assert hugging.request["do_sample"] is False
    ollama = translate(BY_NAME["Ollama"], sampler())
    assert any("top_k off" in lost for lost in ollama.lost)


@given(
    st.sampled_from(providers()),
    st.builds(
        SamplerConfig,
        temperature=st.floats(0, 100),
        top_k=st.integers(0, 10**6),
        top_p=st.floats(0, 1),
        min_p=st.floats(0, 1),
        presence=st.floats(-2, 2),
        frequency=st.floats(-2, 2),
        repetition=st.floats(0.01, 10),
        window=st.integers(0, 1000),
    ),
)
def test_nothing_out_of_range_is_ever_sent(provider: Provider, config: SamplerConfig):
    told = translate(provider, Controls(config))
    for name in NEUTRAL:
        taken = provider.settings[name]
        if taken is not None and taken.key in told.request:
            assert taken.takes(told.request[taken.key])
        elif taken is None and getattr(config, name) != NEUTRAL[name] and not config.greedy:
            assert any(lost.startswith(f"{name} ") for lost in told.lost)


def test_the_experiment_needs_no_model():
    def load(name: str | None) -> Any:
        raise AssertionError("no model is asked")

    result = collect(run(replace(tiny_request(), load=load)))
    assert result.holds, result.checks
    assert result.tables[0].column("API") == list(BY_NAME)
