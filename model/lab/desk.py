"""Texts of a few seeds, written again and again: in every way that should change nothing, in
batches, and with one thing changed. What is made of them is ``seed``'s."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from model.config import Controls, SamplerConfig
from model.generate import Prompt
from model.lab.base import Progress
from model.lab.company import Company, compare
from model.lab.parting import Parting, parting
from model.lab.writing import Written, write_one, write_poems
from model.registry import ModelHandle

SAMPLER = SamplerConfig(temperature=1.0)
"""Nothing is cut: a nucleus that takes in one token more moves every edge at once."""
SIZES = (1, 2, 4, 8, 16)
LONGEST = 60
"""Tokens of a text: more than half of the poems end before."""
FORK = 15
ONCE, FORKED = "once", f"forked after {FORK} tokens"
WAYS: Mapping[str, dict[str, Any]] = {
    ONCE: {},
    "again": {},
    "with the cache off": {"cache": "off"},
    "in a race of both modes": {"cache": "race"},
    "inspected": {},
    FORKED: {},
}
"""Each with what it changes in the controls: nothing that may change a token."""
CHANGES: Mapping[str, dict[str, Any]] = {
    "T 1 to 1.05": {"temperature": 1.05},
    "top-p 1 to 0.95": {"top_p": 0.95},
    "repetition 1 to 1.1": {"repetition": 1.1},
    "one character more before it": {},
}
MORE = "春"


@dataclass(slots=True)
class Desk:
    """Where texts are written, and how many have been."""

    handle: ModelHandle
    prompt: Prompt
    seeds: list[int]
    total: int
    done: int = 0

    @property
    def longest(self) -> int:
        """Tokens of a text, so that it fits the block, with one character more before it too."""
        held = len(self.prompt.encode(self.handle.tokenizer)) + len(MORE)
        return max(1, min(LONGEST, self.handle.model.config.block_size - held))

    def partings(
        self, once: Sequence[Written], texts: Sequence[Written], shared: int = 0
    ) -> list[Parting]:
        """Where texts of the same seeds part from those written first, if they do; of each the
        first ``shared`` tokens were given."""
        found = []
        for seed, one, other in zip(self.seeds, once, texts, strict=True):
            ids = one.tokens, (*one.tokens[:shared], *other.tokens)
            controls = Controls(SAMPLER, seed=seed, max_tokens=self.longest)
            parted = parting(self.handle.model, self.handle.tokenizer, ids, controls, self.prompt)
            if parted is not None:
                found.append(parted)
        return found

    def write(
        self, title: str, prompt: Prompt | None = None, **asked: Any
    ) -> Generator[Progress, None, list[Written]]:
        """A text of each seed, one by one; ``asked`` changes the controls."""
        texts = []
        for place, seed in enumerate(self.seeds):
            during = Progress(self.done, self.total, title)
            yield during
            given = asked.get("given", ())
            controls = Controls(SAMPLER, seed=seed, max_tokens=self.longest)
            text = yield from write_one(
                self.handle,
                replace(controls, **asked.get("controls", {})),
                during,
                prompt=prompt or self.prompt,
                given=given[place] if given else (),
                inspected=asked.get("inspected", False),
            )
            texts.append(text)
            self.done += 1
        return texts


def in_ways(desk: Desk) -> Generator[Progress, None, dict[str, list[Written]]]:
    """A text of each seed in each of ``WAYS``."""
    ways: dict[str, list[Written]] = {}
    for way, controls in WAYS.items():
        given = [text.tokens[:FORK] for text in ways[ONCE]] if way == FORKED else ()
        ways[way] = yield from desk.write(
            way, controls=controls, given=given, inspected=way == "inspected"
        )
    return ways


def in_batches(
    desk: Desk, alone: Sequence[Written]
) -> Generator[Progress, None, tuple[list[Company], list[Parting]]]:
    """The same in batches of each of ``SIZES``, held against the inspected ones ``alone``."""
    company, parted = [], []
    for size in SIZES:
        during = Progress(desk.done, desk.total, f"in batches of {size}")
        yield during
        together = yield from write_poems(
            desk.handle,
            SAMPLER,
            desk.seeds,
            during,
            prompt=desk.prompt,
            longest=desk.longest,
            inspected=True,
            at_once=size,
        )
        company.append(compare(size, alone, together))
        parted += desk.partings(alone, together)
        desk.done += len(desk.seeds)
    return company, parted


def with_changes(desk: Desk) -> Generator[Progress, None, dict[str, list[Written]]]:
    """The same with each of ``CHANGES``."""
    changed = {}
    for name, settings in CHANGES.items():
        prompt = desk.prompt if settings else replace(desk.prompt, text=MORE + desk.prompt.text)
        controls = {"sampler": replace(SAMPLER, **settings)}
        changed[name] = yield from desk.write(name, prompt, controls=controls)
    return changed
