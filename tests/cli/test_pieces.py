"""The commands with a model whose tokens are pieces and bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corpora.forms import FORMS
from tests.cli.conftest import Answer
from tests.helpers import PIECES


@pytest.fixture
def verse(run: Callable[..., Answer], bpe_checkpoint: Path) -> Callable[..., Answer]:
    """Calls the program with the tiny model of pieces and a seed."""
    return lambda *arguments: run(*arguments, "--seed", "7", "--model", str(bpe_checkpoint))


def test_tokens_in_json_are_pieces(verse: Callable[..., Answer]) -> None:
    answer = verse("write", "白日依山尽，", "--max-tokens", "30", "--temperature", "2", "--json")
    assert answer.code == 0, answer.stderr
    (poem,) = answer.json["poems"]
    assert poem["tokens"] == len(poem["token_ids"]) == 30
    # Decoded together with the opening, the pieces are the text.
    assert poem["text"] == PIECES.decode([*PIECES.encode("白日依山尽，"), *poem["token_ids"]])
    assert max(len(PIECES.piece_bytes(token)) for token in poem["token_ids"]) > 3


@pytest.mark.parametrize("cache", ["on", "off", "race"])
def test_every_cache_mode_writes_the_same(verse: Callable[..., Answer], cache: str) -> None:
    arguments = ("write", "黄河", "--max-tokens", "24", "--temperature", "1.3")
    assert verse(*arguments, "--cache", cache).stdout == verse(*arguments).stdout


def test_acrostics_and_forms_are_exact(verse: Callable[..., Answer]) -> None:
    acrostic = verse("acrostic", "白鬱花千", "--json").json["poems"][0]
    assert acrostic["text"][::8] == "白郁花千", "鬱 was simplified, 郁 has no piece either"
    combined = verse("form", "五绝", "--heads", "春眠", "--json").json["poems"][0]
    assert FORMS["五绝"].holds(combined["text"])
    assert combined["text"][::6].startswith("春眠")


def test_no_character_is_unknown(verse: Callable[..., Answer]) -> None:
    answer = verse("write", "x😀 ⅷ", "--max-tokens", "1")
    assert answer.code == 0
    assert answer.stdout.startswith("x😀 ⅷ")


def test_the_table_of_candidates_names_pieces_and_bytes(
    run: Callable[..., Answer], bpe_checkpoint: Path
) -> None:
    answer = run("probs", "白", "--model", str(bpe_checkpoint), "--json", "--top", "400")
    assert answer.code == 0, answer.stderr
    assert {"花落处", "白日", "<0xE6>", "<end>", "，"} <= set(answer.stdout.split('"'))
