"""The Poem record, and readers of raw and of built files.

Knows the files' layout; knows nothing of cleaning rules, models or screens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import UserError
from corpora.places import BUILT_NAMES, built_folder

PUNCTUATION = "，。？！；、"
"""Every mark that a cleaned poem may hold; all else in it is Han."""

IRREGULAR = "杂言"
"""The form of a poem whose lines are not all of five or all of seven characters."""

_BREAK = re.compile(f"[{PUNCTUATION}]")
_NUMBER = re.compile(r"\d+")
_SHORT_FORMS = {2: "联", 4: "绝", 8: "律"}


@dataclass(frozen=True)
class Poem:
    """One cleaned poem. `text` is a single line: Han characters and the marks of PUNCTUATION."""

    id: str
    title: str
    author: str
    text: str

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines without their punctuation."""
        return tuple(line for line in _BREAK.split(self.text) if line)

    @property
    def form(self) -> str:
        """五绝, 七律, … by line length and number of lines; tones and rhyme are not looked at."""
        return form_of(self.lines)


@dataclass(frozen=True)
class RawPoem:
    """One record of the package, its paragraphs joined, before any cleaning."""

    id: str
    title: str
    author: str
    text: str


def form_of(lines: tuple[str, ...]) -> str:
    """Name the form of `lines`; anything but two or more equal lines of 5 or 7 is IRREGULAR."""
    widths = {len(line) for line in lines}
    if len(lines) < 2 or widths not in ({5}, {7}):
        return IRREGULAR
    width = "五" if widths == {5} else "七"
    short = _SHORT_FORMS.get(len(lines))
    if short is None:
        return f"{width}言排律/古体" if len(lines) > 8 else f"{width}言古体"
    return width + ("言联" if short == "联" else short)


def raw_files(folder: Path, pattern: str) -> list[Path]:
    """Files of `folder` that match `pattern`, in numeric order; none at all is a UserError."""
    files = sorted(folder.glob(pattern), key=lambda path: (_number(path), path.name))
    if not files:
        raise UserError(
            f"No poems at {folder / pattern}. Fetch them with: python run.py corpus fetch"
        )
    return files


def read_raw(path: Path) -> Iterator[RawPoem]:
    """The records of one raw file, in order. A damaged file is a UserError that names it."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
        for index, record in enumerate(records):
            yield _raw_poem(record, f"{path.stem}.{index}")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(
            f"{path} is not a readable file of poems ({error}). "
            "Delete its folder and run: python run.py corpus fetch"
        ) from error


def read_built(name: str, root: Path | None = None) -> Iterator[Poem]:
    """The poems of one built file (a name of BUILT_NAMES), streamed in file order.

    Raises UserError at once, not at the first poem, where the corpus is missing.
    """
    if name not in BUILT_NAMES:
        raise UserError(f"There is no corpus file {name!r}; choose from {', '.join(BUILT_NAMES)}.")
    path = built_folder(root) / f"{name}.jsonl"
    if not path.is_file():
        raise UserError(
            f"The corpus is not built: {path} is missing. Run: python run.py corpus fetch, "
            "then: python run.py corpus build"
        )
    return _read_lines(path)


def _read_lines(path: Path) -> Iterator[Poem]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            try:
                yield Poem(**json.loads(line))
            except (ValueError, TypeError) as error:
                raise UserError(
                    f"{path}, line {number} is damaged ({error}). "
                    "Build it again: python run.py corpus build"
                ) from error


def _raw_poem(record: dict[str, Any], fallback_id: str) -> RawPoem:
    # Song ci carry the name of the tune and no id; the place in the file stands in for it.
    title = record["title"] if "title" in record else record["rhythmic"]
    poem_id = record.get("id", fallback_id)
    author = record["author"]
    if not all(isinstance(value, str) for value in (poem_id, title, author)):
        raise TypeError("a title, author or id that is not text")
    poem_id.encode("utf-8")  # refuses a lone surrogate, which could not be written again
    return RawPoem(poem_id, title, author, "".join(record["paragraphs"]))


def _number(path: Path) -> int:
    found = _NUMBER.search(path.name)
    return int(found.group()) if found else -1
