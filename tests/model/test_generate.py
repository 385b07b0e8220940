"""A run says truly what it did, and nothing but seed, text and controls decides it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.forms import FORMS
from model.config import STAGES, CacheMode, Controls, SamplerConfig
from model.constraints import FixedForm
from model.errors import ConstraintError, UnknownCharacters
from model.generate import Generator, Prompt
from model.steps import Finished, Step
from tests.helpers import (
    CHARACTERS,
    HAN,
    Endless,
    HostileConstraint,
    Toggling,
    collect,
    tiny_gpt,
)
from tests.model.runs import CONTROLS, LENGTH, generator, scripted, whole

LONG = Endless(tiny_gpt(block_size=1024, n_layer=1))
OPENING = Prompt((HAN * 30)[:900])
"""Longer than what goes through a model in one pass."""

# -- same seed, same text


def test_every_cache_mode_inspected_or_not_gives_the_same_tokens() -> None:
    expected = whole().tokens
    assert len(expected) == LENGTH
    for cache in ("on", "off", "race"):
        for inspected in (True, False):
            controls = Controls(CONTROLS.sampler, cache, CONTROLS.seed)
            assert collect(generator(controls, inspected=inspected)).tokens == expected


@settings(max_examples=12)
@given(st.dictionaries(st.integers(0, LENGTH), st.sampled_from(["on", "off", "race"]), max_size=8))
def test_toggling_the_cache_at_any_step_changes_no_token(modes: dict[int, CacheMode]) -> None:
    base = Controls(CONTROLS.sampler, seed=CONTROLS.seed, max_tokens=LENGTH)
    assert collect(generator(Toggling(base, modes))).tokens == whole().tokens


@settings(max_examples=12)
@given(st.integers(0, LENGTH))
def test_a_fork_anywhere_writes_the_rest_of_the_same_text(place: int) -> None:
    fork = generator(given=whole().tokens[:place])
    rest = collect(fork)
    assert rest.tokens == whole().tokens[place:]
    assert fork.run.given_text + rest.text == whole().text
    assert [s.u for s in rest.steps] == [s.u for s in whole().steps[place:]]


@settings(max_examples=12)
@given(st.integers(1, LENGTH - 1))
def test_a_run_that_was_cancelled_goes_on_as_if_nothing_had_been(place: int) -> None:
    asked: list[bool] = []
    running = generator(cancelled=lambda: bool(asked))
    first = list(islice(iter(running), place))
    asked.append(True)
    (end,) = list(running)
    assert isinstance(end, Finished) and end.reason == "cancelled" and end.tokens == place
    asked.clear()
    rest = collect(running)
    tokens = [step.token for step in first if isinstance(step, Step)] + rest.tokens
    assert tokens == whole().tokens


def test_seed_and_position_alone_decide_u() -> None:
    run = whole()
    again = collect(generator(Controls(SamplerConfig(temperature=0.5), seed=CONTROLS.seed)))
    assert [s.u for s in again.steps] == [s.u for s in run.steps]
    assert len({s.u for s in run.steps}) == LENGTH
    other = collect(generator(Controls(seed=10)))
    assert not {s.u for s in other.steps} & {s.u for s in run.steps}


def test_controls_changed_in_mid_stream_hold_from_the_next_token_on() -> None:
    current = [Controls(SamplerConfig(temperature=1.5), max_tokens=LENGTH)]
    tokens: list[int] = []
    for event in generator(lambda: current[0]):
        if not isinstance(event, Step):
            break
        greedy = len(tokens) >= 10
        assert event.controls is current[0]
        assert (event.probability == 1.0) is greedy, "the eleventh token is greedy already"
        tokens.append(event.token)
        if len(tokens) == 10:
            current[0] = current[0].with_sampler(temperature=0)
        if len(tokens) == 20:
            current[0] = Controls(SamplerConfig(temperature=0), max_tokens=20)
    assert isinstance(event, Finished) and event.reason == "length"
    assert len(tokens) == 20


# -- how a run ends


def test_end_of_poem() -> None:
    run = scripted("春眠。")
    assert (run.text, run.end.reason, run.end.tokens) == ("春眠。", "end_of_poem", 4)
    assert run.steps[-1].text == ""


def test_stop_string() -> None:
    run = scripted("春眠不觉晓，处", Controls(stop=("觉晓",)))
    assert (run.text, run.end.reason, run.end.tokens) == ("春眠不", "stop_string", 5)


def test_length() -> None:
    run = scripted("春眠不觉晓", Controls(max_tokens=3))
    assert (run.text, run.end.reason, run.end.tokens) == ("春眠不", "length", 3)


def test_length_releases_what_might_have_become_a_stop_string() -> None:
    run = scripted("春眠不觉晓", Controls(max_tokens=3, stop=("不觉晓",)))
    assert [step.text for step in run.steps] == ["春", "眠", ""]
    assert (run.end.text, run.end.reason) == ("不", "length")


def test_form_complete() -> None:
    run = collect(generator(prompt="", constraint=FixedForm(FORMS["五绝"])))
    assert run.end.reason == "form_complete"
    assert FORMS["五绝"].holds(run.text)


@pytest.mark.parametrize("after", [0, 1, 5])
def test_dead_end_is_named_and_never_an_unconstrained_draw(after: int) -> None:
    run = collect(generator(prompt="", constraint=HostileConstraint(after)))
    assert (run.end.reason, run.end.tokens, len(run.steps)) == ("dead_end", after, after)
    assert "no token is left" in run.end.detail


@pytest.mark.parametrize("cache", ["on", "off", "race"])
def test_a_run_goes_on_past_a_dead_end_once_the_controls_are_loosened(cache: CacheMode) -> None:
    order = ("top_k", *(stage for stage in STAGES if stage != "top_k"))
    strict = Controls(SamplerConfig(top_k=1, order=order), cache, seed=2)
    loose = Controls(SamplerConfig(), cache, seed=2)
    form = FixedForm(FORMS["五绝"])
    current = [strict]
    running = generator(lambda: current[0], prompt="", constraint=form)
    first = collect(running)
    assert first.end.reason == "dead_end"
    current[0] = loose
    rest = collect(running)
    assert rest.end.reason == "form_complete"
    again = generator(loose, prompt="", constraint=form, given=first.tokens)
    assert rest.tokens == collect(again).tokens


def test_cancelling_ends_the_run_before_the_next_token() -> None:
    seen: list[Step] = []
    running = generator(cancelled=lambda: len(seen) >= 7)
    for event in running:
        if isinstance(event, Finished):
            break
        seen.append(event)
    assert (event.reason, event.tokens, len(seen)) == ("cancelled", 7, 7)


@pytest.mark.parametrize("cache", ["on", "off", "race"])
def test_cancelling_takes_effect_within_a_long_prefill(cache: CacheMode) -> None:
    model = Endless(tiny_gpt(block_size=1024, n_layer=1))
    passes: list[int] = []

    class Counting(Endless):
        def __call__(self, ids, cache=None, *, last=False):  # type: ignore[no-untyped-def]
            passes.append(ids.shape[1])
            return model(ids, cache, last=last)

    running = Generator(
        Counting(tiny_gpt(block_size=1024, n_layer=1)),
        CHARACTERS,
        Prompt((HAN * 30)[:1000]),
        Controls(cache=cache),
        cancelled=lambda: bool(passes),
    )
    run = collect(running)
    assert (run.end.reason, run.steps) == ("cancelled", [])
    assert sum(passes) < 1000, "it did not read the whole prompt first"


@pytest.mark.parametrize("look", range(1, 8))
def test_a_race_over_a_long_text_is_cancelled_in_either_half_and_goes_on(look: int) -> None:
    """The flag is read before the step and between the four chunks of each half."""
    looks = count(1)
    stopped = False

    def from_then_on() -> bool:
        nonlocal stopped
        stopped = stopped or next(looks) == look
        return stopped

    def racing(cancelled: Callable[[], bool]) -> Generator:
        controls = Controls(cache="race", max_tokens=2)
        return Generator(LONG, CHARACTERS, OPENING, controls, cancelled=cancelled)

    running = racing(from_then_on)
    assert [event.reason for event in running] == ["cancelled"]
    stopped = False
    *rest, end = running
    assert [step.token for step in rest] == collect(racing(lambda: False)).tokens
    assert end.reason == "length"


def test_a_long_text_is_the_same_without_the_cache_and_keeps_nothing() -> None:
    on, off = (
        collect(Generator(LONG, CHARACTERS, OPENING, Controls(cache=cache, max_tokens=20)))
        for cache in ("on", "off")
    )
    assert off.tokens == on.tokens
    assert {step.cache_bytes for step in off.steps} == {0}
    assert all(step.recomputed == step.context - 1 for step in off.steps[1:])


def test_the_characters_unknown_to_the_model_are_named_before_anything_runs() -> None:
    with pytest.raises(UnknownCharacters) as error:
        generator(prompt="春x眠雲x")
    assert error.value.characters == "x雲"


@pytest.mark.parametrize("prompt", ["春眠不觉晓处", "春眠，", "春眠不觉晓，处闻啼鸟夜，，"])
def test_an_opening_that_does_not_fit_the_form_is_refused_before_anything_runs(
    prompt: str,
) -> None:
    with pytest.raises(ConstraintError, match="does not fit 五绝"):
        generator(prompt=prompt, constraint=FixedForm(FORMS["五绝"]))


def test_a_fragment_all_of_whose_characters_were_dropped_starts_a_poem() -> None:
    prompt = Prompt("飞", fragment=True, unknown="drop")
    run = collect(
        Generator(
            Endless(tiny_gpt()), CHARACTERS, prompt, Controls(), constraint=FixedForm(FORMS["五绝"])
        )
    )
    assert run.end.reason == "form_complete"
