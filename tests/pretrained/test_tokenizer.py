"""Tokenizers of other makers: exact bytes, exact streams, and text that stays text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import CheckpointError, UnknownCharacters
from model.tokenizers import StreamDecoder
from tests.pretrained.makers import CONTROL, THINK, byte_tokenizer, needs_extra, piece_tokenizer

pytestmark = needs_extra
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.lists(
    st.sampled_from(
        [*CONTROL, THINK, "</s>", "<s>", "<unk>", " the", "    ", "春", "𨣧", "é", "👩‍👩‍👧"]
    ),
    max_size=8,
).map("".join)


def opened(library: Any, extra: int = 3) -> Any:
    from model.pretrained.tokenizer import PretrainedTokenizer

    size = library.get_vocab_size() + extra
    ends = [i for i in map(library.token_to_id, ("<|im_end|>", "</s>")) if i is not None]
    return PretrainedTokenizer(library.to_str(), size, bos="<|im_start|>", end_ids=ends)


@pytest.fixture(scope="module")
def byte_level() -> Any:
    return opened(byte_tokenizer())


@pytest.fixture(scope="module")
def pieces() -> Any:
    return opened(piece_tokenizer())


@pytest.fixture(params=["byte_level", "pieces"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@given(TEXTS)
def test_bytes_round_trip_and_nothing_is_a_control_token(byte_level: Any, text: str) -> None:
    ids = byte_level.encode(text)
    assert byte_level.decode(ids) == text
    assert not set(ids) & set(byte_level.control.values())


@given(TEXTS)
def test_pieces_round_trip_behind_the_space_that_stands_before_a_text(
    pieces: Any, text: str
) -> None:
    ids = pieces.encode(text)
    # the kind writes ▁ for a space, so that a ▁ reads as one
    assert pieces.decode(ids) == (" " + text if text else "").replace("▁", " ")
    assert not set(ids) & set(pieces.control.values())


@given(TEXTS)
def test_a_stream_joins_to_the_decoding_of_all_its_ids(
    byte_level: Any, pieces: Any, text: str
) -> None:
    for tokenizer in (byte_level, pieces):
        ids = tokenizer.encode(text)
        decoder = StreamDecoder(tokenizer)
        shown = [decoder.push(token) for token in ids]
        assert "".join(shown) + decoder.flush() == tokenizer.decode(ids)
        assert not any("\ufffd" in part for part in shown) or "\ufffd" in text


@given(st.lists(st.integers(0, 370), max_size=12))
def test_any_ids_stream_as_they_decode(byte_level: Any, ids: list[int]) -> None:
    ids = [token for token in ids if token < byte_level.vocab_size]
    decoder = StreamDecoder(byte_level)
    joined = "".join(map(decoder.push, ids)) + decoder.flush()
    assert joined == byte_level.decode(ids)


def test_pieces_are_what_the_library_decodes(tokenizer: Any) -> None:
    library = tokenizer.parsing
    for token in range(tokenizer.vocab_size):
        if token in tokenizer.special_ids:
            assert tokenizer.piece_bytes(token) == b""
            continue
        text = library.decode([token], skip_special_tokens=False)
        if "\ufffd" not in text:
            assert tokenizer.piece_bytes(token).decode() == text


def test_the_special_ids(tokenizer: Any) -> None:
    size = tokenizer.parsing.get_vocab_size()
    assert {*range(size, size + 3)} <= tokenizer.special_ids, "rows that are no token"
    assert tokenizer.vocab_size == size + 3
    assert tokenizer.end_ids <= tokenizer.special_ids
    assert tokenizer.end_id in tokenizer.end_ids


def test_what_stands_before_a_text(byte_level: Any, pieces: Any) -> None:
    assert byte_level.start_id == byte_level.control["<|endoftext|>"], "not the turn's begin"
    assert pieces.start_id == pieces.control["<s>"], "the tokenizer itself puts it there"


def test_an_added_token_that_is_not_special_can_be_generated_but_not_written(
    byte_level: Any,
) -> None:
    think = byte_level.control[THINK]
    assert think not in byte_level.special_ids
    assert byte_level.piece_bytes(think) == THINK.encode()
    assert think not in byte_level.encode(f"a{THINK}b")
    blanks = byte_level.parsing.token_to_id("    ")
    assert byte_level.encode("a    b").count(blanks) == 1, "blanks are text"


def test_names_are_visible_and_on_one_line(tokenizer: Any) -> None:
    names = [tokenizer.name(token) for token in range(tokenizer.vocab_size)]
    assert all(name and name.isprintable() and " " not in name for name in names)
    assert CONTROL[1] in names or "<s>" in names


def test_a_piece_of_a_character_is_named_by_its_bytes(byte_level: Any) -> None:
    # 𨣧 is in no training text, so that it comes apart
    assert [byte_level.name(token) for token in byte_level.encode("𨣧")] == [
        "<F0>", "<A8>", "<A3>", "<A7>"
    ]  # fmt: skip


def test_the_hash_follows_what_ids_mean(byte_level: Any) -> None:
    from model.pretrained.tokenizer import PretrainedTokenizer

    again = opened(byte_tokenizer())
    assert again.hash == byte_level.hash
    document = byte_tokenizer().to_str()
    other = PretrainedTokenizer(document, byte_level.vocab_size, bos=None, end_ids=[0])
    assert other.hash != byte_level.hash


def test_without_byte_tokens_unknown_characters_are_named() -> None:
    from tokenizers import Tokenizer, decoders, models

    vocabulary = {"<unk>": 0, "a": 1, "b": 2, "▁": 3}
    library = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    library.decoder = decoders.Metaspace()
    library.add_special_tokens(["<unk>"])
    from model.pretrained.tokenizer import PretrainedTokenizer

    tokenizer = PretrainedTokenizer(library.to_str(), 4, bos=None, end_ids=[0])
    with pytest.raises(UnknownCharacters) as error:
        tokenizer.encode("axb春x")
    assert error.value.characters == "x春"
    assert tokenizer.encode("axb", "drop") == [1, 2]
    assert tokenizer.encode("axb", "unk") == [1, 0, 2]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda text: "", "cannot be read"),
        (lambda text: "{}", "cannot be read"),
        (lambda text: text[: len(text) // 2], "cannot be read"),
        (lambda text: text.replace('"ByteLevel"', '"WordPiece"'), "cannot be read|neither"),
        (lambda text: text.replace('"decoder"', '"other"'), "cannot be read"),
    ],
)
def test_a_document_that_cannot_be_used_is_told_in_words(damage: Any, told: str) -> None:
    from model.pretrained.tokenizer import PretrainedTokenizer

    with pytest.raises(CheckpointError, match=told):
        PretrainedTokenizer(damage(byte_tokenizer().to_str()), 400, bos=None, end_ids=[0])


@pytest.mark.parametrize(("size", "ends", "told"), [(100, [0], "ids up to"), (400, [], "ends a")])
def test_a_tokenizer_of_another_model_is_refused(size: int, ends: list[int], told: str) -> None:
    from model.pretrained.tokenizer import PretrainedTokenizer

    with pytest.raises(CheckpointError, match=told):
        PretrainedTokenizer(byte_tokenizer().to_str(), size, bos=None, end_ids=ends)
