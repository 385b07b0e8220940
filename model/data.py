"""Poems as training batches.

The batch at a step is a pure function of (seed, step): a run that is resumed, or
split over processes, reads the same rows in the same order.

Two kinds of rows. A *poem row* is one poem from its start token to its end token,
so that a position always means the same place in a line; a batch gathers poems of
about one length, which needs almost no padding because the forms fix the length. A
*fragment row* is a window from anywhere in the verse, without a start token, which
teaches the model to read a text that is not the beginning of a poem.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from model.tokenizers import Tokenizer

IGNORE = -100
"""Target of a position that is not counted: padding, and characters unknown to the vocabulary."""

FRAGMENT_LENGTHS = (2, 4, 4, 8, 16, 32, 64, 128, 256)
"""Windows of several lengths, each as likely as it stands here. A short one shows more
beginnings for the same cost: with none under 8, a model that had seen six million characters
gave 。 after two characters from anywhere five points too much."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One forward pass of training."""

    inputs: Tensor
    """``[rows, T]`` token ids."""
    targets: Tensor
    """``[rows, T]`` the ids that follow, or ``IGNORE``."""

    @property
    def counted(self) -> int:
        """Targets that count."""
        return int((self.targets != IGNORE).sum())

    def shard(self, rank: int, world: int) -> Batch:
        """The rows that one of ``world`` processes takes; where there are too few for all,
        a row that counts nothing, since a model cannot read a batch of none."""
        if rank >= len(self.inputs):
            return Batch(self.inputs[:1], torch.full_like(self.targets[:1], IGNORE))
        return Batch(self.inputs[rank::world], self.targets[rank::world])


def encode_poems(
    texts: Iterable[str], tokenizer: Tokenizer, start_id: int | None = None
) -> list[np.ndarray]:
    """Each poem as ids: a start token, the text (unknown characters as ``<unk>``), the end."""
    start = tokenizer.start_id if start_id is None else start_id
    return [
        np.array([start, *tokenizer.encode(text, "unk"), tokenizer.end_id], dtype=np.int64)
        for text in texts
    ]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Encoded poems."""

    train: Sequence[np.ndarray]
    held_out: Sequence[np.ndarray]
    song: Sequence[np.ndarray] = ()
    """Song poems and ci, mixed in as the configuration's ``song_share`` says."""


def encode_corpus(
    train: Sequence[str],
    held_out: Sequence[str],
    song: Sequence[str],
    tokenizer: Tokenizer,
    ci: Sequence[str] = (),
) -> Corpus:
    """Encode the texts; Song poems and ci stand behind start tokens of their own."""
    song_start = getattr(tokenizer, "song_id", tokenizer.start_id)
    ci_start = getattr(tokenizer, "ci_id", song_start)
    return Corpus(
        encode_poems(train, tokenizer),
        encode_poems(held_out, tokenizer),
        encode_poems(song, tokenizer, song_start) + encode_poems(ci, tokenizer, ci_start),
    )


def token_characters(tokenizer: Tokenizer) -> Tensor:
    """Characters that begin in each token, int64 ``[V]``: of a character that is spelled in
    bytes the first byte counts it. The end of a poem counts as a character, as in a
    vocabulary of characters it is one; the other special tokens count nothing."""
    special = tokenizer.special_ids
    counts = [
        0 if token in special else sum(byte & 0xC0 != 0x80 for byte in tokenizer.piece_bytes(token))
        for token in range(tokenizer.vocab_size)
    ]
    counts[tokenizer.end_id] = 1
    return torch.tensor(counts)


class BatchPlan:
    """Every batch of a training run.

    An epoch shows each of ``poems`` once and, where there are ``others``, as many of
    those as make up their share: a new part in every epoch until all have been seen.
    """

    def __init__(
        self,
        poems: Sequence[np.ndarray],
        others: Sequence[np.ndarray] = (),
        *,
        block_size: int,
        batch_tokens: int,
        fragment_share: float,
        fragment_longest: int = FRAGMENT_LENGTHS[-1],
        other_share: float = 0.0,
        seed: int,
        unk_id: int,
    ) -> None:
        """``batch_tokens``: targets a batch, about; ``fragment_share``: the part of all
        batches that are fragment rows of ``poems``, [0, 1), of ``fragment_longest``
        characters at most; ``other_share``: the part of
        ``others`` in the tokens of poem rows, [0, 1)."""
        self.block_size = block_size
        self.fragment_longest = min(block_size, fragment_longest)
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.unk_id = unk_id
        self.stream = np.concatenate([_joined(poem) for poem in poems])
        self.rows = [poem[: block_size + 1] for poem in (*poems, *others)]
        self._lengths = np.array([len(row) for row in self.rows])
        self._poems = len(poems)
        self._others = self._others_per_epoch(other_share)
        self._poem_batches = len(self._cut(self._rows_of(0), self.batch_tokens))
        self.fragment_batches = round(self._poem_batches * fragment_share / (1 - fragment_share))
        self.batches_per_epoch = self._poem_batches + self.fragment_batches
        self._epoch = lru_cache(maxsize=2)(self._plan_epoch)

    def batch(self, index: int) -> Batch:
        """The batch with this number, from 0 on without end."""
        epoch, place = divmod(index, self.batches_per_epoch)
        rows = self._epoch(epoch)[place]
        if rows is None:
            return self._fragments(index)
        return pad_rows([self.rows[i] for i in rows], self.unk_id)

    def _others_per_epoch(self, share: float) -> int:
        """How many others make up ``share`` of an epoch's tokens, at most all."""
        own, rest = self._lengths[: self._poems].sum(), self._lengths[self._poems :]
        if not len(rest):
            return 0
        return min(len(rest), round(float(own * share / (1 - share) / rest.mean())))

    def _rows_of(self, epoch: int) -> np.ndarray:
        """Numbers of the rows that an epoch shows."""
        poems = np.arange(self._poems)
        if not self._others:
            return poems
        count = len(self.rows) - self._poems
        order = np.random.default_rng((self.seed, 2)).permutation(count)
        taken = np.arange(epoch * self._others, (epoch + 1) * self._others) % count
        return np.concatenate([poems, self._poems + order[taken]])

    def _plan_epoch(self, epoch: int) -> list[np.ndarray | None]:
        """Row numbers of each batch, ``None`` for fragments, in a shuffled order."""
        random = np.random.default_rng((self.seed, epoch))
        rows = self._rows_of(epoch)
        # Other parts of the others have other lengths: cut them into as many batches.
        size = self.batch_tokens
        if self._others:
            size = -(-int(self._lengths[rows].sum() + 1) // self._poem_batches)
        batches: list[np.ndarray | None] = [*self._cut(random.permutation(rows), size)]
        batches += [None] * (self.batches_per_epoch - len(batches))
        return [batches[i] for i in random.permutation(len(batches))]

    def _cut(self, rows: np.ndarray, size: int) -> list[np.ndarray]:
        """Sort rows by length, keeping the order of equals, and cut them into batches of
        about ``size`` tokens."""
        order = rows[np.argsort(self._lengths[rows], kind="stable")]
        filled = np.cumsum(self._lengths[order])
        edges = np.flatnonzero(np.diff(filled // size)) + 1
        return [part for part in np.split(order, edges) if len(part)]

    def _fragments(self, index: int) -> Batch:
        """Windows of one length from anywhere in the verse."""
        random = np.random.default_rng((self.seed, index, 1))
        lengths = [n for n in FRAGMENT_LENGTHS if n <= self.fragment_longest]
        length = int(random.choice(lengths))
        count = max(1, self.batch_tokens // length)
        starts = random.integers(0, max(1, len(self.stream) - length - 1), size=count)
        return pad_rows([self.stream[s : s + length + 1] for s in starts], self.unk_id)


def _joined(poem: np.ndarray) -> np.ndarray:
    """The poem as it stands among others. Where one token both ends and begins poems it stands
    between two of them once: twice in a row it would teach that a poem may end at its start."""
    return poem[1:] if poem[0] == poem[-1] else poem


def pad_rows(rows: Sequence[np.ndarray], unk_id: int) -> Batch:
    """Rows of ids as inputs and shifted targets, padded on the right."""
    width = max(len(row) for row in rows) - 1
    inputs = np.zeros((len(rows), width), dtype=np.int64)
    targets = np.full((len(rows), width), IGNORE, dtype=np.int64)
    for i, row in enumerate(rows):
        inputs[i, : len(row) - 1] = row[:-1]
        targets[i, : len(row) - 1] = np.where(row[1:] == unk_id, IGNORE, row[1:])
    return Batch(torch.from_numpy(inputs), torch.from_numpy(targets))


def evaluation_batches(
    poems: Sequence[np.ndarray], *, block_size: int, batch_tokens: int, unk_id: int
) -> Iterable[Batch]:
    """Every poem once, each of its tokens after the start counted once.

    A poem longer than the block is read in windows that overlap by half a block, of
    which only the new half counts.
    """
    windows: list[tuple[np.ndarray, int]] = []  # ids, how many targets were counted before
    for poem in poems:
        windows.append((poem[: block_size + 1], 0))
        done = block_size
        while done < len(poem) - 1:
            begin = done - block_size // 2
            window = poem[begin : begin + block_size + 1]
            windows.append((window, done - begin))
            done = begin + len(window) - 1
    windows.sort(key=lambda window: len(window[0]))
    group: list[tuple[np.ndarray, int]] = []
    for ids, before in windows:
        if group and (len(group) + 1) * len(ids) > batch_tokens:
            yield _counted_batch(group, unk_id)
            group = []
        group.append((ids, before))
    if group:
        yield _counted_batch(group, unk_id)


def _counted_batch(group: Sequence[tuple[np.ndarray, int]], unk_id: int) -> Batch:
    batch = pad_rows([ids for ids, _ in group], unk_id)
    for row, (_, before) in enumerate(group):
        batch.targets[row, :before] = IGNORE
    return batch
