"""Does the model's probability of a full stop mean what it says?

After a common two-character word a line of verse may end or go on. Over many such places
the mean probability that the model gives to 。 must be the share of them that 。 follows
in poems it never saw. Knows texts and a model; where the texts come from is the caller's
business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from corpora.forms import is_han
from model.config import Controls
from model.data import encode_poems, pad_rows
from model.generate import Prompt, Reader
from model.registry import ModelHandle

STOP = "。"
ROWS = 64
"""Poems that go through the model at a time."""


@dataclass(frozen=True, slots=True)
class WordCalibration:
    """One word over all its places in unseen poems."""

    word: str
    places: int
    predicted: float
    """Mean probability of 。 after it, each place read from its poem's start."""
    observed: float
    """Share of the places that 。 follows."""


def frequent_words(texts: Iterable[str], count: int = 10) -> list[str]:
    """The ``count`` most frequent pairs of neighbouring characters, ties by code point."""
    pairs = Counter[str]()
    for text in texts:
        pairs.update(a + b for a, b in pairwise(text) if is_han(a) and is_han(b))
    return sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:count]


def calibration(
    handle: ModelHandle, texts: Sequence[str], words: Sequence[str]
) -> list[WordCalibration]:
    """Predicted and observed 。 after each of ``words`` in ``texts``; a word that does not
    occur is left out. Only places within the model's block count."""
    predicted: dict[str, list[float]] = {word: [] for word in words}
    observed: dict[str, list[bool]] = {word: [] for word in words}
    found = [text for text in texts if any(word in text for word in words)]
    for at in range(0, len(found), ROWS):
        part = found[at : at + ROWS]
        for text, probabilities in zip(part, _stop_probabilities(handle, part), strict=True):
            for place in range(min(len(text), len(probabilities)) - 1):
                word = text[place : place + 2]
                if word in predicted and place + 2 < len(text):
                    predicted[word].append(probabilities[place + 2 - 1])
                    observed[word].append(text[place + 2] == STOP)
    return [
        WordCalibration(
            word,
            len(observed[word]),
            sum(predicted[word]) / len(predicted[word]),
            sum(observed[word]) / len(observed[word]),
        )
        for word in words
        if observed[word]
    ]


def pooled(rows: Sequence[WordCalibration]) -> WordCalibration:
    """All places of all words together."""
    places = sum(row.places for row in rows)
    return WordCalibration(
        "all",
        places,
        sum(row.predicted * row.places for row in rows) / places,
        sum(row.observed * row.places for row in rows) / places,
    )


@torch.inference_mode()
def fragment_stop_probability(handle: ModelHandle, text: str) -> float:
    """P(。) after ``text`` read as a fragment, without a start token."""
    ids = Prompt(text, fragment=True).encode(handle.tokenizer)
    forward = Reader(handle.model, handle.tokenizer).read(ids, Controls(cache="off"), lambda: False)
    (stop,) = handle.tokenizer.encode(STOP)
    return float(forward.logits.softmax(-1)[stop])


@torch.inference_mode()
def _stop_probabilities(handle: ModelHandle, texts: Sequence[str]) -> list[list[float]]:
    """For each text, P(。) after its first character, after its second, and so on."""
    (stop,) = handle.tokenizer.encode(STOP)
    block = handle.model.config.block_size
    rows = [row[: block + 1] for row in encode_poems(texts, handle.tokenizer)]
    batch = pad_rows(rows, handle.tokenizer.unk_id)
    after_start = handle.model(batch.inputs).softmax(-1)[:, 1:, stop]  # [rows, T - 1]
    return [row[: len(ids) - 2].tolist() for ids, row in zip(rows, after_start, strict=True)]
