"""The benchmark measures equal work, and says so where it would not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from model.benchmarks import (
    GPT2,
    BenchmarkError,
    CacheSize,
    Comparison,
    Workload,
    against_peer,
    against_uncached,
    as_document,
    batched,
    benchmarks,
    cache_size,
)
from model.cache import KVCache
from model.config import GPTConfig
from model.errors import InputError
from model.gpt import GPT
from model.peers import largest_difference, require, twin_of, writer
from model.subjects import SPREAD, Subject, shipped, stand_in

SHAPE = GPTConfig(vocab_size=60, block_size=48, n_layer=2, n_head=2, n_embd=32)
WORK = Workload(
    lengths=(3, 6),
    long=9,
    long_block=64,
    wide=4,
    wide_layers=2,
    wide_width=16,
    wide_block=32,
    repeats=3,
    quick_repeats=1,
)


@pytest.fixture(scope="module")
def subject() -> Subject:
    return stand_in(SHAPE)


def test_a_ratio_says_how_many_times_faster_ours_is() -> None:
    comparison = Comparison("k", "t", "other", 10, ours_s=0.5, other_s=2.0, n=3, aim=None)
    assert comparison.ratio == 4.0


def test_runs_have_the_length_asked_for_and_hold_text_only(subject: Subject) -> None:
    for cache in ("on", "off"):
        written = subject.write(40, cache)
        assert len(written) == 40
        assert not subject.tokenizer.special_ids & set(written)
    assert subject.write_batch(40, range(3)) == 120


def test_a_stand_in_is_as_uncertain_as_a_trained_model_and_always_the_same() -> None:
    config = replace(SHAPE, vocab_size=3000, n_embd=64)
    one, other = stand_in(config), stand_in(config)
    ids = torch.arange(30)[None] + 5
    with torch.inference_mode():
        logits = one.model(ids)
        assert torch.equal(logits, other.model(ids))
    assert float(logits.std()) == pytest.approx(SPREAD, rel=0.2)


def test_without_its_file_a_shipped_model_is_replaced_by_random_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr("model.registry.WEIGHTS", tmp_path)
    subject = shipped("tang-small")
    assert subject.weights == "random"
    config = subject.model.config
    assert (config.n_layer, config.n_head, config.n_embd, config.block_size) == (4, 4, 128, 128)


def test_cached_and_uncached_write_the_same(subject: Subject) -> None:
    comparison = against_uncached(subject, 12, repeats=2, aim=5)
    assert (comparison.key, comparison.tokens, comparison.n) == ("cached_12", 12, 2)
    assert comparison.ours_s > 0 and comparison.other_s > 0


def test_a_cache_that_changed_the_text_is_an_error_not_a_figure() -> None:
    class Forgetful(GPT):
        def forward(self, ids: Tensor, cache: KVCache | None = None, *, last: bool = False):
            logits = super().forward(ids, cache, last=last)
            return logits.flip(-1) if cache is not None and cache.position > 5 else logits

    sound = stand_in(SHAPE)
    model = Forgetful(SHAPE).eval()
    model.load_state_dict(sound.model.state_dict())
    with pytest.raises(BenchmarkError, match="12 characters: the cache changed the text"):
        against_uncached(replace(sound, model=model), 12, repeats=1)


def test_a_batch_is_timed_for_each_of_its_poems(subject: Subject) -> None:
    comparison = batched(subject, 5, repeats=1)
    assert (comparison.key, comparison.tokens) == ("batch_32", 5)


def test_a_batch_that_writes_less_is_an_error(subject: Subject) -> None:
    class Lazy(Subject):
        def write_batch(self, tokens: int, seeds: Sequence[int]) -> int:
            return tokens

    lazy = Lazy(subject.model, subject.tokenizer, "lazy")
    with pytest.raises(BenchmarkError, match="a batch wrote 5 characters, not 160"):
        batched(lazy, 5, repeats=1)


def test_cache_sizes_of_the_lesson_and_of_gpt2() -> None:
    lesson = cache_size("cache", "ours", GPTConfig(vocab_size=10), torch.float32)
    assert (lesson.bytes_per_token, lesson.allocated) == (4096, 512 * 1024)
    assert cache_size("gpt2", "GPT-2", GPT2, torch.float16).bytes_per_token == 36_864


def test_a_cache_of_another_size_than_the_formula_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(KVCache, "allocated_bytes", property(lambda self: 7))
    with pytest.raises(BenchmarkError, match="is 7 bytes, by the formula"):
        cache_size("cache", "ours", SHAPE, torch.float32)


@pytest.mark.parametrize("quick", [True, False])
def test_every_comparison_is_made_and_every_ratio_is_in_the_document(
    subject: Subject, quick: bool
) -> None:
    results = list(benchmarks(subject, quick=quick, work=WORK))
    document = json.loads(json.dumps(as_document(results, subject.weights, quick=quick)))
    keys = ["cached_3", "cached_6", "cached_9", "batch_32"]
    assert [r.key for r in results if isinstance(r, Comparison)] == keys
    assert document["vs_hf"] is None, "not measured is not a number"
    for result in results:
        if isinstance(result, Comparison):
            assert document[result.key] == pytest.approx(result.ratio, abs=6e-4)
            assert document["runs"][result.key]["n"] == result.n
    assert document["runs"]["cached_3"]["n"] == (1 if quick else 3)
    sizes = [r for r in results if isinstance(r, CacheSize)]
    assert (
        document["bytes_per_token"]
        == {
            "cache": 2 * 2 * 32 * 4,
            "cache_gpt2_fp16": 36_864,
        }
        == {size.key: size.bytes_per_token for size in sizes}
    )
    assert (document["weights"], document["threads"]) == ("random", 1)


def test_a_missing_peer_is_named_with_the_command_that_gets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("model.peers.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"transformers is not installed.*pip install -e"):
        require()


@pytest.fixture(scope="module")
def twin(subject: Subject) -> Any:
    """The real thing, where it is installed."""
    pytest.importorskip("transformers")
    return twin_of(subject.model)


def test_the_peer_has_the_same_logits(subject: Subject, twin: Any) -> None:
    assert largest_difference(subject.model, twin) <= 1e-4


def test_another_model_is_told_apart(subject: Subject, twin: Any) -> None:
    other = stand_in(replace(SHAPE, n_layer=1))
    assert largest_difference(other.model, twin) > 1e-2


def test_the_peer_writes_exactly_as_many_tokens(twin: Any) -> None:
    assert len(writer(twin, [1], 20, 0.8)()) == 20


@pytest.mark.usefixtures("twin")
def test_the_peer_is_compared_on_equal_weights(subject: Subject) -> None:
    comparison = against_peer("vs_hf", subject, 6, repeats=1, aim=5)
    document = as_document([comparison], subject.weights, quick=True)
    assert document["vs_hf"] == pytest.approx(comparison.ratio, abs=6e-4)


def test_a_peer_with_other_logits_is_an_error(
    subject: Subject, twin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = stand_in(replace(SHAPE, n_layer=1))
    monkeypatch.setattr("model.benchmarks.twin_of", lambda model: twin)
    with pytest.raises(BenchmarkError, match="the logits of transformers differ"):
        against_peer("vs_hf", other, 6, repeats=1)
