"""Errors that a user may see: what is wrong, with what, and what to do.

Everything the engine refuses is one of these; a front end prints the message
(exit code 2 on the command line, a notice in the window) and goes on.
"""

from __future__ import annotations

from corpora.errors import UserError

__all__ = [
    "CheckpointError",
    "ConstraintError",
    "InputError",
    "SettingError",
    "UnknownCharacters",
    "UserError",
]


class InputError(UserError):
    """Text or an argument that cannot be used."""


class SettingError(InputError):
    """A setting outside its range. Names the setting, the value and the range."""

    def __init__(self, name: str, value: object, takes: str) -> None:
        super().__init__(f"{name} is {value!r}; it takes {takes}")
        self.name = name
        self.value = value


class UnknownCharacters(InputError):
    """Text with characters that the tokenizer's vocabulary lacks.

    ``characters`` holds each one once, in order of appearance. The caller
    offers the choice: another character, dropping it, or the unknown token.
    """

    def __init__(self, characters: str) -> None:
        shown = " ".join(visible(c) for c in characters)
        super().__init__(
            f"the model does not know: {shown}. Use another character, or drop it "
            "(--unknown drop), or stand the unknown token in for it (--unknown unk)"
        )
        self.characters = characters


class ConstraintError(InputError):
    """A form or acrostic that cannot be satisfied, said before generation."""


class CheckpointError(UserError):
    """A model file that is missing, damaged, of another version or of another tokenizer."""


def visible(char: str) -> str:
    """``char`` itself where it prints, else its code point: ``U+000A``."""
    return char if char.isprintable() and not char.isspace() else f"U+{ord(char):04X}"
