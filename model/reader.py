"""Forward passes over a growing text, in whichever cache mode is asked for at a step.

Knows the window rule and the cache, and what a pass cost; knows nothing of sampling, of
constraints or of when a run ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from model.config import Controls
from model.protocol import Cache, Held, LanguageModel
from model.steps import Phase, Race
from model.tokenizers import Tokenizer
from model.window import next_start

PREFILL_CHUNK = 256
"""Tokens read between two looks at the cancel flag."""
WHOLE_UP_TO = 512
"""Tokens of the longest window that goes through the model in one pass where nothing is cached.
Nobody can interrupt a pass, and over more than this a large model takes seconds."""


@dataclass(frozen=True, slots=True)
class Forward:
    """The logits of one step and how they came about."""

    logits: Tensor
    """``[V]`` float32, of the token that follows."""
    phase: Phase
    context: int
    recomputed: int
    seconds: float
    reused: int = 0
    """Tokens of the window that a cache taken over from an earlier run held already."""
    race: Race | None = None
    whole: bool = False
    """The window went through the model in one pass without a cache: logits that every cache
    mode and every batch can come back to."""


class Cancelled(Exception):
    """The caller's flag was raised during a forward pass."""


class Reader:
    """Runs a model over a growing text, in whichever cache mode is asked for at a step."""

    def __init__(
        self, model: LanguageModel, tokenizer: Tokenizer, held: Held | None = None
    ) -> None:
        """``held``: a cache that an earlier run left behind; it belongs to this reader now,
        which keeps the longest beginning that its text shares with this one."""
        self._model = model
        self._line_ends = line_end_ids(tokenizer)
        self._start = 0
        self._taken_over = held
        self._cache: Cache | None = None
        self._cache_start = 0
        self._reused = 0  # tokens that the cache taken over had read, until they are told
        # One id as a tensor is looked up: torch.tensor takes as long as a small layer.
        self._ids = torch.arange(model.config.vocab_size).view(-1, 1, 1)  # [V, 1, 1]
        self._read = 0  # tokens of the text that have been through the model

    def count_as_read(self, tokens: int) -> None:
        """The first ``tokens`` of the text went through the model elsewhere."""
        self._read = max(self._read, tokens)

    @property
    def cache_bytes(self) -> int:
        """Bytes of keys and values in use."""
        return self._cache.nbytes if self._cache else 0

    def held(self, ids: Sequence[int]) -> Held | None:
        """The cache with those of ``ids``, the text read, that it holds, to be handed to
        another reader; ``None`` where there is none."""
        if self._cache is None:
            return self._taken_over
        return Held.of(self._cache, ids[self._cache_start :])

    def read(
        self, ids: Sequence[int], controls: Controls, cancelled: Callable[[], bool]
    ) -> Forward:
        """The logits that follow ``ids``. Raises ``Cancelled`` between two chunks."""
        block = self._model.config.block_size
        start = next_start(ids, self._start, len(ids), block, self._line_ends)
        slid, self._start = start != self._start, start
        window = ids[start:]
        reused, race = 0, None
        if controls.cache == "off":
            logits, seconds = self._uncached(window, cancelled)
            passed = len(window)
        else:
            logits, seconds, passed = self._cached(window, cancelled)
        if controls.cache == "race":
            logits, seconds, race = self._compared(window, logits, seconds, cancelled)
        if controls.cache != "off":  # nothing from here on can be cancelled
            reused, self._reused = self._reused, 0
        phase = self._phase(controls, slid, passed)
        recomputed = passed - min(passed, max(0, len(ids) - self._read))
        self._read = max(self._read, len(ids))
        whole = controls.cache == "off" and len(window) <= WHOLE_UP_TO
        return Forward(logits, phase, len(window), recomputed, seconds, reused, race, whole)

    def can_read_whole(self, forward: Forward) -> bool:
        """Whether ``read_whole`` would tell more than ``forward`` does, in decent time."""
        return not forward.whole and forward.context <= WHOLE_UP_TO

    def read_whole(self, ids: Sequence[int], forward: Forward) -> Forward:
        """``forward``, which ``read`` gave for ``ids``, with the logits of one pass over its
        window without the cache; that pass is counted in."""
        logits, seconds = self._uncached(ids[-forward.context :], lambda: False)
        return replace(
            forward,
            logits=logits,
            recomputed=forward.recomputed + forward.context,
            seconds=forward.seconds + seconds,
            whole=True,
        )

    def _phase(self, controls: Controls, slid: bool, passed: int) -> Phase:
        if self._read == 0:
            return "prefill"
        caught_up = controls.cache != "off" and passed > 1
        return "re-prefill" if slid or caught_up else "decode"

    def _uncached(
        self, window: Sequence[int], cancelled: Callable[[], bool]
    ) -> tuple[Tensor, float]:
        """Read all of ``window``, by nothing that an earlier step left. A long one goes in chunks
        through a cache of its own, which ends with the step, so that a wish to stop is seen."""
        began = time.perf_counter()
        if len(window) <= WHOLE_UP_TO:
            logits = self._model(torch.tensor([window]), last=True).view(-1)
        else:
            logits = self._fed(window, self._model.new_cache(), cancelled)
        return logits, time.perf_counter() - began

    def _cached(
        self, window: Sequence[int], cancelled: Callable[[], bool]
    ) -> tuple[Tensor, float, int]:
        """Feed what the cache lacks of ``window``; logits, seconds, tokens fed."""
        began = time.perf_counter()
        cache = self._cache or self._first_cache(window)
        if self._cache_start != self._start:  # positions shifted: nothing held is valid
            cache.truncate(0)
            self._cache_start = self._start
        # The newest token must be fed for its logits, also where the cache has read it.
        cache.truncate(min(cache.position, len(window) - 1))
        missing = window[cache.position :]
        logits = self._fed(missing, cache, cancelled)
        return logits, time.perf_counter() - began, len(missing)

    def _fed(self, tokens: Sequence[int], cache: Cache, cancelled: Callable[[], bool]) -> Tensor:
        """The logits behind ``tokens``, read into ``cache`` chunk by chunk."""
        for at in range(0, len(tokens), PREFILL_CHUNK):
            if at and cancelled():
                raise Cancelled
            chunk = tokens[at : at + PREFILL_CHUNK]
            ids = self._ids[chunk[0]] if len(chunk) == 1 else torch.tensor([chunk])
            logits = self._model(ids, cache, last=True).view(-1)
        return logits

    def _first_cache(self, window: Sequence[int]) -> Cache:
        """The cache taken over, cut to what it shares with ``window``; else a new one."""
        held, self._taken_over = self._taken_over, None
        self._cache_start = self._start
        self._cache = held.cache if held else self._model.new_cache()
        if held:
            self._reused = min(held.common(window), len(window) - 1)
            held.cache.truncate(self._reused)
        return self._cache

    def _compared(
        self,
        window: Sequence[int],
        cached: Tensor,
        cached_s: float,
        cancelled: Callable[[], bool],
    ) -> tuple[Tensor, float, Race]:
        uncached, uncached_s = self._uncached(window, cancelled)
        return (
            cached,
            cached_s,
            Race(
                cached_s,
                uncached_s,
                float((cached - uncached).abs().max()),
                bool(cached.argmax() == uncached.argmax()),
            ),
        )


def line_end_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Tokens after which a line of verse or prose begins, and the end tokens."""
    ends = set(tokenizer.end_ids)
    for mark in "，。\n":
        ids = tokenizer.encode(mark, "drop")
        if len(ids) == 1:
            ends.add(ids[0])
    return frozenset(ends)
