"""Whatever is drawn under a constraint, the text comes out exact.

The tests of the first half run for each constraint and each kind of tokenizer.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.forms import FORMS, STOP, VerseForm, shape_of
from model.constraints import Acrostic, Constraint, FixedForm, Matcher
from model.errors import ConstraintError, SettingError, UnknownCharacters
from model.tokenizers import CharTokenizer, Tokenizer
from tests.model.walks import (
    CHARACTERS,
    HAN,
    PIECES,
    PIECEWISE,
    TOKENIZERS,
    PieceTokenizer,
    allowed,
    everywhere,
    initials,
    walk,
)

torch.set_num_threads(1)


def state(matcher: Matcher) -> tuple[list[int], bool, bool]:
    return allowed(matcher), matcher.forced, matcher.finished


# -- every constraint, every kind of tokenizer


@everywhere
def test_random_walks_end_in_exact_poems(
    tokenizer: Tokenizer, constraint: Constraint, verse: VerseForm, heads: str
) -> None:
    rng = random.Random(1)
    for _ in range(20):
        text = tokenizer.decode(walk(constraint.compile(tokenizer), rng))
        assert verse.holds(text), text
        assert initials(text, verse).startswith(heads)
        assert verse.name not in FORMS or shape_of(text) is verse


@everywhere
def test_the_mask_is_one_tensor_and_asking_changes_nothing(
    tokenizer: Tokenizer, constraint: Constraint, verse: VerseForm, heads: str
) -> None:
    matcher = constraint.compile(tokenizer)
    rng = random.Random(2)
    while not matcher.finished:
        mask = matcher.mask()
        assert mask is not None
        assert mask.dtype == torch.bool
        assert mask.shape == (tokenizer.vocab_size,)
        before = mask.clone()
        for _ in range(3):
            assert matcher.mask() is mask
            assert matcher.structural is matcher.structural
            assert (matcher.forced, matcher.finished) == (matcher.forced, False)
        assert torch.equal(mask, before)
        matcher.accept(rng.choice(allowed(matcher)))
    assert allowed(matcher) == []


@everywhere
def test_rollback_undoes_accept(
    tokenizer: Tokenizer, constraint: Constraint, verse: VerseForm, heads: str
) -> None:
    matcher = constraint.compile(tokenizer)
    rng = random.Random(3)
    states = [state(matcher)]
    while not matcher.finished:
        for _ in walk(matcher, rng, steps=1):
            states.append(state(matcher))
        if rng.random() < 0.3:
            back = rng.randint(1, min(3, len(states) - 1))
            matcher.rollback(back)
            del states[len(states) - back :]
            assert state(matcher) == states[-1]
    matcher.rollback(0)
    assert matcher.finished
    matcher.rollback(len(states) - 1)
    assert state(matcher) == states[0] == state(constraint.compile(tokenizer))
    with pytest.raises(ValueError, match="cannot undo 1 tokens; 0 were"):
        matcher.rollback(1)


@everywhere
def test_forced_is_where_exactly_one_token_fits(
    tokenizer: Tokenizer, constraint: Constraint, verse: VerseForm, heads: str
) -> None:
    matcher = constraint.compile(tokenizer)
    rng = random.Random(4)
    while not matcher.finished:
        assert matcher.forced == (len(allowed(matcher)) == 1)
        walk(matcher, rng, steps=1)
    assert not matcher.forced


@everywhere
def test_finished_comes_exactly_with_the_last_character(
    tokenizer: Tokenizer, constraint: Constraint, verse: VerseForm, heads: str
) -> None:
    matcher = constraint.compile(tokenizer)
    tokens = walk(matcher, random.Random(5))
    again = constraint.compile(tokenizer)
    for i, token in enumerate(tokens):
        assert not again.finished
        again.accept(token)
        assert again.finished == verse.holds(tokenizer.decode(tokens[: i + 1]))
    with pytest.raises(ConstraintError, match="is full"):
        again.accept(tokens[-1])


@everywhere
def test_structural_is_the_punctuation_and_nothing_else(
    tokenizer: Tokenizer, constraint: Constraint, verse: VerseForm, heads: str
) -> None:
    structural = constraint.compile(tokenizer).structural
    assert structural.shape == (tokenizer.vocab_size,)
    names = {tokenizer.piece_bytes(int(t)).decode() for t in structural.nonzero()}
    assert names == ({"，", "。", "，。"} if tokenizer is PIECEWISE else {"，", "。"})


@everywhere
def test_what_the_mask_forbids_is_refused_and_changes_nothing(
    tokenizer: Tokenizer, constraint: Constraint, verse: VerseForm, heads: str
) -> None:
    matcher = constraint.compile(tokenizer)
    fine = set(allowed(matcher))
    for token in (-1, tokenizer.vocab_size, *set(range(tokenizer.vocab_size)) - fine):
        with pytest.raises(ConstraintError, match="line 1"):
            matcher.accept(token)
    assert set(allowed(matcher)) == fine
    with pytest.raises(ValueError, match="cannot undo"):
        matcher.rollback(1)


# -- acrostics


@pytest.mark.parametrize("characters", [5, 7])
@pytest.mark.parametrize("count", range(1, 21))
def test_any_number_of_heads_with_ends_in_turn(count: int, characters: int) -> None:
    heads = (HAN + HAN)[:count]
    text = CHARACTERS.decode(
        walk(Acrostic(heads, characters).compile(CHARACTERS), random.Random(count))
    )
    assert initials(text, VerseForm("", count, characters)) == heads
    ends = text[characters :: characters + 1]
    assert ends[:-1] == ("，。" * count)[: count - 1]
    assert ends[-1] == STOP


def test_an_acrostic_leaves_only_the_heads_and_ends_forced() -> None:
    matcher = Acrostic("春春", 5).compile(CHARACTERS)
    forced = []
    for char in "春眠不觉晓，春眠不觉晓。":
        forced.append(matcher.forced)
        matcher.accept(CHARACTERS.encode(char)[0])
    assert forced == [True, False, False, False, False, True] * 2


@pytest.mark.parametrize("characters", [0, 4, 6, -7, 5.0, "7", True, None])
def test_an_acrostic_takes_lines_of_5_or_7(characters: Any) -> None:
    with pytest.raises(SettingError, match="it takes 5 or 7"):
        Acrostic("春", characters)


def test_an_acrostic_without_heads_is_refused() -> None:
    with pytest.raises(ConstraintError, match="no heads"):
        Acrostic("")


@pytest.mark.parametrize(
    ("heads", "named"),
    [
        ("春，眠", "，"),
        ("春 眠", r"U\+0020"),
        ("春\u3000", r"U\+3000"),
        ("春\r\n", r"U\+000D U\+000A"),
        ("ab", "a b"),
        ("[/", r"\[ /"),
        ("😀春", "😀"),
        ("□", "□"),
        ("\ud83d", r"U\+D83D"),
    ],
)
def test_heads_that_are_no_han_characters_are_refused_by_name(heads: str, named: str) -> None:
    for build in (lambda: Acrostic(heads), lambda: FixedForm(FORMS["七绝"], heads)):
        with pytest.raises(ConstraintError, match=f"these are not: {named}$"):
            build()


def test_more_heads_than_lines_are_refused() -> None:
    with pytest.raises(ConstraintError, match=r"七绝 has 4 lines, but 5 heads were given"):
        FixedForm(FORMS["七绝"], "春眠不觉晓")


@pytest.mark.parametrize("tokenizer", [CHARACTERS, PIECEWISE])
def test_heads_that_the_vocabulary_lacks_are_named_once(tokenizer: Tokenizer) -> None:
    for constraint in (Acrostic("春雲爲雲𨣧"), FixedForm(FORMS["七律"], "春雲爲雲𨣧")):
        constraint.check()
        with pytest.raises(UnknownCharacters) as refused:
            constraint.compile(tokenizer)
        assert refused.value.characters == "雲爲𨣧"


def test_a_head_that_is_only_part_of_longer_pieces_is_unknown() -> None:
    tokenizer = PieceTokenizer(pieces=(*PIECES, "江南"))
    with pytest.raises(UnknownCharacters, match="江"):
        Acrostic("江").compile(tokenizer)


@pytest.mark.parametrize(
    ("characters", "constraint", "named"),
    [
        ("，。", FixedForm(FORMS["五绝"]), "no single Han"),
        ("", FixedForm(FORMS["五绝"]), "no single Han"),
        ("春", FixedForm(FORMS["五绝"]), "the end of line 1 of 五绝 takes ， or 。"),
        ("春，", FixedForm(FORMS["五绝"]), "the end of line 4 of 五绝 takes 。"),
        ("春。", Acrostic("春春"), "the end of line 1 of 七言 · 藏头 春春 takes ，"),
    ],
)
def test_a_vocabulary_without_what_the_form_needs_is_refused(
    characters: str, constraint: Constraint, named: str
) -> None:
    with pytest.raises(ConstraintError, match=named):
        constraint.compile(CharTokenizer(list(characters)))


def test_one_line_end_is_enough_where_there_is_a_choice() -> None:
    matcher = FixedForm(FORMS["五绝"]).compile(CharTokenizer(["春", "。"]))
    assert len(walk(matcher, random.Random(0))) == 24


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet=HAN, min_size=1, max_size=20),
    st.sampled_from([5, 7]),
    st.sampled_from(TOKENIZERS),
    st.randoms(use_true_random=False),
)
def test_any_heads_come_out_exact(
    heads: str, characters: int, tokenizer: Tokenizer, rng: random.Random
) -> None:
    text = tokenizer.decode(walk(Acrostic(heads, characters).compile(tokenizer), rng))
    verse = VerseForm("", len(heads), characters)
    assert verse.holds(text)
    assert initials(text, verse) == heads


def test_a_constraint_describes_itself_on_one_line() -> None:
    assert FixedForm(FORMS["七绝"]).describe() == "七绝"
    assert FixedForm(FORMS["七绝"], "春眠不觉").describe() == "七绝 · 藏头 春眠不觉"
    assert Acrostic("春眠").describe() == "七言 · 藏头 春眠"
    assert Acrostic("春眠", 5).describe() == "五言 · 藏头 春眠"
