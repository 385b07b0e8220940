"""Markdown set in lines of a width while it grows.

Everything up to the block that is still open stays as it was set; only that block is set
again, and one that grows too long is cut, so that a token costs the same wherever it comes.
The whole is set once more when it has ended, which joins what was cut. Text is never read as
the console's own markup. Imports Rich's Markdown, which the first frame does not need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import StringIO

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, TextElement
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from tui.cells import shown_lines

Segments = list[Segment]

MOST = 1_500
"""Characters of an open block before it is cut."""
TAB = 4
PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
PARSER.disable("reference")  # a definition would not be seen
STYLES = Theme(
    {
        "markdown.code": "bold",
        "markdown.block_quote": "italic",
        "markdown.hr": "dim",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
        "markdown.link": "underline",
        "markdown.link_url": "underline",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)
"""Weight, slant and lines, no colour: the theme's own serves everywhere."""


class _Heading(TextElement):
    """As it was written, bold: a pane has no room for boxes."""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Heading:
        return cls(int(token.tag[1:]))

    def __init__(self, level: int) -> None:
        self._level = level

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold underline" if self._level <= 2 else "bold")
        yield self.text


class _Code(TextElement):
    """Code, set off by two cells."""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Code:
        return cls()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Text(str(self.text).rstrip("\n"), style="markdown.code", overflow="fold")
        yield Padding(code, (0, 0, 0, 2))


class _Page(Markdown):
    """Markdown with the line ends that a model wrote, its tags as text."""

    elements = {  # noqa: RUF012
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = PARSER.parse(text)
        for token in self.parsed:
            for part in token.children or ():
                if part.type == "softbreak":
                    part.type = "hardbreak"


def printable(text: str) -> str:
    """``text`` without anything that a terminal would obey, its line feeds kept."""
    return shown_lines(text.expandtabs(TAB))


def one_kind_of_line_end(text: str) -> str:
    """``text`` with line feeds only."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def plain_lines(text: str, width: int) -> list[Segments]:
    """Text as it was written, broken at the width."""
    return _lines(Text(printable(text), overflow="fold"), width)


def markdown_lines(text: str, width: int) -> list[Segments]:
    """Markdown, whole: its blocks under each other, a blank line between them."""
    text = one_kind_of_line_end(text)
    lines: list[Segments] = []
    for block in _blocks(text, PARSER.parse(text)):
        set_block = _lines(_Page(printable(block)), width)
        lines += [[], *set_block] if lines and set_block else set_block
    return lines


def _blocks(text: str, tokens: Sequence[Token]) -> list[str]:
    """``text`` cut where each outermost block of its ``tokens`` begins."""
    starts = [t.map[0] for t in tokens if t.level == 0 and t.map and t.nesting >= 0]
    # the parser knows no other line end
    lines = [*(f"{line}\n" for line in text.split("\n")[:-1]), text.rpartition("\n")[2]]
    ends = [*starts[1:], len(lines)] if starts else []
    return ["".join(lines[at:end]) for at, end in zip(starts, ends, strict=True)]


@lru_cache(maxsize=4)
def _console(width: int) -> Console:
    return Console(
        file=StringIO(), width=width, theme=STYLES, color_system="truecolor",
        force_terminal=True, legacy_windows=False, emoji=False, markup=False, highlight=False,
    )  # fmt: skip


def _lines(what: Text | Markdown, width: int) -> list[Segments]:
    lines = _console(max(4, width)).render_lines(what, pad=False, new_lines=False)
    while lines and _blank(lines[-1]):
        lines.pop()
    while lines and _blank(lines[0]):
        lines.pop(0)
    return lines


def _blank(line: Segments) -> bool:
    return not any(segment.text.strip() for segment in line)


class Growing:
    """A reply while it is written."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._open = ""
        self._joins = False  # the open block goes on in the paragraph before it
        self.done: list[Segments] = []
        """Lines that stay as they are."""
        self.tail: list[Segments] = []
        """Lines of the open block."""

    def add(self, text: str) -> None:
        """More of it."""
        self._open = one_kind_of_line_end(self._open + text)
        for block in self._closed():
            self.done += self._set(block)
            self._joins = False
        self.tail = self._set(self._open)

    def _set(self, block: str) -> list[Segments]:
        lines = markdown_lines(block, self._width)
        apart: list[Segments] = [[]] if self.done and lines and not self._joins else []
        return [*apart, *lines]

    def _closed(self) -> Iterator[str]:
        """Blocks after which another one has begun, and what has grown too long."""
        tokens = PARSER.parse(self._open)
        *closed, self._open = _blocks(self._open, tokens) or [self._open]
        yield from closed
        if len(self._open) <= MOST:
            return
        code = bool(tokens) and tokens[-1].type == "fence"  # what is left is code as well
        opener = self._open.partition("\n")[0] + "\n" if code else ""
        at = self._open.rfind("\n", 0, -1) + 1
        if not code:
            at = max(at, self._open.rfind(" ", 0, -1) + 1)
        at = at if at > MOST // 2 else MOST
        block, self._open = self._open[:at], opener + self._open[at:]
        yield block
        self._joins = True
