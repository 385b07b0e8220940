"""The rules of the sampler, each on its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from model.config import STAGES, SamplerConfig
from model.errors import ConstraintError, SettingError
from model.ranking import Ranking
from model.sampling import (
    Draw,
    History,
    LogitsError,
    NoLegalToken,
    apply_stages,
    choose,
    mask,
    min_p,
    presence_frequency,
    repetition,
    temperature,
    top_k,
    top_p,
    uniform,
    would_choose,
)

INF = float("inf")


def row(*values: float) -> Tensor:
    return torch.tensor([values])


def kept(logits: Tensor) -> list[int]:
    return logits.reshape(-1).isfinite().nonzero()[:, 0].tolist()


def history(size: int, *tokens: int, exempt: tuple[int, ...] = ()) -> History:
    """Tokens generated so far, all of them seen."""
    generated = torch.bincount(torch.tensor(tokens, dtype=torch.long), minlength=size)[None]
    free = torch.zeros(size, dtype=torch.bool)
    free[list(exempt)] = True
    return History(generated.float(), generated > 0, free)


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


class TestGreedy:
    @pytest.mark.parametrize("value", [0.0, -0.0, 1e-40, 1e-9, 1e-5])
    def test_tiny_temperatures_take_the_best_token(self, value: float) -> None:
        logits = torch.randn(5, 900, generator=torch.Generator().manual_seed(1))
        drawn = choose(logits, SamplerConfig(temperature=value), [0.999] * 5)
        assert drawn == [Draw(int(best), 1.0) for best in logits.argmax(-1)]
        assert [kept(out) for out in apply_stages(logits, SamplerConfig(temperature=value))] == [
            [int(best)] for best in logits.argmax(-1)
        ]

    def test_small_temperatures_come_close_to_it(self) -> None:
        logits = torch.randn(50, 900, generator=torch.Generator().manual_seed(1))
        drawn = choose(logits, SamplerConfig(temperature=2e-5), [0.999] * 50)
        assert [draw.token for draw in drawn] == logits.argmax(-1).tolist()

    def test_ties_go_to_the_lowest_id(self) -> None:
        assert would_choose(row(1, 3, 3, 3), SamplerConfig(temperature=0), 0.9) == 1

    def test_mask_and_penalties_come_first_whatever_the_order(self) -> None:
        order = ("temperature", "top_k", *(s for s in STAGES if s not in ("temperature", "top_k")))
        config = SamplerConfig(temperature=0, presence=2.0, order=order)
        allowed = torch.tensor([False, True, True])
        ask = {"allowed": allowed, "history": history(3, 1)}
        assert choose(row(9, 3, 2), config, (0.5,), **ask) == [Draw(2, 1.0)]
        assert kept(apply_stages(row(9, 3, 2), config, **ask)) == [2]


class TestTruncation:
    def test_top_k_keeps_exactly_k_of_equals_lowest_ids_first(self) -> None:
        assert kept(top_k(row(1, 2, 2, 2, 0), k=2)) == [1, 2]
        assert kept(top_k(torch.zeros(1, 3000), k=1000)) == list(range(1000))

    @pytest.mark.parametrize("k", [0, 4, 5, 10**9])
    def test_top_k_off_or_above_the_vocabulary_keeps_all(self, k: int) -> None:
        assert kept(top_k(row(1, 2, 3, 4), k=k)) == [0, 1, 2, 3]
        assert kept(apply_stages(row(1, 2, 3, 4), SamplerConfig(top_k=k))) == [0, 1, 2, 3]

    @pytest.mark.parametrize(
        ("probs", "p", "tokens"),
        [
            ((0.6, 0.25, 0.1, 0.05), 0.8, [0, 1]),  # the one that crosses is in
            ((0.9, 0.06, 0.04), 0.8, [0]),  # one token above p is enough
            ((0.6, 0.25, 0.1, 0.05), 0.85, [0, 1]),  # an exact sum reaches
            ((0.25, 0.25, 0.25, 0.25), 0.3, [0, 1]),
        ],
    )
    def test_nucleus(self, probs: tuple[float, ...], p: float, tokens: list[int]) -> None:
        logits = torch.tensor([probs]).log()
        assert kept(top_p(logits, p=p)) == tokens
        assert kept(apply_stages(logits, SamplerConfig(top_p=p))) == tokens

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("p", [0.0, 1e-8, 1e-4, 1e-3])
    def test_tiny_top_p_keeps_the_best_in_every_precision(
        self, dtype: torch.dtype, p: float
    ) -> None:
        logits = torch.zeros(1, 5000, dtype=dtype)
        logits[0, 4321] = 5.0
        assert kept(top_p(logits, p=p)) == [4321]
        config = SamplerConfig(top_p=p)
        assert all(choose(logits, config, (u,)) == [Draw(4321, 1.0)] for u in (0.0, 0.5, 0.999999))

    def test_top_p_of_one_is_off(self) -> None:
        assert len(kept(top_p(torch.linspace(-80, 0, 500)[None], p=1.0))) == 500

    def test_min_p_keeps_what_reaches_its_share_of_the_best(self) -> None:
        logits = torch.tensor([[0.5, 0.25, 0.24, 0.01]]).log()
        assert kept(min_p(logits, value=0.5)) == [0, 1]
        assert kept(min_p(logits, value=1.0)) == [0]
        assert kept(min_p(row(2, 2, 1), value=1.0)) == [0, 1]

    def test_each_truncation_sees_what_the_one_before_left(self) -> None:
        logits = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log()
        assert kept(apply_stages(logits, SamplerConfig(top_k=2, top_p=0.5))) == [0]

    def test_in_the_middle_of_an_order(self) -> None:
        order = ("top_p", "temperature", *(s for s in STAGES if s not in ("top_p", "temperature")))
        logits = torch.tensor([[0.5, 0.25, 0.15, 0.1]]).log()
        swapped = SamplerConfig(temperature=2.0, top_p=0.7, order=order)
        assert kept(apply_stages(logits, swapped)) == [0, 1]
        assert kept(apply_stages(logits, SamplerConfig(temperature=2.0, top_p=0.7))) == [0, 1, 2]
        assert {choose(logits, swapped, (i / 100,))[0].token for i in range(100)} == {0, 1}


class TestPenalties:
    def test_repetition_divides_positive_and_multiplies_negative_once(self) -> None:
        out = repetition(row(3, -3, 0, 3), penalty=1.5, history=history(4, 0, 0, 1, 2))
        assert out.tolist() == [[2.0, -4.5, 0.0, 3.0]]

    def test_below_one_rewards(self) -> None:
        out = repetition(row(3, -3), penalty=0.5, history=history(2, 0, 1))
        assert out.tolist() == [[6.0, -1.5]]

    def test_presence_once_frequency_by_count(self) -> None:
        out = presence_frequency(
            row(2, 2, 2), presence=1.0, frequency=0.5, history=history(3, 0, 0, 0, 1)
        )
        assert out.tolist() == [[-0.5, 0.5, 2.0]]

    def test_the_prompt_counts_for_repetition_only(self) -> None:
        seen = torch.tensor([[True, False]])
        prompt = History(torch.zeros(1, 2), seen, torch.zeros(2, dtype=torch.bool))
        config = SamplerConfig(repetition=2.0, presence=1.0, frequency=1.0)
        assert apply_stages(row(4, 4), config, history=prompt).tolist() == [[2.0, 4.0]]

    def test_exempt_tokens_are_not_touched(self) -> None:
        config = SamplerConfig(repetition=2.0, presence=1.0, frequency=1.0)
        before = row(3, -3, 1)
        after = apply_stages(before, config, history=history(3, 0, 1, 1, exempt=(0, 1)))
        assert torch.equal(after, before)

    def test_nothing_brings_a_removed_token_back(self) -> None:
        banned = row(-INF, 1.0, 0.0)
        seen = history(3, 0, 0, 1)
        config = SamplerConfig(
            temperature=2.0, repetition=0.5, presence=-2.0, frequency=-2.0, top_k=2, top_p=0.99
        )
        for penalty in (0.5, 1.0, 2.0):
            assert repetition(banned, penalty=penalty, history=seen)[0, 0] == -INF
        assert presence_frequency(banned, presence=-2, frequency=0, history=seen)[0, 0] == -INF
        assert temperature(banned, value=100.0)[0, 0] == -INF
        assert kept(apply_stages(banned, config, history=seen)) == [1, 2]

    @pytest.mark.parametrize(("value", "scale"), [(0.5, 2.0), (1.0, 1.0), (2.0, 0.5)])
    def test_before_temperature_a_penalty_acts_divided_by_it(
        self, value: float, scale: float
    ) -> None:
        late = (*(s for s in STAGES if s != "presence_frequency"), "presence_frequency")
        logits = torch.randn(1, 50, generator=torch.Generator().manual_seed(2))
        past = history(50, 3, 4, 4)
        first = SamplerConfig(temperature=value, presence=0.5)
        last = SamplerConfig(temperature=value, presence=0.5 * scale, order=late)
        torch.testing.assert_close(
            apply_stages(logits, first, history=past), apply_stages(logits, last, history=past)
        )

    def test_without_a_history_there_are_none(self) -> None:
        config = SamplerConfig(repetition=2.0, presence=1.0)
        assert apply_stages(row(4, 4), config).tolist() == [[4.0, 4.0]]


class TestMask:
    def test_rows_may_share_one_or_have_their_own(self) -> None:
        logits = torch.zeros(2, 3)
        one = torch.tensor([True, False, True])
        assert [kept(r) for r in mask(logits, allowed=one)] == [[0, 2], [0, 2]]
        own = torch.tensor([[True, False, True], [False, True, False]])
        assert [kept(r) for r in mask(logits, allowed=own)] == [[0, 2], [1]]

    def test_it_comes_before_truncation(self) -> None:
        allowed = torch.tensor([False, True, True])
        drawn = choose(row(9, 1, 0), SamplerConfig(top_k=1), (0.5,), allowed=allowed)
        assert drawn == [Draw(1, 1.0)]

    @pytest.mark.parametrize("value", [0.0, 1.0])
    def test_nothing_left_is_an_error_never_a_draw(self, value: float) -> None:
        nothing = torch.zeros(3, dtype=torch.bool)
        config = SamplerConfig(temperature=value, top_k=2, top_p=0.5, min_p=0.1)
        with pytest.raises(NoLegalToken, match="no token is left"):
            choose(row(1, 2, 3), config, (0.5,), allowed=nothing)
        assert apply_stages(row(1, 2, 3), config, allowed=nothing).tolist() == [[-INF] * 3]
        assert issubclass(NoLegalToken, ConstraintError)

    def test_truncation_before_the_mask_can_leave_nothing(self) -> None:
        order = ("top_k", *(s for s in STAGES if s != "top_k"))
        allowed = torch.tensor([False, True])
        with pytest.raises(NoLegalToken):
            choose(row(9, 1), SamplerConfig(top_k=1, order=order), (0.5,), allowed=allowed)

    def test_one_bad_row_spoils_a_batch(self) -> None:
        allowed = torch.tensor([[True, True], [False, False]])
        with pytest.raises(NoLegalToken):
            choose(torch.zeros(2, 2), SamplerConfig(), (0.5, 0.5), allowed=allowed)


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
            for row, height, drawn in zip(logits, heights, together, strict=True):
                assert [drawn] == choose(row[None], config, (height,), allowed=allowed)

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


class TestSettings:
    @pytest.mark.parametrize(
        "field", ["temperature", "top_p", "min_p", "presence", "frequency", "repetition"]
    )
    @pytest.mark.parametrize("value", [math.nan, INF, -INF, -3.0, 1e999, "0.8", "", None, True])
    def test_what_is_no_number_in_range_is_refused_by_name(self, field: str, value: object) -> None:
        with pytest.raises(SettingError, match=f"^{field} is "):
            SamplerConfig(**{field: value})  # type: ignore[arg-type]

    @pytest.mark.parametrize("value", [-1, 2.5, "abc", None, True, math.nan])
    def test_top_k_takes_whole_numbers_from_0(self, value: object) -> None:
        with pytest.raises(SettingError, match=r"^top_k is "):
            SamplerConfig(top_k=value)  # type: ignore[arg-type]

    def test_the_order_names_every_stage_once(self) -> None:
        with pytest.raises(SettingError, match=r"^order is "):
            SamplerConfig(order=STAGES[:-1])
