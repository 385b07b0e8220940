"""Several poems at once through one forward pass.

Each row has its own seed stream, constraint and end, and gets the tokens that it would
get alone. Products of more rows are summed in another order, so that logits differ in
their last bits; a row whose draw lies so near to an edge that this could matter is read
and drawn by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from model.config import Controls
from model.constraints import Constraint
from model.generate import Generator, Prompt, make_step
from model.protocol import Cache, LanguageModel
from model.reader import WHOLE_UP_TO, Forward
from model.run import Run
from model.sampling import Draw, History, NoLegalToken, choose, inspect
from model.steps import Finished, FinishReason, Inspection, Phase, Step
from model.tokenizers import Tokenizer


class RowEvent(NamedTuple):
    """What one poem of the batch yields."""

    row: int
    event: Step | Finished


@dataclass(slots=True)
class _Row:
    """A poem of the batch that is still being written."""

    number: int
    run: Run
    controls: Controls
    dead_end: str = ""
    """Why no token could be drawn; empty while the row lives."""

    @property
    def ending(self) -> FinishReason | None:
        """Why the row is over; ``None`` while it goes on."""
        if self.dead_end:
            return "dead_end"
        if self.run.reason:
            return self.run.reason
        return "length" if self.run.generated >= self.controls.max_tokens else None


class BatchGenerator:
    """``len(seeds)`` runs from one prompt, in step with each other."""

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Tokenizer,
        prompt: Prompt,
        controls: Controls,
        seeds: Sequence[int],
        *,
        constraint: Constraint | None = None,
        inspected: bool = False,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Arguments as for ``Generator``; ``controls.seed`` is replaced by each of ``seeds``.

        The batch always uses the cache: ``controls.cache`` must be ``on``.
        """
        if controls.cache != "on":
            raise ValueError("a batch is decoded with its cache on")
        if constraint:
            constraint.check(prompt.text)
        self._model = model
        self._tokenizer = tokenizer
        self._prompt = prompt
        self._constraint = constraint
        self._inspected = inspected
        self._cancelled = cancelled
        ids = prompt.encode(tokenizer)
        begins = prompt.begins(ids, tokenizer)
        self._rows = [
            _Row(
                number,
                Run(tokenizer, ids, constraint=constraint, constrained_from=begins),
                replace(controls, seed=seed),
            )
            for number, seed in enumerate(seeds)
        ]
        # Seconds of each row that goes on: none has taken fewer steps than another.
        self._prefill_s = 0.0
        self._decode_s = 0.0

    def __iter__(self) -> Iterator[RowEvent]:
        """Steps of all rows in turn; each row ends with its ``Finished``."""
        if not self._rows:
            return
        if len(self._rows[0].run.ids) > self._model.config.block_size:
            yield from self._alone()
            return
        cache = self._model.new_cache(len(self._rows))
        fed = torch.tensor([row.run.ids for row in self._rows])
        phase: Phase = "prefill"
        while self._rows:
            if self._cancelled():
                yield from (self._finished(row, "cancelled") for row in self._rows)
                return
            yield from self._next(fed, cache, phase)
            kept = [i for i, row in enumerate(self._rows) if not row.ending]
            yield from (self._finished(row, reason) for row in self._rows if (reason := row.ending))
            if len(kept) < len(self._rows):
                cache.keep_rows(kept)
                self._rows = [self._rows[i] for i in kept]
            if cache.position == self._model.config.block_size:
                yield from self._alone()
                return
            fed = torch.tensor([[row.run.ids[-1]] for row in self._rows])
            phase = "decode"

    @torch.inference_mode()
    def _next(self, fed: Tensor, cache: Cache, phase: Phase) -> list[RowEvent]:
        """One pass and one draw for every row. Its seconds are shared out evenly."""
        rows = self._rows
        began = time.perf_counter()
        logits = self._model(fed, cache, last=True)[:, -1]  # [B, V]
        forward_s = (time.perf_counter() - began) / len(rows)
        began = time.perf_counter()
        u = [row.run.uniform(row.controls.seed) for row in rows]
        masks = [row.run.allowed() for row in rows]
        histories = [row.run.history(row.controls) for row in rows]
        draws = self._drawn(logits, u, masks, histories)
        again = _unsure(draws) if cache.position <= WHOLE_UP_TO else []
        if again:
            logits = self._alone_logits(logits, again)
            for i in again:
                draws[i] = self._drawn(logits[i : i + 1], [u[i]], [masks[i]], [histories[i]])[0]
        sampling_s = (time.perf_counter() - began) / len(rows)
        forward = Forward(logits, phase, cache.position, 0, forward_s)  # of all rows
        self._book(forward, sampling_s)
        logprobs = _logprobs(logits, draws)
        cache_bytes = cache.nbytes // len(rows)
        events = []
        for i, (row, draw) in enumerate(zip(rows, draws, strict=True)):
            if isinstance(draw, NoLegalToken):
                row.dead_end = str(draw)
                continue
            inspection = None
            if self._inspected:
                inspection = self._inspection(row, logits[i], u[i], draw, masks[i], histories[i])
            step = make_step(
                row.run,
                row.controls,
                replace(forward, recomputed=cache.position) if i in again else forward,
                draw,
                logprob=logprobs[i],
                u=u[i],
                sampling_s=sampling_s,
                cache_bytes=cache_bytes,
                inspection=inspection,
            )
            events.append(RowEvent(row.number, step))
        return events

    def _alone_logits(self, logits: Tensor, again: Sequence[int]) -> Tensor:
        """``logits`` ``[B, V]``, with those of the rows ``again`` as one pass over each by itself
        and without a cache gives them."""
        logits = logits.clone()  # what a model gives is its own
        for i in again:
            ids = torch.tensor([self._rows[i].run.ids])
            logits[i] = self._model(ids, last=True).view(-1)
        return logits

    def _book(self, forward: Forward, sampling_s: float) -> None:
        """Add a step's seconds to the totals."""
        if forward.phase == "prefill":
            self._prefill_s += forward.seconds
        else:
            self._decode_s += forward.seconds
        self._decode_s += sampling_s

    def _finished(self, row: _Row, reason: FinishReason) -> RowEvent:
        run = row.run
        end = Finished(
            reason, run.flush(), run.generated, self._prefill_s, self._decode_s, row.dead_end
        )
        return RowEvent(row.number, end)

    def _inspection(
        self,
        row: _Row,
        logits: Tensor,
        u: float,
        draw: Draw,
        allowed: Tensor,
        history: History | None,
    ) -> Inspection:
        return inspect(
            logits,
            row.controls.sampler,
            u,
            draw.token,
            name=self._tokenizer.name,
            allowed=allowed,
            history=history,
        )

    def _drawn(
        self,
        logits: Tensor,
        u: list[float],
        masks: list[Tensor],
        histories: list[History | None],
    ) -> list[Draw | NoLegalToken]:
        """One draw a row; where a row has nothing to draw from, what says so."""
        sampler = self._rows[0].controls.sampler
        same = all(mask is masks[0] for mask in masks)
        allowed = masks[0] if same else torch.stack(masks)
        try:
            return [*choose(logits, sampler, u, allowed=allowed, history=_stacked(histories))]
        except NoLegalToken as error:
            if len(logits) == 1:
                return [error]
        # One row's dead end is not another's: draw for each by itself.
        return [
            self._drawn(logits[i : i + 1], [u[i]], [masks[i]], [histories[i]])[0]
            for i in range(len(logits))
        ]

    def _alone(self) -> Iterator[RowEvent]:
        """Rows whose window slides go on one by one: each slides at line ends of its own."""
        for row in self._rows:
            generator = Generator(
                self._model,
                self._tokenizer,
                self._prompt,
                row.controls,
                constraint=self._constraint,
                given=row.run.ids[row.run.prompt_length :],
                inspected=self._inspected,
                cancelled=self._cancelled,
            )
            if row.run.generated:
                generator.take_over(self._prefill_s, self._decode_s)
            for event in generator:
                yield RowEvent(row.number, event)
        self._rows = []


def _unsure(draws: Sequence[Draw | NoLegalToken]) -> list[int]:
    """Rows whose token rounding might have decided."""
    return [i for i, draw in enumerate(draws) if isinstance(draw, Draw) and not draw.sure]


def _logprobs(logits: Tensor, draws: Sequence[Draw | NoLegalToken]) -> list[float]:
    """Natural logarithm of each row's raw probability of its token; that of
    token 0 where it has none."""
    tokens = [draw.token if isinstance(draw, Draw) else 0 for draw in draws]
    scores: list[float] = logits.log_softmax(-1)[range(len(tokens)), tokens].tolist()
    return scores


def _stacked(histories: Sequence[History | None]) -> History | None:
    known = [history for history in histories if history is not None]
    if not known:
        return None
    return History(
        torch.cat([h.generated for h in known]),
        torch.cat([h.seen for h in known]),
        known[0].exempt,
    )
