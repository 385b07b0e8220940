"""Our passes against those of ``transformers`` on the same weights: cached and uncached, in
any chunks, cut back, in batches."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from model.pretrained.cache import FIRST_ROOM, GrowingCache
from model.pretrained.llama import Llama, LlamaShape
from tests.pretrained.makers import SHAPE, library_model, needs_extra

pytestmark = needs_extra
VOCAB = 97
CLOSE = 1e-4
KINDS = [
    ("llama", {"tie_word_embeddings": True}),
    ("llama", {"tie_word_embeddings": False, "attention_bias": True}),
    ("llama", {"num_key_value_heads": 6, "head_dim": 16}),
    ("qwen2", {"tie_word_embeddings": True}),
    ("gpt2", {}),
]


def ours_of(theirs: Any, dtype: torch.dtype = torch.float32) -> Any:
    """The same weights behind this program's protocol."""
    from model.pretrained.library import LibraryModel

    shape = LlamaShape.of(json.loads(theirs.config.to_json_string()))
    if shape is None:
        return LibraryModel(theirs.to(dtype))
    return Llama(shape, theirs.state_dict().get, dtype)


@pytest.fixture(params=KINDS, ids=lambda kind: "-".join([kind[0], *kind[1]]))
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    kind, changes = request.param
    theirs = library_model(kind, VOCAB, **changes)
    return ours_of(theirs), theirs


def ids_of(rows: int, tokens: int) -> torch.Tensor:
    return torch.randint(VOCAB, (rows, tokens), generator=torch.Generator().manual_seed(1))


@torch.inference_mode()
def test_logits_are_the_librarys(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    ids = ids_of(2, 40)
    expected = theirs(ids).logits
    assert expected.std() > 0.5, "lively enough for a mistake to show"
    assert (ours(ids) - expected).abs().max() <= CLOSE
    assert (ours(ids, last=True) - expected[:, -1:]).abs().max() <= CLOSE
    assert ours(ids, last=True).shape == (2, 1, VOCAB)
    assert ours.n_parameters == sum(p.numel() for p in theirs.parameters())


@pytest.mark.parametrize("chunk", [1, 2, 7, 39, 64])
@torch.inference_mode()
def test_a_cache_changes_nothing_however_the_text_is_cut(pair: tuple[Any, Any], chunk: int) -> None:
    ours, theirs = pair
    ids = ids_of(1, 64)
    cache = ours.new_cache()
    parts = [ours(ids[:, at : at + chunk], cache) for at in range(0, 64, chunk)]
    assert (torch.cat(parts, 1) - theirs(ids).logits).abs().max() <= CLOSE
    assert (cache.position, cache.capacity) == (64, 64)
    with pytest.raises(ValueError, match="64"):
        ours(ids[:, :1], cache)


@torch.inference_mode()
def test_a_cache_cut_back_goes_on_from_there(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    ids, other = ids_of(1, 30), ids_of(2, 30)[1:]
    cache = ours.new_cache()
    ours(ids, cache)
    kept = cache.snapshot()
    cache.truncate(11)
    assert cache.position == 11
    mixed = torch.cat([ids[:, :11], other[:, 11:]], 1)
    assert (ours(other[:, 11:], cache) - theirs(mixed).logits[:, 11:]).abs().max() <= CLOSE
    cache.restore(kept)
    assert cache.position == 30
    more = torch.cat([ids, other[:, :1]], 1)
    assert (ours(other[:, :1], cache) - theirs(more).logits[:, -1:]).abs().max() <= CLOSE
    cache.truncate(0)
    assert (ours(ids, cache) - theirs(ids).logits).abs().max() <= CLOSE
    for position in (-1, 31):
        with pytest.raises(ValueError, match="cannot truncate"):
            cache.truncate(position)


@torch.inference_mode()
def test_rows_of_a_batch_may_end_before_the_others(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    ids = ids_of(3, 12)
    cache = ours.new_cache(3)
    ours(ids[:, :9], cache)
    cache.keep_rows([2, 0])
    left = ids[[2, 0]]
    got = torch.cat([ours(left[:, at : at + 1], cache) for at in range(9, 12)], 1)
    assert (got - theirs(left).logits[:, 9:]).abs().max() <= CLOSE


@torch.inference_mode()
def test_the_caches_size_is_what_the_shape_says(pair: tuple[Any, Any]) -> None:
    ours, _ = pair
    cache = ours.new_cache(2)
    assert (cache.nbytes, cache.position) == (0, 0)
    ours(ids_of(2, 5), cache)
    shape = ours.config
    a_token = 2 * shape.n_layer * shape.n_kv_head * shape.head_size * 4
    assert cache.bytes_per_token == a_token
    assert cache.nbytes == a_token * 5 * 2


@torch.inference_mode()
def test_bfloat16_is_near_and_half_as_large(pair: tuple[Any, Any]) -> None:
    _, theirs = pair
    ids = ids_of(1, 20)
    expected = theirs(ids).logits
    half = ours_of(theirs, torch.bfloat16)
    whole, cache = half(ids), half.new_cache()
    assert whole.dtype == torch.float32
    assert (whole - expected).abs().max() < 0.1 * expected.abs().max()
    stepped = torch.cat([half(ids[:, at : at + 1], cache) for at in range(20)], 1)
    assert (stepped - whole).abs().max() < 0.1 * expected.abs().max()
    shape = half.config
    assert cache.bytes_per_token == 2 * shape.n_layer * shape.n_kv_head * shape.head_size * 2


def test_the_store_grows_past_its_first_room_and_keeps_what_it_held() -> None:
    cache = GrowingCache(
        n_layer=2, n_kv_head=1, head_size=4, capacity=700, batch=1, dtype=torch.float32
    )
    wrote = torch.randn(1, 1, 2 * FIRST_ROOM + 9, 4)
    for at in range(wrote.shape[2]):
        cache.make_room(1)
        for layer in range(2):
            keys, values = cache.extend(layer, wrote[:, :, at : at + 1], -wrote[:, :, at : at + 1])
        cache.advance(1)
    assert torch.equal(keys, wrote) and torch.equal(values, -wrote)
    with pytest.raises(ValueError, match="700 fit"):
        cache.make_room(200)


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "mistral"},
        {"hidden_act": "gelu"},
        {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0}},
        {"rope_scaling": {"type": "linear", "factor": 2.0}},
        {"mlp_bias": True},
        {"use_sliding_window": True},
        {"layer_types": ["full_attention", "sliding_attention"]},
    ],
)
def test_what_is_not_the_plain_family_is_left_to_the_library(change: dict[str, Any]) -> None:
    plain = {"model_type": "llama", "vocab_size": VOCAB, "rms_norm_eps": 1e-6, **SHAPE}
    assert LlamaShape.of(plain) is not None
    assert LlamaShape.of({**plain, **change}) is None


def test_older_files_give_the_rotary_base_by_itself() -> None:
    plain = {"model_type": "llama", "vocab_size": VOCAB, "rms_norm_eps": 1e-6, **SHAPE}
    shape = LlamaShape.of({**plain, "rope_theta": 5e5, "rope_scaling": None})
    assert shape is not None and shape.rope_theta == 5e5


SMALL = {"vocab_size": 50, "hidden_size": 16}
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 16}


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("Mamba", {**SMALL, "num_hidden_layers": 1}),
        ("Rwkv", {**SMALL, "num_hidden_layers": 2, "attention_hidden_size": 16}),
        ("RecurrentGemma", {**SMALL, **HEADS, "num_hidden_layers": 3, "lru_width": 16}),
    ],
    ids=["state space", "no attention", "some attention"],
)
def test_a_model_that_keeps_one_state_is_refused(kind: str, config: dict[str, Any]) -> None:
    import transformers

    from model.errors import CheckpointError
    from model.pretrained.library import LibraryModel

    shape = getattr(transformers, f"{kind}Config")(**config)
    model = getattr(transformers, f"{kind}ForCausalLM")(shape)
    with pytest.raises(CheckpointError, match="model keeps its past as one state"):
        LibraryModel(model)
