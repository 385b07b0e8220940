"""Character rules hold over pieces of any length, and cost nothing to ask."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
import torch

from corpora.forms import FORMS, LINE_ENDS, VerseForm
from model.constraints import Acrostic, Constraint, FixedForm, FormMatcher
from model.errors import ConstraintError
from model.sentencepieces import SentencePieceTokenizer
from model.tokenizers import CharTokenizer, Tokenizer
from tests.helpers import VERSE, ByteTokenizer
from tests.model.walks import (
    CASES,
    CHARACTERS,
    HAN,
    PIECEWISE,
    SENTENCEPIECES,
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


@pytest.mark.parametrize(("constraint", "verse", "heads"), [CASES[1], CASES[4], CASES[9]])
def test_a_thousand_walks_over_sentencepieces_stay_exact(
    constraint: Constraint, verse: VerseForm, heads: str
) -> None:
    rng = random.Random(8)
    matcher = constraint.compile(SENTENCEPIECES)
    used: set[int] = set()
    for _ in range(1000):
        tokens = walk(matcher, rng)
        used.update(tokens)
        text = SENTENCEPIECES.decode(tokens)
        assert verse.holds(text), text
        assert initials(text, verse).startswith(heads)
        matcher.rollback(len(tokens))
    names = {SENTENCEPIECES.name(t) for t in used}
    assert {"白日", "花落处", "<0xE9>"} <= names
    assert not used & SENTENCEPIECES.special_ids


def test_a_head_without_a_piece_is_spelled_in_its_bytes() -> None:
    matcher = Acrostic("𨣧𨣧", 5).compile(SENTENCEPIECES)
    for text in ("𨣧春眠不觉，", "𨣧白日黄河。"):
        for place, token in enumerate(SENTENCEPIECES.encode(text)):
            assert matcher.forced == (place < 4 or SENTENCEPIECES.name(token) in "，。")
            matcher.accept(token)
    assert matcher.finished


def test_an_opening_may_hold_characters_that_are_spelled() -> None:
    form = FixedForm(FORMS["五绝"], "鬱")
    form.check("鬱春眠")
    matcher = form.compile(SENTENCEPIECES)
    for token in SENTENCEPIECES.encode("鬱春眠"):
        matcher.accept(token)
    text = "鬱春眠" + SENTENCEPIECES.decode(walk(matcher, random.Random(1)))
    assert FORMS["五绝"].holds(text)


def test_characters_that_are_pieces_are_never_spelled_and_no_byte_leads_astray() -> None:
    matcher = FixedForm(FORMS["五绝"]).compile(SENTENCEPIECES)
    spelled = [SENTENCEPIECES.encode("鬱")[0] - 0xE9 + byte for byte in range(256)]
    assert "鬱".encode()[0] == 0xE9
    first = {byte for byte in range(256) if spelled[byte] in allowed(matcher)}
    assert first == {0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEF, 0xF0}
    for byte in "春".encode()[:2]:
        matcher.accept(spelled[byte])
    thirds = {byte for byte in range(256) if spelled[byte] in allowed(matcher)}
    # 昀 … 是: all of this row but the characters that are pieces (春 and 明 stand elsewhere)
    row = {c.encode()[2] for c in map(chr, range(0x6600, 0x6640)) if c not in "".join(VERSE)}
    assert thirds == row
    assert "春".encode()[2] not in thirds
    with pytest.raises(ConstraintError, match="character 1 of line 1 of 五绝 takes a Han"):
        matcher.accept(spelled["春".encode()[2]])


def test_going_back_stops_between_bytes_too() -> None:
    matcher = Acrostic("鬱", 5).compile(SENTENCEPIECES)
    one, two, three = SENTENCEPIECES.encode("鬱")
    matcher.accept(one)
    matcher.accept(two)
    assert allowed(matcher) == [three]
    matcher.rollback(1)
    assert allowed(matcher) == [two]
    matcher.rollback(1)
    assert allowed(matcher) == [one]


def test_a_vocabulary_of_bytes_alone_writes_verse() -> None:
    tokenizer = ByteTokenizer()
    rng = random.Random(2)
    for constraint, verse, heads in CASES:
        text = tokenizer.decode(walk(constraint.compile(tokenizer), rng))
        assert verse.holds(text)
        assert initials(text, verse).startswith(heads)


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


@pytest.mark.parametrize("kind", ["char", "bpe"])
def test_asking_and_compiling_cost_next_to_nothing(kind: str) -> None:
    characters = [chr(0x4E00 + i) for i in range(8000)]
    tokenizer: Tokenizer = CharTokenizer([*characters, *LINE_ENDS])
    if kind == "bpe":
        pairs = ["".join(pair) for pair in pairwise(characters)]
        text = ["".join(characters) + LINE_ENDS, *(pair + "，" for pair in pairs[::20] * 5)]
        tokenizer = SentencePieceTokenizer.train(text, 8400)
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
