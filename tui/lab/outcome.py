"""An experiment run to its end, whatever the end is: a result, a reason, a stop.

Knows nothing of who watches it; both front ends run experiments through here.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from corpora.errors import UserError
from model.lab.base import Check, Progress, Request, Result
from model.lab.catalogue import Experiment


class Stopped(Exception):
    """Raised inside an experiment by what it was waiting for: it was told to stop."""


State = Literal["done", "impossible", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run of an experiment ended."""

    experiment: Experiment
    state: State
    """``impossible``: it needs what is not there, or was asked for what it refuses;
    ``failed``: it broke, which is a fault of the program."""
    seconds: float
    result: Result | None = None
    error: Exception | None = None

    @property
    def good(self) -> bool:
        """It did not break, and every check that was made came out."""
        return self.state != "failed" and (self.result is None or self.result.holds)

    @property
    def mark(self) -> str:
        """✓ every check that was decided holds, ✗ one does not or it broke, ○ nothing was
        found out."""
        if self.result is None:
            return "✗" if self.state == "failed" else "○"
        if self.result.checks and all(check.holds is None for check in self.result.checks):
            return "○"
        return "✓" if self.result.holds else "✗"

    def words(self) -> str:
        """How it ended, in a line: ``3 of 3 checks hold``, or why there is no result."""
        if self.result is not None:
            return tally(self.result.checks)
        if self.state == "stopped":
            return "stopped before its end"
        told = str(self.error)
        if self.state == "impossible":
            return f"cannot run here: {told}"
        return f"broke off, a fault of the program: {type(self.error).__name__}: {told}"


MARKS = {True: "✓", False: "✗", None: "○"}
"""What stands before a check that holds, does not, or could not be decided."""


def tally(checks: Sequence[Check]) -> str:
    """How many hold: ``5 of 6 checks hold, 1 not decidable here``."""
    if not checks:
        return "measured, nothing checked"
    held = sum(check.holds is True for check in checks)
    open_ = sum(check.holds is None for check in checks)
    decided = len(checks) - open_
    words = f"{held} of {decided} checks hold" if decided else ""
    left = f"{open_} not decidable here" if open_ else ""
    return ", ".join(part for part in (words, left) if part)


def method(experiment: Experiment) -> str:
    """How an experiment measures, in the words of its own module, a line a paragraph and an
    empty one between them."""
    try:
        module = import_module(f"model.lab.{experiment.name}")
    except ImportError:
        return ""
    paragraphs = (inspect.getdoc(module) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def run_experiment(
    experiment: Experiment,
    request: Request,
    on_progress: Callable[[Progress], None],
    stopped: Callable[[], bool],
) -> Outcome:
    """Run ``experiment``; ``stopped`` is asked between its records, where it can be closed."""
    began = time.monotonic()

    def ended(
        state: State, result: Result | None = None, error: Exception | None = None
    ) -> Outcome:
        return Outcome(experiment, state, time.monotonic() - began, result, error)

    try:
        records = experiment.run(request)
        for record in records:
            if isinstance(record, Result):
                return ended("done", record)
            on_progress(record)
            if stopped():
                if isinstance(records, Generator):
                    records.close()
                return ended("stopped")
        raise ValueError("it ended without a result")
    except Stopped:
        return ended("stopped")
    except UserError as error:
        return ended("impossible", error=error)
    except Exception as error:
        return ended("failed", error=error)
