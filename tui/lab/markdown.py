"""A result as Markdown: what a report has of one experiment.

Text of models, prompts and errors is escaped: nothing in it becomes a heading, a table's
edge or a tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from model.lab.base import Check, Plot, Result, Table
from tui.cells import shown_lines
from tui.lab.outcome import MARKS, Outcome
from tui.lab.sheet import numeric, plot_lines, settings_words

TEXT_PLOT = 90
"""Cells of a plot drawn as text."""

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$])")
_LEADING = re.compile(r"^(\s*\d*)([-+.)](?=\s|$)|[-=](?=[-=\s]*$))")
"""What would begin a list or underline a heading, at the start of a line."""

Picture = Callable[[Plot], str | None]
"""Draws a plot and gives its file's name; ``None`` where it cannot, and text stands in."""


def section(outcome: Outcome, method: str, picture: Picture, number: int | None = None) -> str:
    """Everything about one experiment, from its heading on; ``number``: of the chapter, which
    its tables and figures are counted in."""
    experiment, result = outcome.experiment, outcome.result
    level = "###" if number is not None and experiment.part is not None else "##"
    parts = [f"{level} {heading(outcome, number)}"]
    parts.append(f"**The claim.** {escaped(experiment.claim)}")
    if method:
        first, *others = map(prose, method.split("\n\n"))
        parts += [f"**How it is measured.** {first}", *others]
    if result is None:
        parts.append(f"**No result.** It {escaped(outcome.words())}.")
        return "\n\n".join(parts) + "\n"
    parts += body(result, picture, number)
    if experiment.exercise:
        parts.append(f"**Try it.** {prose(experiment.exercise)}")
    told = settings_words(result)
    again = f"`run.py lab {experiment.name}`, {outcome.seconds:.1f} s"
    parts.append(f"*{again}{' · ' + escaped(told) if told else ''}*")
    return "\n\n".join(parts) + "\n"


def heading(outcome: Outcome, number: int | None) -> str:
    """The title, with its number where it has one."""
    title = escaped(outcome.experiment.title)
    return title if number is None else f"{number}. {title}"


def body(result: Result, picture: Picture, number: int | None = None) -> list[str]:
    """Findings, tables, plots and checks, a block each."""
    parts: list[str] = []
    if result.findings:
        parts.append("**What we get.**")
        parts.append("\n".join(f"- {escaped(finding)}" for finding in result.findings))
    for at, table in enumerate(result.tables, 1):
        title = escaped(table.title)
        parts += [f"**{_label('Table', number, at)}{title}**", table_text(table)]
        if table.note:
            parts.append(f"*{escaped(table.note)}*")
    for at, plot in enumerate(result.plots, 1):
        caption = f"{_label('Figure', number, at)}{escaped(plot.title)}."
        note = f" {escaped(plot.note)}" if plot.note else ""
        parts += [plot_text(plot, picture(plot)), f"*{caption}{note}*"]
    if result.checks:
        parts += ["**Checks.**", "\n".join(check_text(check) for check in result.checks)]
    return parts


def _label(kind: str, chapter: int | None, at: int) -> str:
    """``Table 3.2. `` where the chapters are counted."""
    return "" if chapter is None else f"{kind} {chapter}.{at}. "


def table_text(table: Table) -> str:
    """The table with its numbers to the right."""
    rows = [[escaped(column.name) for column in table.columns]]
    rows.append(["---:" if numeric(table, at) else "---" for at in range(len(table.columns))])
    rows += [
        [escaped(column.text(cell)) for column, cell in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]
    return "\n".join(_row(cells) for cells in rows)


def plot_text(plot: Plot, file: str | None) -> str:
    """The picture, or the plot as text."""
    if file is not None:
        return f"![{escaped(plot.title)}]({file})"
    lines = ["".join(text for text, _ in line).rstrip() for line in plot_lines(plot, TEXT_PLOT)]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}text", *lines, fence])


def check_text(check: Check) -> str:
    """``- ✓ the claim: the figures``."""
    detail = f": {escaped(check.detail)}" if check.detail else ""
    return f"- {MARKS[check.holds]} {escaped(check.claim)}{detail}"


def escaped(text: str) -> str:
    """``text`` on one line, as Markdown that shows it as it is."""
    line = " ".join(shown_lines(text).split("\n"))
    return _LEADING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", line))


def prose(text: str) -> str:
    """Words of the program's own, in which names stand between pairs of backquotes."""
    parts = text.split("``")
    special = (_SPECIAL.sub(r"\\\1", part) for part in parts)
    line = "".join(f"`{parts[at]}`" if at % 2 else part for at, part in enumerate(special))
    return _LEADING.sub(r"\1\\\2", line)


def anchor(title: str) -> str:
    """The name that readers of Markdown give to a heading, to be linked to."""
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def made_with(made: Mapping[str, Any]) -> str:
    """The models and the machine of a report, as Markdown."""
    lines = ["| model | parameters | checkpoint | tokenizer |", "| --- | ---: | --- | --- |"]
    for one in made["models"]:
        marks = f"{_short(one['checkpoint'])} | {_short(one['tokenizer'])}"
        lines.append(f"| {escaped(one['name'])} | {one['parameters']:,} | {marks} |")
    busy, cores = made["busy"], made["cores"]
    load = "" if busy is None else f" with {busy:.1f} programs at work"
    if busy is not None and busy > cores + 1:  # this one is one of them
        load += ", so that times are longer than they need be"
    lines += [
        "",
        f"{made['date']}, {minutes(made['seconds'])}. Python {made['python']}, torch "
        f"{made['torch']}, {_count(made['threads'], 'thread')}, {made['machine']}, "
        f"{_count(cores, 'core')}{load}. Seeds and prompts stand under each chapter; the same "
        "ones on the same machine give the same figures, times apart.",
    ]
    return "\n".join(lines)


def minutes(seconds: float) -> str:
    """``1.5 minutes``, or seconds where there are fewer than sixty."""
    return f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.0f} seconds"


def _short(mark: object) -> str:
    return f"`{str(mark)[:12]}`" if mark else "–"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
