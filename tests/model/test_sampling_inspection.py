"""What a step reports about itself, number by number."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from model.config import SamplerConfig, Stage
from model.sampling import History, NoLegalToken, choose, inspect
from model.steps import Candidate, Inspection

PROBS = (0.4, 0.2, 0.15, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01)
LOGITS = torch.tensor(PROBS, dtype=torch.float64).log().float()
NAMES = "春風花月夜雨山水人"


def look(
    config: SamplerConfig,
    u: float = 0.0,
    *,
    logits: Tensor = LOGITS,
    allowed: Tensor | None = None,
    history: History | None = None,
) -> tuple[Inspection, dict[int, Candidate], int]:
    """The inspection, its rows by token, and the token that was chosen."""
    ask = {"allowed": allowed, "history": history}
    (drawn,) = choose(logits[None], config, (u,), **ask)
    seen = inspect(logits, config, u, drawn.token, name=lambda i: NAMES[i], **ask)
    return seen, {c.token: c for c in seen.candidates}, drawn.token


def banned(*tokens: int) -> Tensor:
    allowed = torch.ones(9, dtype=torch.bool)
    allowed[list(tokens)] = False
    return allowed


def past(*tokens: int) -> History:
    counts = torch.bincount(torch.tensor(tokens), minlength=9)
    return History(counts.float(), counts > 0, torch.zeros(9, dtype=torch.bool))


def cuts(rows: dict[int, Candidate]) -> dict[int, Stage]:
    return {token: row.cut_by for token, row in rows.items() if row.cut_by is not None}


def test_eight_likeliest_in_order_with_their_names() -> None:
    seen, rows, _ = look(SamplerConfig())
    assert [c.token for c in seen.candidates] == list(range(8))
    assert [c.piece for c in seen.candidates] == list(NAMES[:8])
    assert [c.raw for c in seen.candidates] == pytest.approx(PROBS[:8])
    assert rows[0].raw == pytest.approx(rows[0].masked) == pytest.approx(rows[0].final)


def test_ties_are_listed_by_id() -> None:
    seen, _, _ = look(SamplerConfig(), logits=torch.zeros(9))
    assert [c.token for c in seen.candidates] == list(range(8))


def test_the_chosen_token_is_a_ninth_row_where_it_is_not_among_them() -> None:
    seen, rows, chosen = look(SamplerConfig(), 0.995)
    assert chosen == 8
    assert [c.token for c in seen.candidates] == list(range(9))
    assert rows[8].final == pytest.approx(0.01)


def test_with_fewer_tokens_than_eight_there_are_fewer_rows() -> None:
    seen, _, _ = look(SamplerConfig(), logits=torch.tensor([2.0, 1.0, 0.0]))
    assert [c.token for c in seen.candidates] == [0, 1, 2]


def test_below_and_final_bracket_u() -> None:
    seen, rows, chosen = look(SamplerConfig(top_k=3), 0.7)  # .4 .2 .15 of .75
    assert chosen == 1
    assert seen.below == pytest.approx(0.4 / 0.75)
    assert rows[1].final == pytest.approx(0.2 / 0.75)
    assert seen.below <= 0.7 < seen.below + rows[1].final


def test_entropies_are_in_bits() -> None:
    seen, _, _ = look(SamplerConfig(top_k=2), logits=torch.zeros(8))
    assert seen.entropy == pytest.approx(3.0)
    assert seen.final_entropy == pytest.approx(1.0)


def test_nucleus_is_what_was_kept_and_names_who_cut() -> None:
    config = SamplerConfig(top_k=6, top_p=0.9, min_p=0.3)
    seen, rows, _ = look(config, allowed=banned(1, 7))
    # .4 .15 .1 .05 .04 .03 of .77: top-p keeps .4 .15 .1 .05, min-p those from .12
    assert seen.nucleus == 2
    assert cuts(rows) == {1: "mask", 3: "min_p", 4: "min_p", 5: "top_p", 6: "top_p", 7: "mask"}
    assert [rows[token].final for token in (1, 3, 4, 5, 6, 7)] == [0.0] * 6
    assert rows[0].final == pytest.approx(0.4 / 0.55)


def test_top_k_is_named() -> None:
    _, rows, _ = look(SamplerConfig(top_k=2))
    assert cuts(rows) == dict.fromkeys(range(2, 8), "top_k")


def test_in_another_order_the_first_stage_that_cut_is_named() -> None:
    order: tuple[Stage, ...] = (
        *("top_k", "min_p", "temperature", "mask"),
        *("repetition", "presence_frequency", "top_p"),
    )
    config = SamplerConfig(temperature=2.0, top_k=6, min_p=0.2, top_p=0.8, order=order)
    seen, rows, _ = look(config, allowed=banned(2, 7))
    # top-k leaves six, min-p .4 .2 .15 .1; their roots less the masked: .45 .32 .23
    assert cuts(rows) == {2: "mask", 4: "min_p", 5: "min_p", 6: "top_k", 7: "top_k"}
    assert seen.nucleus == 3


def test_masked_is_after_mask_and_penalties_at_temperature_one() -> None:
    config = SamplerConfig(temperature=0.5, presence=math.log(2), top_k=1)
    _, rows, _ = look(config, allowed=banned(1), history=past(0))
    assert rows[1].masked == 0.0
    assert rows[0].masked == pytest.approx(0.2 / 0.6)  # .4 is halved, .2 is gone
    assert rows[2].masked == pytest.approx(0.15 / 0.6)
    assert rows[2].raw == pytest.approx(0.15)


def test_forbidden_is_the_raw_mass_behind_the_mask() -> None:
    seen, _, _ = look(SamplerConfig(), allowed=banned(0, 2))
    assert seen.forbidden == pytest.approx(0.55)
    assert look(SamplerConfig())[0].forbidden == 0.0


def test_greedy_puts_all_on_one_token() -> None:
    seen, rows, chosen = look(SamplerConfig(temperature=0, top_k=3), 0.9, allowed=banned(0))
    assert chosen == 1
    assert rows[1].final == 1.0
    assert (seen.nucleus, seen.final_entropy, seen.below) == (1, 0.0, 0.0)
    assert cuts(rows) == {0: "mask"} | dict.fromkeys(range(2, 8), "temperature")


class TestAltered:
    def test_by_a_penalty_that_moves_the_best_token(self) -> None:
        config = SamplerConfig(temperature=0, presence=2.0)
        assert look(config, history=past(0))[0].altered
        assert not look(config, history=past(5))[0].altered

    def test_under_sampling_by_what_the_same_u_would_have_drawn(self) -> None:
        config = SamplerConfig(presence=1.0)
        assert look(config, 0.39, history=past(0))[0].altered
        assert not look(config, 0.01, history=past(5))[0].altered

    def test_never_without_penalties_or_history(self) -> None:
        assert not look(SamplerConfig(), history=past(0))[0].altered
        assert not look(SamplerConfig(presence=2.0))[0].altered


def test_a_penalty_never_counts_as_a_cut() -> None:
    logits = torch.full((9,), 1.0)
    logits[2] = -3e38  # twice this is -inf in float32
    _, rows, _ = look(SamplerConfig(repetition=2.0), logits=logits, history=past(2))
    assert cuts(rows) == {}


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(NoLegalToken):
        inspect(LOGITS, SamplerConfig(), 0.5, 0, name=str, allowed=banned(*range(9)))


def test_raw_logits_stay_as_they_were() -> None:
    before = LOGITS.clone()
    look(
        SamplerConfig(0.7, 5, 0.9, 0.01, 0.5, 0.5, 1.3), 0.5, allowed=banned(0), history=past(1, 2)
    )
    assert torch.equal(before, LOGITS)
