"""Many rows drawn at once are drawn as each would be by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.drawing import draw_together
from model.ranking import LogitsError, NoLegalToken, Ranking, Truncation
from model.sampling import uniform

TOP_P = st.sampled_from([0.0, 0.05, 0.6, 0.95, 0.999])
CUTS = st.one_of(st.just([]), TOP_P.map(lambda p: [("top_p", p)]))
HEIGHTS = st.one_of(
    st.floats(0, 1, exclude_max=True), st.sampled_from([0.0, 0.5, math.nextafter(1.0, 0.0)])
)


def rows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits and their softmax, float32."""
    logits = torch.from_numpy(values.astype(np.float32))
    return logits.numpy(), torch.softmax(logits, -1).numpy()


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    u=st.lists(HEIGHTS, min_size=2, max_size=6),
    scale=st.sampled_from([0.0, 0.5, 3.0, 40.0]),
    tied=st.booleans(),
    banned=st.sampled_from([0.0, 0.5, 0.999]),
    cuts=CUTS,
)
def test_what_is_drawn_together_is_what_each_row_draws(
    seed: int, u: list[float], scale: float, tied: bool, banned: float, cuts: list[Truncation]
) -> None:
    random = np.random.default_rng(seed)
    values = random.standard_normal((len(u), 2000)) * scale
    values = values.round(1) if tied else values
    values[:, 1:][random.random((len(u), 1999)) < banned] = -np.inf
    logits, probs = rows(values)
    for row, p, at, drawn in zip(
        logits, probs, u, draw_together(logits, probs, u, cuts), strict=True
    ):
        if drawn is not None:
            alone = Ranking(row, p).draw(at, cuts)
            assert drawn.token == alone.token
            assert drawn.probability == pytest.approx(alone.probability, rel=1e-12)


@pytest.mark.parametrize("cuts", [[], [("top_p", 0.95)]])
def test_nearly_every_row_is_drawn_at_once(cuts: list[Truncation]) -> None:
    """Else it would be no faster."""
    values = np.random.default_rng(1).standard_normal((320, 5000)) * 3
    u = [uniform(3, at) for at in range(320)]
    drawn = draw_together(*rows(values), u, cuts)
    assert sum(draw is None for draw in drawn) < 16


def test_an_edge_is_left_to_the_row_itself() -> None:
    logits, probs = rows(np.log([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]))
    on, beside = draw_together(logits, probs, [0.5, 0.5 + 1e-6], [])
    assert on is None
    assert beside is not None and beside.token == 0


@pytest.mark.parametrize(
    "cuts", [[("top_k", 3)], [("min_p", 0.1)], [("top_p", 0.9), ("min_p", 0.1)]]
)
def test_other_truncations_are_left_to_the_rows(cuts: list[Truncation]) -> None:
    assert draw_together(*rows(np.zeros((2, 9))), [0.1, 0.2], cuts) == [None, None]


@pytest.mark.parametrize(
    ("worst", "error"), [(-np.inf, NoLegalToken), (np.nan, LogitsError), (np.inf, LogitsError)]
)
def test_a_row_without_scores_is_an_error(worst: float, error: type[Exception]) -> None:
    logits, probs = rows(np.array([[1.0, 2.0], [worst, worst]]))
    with pytest.raises(error):
        draw_together(logits, probs, [0.1, 0.2], [])
