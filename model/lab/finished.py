"""A finished poem to look at: written from a prompt and a seed, or read from a trace."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from corpora.forms import FORMS
from model.config import Controls, SamplerConfig
from model.constraints import Acrostic, Constraint, FixedForm
from model.errors import ConstraintError, InputError
from model.generate import Prompt
from model.lab.base import Progress, Request
from model.lab.writing import LONGEST, write_one
from model.labels import WIDTHS, read_label
from model.registry import ModelHandle
from model.steps import Step
from model.trace import Trace, read_trace

SAMPLER = SamplerConfig(temperature=0.8, top_p=0.95)
"""Of a poem that is written: the defaults of ``write``."""


@dataclass(frozen=True, slots=True)
class Poem:
    """The poem that is looked at, and what it was written with."""

    handle: ModelHandle
    prompt: Prompt
    steps: tuple[Step, ...]
    constraint: Constraint | None = None

    @property
    def tokens(self) -> tuple[int, ...]:
        """The generated ids."""
        return tuple(step.token for step in self.steps)


def write_poem(request: Request) -> Generator[Progress, None, Poem]:
    """A poem from the prompt and seed asked for, as ``write`` would write it."""
    handle = request.handle()
    prompt = Prompt(request.prompt or "")
    controls = Controls(SAMPLER, seed=request.seed, max_tokens=LONGEST)
    written = yield from write_one(handle, controls, Progress(0, 1, "the poem"), prompt=prompt)
    return Poem(handle, prompt, written.steps)


def read_poem(path: Path, request: Request) -> Poem:
    """The first run of a trace, with its own model unless another is asked for.

    Raises ``InputError`` for what is no trace, ``ConstraintError`` for a form that this
    version does not know, and ``InputError`` where the model is not the one that wrote it.
    """
    trace = read_trace(path)[0]
    handle = request.load(request.model or trace.header.model)
    constraint = constraint_of(trace.header.constraint)
    prompt = Prompt(trace.header.prompt, trace.header.fragment)
    poem = Poem(handle, prompt, trace.steps, constraint)
    if not _fits(trace, poem):
        raise InputError(
            f"{path} was not written with {handle.spec.name}: its tokens are others. "
            "Name its model with --model"
        )
    return poem


def _fits(trace: Trace, poem: Poem) -> bool:
    """Whether the ids of ``trace`` say with this tokenizer what they said when written."""
    tokenizer = poem.handle.tokenizer
    if any(token >= tokenizer.vocab_size for token in trace.token_ids):
        return False
    ids = tuple(poem.prompt.encode(tokenizer))
    known = trace.header.fingerprint.get("tokenizer", tokenizer.hash)
    return known == tokenizer.hash and trace.header.prompt_ids in ((), ids)


def constraint_of(words: str | None) -> Constraint | None:
    """The constraint that ``describe`` put into ``words``, of those that verse is written
    under. Raises ``ConstraintError`` for any other."""
    if words is None:
        return None
    known = read_label(words)
    if known is None:
        raise ConstraintError(f"{words!r} is no form and no acrostic that this version knows")
    name, heads = known
    return FixedForm(FORMS[name], heads) if name in FORMS else Acrostic(heads, WIDTHS[name])
