"""Next-character tables: against a corpus of four poems and a model whose choice is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from corpora.poems import Poem
from corpora.stats import Following
from model.lab.base import Request, collect
from model.lab.top8 import KNOWN, WITHIN, WORD, beginning, likeliest, run
from model.registry import ModelHandle
from tests.helpers import CHARACTERS
from tests.lab.helpers import tiny_handle, tiny_request


def poem(text: str) -> Poem:
    return Poem("1", "", "", text)


POEMS = [poem("春风落花，"), poem("春风。"), poem("夜来春风，"), poem("春眠。")]


@pytest.fixture(autouse=True)
def no_corpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("corpora.places.user_cache_path", lambda name: tmp_path)


def test_poems_that_begin_so_are_counted():
    assert beginning("春风", POEMS) == Following("春风", 2, (("落", 1), ("。", 1)))
    assert beginning("", POEMS).share("春") == 3 / 4
    assert beginning("霜", POEMS).count == 0


def test_the_likeliest_come_first_and_ties_by_id():
    probabilities = torch.tensor([0.1, 0.3, 0.1, 0.5])
    assert [token for token, _ in likeliest(probabilities, 4)] == [3, 1, 0, 2]
    assert len(likeliest(probabilities, 2)) == 2


class Stops:
    """Gives 。 a known probability after anything."""

    def __init__(self, probability: float) -> None:
        self.config = tiny_handle().model.config
        (stop,) = CHARACTERS.encode("。")
        rest = (1 - probability) / (self.config.vocab_size - 1)
        self._logits = torch.full((1, 1, self.config.vocab_size), rest)
        self._logits[..., stop] = probability
        self._logits.log_()

    def new_cache(self, batch: int = 1) -> object:
        return tiny_handle().model.new_cache(batch)

    def __call__(self, ids, cache=None, *, last=False):  # type: ignore[no-untyped-def]
        if cache is not None:
            cache.advance(ids.shape[1])
        return self._logits


def stops(probability: float) -> Request:
    handle: ModelHandle = replace(tiny_handle(), model=Stops(probability))  # type: ignore[arg-type]
    return replace(tiny_request(), load=lambda name: handle)


@pytest.mark.parametrize(
    ("probability", "holds"),
    [(0.14, True), (KNOWN[0] - WITHIN - 0.001, False), (KNOWN[1] + WITHIN + 0.001, False)],
)
def test_the_stop_after_the_word_must_be_as_frequent_as_in_verse(probability: float, holds: bool):
    result = collect(run(stops(probability)))
    assert result.checks[0].holds == holds
    assert f"{probability:.1%}" in result.checks[0].detail


def test_where_the_corpus_is_built_it_decides(monkeypatch: pytest.MonkeyPatch):
    poems = [poem("春风。")] * 30 + [poem("春风吹，")] * 30
    monkeypatch.setattr("model.lab.top8.verse", lambda: iter(poems))
    assert collect(run(stops(0.5))).checks[0].holds
    assert not collect(run(stops(0.14))).checks[0].holds


def test_a_prompt_is_read_in_both_ways():
    result = collect(run(tiny_request(prompt="春眠")))
    titles = [table.title for table in result.tables]
    assert titles == [
        "After 「春眠」 (the corpus is not built)",
        "After 「春眠」 from anywhere (the corpus is not built)",
    ]
    shares = result.tables[0].column("probability")
    assert shares == sorted(shares, reverse=True)  # type: ignore[type-var]
    assert len(shares) == 8
    assert len(collect(run(tiny_request(prompt=""))).tables) == 1


def test_the_lessons_openings_stand_beside_its_figures():
    result = collect(run(tiny_request()))
    spring = next(t for t in result.tables if WORD in t.title and "anywhere" in t.title)
    assert spring.column("the lesson's")[0] == "。"
    assert spring.column("its probability")[0] == 0.142
