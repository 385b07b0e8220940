"""Pieces of verse: text passes unchanged, what a vocabulary may hold, bytes in a stream."""

from __future__ import annotations

import base64
import hashlib
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.build import read_manifest
from corpora.places import BUILT_NAMES, built_folder
from corpora.poems import read_built
from model.checkpoint import load_checkpoint
from model.errors import CheckpointError, InputError, SettingError
from model.registry import WEIGHTS
from model.sentencepieces import SentencePieceTokenizer
from model.tokenizers import StreamDecoder, tokenizer_from_json
from tests.helpers import PIECES, VERSE

RARE = "𨣧"
"""A character of the corpus that four bytes spell."""


def test_frequent_neighbours_are_one_piece_and_marks_stand_alone() -> None:
    names = [PIECES.name(i) for i in PIECES.encode("白日依山尽，黄河入海流。")]
    assert "白日" in names
    assert "黄河" in names
    assert names.count("，") == names.count("。") == 1
    texts = [PIECES.piece_bytes(i).decode("utf-8", "ignore") for i in range(PIECES.vocab_size)]
    assert not [t for t in texts if len(t) > 1 and set(t) & set("，。")]


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    ids = PIECES.encode(text)
    assert PIECES.decode(ids) == text
    assert PIECES.unk_id not in ids


@pytest.mark.parametrize(
    "text",
    [
        "，。？！；：（）、《》",  # the usual normalisation writes ASCII for most of these
        " 春  眠 ",
        "▁春▁",
        "春\u3000眠\r\n\t",
        "<poem>春<end><song><ci><unk><0xE6>",
        "為爲雲Ａﬁ①",
        "e\u0301é",
        "\x00\ufffd\ufeff\u2047",
        "[bold]春[/]",
        f"{RARE}春{RARE}😀",
    ],
)
def test_nothing_is_normalised_and_no_text_is_a_mark(text: str) -> None:
    ids = PIECES.encode(text)
    assert PIECES.decode(ids) == text
    assert not PIECES.special_ids & set(ids)


@given(ids=st.lists(st.integers(0, PIECES.vocab_size - 1), max_size=30))
def test_a_stream_of_any_ids_joins_to_their_decoding(ids: list[int]) -> None:
    decoder = StreamDecoder(PIECES)
    assert "".join(map(decoder.push, ids)) + decoder.flush() == PIECES.decode(ids)


@given(text=st.text(st.sampled_from(f"春眠白日{RARE}😀é，。"), max_size=20))
def test_at_every_prefix_the_stream_shows_what_is_complete(text: str) -> None:
    decoder = StreamDecoder(PIECES)
    ids = PIECES.encode(text)
    for n, shown in enumerate(accumulate(map(decoder.push, ids)), 1):
        assert shown == PIECES.decode(ids[:n]).rstrip("\ufffd")
    assert decoder.flush() == ""


def test_the_same_text_gives_the_same_pieces() -> None:
    again = SentencePieceTokenizer.train(VERSE, PIECES.vocab_size)
    assert again.hash == PIECES.hash
    assert SentencePieceTokenizer.train(VERSE, PIECES.vocab_size - 1).hash != PIECES.hash


@pytest.mark.parametrize("pieces", [1, 261, 300])
def test_too_few_pieces_are_refused_with_the_least(pieces: int) -> None:
    characters = len(set("".join(VERSE)))
    with pytest.raises(SettingError, match=f"at least {261 + characters}: ") as error:
        SentencePieceTokenizer.train(VERSE, pieces)
    assert "INTERNAL" not in str(error.value)
    least = SentencePieceTokenizer.train(VERSE, 261 + characters)
    assert least.vocab_size == 261 + characters


def test_too_many_pieces_are_refused_with_the_range() -> None:
    with pytest.raises(SettingError, match=r"pieces is 96000; it takes for this text \d+ to \d+"):
        SentencePieceTokenizer.train(VERSE, 96000)


@pytest.mark.parametrize("texts", [[], [""], ["春 眠"], ["春▁眠"]])
def test_text_that_gives_no_pieces_is_refused(texts: list[str]) -> None:
    with pytest.raises(InputError, match="text"):
        SentencePieceTokenizer.train(texts, 300)


def test_one_line_is_enough() -> None:
    tokenizer = SentencePieceTokenizer.train(["春眠不觉晓。"], 267)
    assert tokenizer.decode(tokenizer.encode("春眠不觉晓。")) == "春眠不觉晓。"


@pytest.mark.corpus
@pytest.mark.skipif(
    read_manifest(built_folder()) is None,
    reason="the corpus is not built here: python run.py corpus fetch, then corpus build",
)
@pytest.mark.parametrize("name", BUILT_NAMES)
def test_every_poem_of_the_corpus_comes_back_as_it_was(name: str) -> None:
    shipped = WEIGHTS / "verse-bpe.safetensors"
    tokenizer = load_checkpoint(shipped).tokenizer if shipped.is_file() else PIECES
    changed = [
        poem.id
        for poem in read_built(name)
        if tokenizer.decode(tokenizer.encode(poem.text)) != poem.text
    ]
    assert not changed


def test_bytes_have_names_of_their_own() -> None:
    assert [PIECES.name(i) for i in PIECES.encode(RARE)] == ["<0xF0>", "<0xA8>", "<0xA3>", "<0xA7>"]
    assert [PIECES.piece_bytes(i) for i in PIECES.encode(" ")] == [b" "]


@pytest.mark.parametrize(
    "model",
    [
        None,
        7,
        "",
        "春",
        base64.b64encode(b"\x00" * 40).decode(),
        base64.b64encode(hashlib.sha512(b"noise").digest() * 9).decode(),
    ],
)
def test_a_damaged_model_is_refused(model: object) -> None:
    with pytest.raises(CheckpointError, match="sentencepiece model"):
        tokenizer_from_json({"kind": "bpe", "model": model})


@given(data=st.data())
def test_no_damage_does_more_than_be_refused(data: st.DataObject) -> None:
    whole = base64.b64decode(PIECES.to_json()["model"])
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = data.draw(
        st.sampled_from([whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]])
    )
    try:
        tokenizer = SentencePieceTokenizer(damaged)
    except CheckpointError:
        return
    assert tokenizer.hash != PIECES.hash
    tokenizer.decode(tokenizer.encode("白日依山尽"))
