"""Runs written down: one JSON line a step, to be read, counted or replayed later.

A file holds one run after another. A run is a header line (``"kind": "run"``), one line a
step (``"kind": "step"``, every field of ``Step``) and a last line (``"kind": "finished"``).
What is read equals what was written. Knows the records; imports no torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from corpora.files import whole_file
from model.errors import InputError
from model.records import from_json
from model.steps import Finished, Step

VERSION = 1


@dataclass(frozen=True, slots=True)
class TraceHeader:
    """What a run began with."""

    prompt: str
    """The opening as the model read it."""
    prompt_ids: tuple[int, ...]
    """The same in tokens, the start token included."""
    fragment: bool
    constraint: str | None
    """In words, ``七绝 · 藏头 春眠不觉``."""
    model: str
    cache: str
    """The mode that the run began with."""
    seed: int
    fingerprint: dict[str, Any] = field(default_factory=dict)
    """What must be equal for the seed to mean the same text."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A run from its beginning, and to its end where it came to one."""

    header: TraceHeader
    steps: tuple[Step, ...] = ()
    finished: Finished | None = None

    @property
    def text(self) -> str:
        """Everything to be seen: the opening and what was written after it."""
        end = self.finished.text if self.finished else ""
        return self.header.prompt + "".join(step.text for step in self.steps) + end

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The generated tokens."""
        return tuple(step.token for step in self.steps)

    @property
    def tokens_per_s(self) -> float | None:
        """Generated tokens a second, prefill included; None where no time was measured."""
        seconds = self.finished.prefill_s + self.finished.decode_s if self.finished else 0.0
        return len(self.steps) / seconds if seconds > 0 else None


def write_trace(path: Path, traces: Iterable[Trace]) -> None:
    """Write runs to ``path``, all or nothing. Raises ``InputError`` where it cannot be."""
    try:
        with whole_file(path) as fresh, fresh.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for trace in traces for line in _lines(trace))
    except OSError as error:
        raise InputError(f"cannot write the trace to {path} ({error.strerror})") from error


def read_trace(path: Path) -> tuple[Trace, ...]:
    """The runs of a file, in order. Raises ``InputError`` that names the file and the line
    where it is missing, damaged or of another version."""
    traces: list[Trace] = []
    steps: list[Step] = []
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                try:
                    _take(json.loads(line), traces, steps)
                except (ValueError, TypeError, InputError) as error:
                    raise InputError(
                        f"{path}, line {number} is not a line of a trace ({error}); "
                        "write the trace again with --trace"
                    ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"cannot read the trace {path} ({reason})") from error
    if not traces:
        raise InputError(f"{path} is empty; write the trace again with --trace")
    return (*traces[:-1], _with_steps(traces[-1], steps))


def _take(record: Any, traces: list[Trace], steps: list[Step]) -> None:
    """Add one line's record to the last run, or begin the next run with it."""
    if not isinstance(record, dict):
        raise TypeError("it holds no record")
    kind = record.pop("kind", None)
    if kind == "run":
        if record.pop("version", None) != VERSION:
            raise ValueError(f"this program reads version {VERSION}")
        if traces:
            traces[-1] = _with_steps(traces[-1], steps)
            steps.clear()
        traces.append(Trace(from_json(TraceHeader, record)))
        return
    if not traces:
        raise ValueError("no run has begun before it")
    if traces[-1].finished is not None:
        raise ValueError("the run before it has ended")
    if kind == "step":
        steps.append(from_json(Step, record))
    elif kind == "finished":
        traces[-1] = Trace(traces[-1].header, (), from_json(Finished, record))
    else:
        raise ValueError(f"its kind is {kind!r}; it takes run, step or finished")


def _with_steps(trace: Trace, steps: list[Step]) -> Trace:
    return Trace(trace.header, tuple(steps), trace.finished)


def _lines(trace: Trace) -> Iterator[str]:
    yield _line("run", {"version": VERSION, **asdict(trace.header)})
    for step in trace.steps:
        yield _line("step", asdict(step))
    if trace.finished:
        yield _line("finished", asdict(trace.finished))


def _line(kind: str, record: dict[str, Any]) -> str:
    return json.dumps({"kind": kind, **record}, ensure_ascii=False)
