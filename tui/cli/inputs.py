"""Text from the user: arguments, standard input, conversion to the models' characters.

Refuses what is not text by name, and collects what must be said about the rest; printing
it is the caller's business.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from model.errors import InputError
from model.script import read_verse

STDIN = "-"


@dataclass(slots=True)
class Reader:
    """Reads one command's texts and keeps what the user must be told about them."""

    notes: list[str] = field(default_factory=list)
    """One line each, in the order of reading."""

    def verse(self, text: str, what: str) -> str:
        """``text`` (``-``: standard input) as verse on one line, in simplified characters.

        ``what``: what the text is, for messages. Raises ``InputError`` for bytes that are no
        text. Line breaks are dropped: a poem is one line to the models.
        """
        given = read_stdin(what) if text == STDIN else text
        conversion = read_verse("".join(given.split("\n")).replace("\r", ""))
        if told := conversion.describe():
            self.notes.append(f"{what}: {told}")
        return conversion.text


def read_stdin(what: str) -> str:
    """All of standard input. Raises ``InputError``, naming ``what``, for bytes that are no text."""
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{what} from standard input: byte {error.start + 1} ({data[error.start]:02X}) "
            "is not UTF-8 text; give it in UTF-8"
        ) from error
    if "\0" in text:
        raise InputError(f"{what} from standard input holds NUL, which is not text")
    return text.removeprefix("\ufeff")
