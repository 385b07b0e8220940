"""Training batches: every poem once an epoch, and the same ones at every telling."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.data import (
    FRAGMENT_LENGTHS,
    IGNORE,
    Batch,
    BatchPlan,
    encode_poems,
    evaluation_batches,
    pad_rows,
)
from tests.helpers import CHARACTERS

UNK, START, END = 0, 1, 1


def poems_of(lengths: list[int], seed: int = 0) -> list[np.ndarray]:
    """Poems with so many characters each, a few unknown; each begins with its own number,
    so that it can be told from the others."""
    rng = np.random.default_rng(seed)
    made = []
    for number, length in enumerate(lengths):
        body = rng.choice([UNK, *range(2, 9)], size=max(0, length - 1), p=[0.1] + [0.9 / 7] * 7)
        made.append(np.array([START, 100 + number, *body, END], dtype=np.int64))
    return made


def plan_of(poems: list[np.ndarray], **changes: object) -> BatchPlan:
    settings = {"block_size": 16, "batch_tokens": 60, "fragment_share": 0.0, "seed": 3}
    return BatchPlan(poems, unk_id=UNK, **(settings | changes))  # type: ignore[arg-type]


def equal(a: Batch, b: Batch) -> bool:
    return torch.equal(a.inputs, b.inputs) and torch.equal(a.targets, b.targets)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=40), st.integers(0, 9))
def test_each_poem_comes_exactly_once_an_epoch(lengths: list[int], seed: int) -> None:
    plan = plan_of(poems_of(lengths), seed=seed)
    for epoch in (0, 1):
        seen = Counter[int]()
        for place in range(plan.batches_per_epoch):
            batch = plan.batch(epoch * plan.batches_per_epoch + place)
            assert set(batch.inputs[:, 0].tolist()) == {START}
            seen.update(batch.inputs[:, 1].tolist())
        assert seen == Counter({100 + n: 1 for n in range(len(lengths))})


def test_in_fragments_an_end_never_follows_a_start() -> None:
    """One token is both: doubled between poems, it taught that a poem may be empty."""
    plan = plan_of(poems_of([3, 5, 1, 4] * 10), fragment_share=0.5)
    assert (plan.stream == START).sum() == 40
    assert not ((plan.stream[1:] == START) & (plan.stream[:-1] == START)).any()


def test_a_start_of_its_own_stays_before_each_poem_in_fragments() -> None:
    poems = poems_of([3, 5, 1, 4])
    for poem in poems:
        poem[-1] = 99
    assert (plan_of(poems).stream == np.concatenate(poems)).all()


@given(st.integers(0, 9), st.sampled_from([0.2, 0.5, 0.7]))
def test_an_epoch_shows_all_poems_and_a_new_part_of_the_others(seed: int, share: float) -> None:
    lengths = [6, 10, 14] * 20
    poems, others = poems_of(lengths), poems_of(lengths * 8, seed=1)
    for number, row in enumerate(others):
        row[0], row[1] = 2, 1000 + number
    plan = BatchPlan(
        poems,
        others,
        block_size=16,
        batch_tokens=60,
        fragment_share=0.2,
        other_share=share,
        seed=seed,
        unk_id=UNK,
    )
    seen_others = Counter[int]()
    for epoch in (0, 1):
        seen = Counter[int]()
        for place in range(plan.batches_per_epoch):
            batch = plan.batch(epoch * plan.batches_per_epoch + place)
            for start, name in batch.inputs[:, :2].tolist():
                if name >= 100:  # a fragment may begin anywhere; a poem row says who it is
                    seen[name] += start in (START, 2)
        assert set(seen) >= {100 + n for n in range(len(lengths))}
        taken = {name for name, n in seen.items() if name >= 1000}
        assert not taken & set(seen_others)
        seen_others.update(taken)
        expected = len(lengths) * share / (1 - share)
        assert abs(len(taken) - expected) <= 0.1 * expected + 1


def test_epochs_are_shuffled_differently() -> None:
    plan = plan_of(poems_of([20] * 40))
    size = plan.batches_per_epoch
    first, second = (
        [plan.batch(e * size + i).inputs[:, 1].tolist() for i in range(size)] for e in (0, 1)
    )
    assert first != second
    assert sorted(map(sorted, first)) != sorted(map(sorted, second)), "not only their order"


def test_a_batch_is_a_function_of_seed_and_number_alone() -> None:
    poems = poems_of([5, 9, 20, 20, 31, 7] * 6)
    plan = plan_of(poems, fragment_share=0.3)
    numbers = list(range(3 * plan.batches_per_epoch))
    forwards = {n: plan.batch(n) for n in numbers}
    fresh = plan_of(poems, fragment_share=0.3)
    for n in reversed(numbers):
        assert equal(fresh.batch(n), forwards[n])
    other = plan_of(poems, fragment_share=0.3, seed=4)
    assert not all(equal(other.batch(n), forwards[n]) for n in numbers)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5])
def test_fragments_have_their_share_of_the_batches(share: float) -> None:
    poems = poems_of([18] * 200)
    plan = plan_of(poems, fragment_share=share, batch_tokens=64)
    text = plan.stream
    fragments, targets = 0, 0
    for number in range(plan.batches_per_epoch):
        batch = plan.batch(number)
        if set(batch.inputs[:, 0].tolist()) == {START}:
            continue
        fragments += 1
        targets += batch.targets.numel()
        assert batch.inputs.shape[1] in FRAGMENT_LENGTHS
        assert batch.inputs.shape[1] <= plan.block_size
        for row in batch.inputs.numpy():
            windows = np.lib.stride_tricks.sliding_window_view(text, len(row))
            assert (windows == row).all(1).any(), "a window of the text"
    assert fragments / plan.batches_per_epoch == pytest.approx(share, abs=0.02)
    assert targets == pytest.approx(fragments * 64)


def test_batches_gather_poems_of_about_one_length_and_are_about_as_large_as_asked() -> None:
    plan = plan_of(poems_of([10] * 60 + [16] * 60), batch_tokens=120)
    counts = [plan.batch(n) for n in range(plan.batches_per_epoch)]
    filled = sum(b.counted for b in counts) / sum(b.targets.numel() for b in counts)
    assert filled > 0.85  # a tenth is unknown characters
    assert all(b.targets.numel() <= 2 * 120 for b in counts)


def test_targets_are_the_ids_that_follow_unknown_and_padding_left_out() -> None:
    batch = pad_rows([np.array([1, 5, 0, 6, 1]), np.array([1, 7, 1])], UNK)
    assert batch.inputs.tolist() == [[1, 5, 0, 6], [1, 7, 0, 0]]
    assert batch.targets.tolist() == [[5, IGNORE, 6, 1], [7, 1, IGNORE, IGNORE]]
    assert batch.counted == 5


@given(st.integers(1, 5), st.integers(1, 7))
def test_shards_are_the_batch_dealt_out(world: int, rows: int) -> None:
    ids = torch.arange(rows * 3).view(rows, 3)
    batch = Batch(ids, ids + 1)
    shards = [batch.shard(rank, world) for rank in range(world)]
    assert all(len(shard.inputs) for shard in shards), "a model cannot read a batch of none"
    dealt = [row for s in shards for row in s.targets[:, 0].tolist() if row != IGNORE]
    assert sorted(dealt) == batch.targets[:, 0].tolist()
    assert sum(shard.counted for shard in shards) == batch.counted


def test_poems_are_encoded_between_their_start_and_end() -> None:
    (poem,) = encode_poems(["春x眠"], CHARACTERS)
    assert poem.tolist() == [1, CHARACTERS.encode("春")[0], 0, CHARACTERS.encode("眠")[0], 1]
    (song,) = encode_poems(["春"], CHARACTERS, CHARACTERS.song_id)
    assert song[0] == CHARACTERS.song_id and song[-1] == CHARACTERS.end_id


@given(st.lists(st.integers(1, 70), min_size=1, max_size=12), st.sampled_from([4, 7, 16]))
def test_evaluation_counts_every_known_token_once(lengths: list[int], block: int) -> None:
    poems = poems_of(lengths)
    for number, poem in enumerate(poems):  # every token its own, so that each can be counted
        known = poem != UNK
        poem[known] = 1000 * (number + 1) + np.arange(len(poem))[known]
    counted = Counter[int]()
    for batch in evaluation_batches(poems, block_size=block, batch_tokens=100, unk_id=UNK):
        assert batch.inputs.shape[1] <= block
        counted.update(batch.targets[batch.targets != IGNORE].tolist())
    expected = [int(t) for poem in poems for t in poem[1:] if t != UNK]
    assert counted == Counter(expected)
