"""How fast this program writes, against others and against itself.

One torch thread. Whatever is compared runs in turns, after a run of each that is not
counted, and the medians are compared. Each comparison is yielded as it is done. Knows
nothing of tables or flags.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import torch

from model.cache import KVCache
from model.config import CacheMode, GPTConfig
from model.errors import UserError
from model.peers import largest_difference, twin_of, writer
from model.subjects import TEMPERATURE, Subject, stand_in

BATCH = 32
CLOSE = 1e-4
"""The most by which two correct float32 implementations may differ in a logit."""
GPT2 = GPTConfig(vocab_size=50257, block_size=1024, n_layer=12, n_head=12, n_embd=768)


class BenchmarkError(UserError):
    """Two ways that must give the same result did not: the times mean nothing."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two ways of writing the same number of characters."""

    key: str
    """Its name in the JSON line."""
    title: str
    other: str
    """What it is compared with."""
    tokens: int
    """Characters that each writes."""
    ours_s: float
    """Median of a whole run, in seconds; of a batch, shared out over its poems."""
    other_s: float
    n: int
    """Runs that each median is taken over."""
    aim: float | None

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.other_s / self.ours_s


@dataclass(frozen=True, slots=True)
class CacheSize:
    """The cache of one shape, by the formula and as it is."""

    key: str
    title: str
    bytes_per_token: int
    """2 · layers · width · bytes per value."""
    tokens: int
    by_formula: int
    allocated: int


Result = Comparison | CacheSize


@dataclass(frozen=True, slots=True)
class Workload:
    """What is compared: shapes and numbers of characters."""

    lengths: tuple[int, ...] = (32, 64, 120)
    """Cached against uncached, on the small model."""
    long: int = 500
    long_block: int = 512
    """That on random weights of the small model's shape, with a longer block."""
    wide: int = 240
    wide_layers: int = 6
    wide_width: int = 384
    wide_block: int = 256
    """Against a peer, on random weights of this shape."""
    repeats: int = 11
    quick_repeats: int = 3


def benchmarks(
    small: Subject,
    *,
    peers: bool = False,
    quick: bool = False,
    work: Workload = Workload(),
) -> Iterator[Result]:
    """Every comparison in turn. ``quick`` repeats less often.

    Raises ``BenchmarkError`` where a cached text is not the uncached one, and
    ``InputError`` where ``peers`` are wanted and not installed.
    """
    torch.set_num_threads(1)
    repeats = work.quick_repeats if quick else work.repeats
    few = max(1, repeats // 3)  # of runs that take seconds
    shape = small.model.config
    longest = max(work.lengths)
    if peers:
        yield against_peer("vs_hf", small, longest, repeats, aim=5)
        wide = stand_in(_wide(shape, work))
        key = f"vs_hf_{work.wide_layers}x{work.wide_width}"
        yield against_peer(key, wide, work.wide, few, aim=2)
    for tokens in work.lengths:
        yield against_uncached(small, tokens, repeats, aim=5 if tokens == longest else None)
    long = stand_in(replace(shape, block_size=work.long_block))
    yield against_uncached(long, work.long, few, aim=15)
    yield batched(small, longest, repeats, aim=4)
    yield cache_size("cache", "this model", shape, torch.float32)
    yield cache_size("cache_gpt2_fp16", "GPT-2 small in float16", GPT2, torch.float16)


def against_peer(
    key: str, ours: Subject, tokens: int, repeats: int, aim: float | None = None
) -> Comparison:
    """This engine against ``transformers`` on the same weights and settings."""
    twin = twin_of(ours.model)
    difference = largest_difference(ours.model, twin)
    if not difference <= CLOSE:
        raise BenchmarkError(f"the logits of transformers differ by up to {difference:.1e}")
    theirs = writer(twin, [ours.tokenizer.start_id], tokens, TEMPERATURE)
    ours_s, other_s = in_turns(lambda: ours.write(tokens), theirs, repeats)
    return Comparison(
        key, _title(ours, tokens), "transformers", tokens, ours_s, other_s, repeats, aim
    )


def against_uncached(
    ours: Subject, tokens: int, repeats: int, aim: float | None = None
) -> Comparison:
    """The cache against computing everything anew; the texts must be the same."""
    texts: dict[CacheMode, list[int]] = {}

    def write(cache: CacheMode) -> Callable[[], None]:
        def run() -> None:
            texts[cache] = ours.write(tokens, cache)
            if texts.get("on", texts[cache]) != texts[cache]:
                raise BenchmarkError(f"{tokens} characters: the cache changed the text")

        return run

    cached_s, uncached_s = in_turns(write("on"), write("off"), repeats)
    key, title = f"cached_{tokens}", _title(ours, tokens)
    return Comparison(key, title, "without cache", tokens, cached_s, uncached_s, repeats, aim)


def batched(ours: Subject, tokens: int, repeats: int, aim: float | None = None) -> Comparison:
    """``BATCH`` poems at once against one by itself, for each poem."""

    def write() -> None:
        written = ours.write_batch(tokens, range(BATCH))
        if written != BATCH * tokens:
            raise BenchmarkError(f"a batch wrote {written} characters, not {BATCH * tokens}")

    batch_s, one_s = in_turns(write, lambda: ours.write(tokens), repeats)
    key, title = f"batch_{BATCH}", f"{BATCH} × {_title(ours, tokens)}"
    return Comparison(key, title, "one by one", tokens, batch_s / BATCH, one_s, repeats, aim)


def cache_size(key: str, title: str, config: GPTConfig, dtype: torch.dtype) -> CacheSize:
    """What a full cache takes. Raises ``BenchmarkError`` where that is not the formula's."""
    cache = KVCache(config, dtype=dtype)
    tokens = config.block_size
    a_token = 2 * config.n_layer * config.n_embd * dtype.itemsize
    cache.advance(tokens)
    if not cache.nbytes == cache.allocated_bytes == a_token * tokens:
        raise BenchmarkError(
            f"the cache of {title} is {cache.allocated_bytes} bytes, by the formula "
            f"{a_token * tokens}"
        )
    return CacheSize(key, title, a_token, tokens, a_token * tokens, cache.allocated_bytes)


def as_document(results: Sequence[Result], weights: str, *, quick: bool) -> dict[str, Any]:
    """All results as one JSON object: each ratio under its key (``vs_hf`` is null where
    peers were not measured), and beneath ``runs`` what it stands on."""
    comparisons = [r for r in results if isinstance(r, Comparison)]
    sizes = [r for r in results if isinstance(r, CacheSize)]
    ratios: dict[str, float | None] = {"vs_hf": None}
    ratios.update({c.key: round(c.ratio, 3) for c in comparisons})
    return {
        **ratios,
        "bytes_per_token": {size.key: size.bytes_per_token for size in sizes},
        "weights": weights,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "quick": quick,
        "runs": {
            c.key: {k: v for k, v in asdict(c).items() if k not in ("key", "title", "other")}
            for c in comparisons
        },
        "sizes": {size.key: asdict(size) for size in sizes},
    }


def in_turns(
    ours: Callable[[], object], other: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Median seconds of both. They alternate, so that a busy moment meets both."""
    ours_s, other_s = [], []
    for _ in range(repeats + 1):
        ours_s.append(_seconds(ours))
        other_s.append(_seconds(other))
    return median(ours_s[1:]), median(other_s[1:])  # the first warms up


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _wide(shape: GPTConfig, work: Workload) -> GPTConfig:
    return replace(
        shape,
        n_layer=work.wide_layers,
        n_head=work.wide_width // 64 or 1,
        n_embd=work.wide_width,
        block_size=work.wide_block,
    )


def _title(ours: Subject, tokens: int) -> str:
    config = ours.model.config
    return f"{tokens} characters, {config.n_layer}×{config.n_embd}"
