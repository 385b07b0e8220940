"""The transformer gives the same logits however it is fed."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.cache import KVCache
from model.config import GPTConfig
from model.gpt import GPT
from tests.helpers import slow_logits, tiny_gpt

VOCAB = 40
BLOCK = 96


def model() -> GPT:
    return tiny_gpt(VOCAB, block_size=BLOCK)


def some_ids(length: int, seed: int = 0) -> Tensor:
    return torch.randint(VOCAB, (1, length), generator=torch.Generator().manual_seed(seed))


@torch.inference_mode()
def in_chunks(gpt: GPT, ids: Tensor, sizes: list[int]) -> Tensor:
    """Logits ``[T, V]`` of ids fed through a cache in chunks, the last size repeated."""
    cache, parts, at = KVCache(gpt.config), [], 0
    while at < ids.shape[1]:
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        parts.append(gpt(ids[:, at : at + size], cache)[0])
        at += size
    assert cache.position == ids.shape[1]
    return torch.cat(parts)


@torch.inference_mode()
def test_logits_are_those_of_attention_written_out_query_by_query() -> None:
    ids = some_ids(20)
    expected = slow_logits(model(), ids[0].tolist())
    assert expected.std() > 0.5, "the model must tell contexts apart for this to mean anything"
    torch.testing.assert_close(model()(ids)[0].double(), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("chunk", [1, 2, 7, 64, BLOCK])
@torch.inference_mode()
def test_prefill_in_chunks_gives_the_logits_of_one_shot(chunk: int) -> None:
    ids = some_ids(BLOCK)
    one_shot = model()(ids)[0]
    assert (in_chunks(model(), ids, [chunk]) - one_shot).abs().max() <= 1e-4


@given(st.integers(2, BLOCK), st.lists(st.integers(1, 20), min_size=1, max_size=9))
@torch.inference_mode()
def test_any_cutting_gives_the_logits_of_one_shot(length: int, sizes: list[int]) -> None:
    ids = some_ids(length, seed=length)
    one_shot = model()(ids)[0]
    assert (in_chunks(model(), ids, sizes) - one_shot).abs().max() <= 1e-4


@pytest.mark.parametrize("offset", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("queries", [1, 2, 3, 8])
@torch.inference_mode()
def test_every_query_length_at_every_offset_sees_all_before_it_and_nothing_after(
    queries: int, offset: int
) -> None:
    ids = some_ids(offset + queries, seed=offset)
    cache = KVCache(model().config)
    if offset:
        model()(ids[:, :offset], cache)
    logits = model()(ids[:, offset:], cache)[0].double()
    expected = slow_logits(model(), ids[0].tolist())[offset:]
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=0)


@torch.inference_mode()
def test_a_later_token_changes_no_earlier_logit_and_an_earlier_one_does() -> None:
    ids = some_ids(12)
    other = ids.clone()
    other[0, 6] = (other[0, 6] + 1) % VOCAB
    before, after = model()(ids)[0], model()(other)[0]
    assert torch.equal(before[:6], after[:6])
    assert (before[6:] - after[6:]).abs().amax(-1).min() > 1e-3


@torch.inference_mode()
def test_single_cached_tokens_take_the_next_positions() -> None:
    gpt = model()
    same = torch.full((1, 1), 7)
    cache = KVCache(gpt.config)
    logits = torch.cat([gpt(same, cache)[0] for _ in range(10)])
    torch.testing.assert_close(logits, gpt(same.expand(1, 10))[0], atol=1e-4, rtol=0)
    # the token is always the same: only its position tells these apart
    assert (logits[1:] - logits[:-1]).abs().amax(-1).min() > 1e-3


@pytest.mark.parametrize("held", [0, 5])
@torch.inference_mode()
def test_last_is_the_last_row_of_all(held: int) -> None:
    gpt, ids = model(), some_ids(11)

    def fed() -> KVCache:
        cache = KVCache(gpt.config)
        if held:
            gpt(ids[:, :held], cache)
        return cache

    last = gpt(ids[:, held:], fed(), last=True)
    assert last.shape == (1, 1, VOCAB)
    torch.testing.assert_close(last, gpt(ids[:, held:], fed())[:, -1:], atol=1e-5, rtol=0)


@torch.inference_mode()
def test_rows_of_a_batch_do_not_mix() -> None:
    ids = torch.cat([some_ids(9, seed) for seed in range(4)])
    together = model()(ids)
    for row in range(4):
        torch.testing.assert_close(
            together[row : row + 1], model()(ids[row : row + 1]), atol=1e-5, rtol=0
        )


@torch.inference_mode()
def test_the_layout_for_decoding_changes_neither_logits_nor_tying() -> None:
    torch.manual_seed(3)
    gpt = GPT(GPTConfig(VOCAB, 32, 2, 2, 32)).eval()
    ids = some_ids(30)
    before, shapes = gpt(ids), {n: p.shape for n, p in gpt.named_parameters()}
    assert gpt.lay_out_for_decoding() is gpt
    assert {n: p.shape for n, p in gpt.named_parameters()} == shapes
    assert (gpt(ids) - before).abs().max() <= 1e-5
    assert (in_chunks(gpt, ids, [1]) - before[0]).abs().max() <= 1e-4
    # one matrix is both embedding and head: a change of it shows in both
    gpt.tokens.weight[5] = 0
    logits = gpt(ids)
    assert logits[..., 5].abs().max() == 0
    assert "head.weight" not in dict(gpt.named_parameters())


def test_more_tokens_than_the_block_are_refused() -> None:
    gpt = model()
    with pytest.raises(ValueError, match=f"0 \\+ {BLOCK + 1} tokens do not fit"):
        gpt(some_ids(BLOCK + 1))
    cache = KVCache(gpt.config)
    with torch.inference_mode():
        gpt(some_ids(BLOCK), cache)
        with pytest.raises(ValueError, match=f"{BLOCK} \\+ 1 tokens do not fit"):
            gpt(some_ids(1), cache)
    assert cache.position == BLOCK, "a refusal leaves the cache as it was"


def test_parameters_are_counted_with_the_head_once() -> None:
    gpt = GPT(GPTConfig(vocab_size=10, block_size=8, n_layer=1, n_head=1, n_embd=4))
    block = 2 * (4 + 4) + (12 * 4 + 12) + (4 * 4 + 4) + (16 * 4 + 16) + (4 * 16 + 4)
    assert gpt.n_parameters == 10 * 4 + 8 * 4 + block + 8
