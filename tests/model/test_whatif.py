"""The smallest change that flips a draw: where it can be worked out by hand, and against
every other value of the knob."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.config import STAGES, Controls, SamplerConfig, Stage
from model.constraints import Acrostic
from model.generate import Generator, Prompt
from model.inspect_at import Kept, keep_step
from model.run import Run
from model.sampling import uniform
from model.whatif import FINENESS, Leeway, smallest_flips, would_change
from tests.helpers import CHARACTERS, collect, tiny_gpt

A, B, C, D = 10, 11, 12, 13
SHARES = {A: 0.4, B: 0.3, C: 0.2, D: 0.1}


def kept(shares: dict[int, float] = SHARES, generated: tuple[int, ...] = ()) -> Kept:
    """A step at which the model gives these tokens these probabilities, the others none."""
    logits = torch.full((CHARACTERS.vocab_size,), -math.inf)
    for token, share in shares.items():
        logits[token] = math.log(share)
    return Kept(logits, Run(CHARACTERS, [CHARACTERS.start_id], given=generated))


def seed_with(low: float, high: float, position: int = 1) -> int:
    """A seed whose ``u`` at the position lies between the two."""
    return next(seed for seed in range(10_000) if low < uniform(seed, position) < high)


def only(leeways: tuple[Leeway, ...]) -> Leeway:
    (leeway,) = leeways
    return leeway


def test_top_k_flips_where_the_walk_crosses_an_edge():
    """u = .75 is C of all four. Of three, .75 · .9 = .675 is B; k = 4 is the vocabulary."""
    controls = Controls(seed=seed_with(0.745, 0.755))
    leeway = only(smallest_flips(kept(), controls, ("top_k",)))
    assert leeway.now == CHARACTERS.vocab_size
    assert leeway.lower is not None
    assert (leeway.lower.value, leeway.lower.token) == (3, B)
    assert leeway.upper is None


def test_top_p_flips_where_the_nucleus_loses_a_token():
    """p = .9 still keeps three tokens, but these share the mass: it is the .901 that keeps D."""
    controls = Controls(seed=seed_with(0.745, 0.755))
    leeway = only(smallest_flips(kept(), controls, ("top_p",)))
    assert leeway.lower is not None
    assert (leeway.lower.value, leeway.lower.token) == (0.9, B)
    assert leeway.upper is None
    narrow = Controls(SamplerConfig(top_p=0.9), seed=controls.seed)
    wider = only(smallest_flips(kept(), narrow, ("top_p",))).upper
    assert wider is not None
    assert (wider.value, wider.token) == (0.901, C)


def test_min_p_flips_in_the_other_direction():
    """.3 / .4 = .75: above it A stands alone."""
    controls = Controls(SamplerConfig(min_p=0.6), seed=seed_with(0.6, 0.65))
    leeway = only(smallest_flips(kept(), controls, ("min_p",)))
    assert leeway.upper is not None
    assert (leeway.upper.value, leeway.upper.token) == (0.751, A)
    assert leeway.lower is None  # with C let in the walk goes to .9 u < .7, still B


def test_temperature_flips_where_the_mass_of_the_best_crosses_u():
    """Two tokens: p(A) = 1 / (1 + (1/3)^(1/T)) = u at T = ln 3 / ln(u / (1 - u))."""
    seed = seed_with(0.6, 0.65)
    u = uniform(seed, 1)
    edge = math.log(3) / math.log(u / (1 - u))
    leeway = only(smallest_flips(kept({A: 0.75, B: 0.25}), Controls(seed=seed), ("temperature",)))
    assert leeway.lower is None  # cooler, A is likelier still
    assert leeway.upper is not None
    assert leeway.upper.token == B
    assert 0 <= leeway.upper.value - edge <= 1 / FINENESS
    assert leeway.nearest is leeway.upper


def test_the_best_token_of_greedy_decoding_has_no_leeway_but_heat():
    greedy = Controls(SamplerConfig(temperature=0), seed=seed_with(0.5, 0.9))
    temperature, *others = smallest_flips(kept(), greedy)
    assert temperature.upper is not None
    assert temperature.lower is None
    assert all(other.nearest is None for other in others)


def test_a_knob_at_its_end_has_one_direction():
    controls = Controls(SamplerConfig(temperature=100, top_k=1, top_p=0, min_p=1), seed=3)
    for leeway in smallest_flips(kept(), controls):
        assert leeway.nearest is None  # four cuts to one token: none gives way alone


def test_would_change_keeps_the_u_of_the_step():
    controls = Controls(seed=seed_with(0.745, 0.755))
    assert would_change(kept(), controls, controls.with_sampler(top_k=3))
    assert not would_change(kept(), controls, controls.with_sampler(top_k=4))
    other = Controls(seed=seed_with(0.1, 0.2))  # would give A by itself
    assert not would_change(kept(), controls, other)


def test_an_order_that_leaves_nothing_flips_to_nothing():
    """The best token is banned after top-k: of one token none is left."""
    order: tuple[Stage, ...] = (*STAGES[1:], "mask")
    shares = {CHARACTERS.unk_id: 0.6, A: 0.4}
    controls = Controls(SamplerConfig(order=order), seed=1)
    lower = only(smallest_flips(kept(shares), controls, ("top_k",))).lower
    assert lower is not None
    assert (lower.value, lower.token) == (1, None)


@given(
    weights=st.lists(st.integers(1, 40), min_size=2, max_size=8),
    seed=st.integers(0, 2**64 - 1),
    temperature=st.sampled_from([0.0, 0.3, 0.8123456, 1.0, 1.1, 2.0]),
    top_k=st.integers(0, 8),
    top_p=st.sampled_from([1.0, 0.9, 0.55555, 0.29]),
    min_p=st.sampled_from([0.0, 0.1, 0.4]),
    repetition=st.sampled_from([1.0, 1.5]),
)
def test_no_nearer_value_flips(
    weights: list[int],
    seed: int,
    temperature: float,
    top_k: int,
    top_p: float,
    min_p: float,
    repetition: float,
):
    """Every value of the lattice between the present one and the flip, temperature up to 3."""
    total = sum(weights)
    step = kept({A + i: weight / total for i, weight in enumerate(weights)}, (A, B))
    sampler = SamplerConfig(
        temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, repetition=repetition
    )
    controls = Controls(sampler, seed=seed)
    chosen = step.would_choose(controls)
    for leeway in smallest_flips(step, controls):
        scale = 1 if leeway.knob == "top_k" else FINENESS
        most = {"temperature": 3000, "top_k": CHARACTERS.vocab_size}.get(leeway.knob, FINENESS)
        low = leeway.lower.value * scale if leeway.lower else 0
        high = leeway.upper.value * scale if leeway.upper else most + 1
        for place in range(1 if leeway.knob == "top_k" else 0, most + 1, 11 if scale > 1 else 1):
            value = place if scale == 1 else place / scale
            token = step.would_choose(controls.with_sampler(**{leeway.knob: value}))
            inside = low < place < high or (place == low and leeway.lower is None)
            assert (token == chosen) == inside, (leeway, value)
        for flip in (leeway.lower, leeway.upper):
            if flip is not None:
                value = int(flip.value) if scale == 1 else flip.value
                token = step.would_choose(controls.with_sampler(**{leeway.knob: value}))
                assert token == flip.token != chosen


@pytest.mark.parametrize("index", [0, 5, 11])
def test_of_a_run_that_was_written(index: int):
    """Replacing the knob from that step on gives the run the token that was foretold."""
    model, form = tiny_gpt(block_size=32), Acrostic("春夜花", 5)
    controls = Controls(SamplerConfig(temperature=0.9, top_p=0.95, presence=0.4), seed=4)
    tokens = collect(Generator(model, CHARACTERS, Prompt("春"), controls, constraint=form)).tokens
    step = keep_step(model, CHARACTERS, Prompt("春"), tokens, index, constraint=form)
    for leeway in smallest_flips(step, controls):
        flip = leeway.nearest
        if flip is None:
            continue
        value = int(flip.value) if leeway.knob == "top_k" else flip.value
        again = Generator(
            model,
            CHARACTERS,
            Prompt("春"),
            controls.with_sampler(**{leeway.knob: value}),
            constraint=form,
            given=tokens[:index],
        )
        assert collect(again).tokens[0] == flip.token != tokens[index]


def test_logits_on_display_are_left_alone():
    step = kept()
    before: Tensor = step.logits.clone()
    smallest_flips(step, Controls(SamplerConfig(top_k=2, temperature=1.5), seed=1))
    assert torch.equal(step.logits, before)
