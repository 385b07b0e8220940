"""What can be counted in a text: repeats, variety, verse lines, rare characters.

Pure functions of tokens or of text. Knows no model.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from corpora.forms import is_han
from model.tokenizers import Tokenizer

MARKS = "，。？！；、"
"""What ends a line of verse."""
LINE_LENGTHS = (5, 7)
RARE_BEYOND = 3_000
"""A character is rare when its rank is above this. Of the four that the lesson calls rare,
麕 酲 炯 娩, the commonest stands at 3,025 in our vocabulary; all that stand beyond make up
2 % of the characters of Tang verse."""


def repeated_share(tokens: Sequence[Hashable], n: int = 4) -> float:
    """Share of the windows of ``n`` tokens that stood in ``tokens`` before, [0, 1); 0 where
    there is no window. Of length L a loop of one token has (L - n) / (L - n + 1)."""
    windows = list(_windows(tokens, n))
    return 1 - len(set(windows)) / len(windows) if windows else 0.0


def distinct_share(texts: Iterable[Sequence[Hashable]], n: int, first: int | None = None) -> float:
    """Different windows of ``n`` among all, [0, 1], no window reaching from text to text
    (Li et al. 2016, distinct-n). 0 where there is none.

    It falls with the amount of text, so compare equal amounts: ``first`` counts so many
    windows only.
    """
    windows = list(islice((w for text in texts for w in _windows(text, n)), first))
    return len(set(windows)) / len(windows) if windows else 0.0


def windows_in(texts: Iterable[Sequence[Hashable]], n: int) -> int:
    """How many windows of ``n`` there are in ``texts``."""
    return sum(max(0, len(text) - n + 1) for text in texts)


def lines_of(text: str) -> list[str]:
    """The lines of verse in ``text``, without their marks. One that no mark ends counts."""
    return [line for line in re.split(f"[{MARKS}\n]", text) if line]


def is_regular(text: str) -> bool:
    """Whether ``text`` is verse of one line length, 5 or 7 Han characters, in couplets, closed
    by a full stop: what almost every regulated poem is."""
    lines = lines_of(text)
    lengths = {len(line) for line in lines}
    return (
        text.endswith("。")
        and len(lines) % 2 == 0
        and len(lengths) == 1
        and lengths <= set(LINE_LENGTHS)
        and all(is_han(char) for line in lines for char in line)
        and len(text) == sum(len(line) + 1 for line in lines)
    )


def until_last_mark(text: str) -> str:
    """``text`` without a last line that was cut before its end."""
    return text[: max(text.rfind(mark) for mark in MARKS) + 1]


def full_lines(text: str) -> float:
    """Share of the lines that have 5 or 7 characters, [0, 1]; 0 where there is no line."""
    lines = lines_of(text)
    return sum(len(line) in LINE_LENGTHS for line in lines) / len(lines) if lines else 0.0


def character_ranks(tokenizer: Tokenizer) -> dict[str, int]:
    """The rank, from 1, of each Han character that is a token by itself, in the order of ids.

    In our vocabularies that is the order of frequency in the verse that they were made of:
    for characters by construction, for BPE because single characters follow each other so.
    """
    ranks: dict[str, int] = {}
    special = tokenizer.special_ids
    for token in range(tokenizer.vocab_size):
        if token in special:
            continue
        text = tokenizer.piece_bytes(token).decode("utf-8", "replace")
        if is_han(text) and text not in ranks:
            ranks[text] = len(ranks) + 1
    return ranks


def rare_characters(text: str, ranks: Mapping[str, int], beyond: int = RARE_BEYOND) -> list[str]:
    """The Han characters of ``text``, in order, whose rank is above ``beyond`` or which are no
    token by themselves, hence rarer than all that are."""
    return [char for char in text if is_han(char) and ranks.get(char, beyond + 1) > beyond]


def rare_share(texts: Iterable[str], ranks: Mapping[str, int], beyond: int = RARE_BEYOND) -> float:
    """Share of the Han characters of all ``texts`` that are rare, [0, 1]."""
    joined = "".join(texts)
    han = sum(map(is_han, joined))
    return len(rare_characters(joined, ranks, beyond)) / han if han else 0.0


def _windows(tokens: Sequence[Hashable], n: int) -> Iterator[tuple[Hashable, ...]]:
    return (tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1))


def whole_rows(text: str, cells: int) -> float:
    """Share of the finished lines of ``text`` that are rows of a Markdown table with so many
    ``cells``, [0, 1]; 0 where no line is finished. All rows pad their cells alike: a row that
    is wider or narrower by its blanks alone is not whole."""
    lines = [line for line in text.split("\n")[:-1] if line.strip()]
    row = re.compile(r"\|" + r" [^|\s](?:[^|]*[^|\s])? \|" * cells)
    return sum(bool(row.fullmatch(line)) for line in lines) / len(lines) if lines else 0.0


def repeats_its_shape(source: str) -> bool:
    """Whether ``source`` is Python whose last function has the statements and the loops of the
    one before it. It is read and not run."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    shapes = [
        [ast.dump(node.iter) if isinstance(node, ast.For) else type(node) for node in one.body]
        for one in module.body
        if isinstance(one, ast.FunctionDef)
    ]
    return len(shapes) > 1 and shapes[-1] == shapes[-2]
