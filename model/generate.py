"""Generation: an iterator of ``Step`` and, at the end, one ``Finished``.

No threads, no printing, no interface. The controls are read once a step, so that
everything in them may change while text streams; nothing a run draws depends on the
cache mode, on being inspected, or on how it was cut into pieces.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from model.cache import KVCache
from model.config import Controls, GPTConfig
from model.constraints import Constraint
from model.run import Run
from model.sampling import Draw, NoLegalToken, choose, inspect
from model.steps import Finished, FinishReason, Inspection, Phase, Race, Step
from model.tokenizers import Tokenizer, Unknown
from model.window import next_start

PREFILL_CHUNK = 256
"""Tokens read between two looks at the cancel flag."""

ControlSource = Callable[[], Controls]


class LanguageModel(Protocol):
    """What the generator asks of a model: ``GPT`` is one."""

    config: GPTConfig

    def __call__(self, ids: Tensor, cache: KVCache | None = None, *, last: bool = False) -> Tensor:
        """Logits ``[B, T, V]``, with ``last`` ``[B, 1, V]``, of what follows ``ids`` ``[B, T]``."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a run begins with."""

    text: str = ""
    fragment: bool = False
    """Read as text from anywhere, without a start token; else as a poem's beginning."""
    unknown: Unknown = "error"
    """What to do with characters that the vocabulary lacks."""

    def encode(self, tokenizer: Tokenizer) -> list[int]:
        """The prompt's ids; at least one, so that there is something to continue."""
        ids = tokenizer.encode(self.text, self.unknown)
        return ids if self.fragment and ids else [tokenizer.start_id, *ids]


@dataclass(frozen=True, slots=True)
class Forward:
    """The logits of one step and how they came about."""

    logits: Tensor
    """``[V]`` float32, of the token that follows."""
    phase: Phase
    context: int
    recomputed: int
    seconds: float
    race: Race | None = None


class Cancelled(Exception):
    """The caller's flag was raised during a forward pass."""


class Reader:
    """Runs a model over a growing text, in whichever cache mode is asked for at a step."""

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer) -> None:
        self._model = model
        self._line_ends = line_end_ids(tokenizer)
        self._start = 0
        self._cache: KVCache | None = None
        self._cache_start = 0
        self._read = 0  # tokens of the text that have been through the model

    @property
    def cache_bytes(self) -> int:
        """Bytes of keys and values in use."""
        return self._cache.nbytes if self._cache else 0

    def read(
        self, ids: Sequence[int], controls: Controls, cancelled: Callable[[], bool]
    ) -> Forward:
        """The logits that follow ``ids``. Raises ``Cancelled`` between two chunks."""
        block = self._model.config.block_size
        start = next_start(ids, self._start, len(ids), block, self._line_ends)
        slid, self._start = start != self._start, start
        window = ids[start:]
        race = None
        if controls.cache == "off":
            logits, seconds = self._uncached(window)
            passed = len(window)
        else:
            logits, seconds, passed = self._cached(window, cancelled)
        if controls.cache == "race":
            logits, seconds, race = self._compared(window, logits, seconds)
        phase = self._phase(controls, slid, passed)
        recomputed = passed - min(passed, max(0, len(ids) - self._read))
        self._read = max(self._read, len(ids))
        return Forward(logits, phase, len(window), recomputed, seconds, race)

    def _phase(self, controls: Controls, slid: bool, passed: int) -> Phase:
        if self._read == 0:
            return "prefill"
        caught_up = controls.cache != "off" and passed > 1
        return "re-prefill" if slid or caught_up else "decode"

    def _uncached(self, window: Sequence[int]) -> tuple[Tensor, float]:
        began = time.perf_counter()
        logits = self._model(torch.tensor([window]), last=True)[0, -1]
        return logits, time.perf_counter() - began

    def _cached(
        self, window: Sequence[int], cancelled: Callable[[], bool]
    ) -> tuple[Tensor, float, int]:
        """Feed what the cache lacks of ``window``; logits, seconds, tokens fed."""
        began = time.perf_counter()
        cache = self._cache
        if cache is None:
            cache = self._cache = KVCache(self._model.config)
        if self._cache_start != self._start:  # positions shifted: nothing held is valid
            cache.truncate(0)
            self._cache_start = self._start
        # The newest token must be fed for its logits, also where the cache has read it.
        cache.truncate(min(cache.position, len(window) - 1))
        missing = window[cache.position :]
        for at in range(0, len(missing), PREFILL_CHUNK):
            if at and cancelled():
                raise Cancelled
            chunk = torch.tensor([missing[at : at + PREFILL_CHUNK]])
            logits = self._model(chunk, cache, last=True)[0, -1]
        return logits, time.perf_counter() - began, len(missing)

    def _compared(
        self, window: Sequence[int], cached: Tensor, cached_s: float
    ) -> tuple[Tensor, float, Race]:
        uncached, uncached_s = self._uncached(window)
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


class Generator:
    """One run: iterate it for its steps. It may be created at any point of a text."""

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Tokenizer,
        prompt: Prompt,
        controls: Controls | ControlSource,
        *,
        constraint: Constraint | None = None,
        given: Sequence[int] = (),
        inspected: bool = True,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """``controls``: fixed, or a function asked once a step. ``given``: tokens taken as
        generated already (a fork, a resume). ``inspected``: fill ``Step.inspection``.

        Raises ``InputError`` and its kinds for what cannot be begun: unknown characters,
        an opening that the constraint refuses.
        """
        if constraint:
            constraint.check(prompt.text)
        self._controls = controls if callable(controls) else lambda: controls
        self._cancelled = cancelled
        self._inspected = inspected
        self._reader = Reader(model, tokenizer)
        ids = prompt.encode(tokenizer)
        begins = 0 if prompt.fragment and prompt.text else 1
        self.run = Run(
            tokenizer,
            ids,
            constraint=constraint,
            constrained_from=begins,
            given=given,
            stops=self._controls().stop,
        )
        self._prefill_s = 0.0
        self._decode_s = 0.0

    def __iter__(self) -> Iterator[Step | Finished]:
        """Steps up to the end of the run, then ``Finished``. Each call goes on from where
        the run stands."""
        while True:
            controls = self._controls()
            reason = self._ending(controls)
            if reason:
                yield self._finished(reason)
                return
            try:
                step = self._next(controls)
            except Cancelled:
                continue  # the flag is read again above
            except NoLegalToken as error:
                yield self._finished("dead_end", str(error))
                return
            yield step

    def _ending(self, controls: Controls) -> FinishReason | None:
        if self.run.reason:
            return self.run.reason
        if self._cancelled():
            return "cancelled"
        if self.run.full:
            return "form_complete"
        return "length" if self.run.generated >= controls.max_tokens else None

    @torch.inference_mode()
    def _next(self, controls: Controls) -> Step:
        """Draw one token and go on past it."""
        run = self.run
        forward = self._reader.read(run.ids, controls, self._cancelled)
        began = time.perf_counter()
        u = run.uniform(controls.seed)
        allowed, history = run.allowed(), run.history(controls)
        (draw,) = choose(
            forward.logits[None], controls.sampler, (u,), allowed=allowed, history=history
        )
        sampling_s = time.perf_counter() - began
        inspection = None
        if self._inspected:
            inspection = inspect(
                forward.logits,
                controls.sampler,
                u,
                draw.token,
                name=run.tokenizer.name,
                allowed=allowed,
                history=history,
            )
        self._account(forward, sampling_s)
        return make_step(
            run,
            controls,
            forward,
            draw,
            u=u,
            sampling_s=sampling_s,
            cache_bytes=self._reader.cache_bytes if controls.cache != "off" else 0,
            inspection=inspection,
        )

    def _account(self, forward: Forward, sampling_s: float) -> None:
        if forward.phase == "decode":
            self._decode_s += forward.seconds + sampling_s
        else:
            self._prefill_s += forward.seconds
            self._decode_s += sampling_s

    def _finished(self, reason: FinishReason, detail: str = "") -> Finished:
        return Finished(
            reason, self.run.flush(), self.run.generated, self._prefill_s, self._decode_s, detail
        )


def make_step(
    run: Run,
    controls: Controls,
    forward: Forward,
    draw: Draw,
    *,
    u: float,
    sampling_s: float,
    cache_bytes: int,
    inspection: Inspection | None = None,
) -> Step:
    """Move ``run`` past the drawn token and record the step."""
    position, forced = len(run.ids), run.forced
    logits = forward.logits
    return Step(
        position=position,
        token=draw.token,
        text=run.accept(draw.token, controls.stop),
        probability=draw.probability,
        logprob=float(logits[draw.token] - logits.logsumexp(-1)),
        u=u,
        forced=forced,
        phase=forward.phase,
        context=forward.context,
        recomputed=forward.recomputed,
        forward_s=forward.seconds,
        sampling_s=sampling_s,
        cache_bytes=cache_bytes,
        controls=controls,
        inspection=inspection,
        race=forward.race,
    )


def line_end_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Tokens after which a line of verse or prose begins, and the end token."""
    ends = {tokenizer.end_id}
    for mark in "，。\n":
        ids = tokenizer.encode(mark, "drop")
        if len(ids) == 1:
            ends.add(ids[0])
    return frozenset(ends)
