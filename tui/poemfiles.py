"""A poem as a file: plain text, Markdown, or a trace with every step; and a trace as a branch.

Knows branches and formats; knows nothing of the window.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from corpora.forms import FORMS, is_han
from model.errors import InputError
from model.labels import WIDTHS, read_label
from model.steps import Finished
from model.trace import Trace, TraceHeader, read_trace, write_trace
from tui.files import write_whole
from tui.history.export import fence_for, verse_lines
from tui.session import Branch, FormSettings

if TYPE_CHECKING:
    from model.registry import ModelHandle

SUFFIXES = (".txt", ".md", ".jsonl")


def suggested_name(branch: Branch) -> str:
    """A file name from the poem's first characters: only such as any disk takes."""
    first = "".join(char for char in branch.text[:7] if is_han(char))
    return f"{first or 'poem'}.txt"


def save_poem(path: Path, branch: Branch, handle: ModelHandle | None) -> None:
    """Write the poem in the format that the suffix names, whole or not at all.

    Raises ``InputError`` for another suffix, or where it cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix == ".txt":
        write_whole(path, verse_lines(branch.text) + "\n")
    elif suffix == ".md":
        write_whole(path, as_markdown(branch))
    elif suffix == ".jsonl":
        write_trace(path, [as_trace(branch, handle)])
    else:
        raise InputError(
            f"{path.name} has no suffix that says what it shall hold; use "
            ".txt for text, .md for Markdown, .jsonl for a trace with every step"
        )


def as_markdown(branch: Branch) -> str:
    """The poem as a block that Markdown leaves alone, and how it came about."""
    controls = branch.steps[-1].controls if branch.steps else None
    fence = fence_for(branch.text)
    facts = [f"model {branch.model}", f"form {branch.form.describe()}", f"opening {branch.prompt}"]
    if controls:
        sampler = controls.sampler
        facts.append(
            f"seed {controls.seed}, temperature {sampler.temperature:g}, top-k {sampler.top_k}, "
            f"top-p {sampler.top_p:g}, min-p {sampler.min_p:g}"
        )
    if branch.chosen:
        facts.append(f"{len(branch.chosen)} characters chosen by hand")
    if branch.finished:
        facts.append(f"ended: {branch.finished.reason.replace('_', ' ')}")
    listed = "\n".join(f"- {fact}" for fact in facts)
    return f"{fence}text\n{verse_lines(branch.text)}\n{fence}\n\n{listed}\n"


def as_trace(branch: Branch, handle: ModelHandle | None) -> Trace:
    """The branch as a trace; prompt ids and fingerprint only where its model is loaded."""
    controls = branch.steps[0].controls if branch.steps else None
    ids: tuple[int, ...] = ()
    fingerprint = {}
    if handle is not None and handle.spec.name == branch.model:
        from model.generate import Prompt

        ids = tuple(Prompt(branch.prompt, unknown=branch.unknown).encode(handle.tokenizer))
        fingerprint = dict(handle.fingerprint)
    header = TraceHeader(
        prompt=branch.prompt,
        prompt_ids=ids,
        fragment=False,
        constraint=branch.form.describe() if branch.form.constrains else None,
        model=branch.model,
        cache=controls.cache if controls else "on",
        seed=controls.seed if controls else 0,
        fingerprint=fingerprint,
    )
    return Trace(header, tuple(branch.steps), branch.finished)


def open_trace(path: Path) -> Branch:
    """The first run of a trace. Raises ``InputError`` that names file and line."""
    trace = read_trace(path)[0]
    return Branch(
        0,
        trace.header.prompt,
        form_of(trace.header.constraint),
        trace.header.model,
        steps=list(trace.steps),
        finished=trace.finished or Finished("cancelled", "", len(trace.steps), 0.0, 0.0),
    )


def form_of(words: str | None) -> FormSettings:
    """The form that ``describe`` put into words; free where they say another."""
    known = read_label(words or "")
    if known is None:
        return FormSettings()
    name, heads = known
    if name in FORMS:
        return FormSettings("fixed", heads, name)
    return FormSettings("acrostic", heads, characters=WIDTHS[name])
