"""The uniform of a position, and the token that it draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.config import SamplerConfig
from model.ranking import Ranking
from model.sampling import (
    LogitsError,
    apply_stages,
    choose,
    mask,
    min_p,
    top_k,
    top_p,
    uniform,
    would_choose,
)
from tests.model.rows import INF, history, row


class TestUniform:
    def test_is_pinned_for_ever(self) -> None:
        assert [uniform(0, 0), uniform(0, 1), uniform(42, 7), uniform(2**64 - 1, 500)] == PINNED

    def test_lies_in_the_half_open_interval(self) -> None:
        values = [uniform(seed, at) for seed in range(50) for at in range(200)]
        assert all(0.0 <= value < 1.0 for value in values)
        assert len(set(values)) == len(values)

    def test_is_flat_along_positions_and_along_seeds(self) -> None:
        along = [uniform(1, at) for at in range(20_000)], [uniform(s, 1) for s in range(20_000)]
        for values in along:
            counts = np.histogram(values, bins=50, range=(0, 1))[0]
            assert ((counts - 400.0) ** 2 / 400.0).sum() < 100  # 49 degrees of freedom

    def test_neighbours_do_not_resemble_each_other(self) -> None:
        grid = np.array([[uniform(seed, at) for at in range(200)] for seed in range(200)])
        for a, b in ((grid[1:], grid[:-1]), (grid[:, 1:], grid[:, :-1]), (grid, grid.T)):
            off = ~np.eye(200, dtype=bool) if a.shape == (200, 200) else np.ones(a.shape, bool)
            assert abs(np.corrcoef(a[off], b[off])[0, 1]) < 0.03


PINNED = [0.6524484863740322, 0.7012121095215252, 0.7347204584623639, 0.0976700703836606]


class TestTheDraw:
    def test_walks_down_in_probability_then_up_in_id(self) -> None:
        logits = torch.tensor([[0.1, 0.2, 0.5, 0.2]]).log()
        drawn = [choose(logits, SamplerConfig(), (u,))[0].token for u in (0.0, 0.45, 0.55, 0.75)]
        assert drawn == [2, 2, 1, 3]
        assert would_choose(logits[0], SamplerConfig(), 0.95) == 0

    def test_a_boundary_belongs_to_the_token_above_it(self) -> None:
        drawn = choose(torch.zeros(3, 4), SamplerConfig(), (0.25, 0.5, 0.75))
        assert [draw.token for draw in drawn] == [1, 2, 3]

    def test_follows_the_distribution(self) -> None:
        logits = torch.linspace(0, 3, 20)[None]
        config = SamplerConfig(temperature=0.9, top_p=0.98)
        wanted = torch.softmax(apply_stages(logits, config), -1)[0].double().numpy()
        counts = np.zeros(20)
        for seed in range(100):
            heights = [uniform(seed, at) for at in range(1000)]
            for draw in choose(logits.expand(1000, -1), config, heights):
                counts[draw.token] += 1
        on = wanted > 0
        assert counts[~on].sum() == 0
        expected = wanted[on] * 100_000
        assert ((counts[on] - expected) ** 2 / expected).sum() < 45  # under 19 degrees of freedom

    def test_ten_million_draws_never_meet_a_banned_token(self) -> None:
        rng = np.random.default_rng(3)
        for turn in range(10):
            logits = torch.from_numpy((rng.standard_normal(400) * 20).astype(np.float32))
            allowed = torch.from_numpy(rng.random(400) < 0.5)
            left = mask(logits, allowed=allowed)
            probs = torch.softmax(left, -1)
            ranking = Ranking(left.numpy(), probs.numpy())
            ranking.widen_fully()
            count = ranking.kept([("top_k", 40)])[0] if turn % 2 else len(ranking.ids)
            heights = rng.random(1_000_000)
            heights[:3] = 0.0, 1.0, math.nextafter(1.0, 0.0)
            tokens = ranking.ids[np.unique(ranking.ranks(heights, count))]
            assert allowed.numpy()[tokens].all()
            assert (probs.numpy()[tokens] > 0).all()

    @settings(max_examples=200, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0.0, 1.0, 60.0, 400.0]))
    def test_just_below_one_is_the_last_token_of_some_probability(
        self, seed: int, spread: float
    ) -> None:
        rng = np.random.default_rng(seed)
        logits = torch.from_numpy((rng.standard_normal((1, 3000)) * spread).astype(np.float32))
        allowed = torch.from_numpy(rng.random(3000) < 0.5)
        for config in (SamplerConfig(), SamplerConfig(top_p=0.9), SamplerConfig(top_k=1000)):
            (drawn,) = choose(logits, config, (math.nextafter(1.0, 0.0),), allowed=allowed)
            assert allowed[drawn.token]
            assert drawn.probability > 0

    @settings(max_examples=100, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1), u=st.floats(0.01, 0.99))
    def test_a_permutation_of_ids_changes_nothing_else(self, seed: int, u: float) -> None:
        rng = np.random.default_rng(seed)
        values = torch.from_numpy(rng.permutation(500).astype(np.float32) / 50)  # no ties
        order = torch.from_numpy(rng.permutation(500))
        for config in (SamplerConfig(), SamplerConfig(temperature=0.7, top_k=90, top_p=0.9)):
            (plain,) = choose(values[None], config, (u,))
            (moved,) = choose(values[order][None], config, (u,))
            near = [would_choose(values, config, u + shift) for shift in (-1e-6, 1e-6)]
            assert int(order[moved.token]) in (plain.token, *near)

    def test_a_row_does_not_depend_on_its_batch(self) -> None:
        logits = torch.randn(32, 2000, generator=torch.Generator().manual_seed(4)) * 3
        allowed = torch.rand(2000, generator=torch.Generator().manual_seed(5)) < 0.7
        heights = [uniform(0, at) for at in range(32)]
        for config in (SamplerConfig(temperature=0.8), SamplerConfig(top_p=0.95, top_k=300)):
            together = choose(logits, config, heights, allowed=allowed)
            for scores, height, drawn in zip(logits, heights, together, strict=True):
                assert [drawn] == choose(scores[None], config, (height,), allowed=allowed)

    def test_needs_one_uniform_a_row(self) -> None:
        with pytest.raises(ValueError, match="zip"):
            choose(torch.zeros(2, 3), SamplerConfig(), (0.5,))

    @pytest.mark.parametrize("bad", [math.nan, INF])
    @pytest.mark.parametrize("value", [0.0, 1.0])
    def test_scores_that_are_not_numbers_are_an_error(self, bad: float, value: float) -> None:
        with pytest.raises(LogitsError, match="not numbers"):
            choose(row(1.0, bad, 2.0), SamplerConfig(temperature=value), (0.5,))

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    def test_raw_logits_are_left_as_they_were(self, dtype: torch.dtype) -> None:
        logits = torch.randn(1, 300, generator=torch.Generator().manual_seed(5)).to(dtype)
        before = logits.clone()
        allowed = torch.arange(300) % 3 > 0
        off = apply_stages(logits, SamplerConfig())
        assert off.dtype == torch.float32
        off.zero_()
        config = SamplerConfig(0.7, 50, 0.9, 0.01, 0.5, 0.5, 1.3)
        ask = {"allowed": allowed, "history": history(300, 1, 2, 2)}
        apply_stages(logits, config, **ask).zero_()
        choose(logits, config, (0.5,), **ask)
        for out in (top_k(logits, k=0), top_p(logits, p=1.0), min_p(logits, value=0.0)):
            out.zero_()
        assert torch.equal(logits, before)
