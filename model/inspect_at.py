"""Looking at a step again, or only at some steps: what a front end inspects on demand.

Inspecting costs about as much as half a step. A window that shows thirty frames a
second needs no more than thirty inspections a second; any other step can be looked at
later, because everything that a step considered is a function of the tokens before it.
Reuses the generator's own ``Reader`` and ``Run``: there is no second way to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from model.config import Controls
from model.constraints import Constraint
from model.generate import Generator, Prompt
from model.protocol import Held, LanguageModel
from model.reader import Reader
from model.run import Run
from model.sampling import inspect, would_choose
from model.steps import Inspection, Step
from model.tokenizers import Tokenizer


class Watched(Generator):
    """A generator that inspects only the steps for which ``wanted`` says so.

    Nothing else differs: the tokens are those of any other run.
    """

    def __init__(self, *args: Any, wanted: Callable[[], bool], **options: Any) -> None:
        """``wanted`` is asked once before each step; the rest as for ``Generator``."""
        super().__init__(*args, **options)
        self._wanted = wanted

    def _next(self, controls: Controls) -> Step:
        self._inspected = self._wanted()
        return super()._next(controls)


@dataclass(frozen=True, slots=True)
class Kept:
    """The logits of one step and the state of its run just before it."""

    logits: Tensor
    """``[V]`` float32, raw."""
    run: Run
    held: Held | None = None
    """The cache that the text was read into, for ``keep_step`` at another place of it: looking
    back and forth in a long text then reads next to nothing again."""

    def inspect(self, controls: Controls, chosen: int) -> Inspection:
        """The step as it would be under ``controls``, with ``chosen`` as the token taken.

        Raises ``NoLegalToken`` where nothing is left to draw from.
        """
        sampler, run = controls.sampler, self.run
        return inspect(
            self.logits,
            sampler,
            run.uniform(controls.seed),
            chosen,
            name=run.tokenizer.name,
            allowed=run.allowed(),
            history=run.history(controls),
        )

    def would_choose(self, controls: Controls) -> int:
        """The token that would be drawn under ``controls``. Raises as ``inspect`` does."""
        return would_choose(
            self.logits[None],
            controls.sampler,
            self.run.uniform(controls.seed),
            allowed=self.run.allowed(),
            history=self.run.history(controls),
        )


@torch.inference_mode()
def keep_step(
    model: LanguageModel,
    tokenizer: Tokenizer,
    prompt: Prompt,
    tokens: Sequence[int],
    index: int,
    *,
    constraint: Constraint | None = None,
    stops: Sequence[str] = (),
    held: Held | None = None,
) -> Kept:
    """What step ``index`` of a run that generated ``tokens`` saw.

    ``index`` from 0 to ``len(tokens)``. One forward pass over the window, or over what
    ``held``, which is taken over, does not share with it. Raises as
    ``Generator`` does for a prompt or a constraint that cannot be.
    """
    if not 0 <= index <= len(tokens):
        raise ValueError(f"step {index} of {len(tokens)}")
    ids = prompt.encode(tokenizer)
    run = Run(
        tokenizer,
        ids,
        constraint=constraint,
        constrained_from=prompt.begins(ids, tokenizer),
        given=tokens[:index],
        stops=stops,
    )
    # the cached path reads a window in one pass, the uncached one would do the same
    reader = Reader(model, tokenizer, held)
    forward = reader.read(run.ids, Controls(), lambda: False)
    return Kept(forward.logits, run, reader.held(run.ids))


def inspect_at(
    model: LanguageModel,
    tokenizer: Tokenizer,
    prompt: Prompt,
    tokens: Sequence[int],
    index: int,
    controls: Controls,
    constraint: Constraint | None = None,
) -> Inspection:
    """The inspection of step ``index``, which took ``tokens[index]``, under ``controls``.

    With the controls of the step itself this is what the run recorded, up to the last
    bits of the cached and the uncached pass.
    """
    kept = keep_step(
        model, tokenizer, prompt, tokens, index, constraint=constraint, stops=controls.stop
    )
    return kept.inspect(controls, tokens[index])
