"""The gauge of the context."""

from __future__ import annotations

import pytest

from tui.chat.gauge import bar, gauge


@pytest.mark.parametrize(
    ("used", "capacity", "full"),
    [
        (0, 8192, 0),
        (1, 8192, 1),
        (1024, 8192, 1),
        (1025, 8192, 2),
        (8192, 8192, 8),
        (9000, 8192, 8),
    ],
)
def test_something_for_anything_and_never_more_than_all(used, capacity, full):
    assert bar(used, capacity) == "█" * full + "░" * (8 - full)


def test_the_words_and_nothing_where_no_model_is_there():
    assert gauge(2000, 8192) == "██░░░░░░ 2,000 of 8,192 tokens"
    assert gauge(0, 0) == ""
