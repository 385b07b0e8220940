"""A catalogue of scripted experiments, for the front ends: what they do is known beforehand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from model.errors import InputError
from model.lab.base import Check, Plot, Progress, Records, Request, Result, Series, table
from model.lab.catalogue import Experiment

HOSTILE = "[/red] [bold]漢字[/] | `a` *b* <i> $x_1$ \\ \U000288e7"
"""Text that every renderer would like to read as its own."""

Script = Callable[[Request], Iterator[Progress | Result]]


@dataclass(frozen=True)
class Scripted(Experiment):
    """An experiment that does what its script says."""

    script: Script = field(default=lambda request: iter(()))

    def run(self, request: Request) -> Records:
        return self.script(request)


def result(name: str = "small", *, holds: bool = True, text: str = "春风") -> Result:
    """A table of every kind of cell, a line and bars, one check."""
    rows = [(text, 0.5, 12_000, True), ("b", None, 7, False)]
    columns = {"what": "", "share": ".1%", "count": ",", "kept": ""}
    line = tuple((float(n), n / 10) for n in range(1, 11))
    return Result(
        name,
        (table(f"A table of {text}", columns, rows, f"note on {text}"),),
        (
            Plot(f"Lines of {text}", "n", text, (Series(text, line), Series("half", line[:5]))),
            Plot(
                *("Bars", "k", "mass", (Series("x", ((1, 0.5), (5, 1.0))),)),
                kind="bar",
                note="Bars of mass.",
            ),
        ),
        (Check(f"the claim of {text}", holds, "1.0 against 1.0"),),
        (f"A finding about {text}.",),
        {"prompts": [text, ""], "seed": 3},
    )


def small(request: Request) -> Iterator[Progress | Result]:
    """Two records, then a result that says what it was asked for."""
    yield Progress(0, 2, "the first half")
    yield Progress(1, 2, "the second half")
    asked = f"{request.model} {request.prompt} {request.seed} {request.quick}"
    yield result(text=asked)


def hostile(request: Request) -> Iterator[Progress | Result]:
    """Everything it says looks like markup."""
    yield Progress(0, 1, HOSTILE)
    yield result("hostile", text=HOSTILE)


def undecided(request: Request) -> Iterator[Progress | Result]:
    """One check that holds, one that these samples cannot decide."""
    made = result("undecided")
    yield replace(made, checks=(*made.checks, Check("a slope is flat", None, "n = 1")))


def failing(request: Request) -> Iterator[Progress | Result]:
    """A check that does not hold."""
    yield result("failing", holds=False)


def broken(request: Request) -> Iterator[Progress | Result]:
    """A fault of the program."""
    yield Progress(0, 1)
    raise ZeroDivisionError("by zero [/b]")


def impossible(request: Request) -> Iterator[Progress | Result]:
    """What it needs is not there."""
    raise InputError("the corpus is not built; run.py corpus build makes it")
    yield Progress(0, 1)  # a generator, as every experiment is


def scripted(name: str, script: Script, **fields: object) -> Scripted:
    """A catalogue entry around ``script``."""
    return Scripted(name, f"The {name} one", f"What {name} claims.", script=script, **fields)  # type: ignore[arg-type]


SMALL = scripted("small", small, reads_prompt=True)
HOSTILE_ONE = scripted("hostile", hostile)
UNDECIDED = scripted("undecided", undecided)
FAILING = scripted("failing", failing)
BROKEN = scripted("broken", broken)
IMPOSSIBLE = scripted("impossible", impossible, uses=("corpus",))


class Stepwise:
    """An experiment that waits before every record until a test lets it go on."""

    def __init__(self, records: int = 3, *, model: bool = False) -> None:
        """``model``: it loads one before its first record."""
        self.records = records
        self.model = model
        self.closed = threading.Event()
        self.begun = 0
        self._tickets = threading.Semaphore(0)

    def allow(self, records: int) -> None:
        """So many records more."""
        for _ in range(records):
            self._tickets.release()

    def __call__(self, request: Request) -> Iterator[Progress | Result]:
        self.begun += 1
        try:
            if self.model:
                request.handle()
            for number in range(self.records):
                yield Progress(number, self.records, f"part {number + 1}")
                if not self._tickets.acquire(timeout=60):
                    raise TimeoutError("no ticket came")
            yield result("stepwise")
        finally:
            self.closed.set()
