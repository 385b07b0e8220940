"""The calibration of 。: counted by hand on a scripted model, and of the shipped models."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from corpora.places import built_folder
from corpora.poems import read_built
from model.calibration import (
    calibration,
    fragment_stop_probability,
    frequent_words,
    pooled,
)
from model.registry import load, specs
from model.tokenizers import CharTokenizer
from tests.helpers import PIECES

FACTS = json.loads((Path(__file__).parent.parent / "data" / "corpus_facts.json").read_text())
TOKENIZER = CharTokenizer("，。春风白云人")

every_poet = pytest.mark.parametrize(
    "spec",
    [spec for spec in specs() if spec.kind == "own" and spec.available],
    ids=lambda spec: spec.name,
)


class AfterWind:
    """Gives 。 a probability of 0.25 after 风 and 0.5 after 云, else next to none."""

    config = SimpleNamespace(block_size=32, vocab_size=TOKENIZER.vocab_size)

    def __call__(self, ids, cache=None, *, last=False):
        rest = TOKENIZER.vocab_size - 1
        logits = torch.zeros(*ids.shape, TOKENIZER.vocab_size)
        (stop,), (wind,), (cloud,) = map(TOKENIZER.encode, "。风云")
        logits[..., stop] = -30.0
        logits[..., stop][ids == wind] = math.log(rest / 3)
        logits[..., stop][ids == cloud] = math.log(rest)
        return logits[:, -1:] if last else logits


HANDLE = SimpleNamespace(model=AfterWind(), tokenizer=TOKENIZER)


def test_predicted_and_observed_are_counted_place_by_place():
    texts = ["春风人人人，人人人春风。", "白云春风人，人人人白云。", "人人人人人，人人人人人。"]
    rows = {row.word: row for row in calibration(HANDLE, texts, ["春风", "白云", "云云"])}
    assert set(rows) == {"春风", "白云"}
    assert (rows["春风"].places, rows["白云"].places) == (3, 2)
    assert rows["春风"].predicted == pytest.approx(0.25)
    assert rows["白云"].predicted == pytest.approx(0.5)
    assert rows["春风"].observed == pytest.approx(1 / 3)
    assert rows["白云"].observed == pytest.approx(1 / 2)
    together = pooled(list(rows.values()))
    assert together.places == 5
    assert together.predicted == pytest.approx((3 * 0.25 + 2 * 0.5) / 5)
    assert together.observed == pytest.approx(2 / 5)


class AfterPieces:
    """Gives 。 a probability of 0.25 after the piece 白日, 0.5 after a byte, else next to none."""

    config = SimpleNamespace(block_size=32, vocab_size=PIECES.vocab_size)

    def __call__(self, ids, cache=None, *, last=False):
        rest = PIECES.vocab_size - 1
        logits = torch.zeros(*ids.shape, PIECES.vocab_size)
        (stop,), (day,), (*_, byte) = map(PIECES.encode, ("。", "白日", "𨣧"))
        logits[..., stop] = -30.0
        logits[..., stop][ids == day] = math.log(rest / 3)
        logits[..., stop][ids == byte] = math.log(rest)
        return logits


def test_of_pieces_only_places_where_one_ends_count():
    handle = SimpleNamespace(model=AfterPieces(), tokenizer=PIECES)
    texts = ["花落处白日。", "不知花落处𨣧。", "不知花落处白日，"]
    rows = {row.word: row for row in calibration(handle, texts, ["白日", "花落", "处𨣧", "落处"])}
    assert "花落" not in rows, "always within a piece"
    assert (rows["白日"].places, rows["白日"].observed) == (2, 0.5)
    assert rows["白日"].predicted == pytest.approx(0.25)
    assert (rows["处𨣧"].places, rows["处𨣧"].observed) == (1, 1.0)
    assert rows["处𨣧"].predicted == pytest.approx(0.5)
    assert (rows["落处"].places, rows["落处"].observed) == (3, 0.0)


def test_frequent_words_stay_within_a_line():
    assert frequent_words(["春风，春风。白云", "春风人"], 2) == ["春风", "白云"]


def test_a_fragment_is_read_without_a_start_token():
    assert fragment_stop_probability(HANDLE, "春风") == pytest.approx(0.25)


@every_poet
def test_shipped_models_know_how_often_a_stop_follows_spring_wind(spec):
    predicted = fragment_stop_probability(load(spec), "春风")
    assert abs(predicted - FACTS["spring_wind_stop_share"]) <= 0.03


@pytest.mark.skipif(
    not built_folder().is_dir(), reason="needs the corpus: run.py corpus fetch, corpus build"
)
@every_poet
def test_shipped_models_are_calibrated_on_unseen_poems(spec):
    words = frequent_words(poem.text for poem in read_built("tang.train"))
    texts = [poem.text for poem in read_built("tang.heldout")]
    together = pooled(calibration(load(spec), texts, words))
    assert together.places > 100
    assert abs(together.predicted - together.observed) <= 0.02
