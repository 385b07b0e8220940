"""Rounding of a pass decides no draw: what may be near an edge says so, and is drawn again."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.batch import BatchGenerator
from model.config import Controls, SamplerConfig
from model.generate import Generator, Prompt
from model.sampling import NoLegalToken, choose
from model.steps import Finished, Step
from tests.helpers import CHARACTERS, Endless, tiny_gpt
from tests.model.rows import history

OFF = 0.01
"""Far more than any rounding, so that a few thousand draws meet every kind of edge."""
SAMPLERS = [
    SamplerConfig(temperature=0.0),
    SamplerConfig(temperature=0.8, top_p=0.95),
    SamplerConfig(top_k=5),
    SamplerConfig(temperature=1.5, top_k=9, top_p=0.7),
    SamplerConfig(min_p=0.05, temperature=0.6),
    SamplerConfig(top_p=0.9, min_p=0.1, repetition=1.4),
    SamplerConfig(),
]
NAMES = ["greedy", "default", "top-k", "k-and-p", "min-p", "p-min-p-penalty", "plain"]


@pytest.mark.parametrize("config", SAMPLERS, ids=NAMES)
@given(seed=st.integers(0, 2**32), spread=st.floats(0.2, 4.0))
@settings(max_examples=40, deadline=None)
def test_what_is_sure_stays_however_the_logits_are_off(config, seed, spread):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, 60, generator=generator) * spread
    seen = history(60, *range(0, 60, 3))
    heights = torch.rand(12, generator=generator).tolist()
    for u in heights:
        (draw,) = choose(logits, config, (u,), history=seen, rounding=OFF)
        if not draw.sure:
            continue
        for _ in range(6):
            off = (torch.rand(1, 60, generator=generator) * 2 - 1).sign() * OFF * 0.999
            (moved,) = choose(logits + off, config, (u,), history=seen)
            assert moved.token == draw.token


@pytest.mark.parametrize("config", SAMPLERS, ids=NAMES)
def test_most_draws_are_sure_and_some_are_not(config):
    logits = torch.randn(400, 60, generator=torch.Generator().manual_seed(1)) * 2
    heights = torch.rand(400, generator=torch.Generator().manual_seed(2)).tolist()
    together = choose(logits, config, heights, rounding=OFF)
    alone = [
        choose(row[None], config, (u,), rounding=OFF)[0]
        for row, u in zip(logits, heights, strict=True)
    ]
    assert together == alone
    assert 0.02 < sum(not draw.sure for draw in alone) / len(alone) < 0.5
    assert all(draw.sure for draw in choose(logits, config, heights, rounding=0.0))


def test_one_legal_token_is_sure():
    allowed = torch.zeros(60, dtype=torch.bool)
    allowed[7] = True
    (draw,) = choose(torch.randn(1, 60), SAMPLERS[1], (0.5,), allowed=allowed)
    assert draw.sure
    assert draw.token == 7
    with pytest.raises(NoLegalToken):
        choose(torch.randn(1, 60), SAMPLERS[1], (0.5,), allowed=torch.zeros(60, dtype=torch.bool))


class Rounded(Endless):
    """A model that rounds with a cache as no real one would: by the most that is allowed for."""

    def __init__(self, off: float) -> None:
        super().__init__(tiny_gpt(block_size=64))
        self._off = off

    def __call__(self, ids, cache=None, *, last=False):
        logits = super().__call__(ids, cache, last=last)
        # two tokens in each pair were as good as equal, had they been rounded alike
        logits[..., 1::2] = logits[..., 0::2][..., : logits[..., 1::2].shape[-1]]
        if cache is not None:
            logits[..., 1::2] += self._off
        logits[..., CHARACTERS.end_id] = -50.0
        return logits


def written(model, mode, sampler, seed):
    controls = Controls(sampler, max_tokens=40, seed=seed, cache=mode)
    return [
        step
        for step in Generator(model, CHARACTERS, Prompt("春"), controls, inspected=False)
        if isinstance(step, Step)
    ]


@pytest.mark.parametrize(
    "sampler", [SAMPLERS[0], SAMPLERS[1], SAMPLERS[5]], ids=["greedy", "default", "penalty"]
)
def test_a_cache_that_rounds_otherwise_changes_no_token(sampler):
    model = Rounded(1e-5)
    for seed in range(5):
        runs = {mode: written(model, mode, sampler, seed) for mode in ("on", "off", "race")}
        tokens = {mode: [step.token for step in steps] for mode, steps in runs.items()}
        assert tokens["on"] == tokens["off"] == tokens["race"]
        # what it took is counted: passes over the whole window, in the middle of cached steps
        assert any(step.recomputed == step.context for step in runs["on"][1:])


def test_a_batch_that_rounds_otherwise_changes_no_token():
    model, controls = Rounded(1e-5), Controls(SAMPLERS[1], max_tokens=40)
    rows = {n: [] for n in range(6)}
    for row, event in BatchGenerator(model, CHARACTERS, Prompt("春"), controls, range(6)):
        if not isinstance(event, Finished):
            rows[row].append(event.token)
    for seed, tokens in rows.items():
        assert tokens == [step.token for step in written(model, "off", SAMPLERS[1], seed)]


def test_without_the_second_pass_such_a_cache_would_change_tokens(monkeypatch):
    monkeypatch.setattr("model.generate.choose", blind)
    model = Rounded(1e-5)
    tokens = [
        [step.token for step in written(model, mode, SAMPLERS[0], 0)] for mode in ("on", "off")
    ]
    assert tokens[0] != tokens[1]


def blind(*args, **options):
    """``choose`` that is always sure."""
    return choose(*args, **options, rounding=0.0)
