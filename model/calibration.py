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
from model.data import encode_poems, pad_rows, token_characters
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
    occur is left out. Only places within the model's block count and, of pieces, only those
    where one ends: a model says nothing of what comes within a piece."""
    predicted: dict[str, list[float]] = {word: [] for word in words}
    observed: dict[str, list[bool]] = {word: [] for word in words}
    found = [text for text in texts if any(word in text for word in words)]
    for at in range(0, len(found), ROWS):
        part = found[at : at + ROWS]
        for text, probabilities in zip(part, _stop_probabilities(handle, part), strict=True):
            for end in range(2, len(text)):
                word = text[end - 2 : end]
                if word in predicted and end in probabilities:
                    predicted[word].append(probabilities[end])
                    observed[word].append(text[end] == STOP)
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
def _stop_probabilities(handle: ModelHandle, texts: Sequence[str]) -> list[dict[int, float]]:
    """For each text, how many characters were read → P(。) after them."""
    tokenizer = handle.tokenizer
    (stop,) = tokenizer.encode(STOP)
    widths = token_characters(tokenizer)
    widths[tokenizer.unk_id] = 1
    rows = [row[: handle.model.config.block_size + 1] for row in encode_poems(texts, tokenizer)]
    batch = pad_rows(rows, tokenizer.unk_id)
    after = handle.model(batch.inputs).softmax(-1)[:, 1:, stop]  # [rows, T - 1]
    read = widths[batch.inputs[:, 1:]].cumsum(1)  # of a character in bytes the last one counts
    return [
        dict(zip(ends[: len(ids) - 2].tolist(), stops[: len(ids) - 2].tolist(), strict=True))
        for ids, ends, stops in zip(rows, read, after, strict=True)
    ]
