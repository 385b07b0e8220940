"""How a poem and a few quiet lines reach the terminal, a pipe or a file.

Pipes get the text and nothing else. A terminal gets one sentence a line, and marks at
characters that a form forced. Escape codes appear on a terminal only, never with NO_COLOR
or TERM=dumb, and carry nothing that could not be told without them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from corpora.forms import is_han

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from model.steps import Finished, Step

_UNBROKEN = 10_000
"""Cells of a line that is for a program to read."""

_SENTENCE_ENDS = "。？！"
_FORCED, _QUIET, _PLAIN = "\x1b[1;4m", "\x1b[2m", "\x1b[0m"


def console(*, stderr: bool = False) -> Console:
    """A rich console for tables and bars that takes every text literally.

    Where its output is not a terminal it is wide enough not to break a table's lines.
    """
    from rich.console import Console

    file = sys.stderr if stderr else sys.stdout
    width = None if file.isatty() else _UNBROKEN
    return Console(file=file, markup=False, highlight=False, emoji=False, width=width)


def print_table(table: Table) -> None:
    """A table on stdout; in a pipe without the blanks that pad its lines, and row under row on a
    terminal that is narrower than its words."""
    out = console()
    if out.is_terminal:
        narrow = table.__rich_measure__(out, out.options).minimum > out.width
        if narrow and table.show_header:
            _print_stacked(table, out)
        else:
            out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _print_stacked(table: Table, out: Console) -> None:
    from rich.padding import Padding

    if table.title:
        out.print(table.title)
    headings = [str(column.header) for column in table.columns]
    for row in zip(*(column.cells for column in table.columns), strict=True):
        out.print(row[0])
        for heading, value in zip(headings[1:], row[1:], strict=True):
            told = f"{heading}: {value}" if heading else str(value)
            out.print(Padding(told, (0, 0, 0, 2), expand=False))


def styled(stream: TextIO) -> bool:
    """Whether escape codes may be written to ``stream``."""
    return (
        stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )


def say(text: str) -> None:
    """One quiet line on stderr, its control characters made visible."""
    from tui.cli.guard import one_line

    line = one_line(text)
    print(f"{_QUIET}{line}{_PLAIN}" if styled(sys.stderr) else line, file=sys.stderr, flush=True)


_STYLES = {"strong": "\x1b[1m", "quiet": _QUIET, "good": "\x1b[32m", "bad": "\x1b[1;31m"}


def print_lines(lines: Iterable[Iterable[tuple[str, str]]]) -> None:
    """Lines of (text, style name) on stdout; the styles only where they may be written."""
    dressed = styled(sys.stdout)
    for line in lines:
        told = ""
        for text, style in line:
            code = _STYLES.get(style) if dressed else None
            told += f"{code}{text}{_PLAIN}" if code and text else text
        print(told.rstrip())


class PoemPrinter:
    """Writes one poem after another to stdout as they grow."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._styled = styled(sys.stdout)
        self._break = False
        self._first = True

    def begin(self, prompt: str) -> None:
        """The opening of the next poem."""
        if self._terminal and not self._first:
            self._write("\n")
        self._first = self._break = False
        self._write(self._laid_out(prompt))

    def step(self, step: Step) -> None:
        """What a step adds."""
        text = self._laid_out(step.text)
        if step.forced and self._terminal and text and is_han(text[-1]):
            marked = f"{_FORCED}{text[-1]}{_PLAIN}" if self._styled else f"[{text[-1]}]"
            text = text[:-1] + marked
        self._write(text)

    def end(self, finished: Finished) -> None:
        """What was held back, and the end of the line."""
        self._write(self._laid_out(finished.text) + "\n")

    def _laid_out(self, text: str) -> str:
        """On a terminal a line ends after each sentence, but never with the poem's last."""
        if not self._terminal:
            return text
        shown = ""
        for char in text:
            shown += "\n" + char if self._break else char
            self._break = char in _SENTENCE_ENDS
        return shown

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    import json

    print(json.dumps(document, ensure_ascii=False, indent=2))
