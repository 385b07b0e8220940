"""The rules of the sampler, each on its own."""

from __future__ import annotations

import math

import pytest
import torch

from model.config import STAGES, SamplerConfig
from model.errors import ConstraintError, SettingError
from model.sampling import (
    Draw,
    History,
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
    would_choose,
)
from tests.model.rows import INF, history, kept, row


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
