"""``write``, ``acrostic`` and ``form``: read what is asked, write poems, tell how it went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpora.files import check_writable
from corpora.forms import form as form_named
from model.constraints import Acrostic, Constraint, FixedForm
from model.errors import InputError
from model.generate import Prompt
from model.trace import Trace, TraceHeader, write_trace
from tui.cli.guard import FAILED
from tui.cli.inputs import Reader
from tui.cli.interrupt import Interrupt, interruptible
from tui.cli.loading import load_model
from tui.cli.options import Settings, flags_named, read_number
from tui.cli.output import PoemPrinter, print_json, say
from tui.cli.report import poem_document, summary
from tui.cli.writing import Job


def write(opening: str, settings: Settings) -> int:
    """A poem without a form; the exit code."""
    reader = Reader()
    return _write(reader.verse(opening, "opening"), None, settings, reader)


def acrostic(heads: str, characters: str, settings: Settings) -> int:
    """A poem whose lines begin with ``heads``; the exit code."""
    reader = Reader()
    converted = reader.verse(heads, "heads")
    width: Any = read_number(characters)
    with flags_named(characters="chars"):
        constraint = Acrostic(converted, width)
    settings = settings.with_room_for(len(converted) * (constraint.characters + 1))
    return _write("", constraint, settings, reader)


def form(name: str, opening: str, heads: str, settings: Settings) -> int:
    """A poem of the form ``name``, with first characters where ``heads`` are given; the exit
    code."""
    reader = Reader()
    constraint = FixedForm(form_named(name), reader.verse(heads, "heads"))
    return _write(reader.verse(opening, "opening"), constraint, settings, reader)


def _write(opening: str, constraint: Constraint | None, settings: Settings, reader: Reader) -> int:
    flags = settings.flags
    trace_file = _writable(flags.trace)
    controls = settings.controls
    stops = tuple(reader.verse(stop, "stop") for stop in controls.stop)
    settings = replace(settings, controls=replace(controls, stop=stops))
    handle = load_model(flags.model, settings.threads, settings.precision)
    with interruptible() as interrupt:
        prompt = Prompt(opening, flags.fragment, settings.unknown)
        if settings.unknown == "drop":  # so that a form counts what the model reads
            tokenizer = handle.tokenizer
            prompt = replace(prompt, text=tokenizer.decode(tokenizer.encode(opening, "drop")))
        job = Job(handle, prompt, constraint, settings, trace_file is not None, interrupt)
        job.check()
        for note in reader.notes:
            say(note)
        traces = _run(job, silent=flags.json)
        if flags.json:
            print_json({"poems": [poem_document(trace) for trace in traces]})
        if trace_file:
            write_trace(trace_file, traces)
    _tell(traces, settings)
    return _code(traces, interrupt)


def _run(job: Job, *, silent: bool) -> list[Trace]:
    """Write every poem, on the screen as it grows unless ``silent``."""
    printer = None if silent else PoemPrinter()
    traces: list[Trace] = []
    for event in job.events():
        if isinstance(event, Trace):
            traces.append(event)
        if printer is None:
            continue
        if isinstance(event, TraceHeader):
            printer.begin(event.prompt)
        elif not isinstance(event, Trace):
            printer.step(event)
        elif event.finished:
            printer.end(event.finished)
    return traces


def _tell(traces: Sequence[Trace], settings: Settings) -> None:
    """How it went, for a person; the seed in any case, so that the poem can be had again."""
    import sys

    for trace in traces:
        if trace.finished and trace.finished.detail:
            say(f"seed {trace.header.seed}: {trace.finished.detail}")
    if sys.stderr.isatty():
        say(summary(traces))
    elif not settings.seed_given and not settings.flags.json:
        say(f"seed {settings.controls.seed}")


def _code(traces: Sequence[Trace], interrupt: Interrupt) -> int:
    ended = {trace.finished.reason for trace in traces if trace.finished}
    return interrupt.code or (FAILED if ended & {"dead_end", "error"} else 0)


def _writable(trace: str | None) -> Path | None:
    """The file of ``--trace``; refused before anything is written where it cannot be made."""
    if trace is None:
        return None
    path = Path(trace)
    try:
        check_writable(path)
    except OSError as error:
        raise InputError(
            f"--trace is {trace!r}; it cannot be written there ({error.strerror})"
        ) from error
    return path
