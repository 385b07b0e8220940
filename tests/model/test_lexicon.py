"""Character rules hold over pieces of any length, and cost nothing to ask."""

from __future__ import annotations

import random
import time

import pytest
import torch

from corpora.forms import FORMS, LINE_ENDS, VerseForm
from model.constraints import Acrostic, Constraint, FixedForm, FormMatcher
from model.tokenizers import CharTokenizer
from tests.model.walks import (
    CASES,
    CHARACTERS,
    HAN,
    PIECEWISE,
    allowed,
    initials,
    walk,
)

torch.set_num_threads(1)


@pytest.mark.parametrize(("constraint", "verse", "heads"), [CASES[1], CASES[4]])
def test_a_thousand_walks_over_pieces_stay_exact(
    constraint: Constraint, verse: VerseForm, heads: str
) -> None:
    rng = random.Random(7)
    matcher = constraint.compile(PIECEWISE)
    used: set[int] = set()
    for _ in range(1000):
        tokens = walk(matcher, rng)
        used.update(tokens)
        text = PIECEWISE.decode(tokens)
        assert verse.holds(text)
        assert initials(text, verse).startswith(heads)
        matcher.rollback(len(tokens))
    across = {"，春"} if not heads else set()  # the second line has a head of its own
    assert {"春风", "风，", "少。"} | across <= {PIECEWISE.piece_bytes(t).decode() for t in used}
    assert not used & {0, 1, 2}


def names_at(constraint: Constraint, opening: str) -> set[str]:
    matcher = constraint.compile(PIECEWISE)
    for token in (PIECEWISE.encode(c)[0] for c in opening):
        matcher.accept(token)
    return {PIECEWISE.piece_bytes(t).decode() for t in allowed(matcher)} - set(HAN)


def test_a_piece_fits_only_where_all_its_characters_do() -> None:
    free, headed = FixedForm(FORMS["五绝"]), FixedForm(FORMS["五绝"], "春夜")
    assert names_at(free, "") == {"春风", "花落知多少"}
    assert names_at(headed, "") == {"春风"}
    assert names_at(free, "春眠不") == {"春风", "风雨声，花落"} - {"春风", "风雨声，花落"} | {
        "春风"
    }
    assert names_at(free, "春眠") == {"春风", "风雨声，花落"}
    assert names_at(headed, "春眠") == {"春风"}  # the second line begins with 夜, not with 花
    assert names_at(free, "春眠不觉") == {"风，", "少。", "春，眠"}
    assert names_at(headed, "春眠不觉") == {"风，", "少。"}
    assert names_at(free, "春眠不觉晓") == {"，", "。", "，春", "。夜"}
    assert names_at(headed, "春眠不觉晓") == {"，", "。", "。夜"}


def test_no_piece_runs_past_the_end() -> None:
    last = "春眠不觉晓，" * 3
    assert names_at(FixedForm(FORMS["五绝"]), last + "春眠不觉") == {"少。"}
    assert names_at(FixedForm(FORMS["五绝"]), last + "春眠不觉晓") == {"。"}


def test_masks_are_shared_by_all_runs_of_a_tokenizer() -> None:
    twin = CharTokenizer(CHARACTERS.characters)
    one, two = FixedForm(FORMS["七律"]).compile(CHARACTERS), Acrostic("春").compile(twin)
    two.accept(twin.encode("春")[0])
    assert one.mask() is two.mask()
    assert one.structural is two.structural


def test_tokenizers_of_other_hashes_share_nothing() -> None:
    other = CharTokenizer(CHARACTERS.characters[::-1])
    first = allowed(Acrostic("春").compile(CHARACTERS))
    assert [other.decode([t]) for t in allowed(Acrostic("春").compile(other))] == ["春"]
    assert [CHARACTERS.decode([t]) for t in first] == ["春"]


def test_asking_and_compiling_cost_next_to_nothing() -> None:
    tokenizer = CharTokenizer([*(chr(0x4E00 + i) for i in range(8000)), *LINE_ENDS])
    constraint = FixedForm(FORMS["七律"], "一丁七万丈三上下")
    matcher = constraint.compile(tokenizer)
    assert isinstance(matcher, FormMatcher)
    asks, compiles = [], []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(1000):
            matcher.mask()
        asks.append((time.perf_counter() - start) / 1000)
        start = time.perf_counter()
        constraint.compile(tokenizer)
        compiles.append(time.perf_counter() - start)
    assert min(asks) < 5e-6
    assert min(compiles) < 5e-3
