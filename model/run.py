"""The state of one sequence while it is written, without the model.

Knows the tokens, what the constraint and the penalties make of them, and the text
they add up to. Asking (``allowed``, ``history``, ``uniform``) changes nothing;
``accept`` moves on by a token.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from model.config import Controls
from model.constraints import Constraint
from model.sampling import History, uniform
from model.steps import FinishReason
from model.stopping import StopScanner
from model.tokenizers import StreamDecoder, Tokenizer


class Run:
    """One prompt and what has been generated after it."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        prompt: Sequence[int],
        *,
        constraint: Constraint | None = None,
        constrained_from: int = 0,
        given: Sequence[int] = (),
        stops: Sequence[str] = (),
    ) -> None:
        """``prompt``: ids with their start token. ``constrained_from``: where in the prompt
        the text begins that a constraint holds for (after the start token). ``given``:
        tokens taken as generated already, under these ``stops``, so that a fork goes on
        exactly as the original run would; nothing is taken from behind a stop string or
        an end."""
        self.tokenizer = tokenizer
        self.ids = list(prompt)
        self.prompt_length = len(self.ids)
        self.reason: FinishReason | None = None
        self._matcher = constraint.compile(tokenizer) if constraint else None
        self._decoder = StreamDecoder(tokenizer)
        self._scanner = StopScanner()
        self._free = _generable(tokenizer)
        self._not_empty = self._free.clone()
        self._not_empty[list(tokenizer.end_ids)] = False
        self._begins = constrained_from
        self._exempt = ~self._free
        self._exempt[list(tokenizer.end_ids)] = True
        if self._matcher:
            self._exempt = self._exempt | self._matcher.structural
            for token in self.ids[constrained_from:]:
                self._matcher.accept(token)
        self._unforced = [True] * self.prompt_length
        self._counts: History | None = None
        self._counts_window = 0
        self.given_text = ""
        """What the given tokens make visible."""
        for token in given:
            if self.reason in ("end_of_poem", "stop_string"):
                break
            self.given_text += self.accept(token, stops)

    @property
    def generated(self) -> int:
        """Tokens after the prompt."""
        return len(self.ids) - self.prompt_length

    @property
    def full(self) -> bool:
        """The constraint's form is complete."""
        return self._matcher is not None and self._matcher.finished

    @property
    def forced(self) -> bool:
        """The constraint leaves one character only at this place."""
        return self._matcher is not None and self._matcher.forced

    def allowed(self) -> Tensor:
        """Tokens that may come next, bool ``[V]``; shared, never written to.

        A text does not end before its first token: nothing at all is no poem.
        """
        mask = self._matcher.mask() if self._matcher else None
        if mask is not None:
            return mask
        return self._not_empty if len(self.ids) == self._begins else self._free

    def uniform(self, seed: int) -> float:
        """The number that decides this step's draw: of seed and position alone."""
        return uniform(seed, len(self.ids))

    def history(self, controls: Controls) -> History | None:
        """What the penalties act on, ``[1, V]``; ``None`` where none is on.

        Forced tokens count neither as generated nor as seen.
        """
        sampler = controls.sampler
        if not sampler.penalised:
            return None
        if self._counts is None or self._counts_window != sampler.window or sampler.window:
            self._counts = self._counted(sampler.window)
            self._counts_window = sampler.window
        return self._counts

    def accept(self, token: int, stops: Sequence[str]) -> str:
        """Append ``token``; the text that it makes visible. Sets ``reason`` where the run
        ends with it."""
        forced = self.forced
        if self._matcher:
            self._matcher.accept(token)
        self.ids.append(token)
        self._unforced.append(not forced)
        if self._counts is not None and not forced:
            self._counts.generated[0, token] += 1
            self._counts.seen[0, token] = True
        if token in self.tokenizer.end_ids:
            self.reason = "end_of_poem"
            return ""
        text, stopped = self._scanner.push(self._decoder.push(token), stops)
        if stopped:
            self.reason = "stop_string"
        elif self.full:
            self.reason = "form_complete"
        return text

    def flush(self) -> str:
        """Text still held back, to be shown when the run ends; nothing after a stop string."""
        if self.reason == "stop_string":
            return ""
        shown, _ = self._scanner.push(self._decoder.flush(), ())
        return shown

    def _counted(self, window: int) -> History:
        size = self.tokenizer.vocab_size
        generated = torch.zeros(1, size)
        seen = torch.zeros(1, size, dtype=torch.bool)
        first_seen = max(0, len(self.ids) - window) if window else 0
        for place, token in enumerate(self.ids):
            if not self._unforced[place]:
                continue
            if place >= self.prompt_length:
                generated[0, token] += 1
            if place >= first_seen:
                seen[0, token] = True
        return History(generated, seen, self._exempt)


def _generable(tokenizer: Tokenizer) -> Tensor:
    """Every token but the special ones that end nothing: bool ``[V]``."""
    allowed = torch.ones(tokenizer.vocab_size, dtype=torch.bool)
    allowed[list(tokenizer.special_ids - tokenizer.end_ids)] = False
    return allowed
