"""One more token through the short cut gives what the whole forward pass gives."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from threadpoolctl import threadpool_info

from model.cache import KVCache
from model.gpt import GPT
from tests.helpers import slow_logits, tiny_gpt

VOCAB = 40


def laid_out(**shape: int) -> GPT:
    """A lively random model, its biases and gains random too, laid out for decoding."""
    gpt = deepcopy(tiny_gpt(VOCAB, **shape))
    random = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in gpt.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape, generator=random) * 0.3)
    return gpt.lay_out_for_decoding()


def ids_of(rows: int, length: int) -> torch.Tensor:
    return torch.randint(VOCAB, (rows, length), generator=torch.Generator().manual_seed(rows))


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("shape", [{}, {"n_layer": 3, "n_head": 4, "n_embd": 24, "block_size": 48}])
@torch.inference_mode()
def test_token_by_token_equals_attention_written_out(shape: dict[str, int], rows: int) -> None:
    gpt, ids = laid_out(**shape), ids_of(rows, 20)
    cache = KVCache(gpt.config, rows)
    logits = torch.cat([gpt(ids[:, i : i + 1], cache, last=True) for i in range(20)], dim=1)
    assert cache.position == 20
    for row in range(rows):
        expected = slow_logits(gpt, ids[row].tolist())
        torch.testing.assert_close(logits[row].double(), expected, atol=1e-4, rtol=0)


@torch.inference_mode()
def test_after_a_prefill_a_truncation_and_the_end_of_a_row() -> None:
    gpt, ids = laid_out(), ids_of(3, 12)
    cache = KVCache(gpt.config, 3)
    gpt(ids[:, :9], cache, last=True)
    gpt(ids[:, :1], cache, last=True)
    cache.truncate(9)
    gpt(ids[:, 9:10], cache, last=True)
    cache.keep_rows([2, 0])
    logits = gpt(ids[[2, 0], 10:11], cache, last=True)
    for place, row in enumerate((2, 0)):
        expected = slow_logits(gpt, ids[row, :11].tolist())[-1]
        torch.testing.assert_close(logits[place, 0].double(), expected, atol=1e-4, rtol=0)


@torch.inference_mode()
def test_every_position_of_the_block_and_none_behind_it() -> None:
    gpt = laid_out()
    cache, one = KVCache(gpt.config), torch.tensor([[3]])
    for _ in range(gpt.config.block_size):
        gpt(one, cache)
    with pytest.raises(ValueError, match="32 \\+ 1 tokens do not fit"):
        gpt(one, cache)
    assert cache.position == gpt.config.block_size


def test_decoding_records_no_gradients() -> None:
    gpt = laid_out()
    assert not gpt(torch.tensor([[3]]), KVCache(gpt.config)).requires_grad
    assert not gpt(torch.tensor([[3, 4]])).requires_grad


@torch.inference_mode()
def test_whole_texts_through_matrices_laid_out_for_decoding() -> None:
    gpt = laid_out()
    ids = ids_of(2, 30)
    logits = gpt(ids)
    for row in range(2):
        expected = slow_logits(gpt, ids[row].tolist())
        torch.testing.assert_close(logits[row].double(), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("onednn", [True, False])
@torch.inference_mode()
def test_many_rows_through_ordered_matrices_and_without_any(
    onednn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.decode.MANY", 1)
    if not onednn:
        monkeypatch.setattr("torch.backends.mkldnn.is_available", lambda: False)
    gpt, ids = laid_out(), ids_of(40, 6)
    cache = KVCache(gpt.config, 40)
    logits = torch.cat([gpt(ids[:, i : i + 1], cache, last=True) for i in range(6)], dim=1)
    for row in range(40):
        expected = slow_logits(gpt, ids[row].tolist())
        torch.testing.assert_close(logits[row].double(), expected, atol=1e-4, rtol=0)


@torch.inference_mode()
def test_residual_streams_far_from_zero_lose_nothing() -> None:
    """The means that norms take off are taken off the weights, once and for all."""
    gpt = deepcopy(tiny_gpt(VOCAB))
    for parameter in (gpt.tokens.weight, gpt.blocks[0].proj.bias, gpt.positions.weight):
        parameter += 3
    gpt.lay_out_for_decoding()
    ids, cache = ids_of(1, 20), KVCache(gpt.config)
    logits = torch.cat([gpt(ids[:, i : i + 1], cache) for i in range(20)], dim=1)[0]
    torch.testing.assert_close(
        logits.double(), slow_logits(gpt, ids[0].tolist()), atol=1e-3, rtol=0
    )


def test_products_keep_to_the_threads_that_torch_was_given() -> None:
    laid_out()
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert all(pool["num_threads"] == torch.get_num_threads() for pool in blas)
