"""Generation: an iterator of ``Step`` and, at the end, one ``Finished``.

No threads, no printing, no interface. The controls are read once a step, so that
everything in them may change while text streams; nothing a run draws depends on the
cache mode, on being inspected, or on how it was cut into pieces. Where rounding could make
it depend, the draw is made again from a pass that is the same in all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from model.config import Controls
from model.constraints import Constraint
from model.protocol import Held, LanguageModel
from model.reader import Cancelled, Forward, Reader
from model.run import Run
from model.sampling import Draw, NoLegalToken, choose, inspect
from model.steps import Finished, FinishReason, Inspection, Step
from model.tokenizers import Tokenizer, Unknown

__all__ = [
    "ControlSource",
    "Forward",
    "Generator",
    "Held",
    "LanguageModel",
    "Prompt",
    "Reader",
    "make_step",
]

ControlSource = Callable[[], Controls]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a run begins with."""

    text: str = ""
    fragment: bool = False
    """Read as text from anywhere, without a start token; else as a poem's beginning."""
    unknown: Unknown = "error"
    """What to do with characters that the vocabulary lacks."""
    ids: tuple[int, ...] = ()
    """Where given, exactly these tokens, of which ``text`` is then no more than the reading:
    a conversation, with control tokens that no text can write."""

    def encode(self, tokenizer: Tokenizer) -> list[int]:
        """The prompt's ids; at least one, so that there is something to continue."""
        if self.ids:
            return list(self.ids)
        ids = tokenizer.encode(self.text, self.unknown)
        return ids if self.fragment and ids else [tokenizer.start_id, *ids]

    def begins(self, ids: Sequence[int], tokenizer: Tokenizer) -> int:
        """Where in ``ids``, this prompt's, the text begins: behind the start token, if any,
        and behind all of what was given as tokens."""
        if self.ids:
            return len(ids)
        return 1 if not self.fragment or ids[0] == tokenizer.start_id else 0


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
        held: Held | None = None,
    ) -> None:
        """``controls``: fixed, or a function asked once a step. ``given``: tokens taken as
        generated already (a fork, a resume). ``inspected``: fill ``Step.inspection``.
        ``held``: what an earlier run of the same model left behind; it is this run's now,
        and what both texts have in common at their beginning is not read again.

        Raises ``InputError`` and its kinds for what cannot be begun: unknown characters,
        an opening that the constraint refuses.
        """
        if constraint:
            constraint.check(prompt.text)
        self._controls = controls if callable(controls) else lambda: controls
        self._cancelled = cancelled
        self._inspected = inspected
        self._reader = Reader(model, tokenizer, held)
        ids = prompt.encode(tokenizer)
        self.run = Run(
            tokenizer,
            ids,
            constraint=constraint,
            constrained_from=prompt.begins(ids, tokenizer),
            given=given,
            stops=self._controls().stop,
        )
        self._prefill_s = 0.0
        self._decode_s = 0.0
        self._reused = 0

    @property
    def held(self) -> Held | None:
        """The cache and the tokens in it, for the next run to take over; ``None`` where
        nothing was cached. Ask when this run has ended: a cache has one owner."""
        return self._reader.held(self.run.ids)

    def take_over(self, prefill_s: float, decode_s: float) -> None:
        """Go on with a run that somebody else began (a batch), its seconds booked, all of
        its tokens but the newest counted as read."""
        self._prefill_s, self._decode_s = prefill_s, decode_s
        self._reader.count_as_read(len(self.run.ids) - 1)

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
        ask = partial(choose, config=controls.sampler, u=(u,), allowed=allowed, history=history)
        read_s = forward.seconds
        draw, forward = self._drawn(ask, forward)
        sampling_s = time.perf_counter() - began - (forward.seconds - read_s)
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
            logprob=float(forward.logits.log_softmax(-1)[draw.token]),
            u=u,
            sampling_s=sampling_s,
            cache_bytes=self._reader.cache_bytes if controls.cache != "off" else 0,
            inspection=inspection,
        )

    def _drawn(self, ask: Callable[[Tensor], list[Draw]], forward: Forward) -> tuple[Draw, Forward]:
        """The draw, and the pass that it comes from: another one where it lies nearer to an edge
        than rounding, so that the cache mode does not decide on which side."""
        (draw,) = ask(forward.logits.view(1, -1))
        if not draw.sure and self._reader.can_read_whole(forward):
            forward = self._reader.read_whole(self.run.ids, forward)
            (draw,) = ask(forward.logits.view(1, -1))
        return draw, forward

    def _account(self, forward: Forward, sampling_s: float) -> None:
        self._reused += forward.reused
        if forward.phase == "decode":
            self._decode_s += forward.seconds + sampling_s
        else:
            self._prefill_s += forward.seconds
            self._decode_s += sampling_s

    def _finished(self, reason: FinishReason, detail: str = "") -> Finished:
        return Finished(
            reason,
            self.run.flush(),
            self.run.generated,
            self._prefill_s,
            self._decode_s,
            detail,
            self._reused,
        )


def make_step(
    run: Run,
    controls: Controls,
    forward: Forward,
    draw: Draw,
    *,
    logprob: float,
    u: float,
    sampling_s: float,
    cache_bytes: int,
    inspection: Inspection | None = None,
) -> Step:
    """Move ``run`` past the drawn token and record the step."""
    position, forced = len(run.ids), run.forced
    return Step(
        position=position,
        token=draw.token,
        text=run.accept(draw.token, controls.stop),
        probability=draw.probability,
        logprob=logprob,
        u=u,
        forced=forced,
        phase=forward.phase,
        context=forward.context,
        recomputed=forward.recomputed,
        reused=forward.reused,
        forward_s=forward.seconds,
        sampling_s=sampling_s,
        cache_bytes=cache_bytes,
        controls=controls,
        inspection=inspection,
        race=forward.race,
    )
