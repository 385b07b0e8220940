"""What an experiment is given and what it gives back.

An experiment is a module of this package with a function ``run(request)``: a generator of
``Progress`` that ends with one ``Result``. It may be closed between any two records, which
stops it. Results are plain data: the command line prints them, the window draws them, a
report writes them down. Knows nothing of any of these, nor of torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from model.registry import ModelHandle

Cell = str | int | float | bool | None
"""One value of a table; ``None`` is shown as a dash: not measured, or not there."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading and how its numbers are written."""

    name: str
    format: str = ""
    """A format specification for numbers (``.1%``, ``.2f``, ``,``); empty: as they are."""

    def text(self, cell: Cell) -> str:
        """The cell as a reader sees it."""
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return "–"
        if isinstance(cell, bool):
            return "yes" if cell else "no"
        return cell if isinstance(cell, str) else format(cell, self.format)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one kind."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    """What a reader must know to read it: units, n, what is left out."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: a row of {len(row)}, {len(self.columns)} columns")

    def column(self, name: str) -> list[Cell]:
        """Every cell under the heading ``name``, from the top."""
        place = [column.name for column in self.columns].index(name)
        return [row[place] for row in self.rows]


def table(
    title: str, columns: Mapping[str, str], rows: Iterable[Sequence[Cell]], note: str = ""
) -> Table:
    """A table from its headings, each with the format of its numbers, and its rows."""
    heads = tuple(Column(name, form) for name, form in columns.items())
    return Table(title, heads, tuple(tuple(row) for row in rows), note)


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one set of bars, of a plot."""

    name: str
    points: tuple[tuple[float, float], ...]
    """(x, y), x ascending."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Measured values against a number."""

    title: str
    x: str
    y: str
    """What the axes show, with units."""
    series: tuple[Series, ...]
    kind: Literal["line", "bar"] = "line"
    log_x: bool = False
    log_y: bool = False
    note: str = ""
    """What a reader should see in it."""


@dataclass(frozen=True, slots=True)
class Check:
    """A claim with a known right answer, and whether it came out."""

    claim: str
    holds: bool | None
    """``None``: these samples, or this model, cannot decide it."""
    detail: str = ""
    """The figures that decide it, or why they do not."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an experiment is."""

    done: int
    total: int
    doing: str = ""
    """What comes next, in a few words."""


@dataclass(frozen=True, slots=True)
class Result:
    """What an experiment found."""

    name: str
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...] = ()
    checks: tuple[Check, ...] = ()
    findings: tuple[str, ...] = ()
    """What it means, a sentence each, from the numbers of this run; where the models do not
    give what the lesson says, why."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Models, prompts, seeds, counts: what a second run needs to give the same."""

    @property
    def holds(self) -> bool:
        """No check came out wrong; those that could not be decided do not count."""
        return all(check.holds is not False for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """The result as JSON can hold it."""
        return {**asdict(self), "holds": self.holds}


Load = Callable[[str | None], "ModelHandle"]
"""The model of a name, or the default one, loaded; the same handle for the same name."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    load: Load
    model: str | None = None
    """Which model; ``None``: the experiment's own choice, usually the default model."""
    prompt: str | None = None
    """Instead of the experiment's own prompts, for those that read one."""
    seed: int = 1
    quick: bool = False
    """Fewer samples and repeats: rough figures, for a first look and for tests."""
    trace: Path | None = None
    """A saved run to look at, instead of one written for the purpose, for those that read one."""

    def handle(self) -> ModelHandle:
        """The model asked for, or the default one."""
        return self.load(self.model)


Records = Iterator[Progress | Result]


def collect(records: Records, on_progress: Callable[[Progress], None] = lambda _: None) -> Result:
    """Run an experiment to its end. Raises ``ValueError`` where it ends without a result."""
    for record in records:
        if isinstance(record, Result):
            return record
        on_progress(record)
    raise ValueError("the experiment ended without a result")
