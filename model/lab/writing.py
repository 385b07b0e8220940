"""Texts for experiments to count in: many poems at once, or runs of one length.

Generators, so that an experiment says how far it is and can be stopped at any time.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from model.batch import BatchGenerator
from model.config import Controls, SamplerConfig
from model.constraints import Constraint
from model.generate import Generator as Run
from model.generate import Prompt
from model.lab.base import Progress
from model.registry import ModelHandle
from model.steps import Finished, FinishReason, Step

LONGEST = 120
"""Characters after which a poem is cut: nine in ten real ones are shorter."""
AT_ONCE = 50
"""Rows of a batch."""
QUIET = 0.5
"""Seconds between two progress records."""
NOTHING = Prompt()


@dataclass(frozen=True, slots=True)
class Written:
    """A text that a model wrote."""

    seed: int
    text: str
    """With the opening."""
    steps: tuple[Step, ...]
    """Those that were drawn, not what was given."""
    reason: FinishReason

    @property
    def tokens(self) -> tuple[int, ...]:
        """The generated ids."""
        return tuple(step.token for step in self.steps)


def write_poems(
    handle: ModelHandle,
    sampler: SamplerConfig,
    seeds: Sequence[int],
    during: Progress,
    *,
    prompt: Prompt = NOTHING,
    longest: int = LONGEST,
    constraint: Constraint | None = None,
    inspected: bool = False,
    at_once: int = AT_ONCE,
) -> Generator[Progress, None, list[Written]]:
    """One poem for each of ``seeds``, in their order, of at most ``longest`` tokens and, where
    no constraint sets its length, within the model's block; ``at_once`` in a batch. What is
    yielded is ``during``, moved on by a poem each."""
    room = handle.model.config.block_size - len(prompt.encode(handle.tokenizer))
    controls = Controls(sampler, max_tokens=longest if constraint else max(1, min(longest, room)))
    poems: list[Written] = []
    for at in range(0, len(seeds), at_once):
        batch = BatchGenerator(
            handle.model,
            handle.tokenizer,
            prompt,
            controls,
            seeds[at : at + at_once],
            constraint=constraint,
            inspected=inspected,
        )
        here = replace(during, done=during.done + at)
        poems += yield from _rows(batch, seeds[at : at + at_once], prompt.text, here)
    return poems


def _rows(
    batch: BatchGenerator, seeds: Sequence[int], begun: str, during: Progress
) -> Generator[Progress, None, list[Written]]:
    """The poem of each row of a batch that is run to its end."""
    steps: list[list[Step]] = [[] for _ in seeds]
    ends: dict[int, Finished] = {}
    shown = time.monotonic()
    for row in batch:
        if isinstance(row.event, Step):
            steps[row.row].append(row.event)
        else:
            ends[row.row] = row.event
        if time.monotonic() - shown > QUIET:
            yield replace(during, done=during.done + len(ends))
            shown = time.monotonic()
    return [_written(seed, begun, steps[at], ends[at]) for at, seed in enumerate(seeds)]


def write_one(
    handle: ModelHandle,
    controls: Controls,
    during: Progress,
    *,
    prompt: Prompt = NOTHING,
    constraint: Constraint | None = None,
    given: Sequence[int] = (),
    inspected: bool = False,
) -> Generator[Progress, None, Written]:
    """One run to its end, with the tokens ``given`` taken as written; they are in its text.
    Meanwhile ``during`` is yielded again and again."""
    run = Run(
        handle.model,
        handle.tokenizer,
        prompt,
        controls,
        constraint=constraint,
        given=given,
        inspected=inspected,
    )
    begun = prompt.text + run.run.given_text
    steps: list[Step] = []
    shown = time.monotonic()
    for event in run:
        if isinstance(event, Finished):
            return _written(controls.seed, begun, steps, event)
        steps.append(event)
        if time.monotonic() - shown > QUIET:
            yield during
            shown = time.monotonic()
    raise AssertionError("a run ends with Finished")


def _written(seed: int, begun: str, steps: Sequence[Step], end: Finished) -> Written:
    text = begun + "".join(step.text for step in steps) + end.text
    return Written(seed, text, tuple(steps), end.reason)
