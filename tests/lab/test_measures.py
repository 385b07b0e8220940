"""What is counted in texts, on texts small enough to count by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.lab.measures import (
    character_ranks,
    distinct_share,
    full_lines,
    is_regular,
    lines_of,
    rare_characters,
    rare_share,
    repeated_share,
)
from model.tokenizers import CharTokenizer
from tests.helpers import ByteTokenizer

JUEJU = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。"


def test_a_loop_of_one_token_repeats_everything_at_the_limit():
    assert repeated_share("风" * 4) == 0  # one window, seen for the first time
    assert repeated_share("风" * 5) == 1 / 2
    assert repeated_share("风" * 104) == 100 / 101
    assert repeated_share("风" * 100_004) == pytest.approx(1, abs=1e-4)


def test_a_loop_of_a_sentence_repeats_all_but_its_first_round():
    """Seven windows are new, whatever comes after them repeats one."""
    assert repeated_share("花落知多少风。" * 10) == pytest.approx(1 - 7 / 67)


def test_what_never_recurs_repeats_nothing():
    assert repeated_share(range(1000)) == 0
    assert repeated_share([]) == repeated_share([1, 2, 3]) == 0


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 5))
def test_repeats_are_counted_one_by_one(tokens: list[int], n: int) -> None:
    windows = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    again = sum(window in windows[:place] for place, window in enumerate(windows))
    assert repeated_share(tokens, n) == pytest.approx(again / len(windows) if windows else 0)


def test_distinct_counts_over_all_texts_and_not_across_their_edges():
    assert distinct_share(["春风", "春风"], 2) == 1 / 2
    assert distinct_share(["春风", "风春"], 1) == 2 / 4
    assert distinct_share(["春", "风"], 2) == 0  # neither holds a pair
    assert distinct_share(["春风春风", "花"], 2, first=2) == 1


def test_a_regular_poem_is_regular_and_nothing_else_is():
    assert is_regular(JUEJU)
    assert is_regular("空山不见人，但闻人语响。")
    assert is_regular("何事吟余忽惆怅？村桥原树似吾乡。")
    for broken in (
        "",
        JUEJU[:-1],  # not closed
        JUEJU[:-1] + "，",
        "白日依山尽，黄河入海流。欲穷千里目。",  # three lines
        "白日依山尽，黄河入海流水。",  # five and six
        "白日依山尽，黄河远上白云间。",  # five and seven
        "白日，黄河。",
        "白日a山尽，黄河入海流。",
        "白日依山尽，，黄河入海流。",
    ):
        assert not is_regular(broken), broken


def test_lines_of_the_right_length():
    text = "白日依山尽，黄河入海流水。何事吟余忽惆怅，村"
    assert [len(line) for line in lines_of(text)] == [5, 6, 7, 1]
    assert full_lines(text) == 2 / 4
    assert full_lines("，。") == full_lines("") == 0


def test_the_rank_of_a_character_is_its_place_by_frequency():
    """The commonest first: training counted them. Marks have no rank."""
    ranks = character_ranks(CharTokenizer.train(["不人不人不，山山山山。", "岘不岘山"]))
    assert ranks == {"山": 1, "不": 2, "人": 3, "岘": 4}
    assert rare_characters("不岘，人噭。", ranks, beyond=3) == ["岘", "噭"]
    assert rare_share(["不岘，", "人噭。"], ranks, beyond=3) == 2 / 4
    assert rare_share(["，。"], ranks) == 0


def test_in_pieces_of_bytes_only_whole_characters_have_a_rank():
    pieces = ["春".encode(), "春风".encode(), "的".encode(), "风".encode()[:2], "春".encode()]
    assert character_ranks(ByteTokenizer(pieces)) == {"春": 1, "的": 2}  # type: ignore[arg-type]
