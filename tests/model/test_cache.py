"""The cache says truly what it holds and what that costs."""

from __future__ import annotations

from itertools import count

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from torch import Tensor

from model.cache import KVCache, Snapshot
from model.config import GPTConfig

SMALL = GPTConfig(vocab_size=10, block_size=12, n_layer=2, n_head=2, n_embd=6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("batch", [1, 3])
def test_bytes_follow_the_formula_and_are_those_of_the_storage(
    dtype: torch.dtype, batch: int
) -> None:
    cache = KVCache(SMALL, batch, dtype)
    storage = cache.extend(0, *[torch.zeros(batch, 2, 1, 3)] * 2)[0].untyped_storage()
    assert cache.allocated_bytes == storage.nbytes()
    for tokens in (0, 5, 12):
        cache.truncate(0)
        cache.advance(tokens)
        formula = 2 * SMALL.n_layer * tokens * SMALL.n_embd * dtype.itemsize * batch
        held = cache.snapshot().keys_values
        assert cache.nbytes == formula == held.numel() * held.element_size()
    assert cache.nbytes == cache.allocated_bytes, "full: everything is in use"


def test_the_figures_of_the_lesson() -> None:
    lesson = KVCache(GPTConfig(vocab_size=100, block_size=128, n_layer=4, n_head=4, n_embd=128))
    assert lesson.bytes_per_token == 4 * 1024
    lesson.advance(128)
    assert lesson.nbytes == lesson.allocated_bytes == 512 * 1024
    gpt2 = GPTConfig(vocab_size=50257, block_size=1024, n_layer=12, n_head=12, n_embd=768)
    assert KVCache(gpt2, dtype=torch.float16).bytes_per_token == 36_864


def test_what_does_not_fit_is_refused() -> None:
    cache = KVCache(SMALL)
    cache.advance(10)
    with pytest.raises(ValueError, match="10 \\+ 3 tokens, but 12 fit"):
        cache.advance(3)
    for wrong in (-1, 11):
        with pytest.raises(ValueError, match=f"cannot truncate to {wrong}: 10 tokens"):
            cache.truncate(wrong)
    assert cache.position == 10


def test_rows_are_kept_in_the_order_asked_for() -> None:
    cache = KVCache(SMALL, batch=3)
    values = torch.arange(3.0).view(3, 1, 1, 1).expand(3, 2, 4, 3)
    for layer in range(2):
        cache.extend(layer, values, -values)
    cache.advance(4)
    cache.keep_rows([2, 0])
    assert (cache.batch, cache.position) == (2, 4)
    keys, negated = cache.extend(1, torch.full((2, 2, 1, 3), 9.0), torch.full((2, 2, 1, 3), 8.0))
    assert keys[:, 0, :, 0].tolist() == [[2, 2, 2, 2, 9], [0, 0, 0, 0, 9]]
    assert negated[:, 0, :, 0].tolist() == [[-2, -2, -2, -2, 8], [0, 0, 0, 0, 8]]
    assert cache.allocated_bytes == 2 * KVCache(SMALL).allocated_bytes


class CacheAgainstLists(RuleBasedStateMachine):
    """Anything done in any order leaves the cache holding what plain lists hold."""

    @initialize(rows=st.integers(1, 3))
    def begin(self, rows: int) -> None:
        self.cache = KVCache(SMALL, rows)
        self.held: list[list[float]] = [[] for _ in range(rows)]
        self.numbers = count(1)
        self.saved: tuple[Snapshot, list[list[float]]] | None = None

    def tensors(self, fresh: list[list[float]]) -> Tensor:
        return torch.tensor(fresh)[:, None, :, None].expand(-1, 2, -1, 3)  # [B, H, T, hd]

    @rule(tokens=st.integers(1, 5))
    def extend(self, tokens: int) -> None:
        tokens = min(tokens, SMALL.block_size - self.cache.position)
        if not tokens:
            return
        fresh = [[float(next(self.numbers)) for _ in range(tokens)] for _ in self.held]
        self.held = [old + new for old, new in zip(self.held, fresh, strict=True)]
        for layer in range(2):
            keys, values = self.cache.extend(layer, self.tensors(fresh), -self.tensors(fresh))
            assert keys[:, 0, :, 0].tolist() == self.held
            assert torch.equal(keys, -values)
        self.cache.advance(tokens)

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        place = int(share * self.cache.position)
        self.cache.truncate(place)
        self.held = [row[:place] for row in self.held]

    @rule()
    def snapshot(self) -> None:
        self.saved = (self.cache.snapshot(), [list(row) for row in self.held])

    @precondition(lambda self: self.saved is not None)
    @rule()
    def restore(self) -> None:
        assert self.saved is not None
        snapshot, held = self.saved
        self.cache.restore(snapshot)
        self.held = [list(row) for row in held]

    @precondition(lambda self: len(self.held) > 1)
    @rule(drawn=st.randoms(use_true_random=False))
    def keep_rows(self, drawn: object) -> None:
        rows = drawn.sample(range(len(self.held)), len(self.held) - 1)  # type: ignore[attr-defined]
        self.cache.keep_rows(rows)
        self.held = [self.held[i] for i in rows]
        self.saved = None  # of another shape now

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "cache"):
            everything = self.cache.snapshot()
            assert everything.position == self.cache.position == len(self.held[0])
            for layer in everything.keys_values:
                assert layer[0][:, 1, :, 2].tolist() == self.held
                assert torch.equal(layer[0], -layer[1])
            assert self.cache.nbytes == 2 * 2 * 6 * 4 * len(self.held) * len(self.held[0])


TestCacheAgainstLists = CacheAgainstLists.TestCase
TestCacheAgainstLists.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
