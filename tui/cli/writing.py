"""The runs of one command, as a stream of events in the order in which they are shown.

One poem, many in a batch, or many one by one where the cache mode asks for it: what comes
out is the same. Knows the engine; prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from model.batch import BatchGenerator
from model.constraints import Constraint
from model.generate import Generator, Prompt
from model.registry import ModelHandle
from model.steps import Finished, Step
from model.trace import Trace, TraceHeader
from tui.cli.options import Settings

BATCH = 32
"""Poems written together; more would gain little and cost memory."""

Event = TraceHeader | Step | Trace
"""The beginning of a poem, a step of it, and the whole of it at its end."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be written, with which model."""

    handle: ModelHandle
    prompt: Prompt
    constraint: Constraint | None
    settings: Settings
    inspected: bool
    cancelled: Callable[[], bool]

    def check(self) -> None:
        """Raises what the engine would refuse, before anything is printed."""
        if self.constraint:
            self.constraint.check(self.prompt.text)
        self.generator(self.settings.seeds[0])

    def generator(self, seed: int) -> Generator:
        """A run of one poem."""
        return Generator(
            self.handle.model,
            self.handle.tokenizer,
            self.prompt,
            replace(self.settings.controls, seed=seed),
            constraint=self.constraint,
            inspected=self.inspected,
            cancelled=self.cancelled,
        )

    def header(self, seed: int) -> TraceHeader:
        """The record of a run's beginning."""
        tokenizer = self.handle.tokenizer
        ids = self.prompt.encode(tokenizer)
        return TraceHeader(
            prompt=tokenizer.decode(ids),
            prompt_ids=tuple(ids),
            fragment=self.prompt.fragment,
            constraint=self.constraint.describe() if self.constraint else None,
            model=self.handle.spec.name,
            cache=self.settings.controls.cache,
            seed=seed,
            fingerprint=self.handle.fingerprint,
        )

    def events(self) -> Iterator[Event]:
        """Everything that happens, poem after poem."""
        seeds = self.settings.seeds
        if len(seeds) > 1 and self.settings.controls.cache == "on":
            for at in range(0, len(seeds), BATCH):
                yield from self._batch(seeds[at : at + BATCH])
                if self.cancelled():
                    return
            return
        for seed in seeds:
            yield from self._single(seed)
            if self.cancelled():
                return

    def _single(self, seed: int) -> Iterator[Event]:
        header = self.header(seed)
        yield header
        steps: list[Step] = []
        for event in self.generator(seed):
            if isinstance(event, Finished):
                yield Trace(header, tuple(steps), event)
            else:
                steps.append(event)
                yield event

    def _batch(self, seeds: tuple[int, ...]) -> Iterator[Event]:
        """Rows run together; the steps of the first one that has not ended are let through,
        those of the others wait for their turn."""
        batch = BatchGenerator(
            self.handle.model,
            self.handle.tokenizer,
            self.prompt,
            self.settings.controls,
            seeds,
            constraint=self.constraint,
            inspected=self.inspected,
            cancelled=self.cancelled,
        )
        steps: list[list[Step]] = [[] for _ in seeds]
        ends: dict[int, Finished] = {}
        showing = -1
        for row, event in ((e.row, e.event) for e in batch):
            if showing < 0:
                showing = 0
                yield self.header(seeds[0])
            if isinstance(event, Finished):
                ends[row] = event
            else:
                steps[row].append(event)
                if row == showing:
                    yield event
            while showing in ends:
                yield Trace(self.header(seeds[showing]), tuple(steps[showing]), ends[showing])
                showing += 1
                if showing < len(seeds):
                    yield self.header(seeds[showing])
                    yield from steps[showing]
