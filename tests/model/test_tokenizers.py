"""What holds of every tokenizer, and of the stream of text that its ids make."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import CheckpointError, UnknownCharacters
from model.sentencepieces import SentencePieceTokenizer
from model.tokenizers import CharTokenizer, StreamDecoder, Tokenizer, tokenizer_from_json
from tests.helpers import HAN, MARKS, ByteTokenizer

KNOWN = HAN + MARKS + "[/]𨣧 "
"""Characters that every tokenizer below can write."""
UNKNOWN = "雲x𠀋"
"""Characters that none of them can."""


def bpe(characters: str) -> SentencePieceTokenizer:
    """Every character a piece (but a space, which never is one), none of them merged."""
    text = characters.replace(" ", "")
    return SentencePieceTokenizer.train([text], 5 + 256 + len(set(text)))


FACTORIES: dict[str, Callable[[str], Tokenizer]] = {"char": CharTokenizer, "bpe": bpe}
"""Each implementation, built to know the given characters. Add new kinds here."""

every_tokenizer = pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES)


@every_tokenizer
@given(text=st.text(KNOWN, max_size=60))
def test_decoding_gives_back_what_was_encoded(make: Callable[[str], Tokenizer], text: str) -> None:
    tokenizer = make(KNOWN)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(0 <= i < tokenizer.vocab_size and i not in tokenizer.special_ids for i in ids)
    assert b"".join(map(tokenizer.piece_bytes, ids)).decode() == text


def test_unknown_characters_are_named_once_each_in_order() -> None:
    with pytest.raises(UnknownCharacters) as error:
        CharTokenizer(KNOWN).encode("春x雲春\u3000xx\r𠀋")
    assert error.value.characters == "x雲\u3000\r𠀋"
    for named in ("x", "雲", "U+3000", "U+000D", "𠀋"):
        assert named in str(error.value)
    assert "\r" not in str(error.value), "a message is one line"


@pytest.mark.parametrize(
    ("make", "unknown"), [(CharTokenizer, "x雲"), (bpe, "\ud83d\udc00")], ids=["char", "bpe"]
)
def test_what_to_do_with_unknown_characters_is_the_callers_choice(
    make: Callable[[str], Tokenizer], unknown: str
) -> None:
    tokenizer = make(KNOWN)
    text = f"春{unknown[0]}眠{unknown[1]}"
    with pytest.raises(UnknownCharacters) as error:
        tokenizer.encode(text)
    assert error.value.characters == unknown
    assert tokenizer.decode(tokenizer.encode(text, "drop")) == "春眠"
    kept = tokenizer.encode(text, "unk")
    assert kept.count(tokenizer.unk_id) == 2
    assert tokenizer.decode([i for i in kept if i != tokenizer.unk_id]) == "春眠"
    assert tokenizer.encode("", "error") == []


@every_tokenizer
def test_the_hash_knows_the_vocabulary(make: Callable[[str], Tokenizer]) -> None:
    hashes = {make(c).hash for c in (KNOWN, KNOWN[1:], KNOWN + "雲")}
    assert len(hashes) == 3
    assert make(KNOWN).hash in hashes


def test_the_hash_knows_the_order_of_a_vocabulary() -> None:
    assert CharTokenizer(KNOWN).hash != CharTokenizer(KNOWN[::-1]).hash


@every_tokenizer
def test_json_round_trip(make: Callable[[str], Tokenizer]) -> None:
    tokenizer = make(KNOWN)
    document = json.loads(json.dumps(tokenizer.to_json(), ensure_ascii=False))
    again = tokenizer_from_json(document)
    assert again.hash == tokenizer.hash
    assert again.vocab_size == tokenizer.vocab_size
    assert again.encode(KNOWN) == tokenizer.encode(KNOWN)
    assert (again.start_id, again.end_id, again.unk_id) == (
        tokenizer.start_id,
        tokenizer.end_id,
        tokenizer.unk_id,
    )


@every_tokenizer
def test_names_are_visible_on_one_line_and_tell_tokens_apart(
    make: Callable[[str], Tokenizer],
) -> None:
    tokenizer = make(KNOWN + "\t\u3000\u200b\x1b\u202e")
    names = [tokenizer.name(i) for i in range(tokenizer.vocab_size)]
    assert all(name.isprintable() and name.strip() == name != "" for name in names)
    assert len(set(names)) == len(names)
    (bracket,) = tokenizer.encode("[")
    assert tokenizer.name(bracket) == "[", "a name is plain text, not markup and not escaped"


@every_tokenizer
def test_special_tokens_are_no_text(make: Callable[[str], Tokenizer]) -> None:
    tokenizer = make(KNOWN)
    assert {tokenizer.start_id, tokenizer.end_id, tokenizer.unk_id} <= tokenizer.special_ids
    around = [tokenizer.start_id, *tokenizer.encode("春"), tokenizer.end_id]
    assert tokenizer.decode(around) == "春"


@every_tokenizer
@given(ids=st.lists(st.integers(0, len(KNOWN) + 2), max_size=30))
def test_streaming_any_ids_gives_their_decoding(
    make: Callable[[str], Tokenizer], ids: list[int]
) -> None:
    tokenizer = make(KNOWN)
    ids = [i for i in ids if i < tokenizer.vocab_size]
    decoder = StreamDecoder(tokenizer)
    assert "".join(map(decoder.push, ids)) + decoder.flush() == tokenizer.decode(ids)


# -- characters


def test_the_vocabulary_is_ordered_by_frequency_then_code_point() -> None:
    tokenizer = CharTokenizer.train(["乙甲乙", "丙甲丁", "丙"], minimum=2)
    assert tokenizer.characters == ("丙", "乙", "甲")
    assert CharTokenizer.train(["丙甲丁丙", "乙甲乙"]).hash == tokenizer.hash


@pytest.mark.parametrize("characters", [["ab"], ["a", "a"], [""], ["\ud800"], [1]])
def test_a_vocabulary_of_anything_but_single_characters_is_refused(characters: list) -> None:
    with pytest.raises(CheckpointError):
        CharTokenizer(characters)


@pytest.mark.parametrize(
    "document",
    [{}, {"kind": "words"}, {"kind": "char"}, {"kind": "char", "specials": ["<a>"]}],
)
def test_a_tokenizer_of_another_version_is_refused(document: dict) -> None:
    with pytest.raises(CheckpointError, match="not one that this version reads"):
        tokenizer_from_json(document)


# -- bytes

UTF8 = st.one_of(
    st.text(max_size=8).map(str.encode),
    st.binary(max_size=8),
    # near misses: the second byte of these decides whether a character has begun
    st.lists(
        st.sampled_from(
            [
                *(bytes([b]) for b in b"\xe0\xed\xf0\xf4\xc0\xf5\x80\x90\x9f\xa0\xbfa"),
                "𨣧".encode(),
                "😀".encode(),
            ]
        ),
        max_size=8,
    ).map(b"".join),
)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(edges)]


@settings(max_examples=300)
@given(st.lists(UTF8, max_size=5).map(b"".join), st.lists(st.integers(0, 50), max_size=12))
def test_bytes_split_anywhere_stream_to_the_decoding_of_all(data: bytes, cuts: list[int]) -> None:
    parts = pieces(data, cuts)
    tokenizer = ByteTokenizer(parts)
    decoder = StreamDecoder(tokenizer)
    shown = ""
    for i in range(len(parts)):
        shown += decoder.push(259 + i)
        before = b"".join(parts[: i + 1])
        # What is certain is shown, what is not waits: Python's own decoder is the judge.
        certain = codecs.getincrementaldecoder("utf-8")("replace").decode(before)
        assert shown == certain
    assert shown + decoder.flush() == data.decode("utf-8", "replace")
    assert decoder.flush() == ""


@given(st.text(min_size=1, max_size=8), st.lists(st.integers(0, 50), max_size=12))
def test_whole_text_never_shows_a_replacement_character_that_it_does_not_hold(
    text: str, cuts: list[int]
) -> None:
    parts = pieces(text.encode(), cuts)
    decoder = StreamDecoder(ByteTokenizer(parts))
    shown = ""
    for i in range(len(parts)):
        shown += decoder.push(259 + i)
        assert text.startswith(shown)
    assert shown == text


@pytest.mark.parametrize("text", ["𨣧", "😀", "春", "é"])
def test_bytes_of_one_character_wait_for_the_last(text: str) -> None:
    decoder = StreamDecoder(ByteTokenizer())
    *first, last = text.encode()
    assert [decoder.push(byte) for byte in first] == [""] * len(first)
    assert decoder.push(last) == text
    assert decoder.flush() == ""


@pytest.mark.parametrize("data", [b"\xe0\x80", b"\xf0\x80", b"\xf4\x90", b"\xc0"])
def test_bytes_that_can_never_become_a_character_do_not_wait(data: bytes) -> None:
    decoder = StreamDecoder(ByteTokenizer())
    assert "".join(map(decoder.push, data)) == data.decode("utf-8", "replace")
    assert decoder.flush() == ""


def test_an_unfinished_character_shows_once_at_the_end() -> None:
    decoder = StreamDecoder(ByteTokenizer())
    assert [decoder.push(byte) for byte in "𨣧".encode()[:3]] == ["", "", ""]
    assert decoder.flush() == "\ufffd"
    assert decoder.push(ord("a")) == "a", "nothing of it is left"
