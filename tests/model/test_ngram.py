"""The Kneser-Ney yardstick: a distribution, and right on cases small enough to count."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.ngram import KneserNey

texts = st.lists(st.lists(st.integers(2, 6), min_size=1, max_size=8), min_size=1, max_size=8)


@given(texts, st.lists(st.integers(2, 6), min_size=4, max_size=4), st.integers(2, 5))
def test_probabilities_sum_to_one(rows, context, n):
    model = KneserNey([[1, *row, 1] for row in rows], 7, n)
    assert sum(model.probability(context, token) for token in range(7)) == pytest.approx(1)


def test_a_bigram_counted_by_hand():
    # bigrams: 1-2 twice, 2-3 twice, 3-1 twice, no singletons: discounts of 0.5
    model = KneserNey([[1, 2, 3, 1], [1, 2, 3, 1]], 5, 2)
    # unigrams by what stands before them: 2, 3 and 1 each after one token, all once: n1 = 3,
    # n2 = 0, discount 1; what is held back is spread evenly
    assert model.probability([2], 3) == pytest.approx(1.5 / 2 + 0.5 / 2 * 0.2)
    assert model.probability([2], 4) == pytest.approx(0.5 / 2 * 0.2)


def test_loss_leaves_unknown_tokens_out_and_falls_on_what_was_seen():
    seen = [[1, 2, 3, 4, 5, 1]] * 5
    model = KneserNey(seen, 7, 3)
    assert model.loss([[1, 2, 0, 0, 1]], 0) == pytest.approx(
        -(math.log(model.probability([1, 1], 2)) + math.log(model.probability([0, 0], 1))) / 2
    )
    assert model.loss(seen, 0) < model.loss([[1, 5, 4, 3, 2, 1]], 0)
