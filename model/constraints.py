"""Constraints on what a model may write: verse forms and acrostics.

A constraint is a plan in characters: one ``Slot`` for each character of the poem. It
is compiled against a tokenizer into masks over tokens, and one ``Matcher`` follows one
run through them (``model.lexicon`` lifts the characters to tokens). Knows forms, plans
and positions; knows nothing of models, of probabilities or of how a token is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from corpora.forms import COMMA, LINE_ENDS, STOP, VerseForm, is_han
from model.errors import ConstraintError, SettingError, UnknownCharacters, visible
from model.labels import label, width_name
from model.lexicon import HAN, Lexicon, Mask, Slot, lexicon_of, mask_of, mask_within
from model.spelling import is_whole
from model.tokenizers import Tokenizer


class Matcher(Protocol):
    """A constraint in the course of one run."""

    @property
    def finished(self) -> bool:
        """The form is full: nothing more is allowed."""

    @property
    def forced(self) -> bool:
        """The constraint leaves exactly one token here: a final 。, a head that no longer
        piece begins with."""

    @property
    def structural(self) -> Tensor:
        """[V] bool: tokens that no penalty touches."""

    def mask(self) -> Tensor | None:
        """[V] bool, True where a token is allowed; ``None`` allows any. Shared: never
        write to it. Never changes the state."""

    def accept(self, token: int) -> None:
        """Goes on past ``token``; raises ``ConstraintError`` where it is not allowed."""

    def rollback(self, n: int) -> None:
        """Undoes the last ``n`` accepts."""


class Constraint(Protocol):
    """What must hold of a text, in characters."""

    def check(self, opening: str = "") -> None:
        """Raises ``ConstraintError`` where ``opening`` cannot begin such a text."""

    def compile(self, tokenizer: Tokenizer) -> Matcher:
        """A matcher for one run, at its start.

        Raises ``UnknownCharacters`` for heads that the vocabulary lacks and
        ``ConstraintError`` where it lacks what the form is made of.
        """

    def describe(self) -> str:
        """On one line: ``七绝 · 藏头 春眠不觉``."""


@dataclass(frozen=True, slots=True)
class FixedForm:
    """Lines of exactly the right length: each ends with ， or 。, the last with 。."""

    form: VerseForm
    heads: str = ""
    """First characters of the first lines; lines without one are free."""

    def __post_init__(self) -> None:
        _refuse_heads(self.heads)
        if len(self.heads) > self.form.lines:
            raise ConstraintError(
                f"{self.form.name} has {self.form.lines} lines, but {len(self.heads)} "
                f"heads were given ({self.heads}); give at most {self.form.lines}"
            )

    def check(self, opening: str = "") -> None:
        self._plan().check(opening)

    def compile(self, tokenizer: Tokenizer) -> Matcher:
        return FormMatcher(self._plan(), tokenizer)

    def describe(self) -> str:
        return label(self.form.name, self.heads)

    def _plan(self) -> Plan:
        ends = [LINE_ENDS] * (self.form.lines - 1) + [STOP]
        return Plan(self.describe(), self.form, _slots(self.form, self.heads, ends))


@dataclass(frozen=True, slots=True)
class Acrostic:
    """One line for each head. Lines end with ， and 。 in turn, the last one with 。."""

    heads: str
    characters: int = 7
    """Characters of a line, its end not counted: 5 or 7."""

    def __post_init__(self) -> None:
        if not self.heads:
            raise ConstraintError("an acrostic has no heads; give one character for each line")
        _refuse_heads(self.heads)
        if not isinstance(self.characters, int) or self.characters not in (5, 7):
            raise SettingError("characters", self.characters, "5 or 7")

    def check(self, opening: str = "") -> None:
        self._plan().check(opening)

    def compile(self, tokenizer: Tokenizer) -> Matcher:
        return FormMatcher(self._plan(), tokenizer)

    def describe(self) -> str:
        return label(width_name(self.characters), self.heads)

    def _plan(self) -> Plan:
        form = VerseForm(self.describe(), len(self.heads), self.characters)
        ends = [STOP if line % 2 else COMMA for line in range(form.lines - 1)] + [STOP]
        return Plan(form.name, form, _slots(form, self.heads, ends))


@dataclass(frozen=True, slots=True)
class Plan:
    """A constraint spelt out: the slots of a whole poem, line after line."""

    label: str
    form: VerseForm
    slots: tuple[Slot, ...]

    def check(self, opening: str) -> None:
        """Raises ``ConstraintError`` where ``opening`` does not begin such a poem or
        leaves nothing to write. A last line may lack its end, or be cut short."""
        fault = self._stray(opening)
        if fault is None:
            # each line with its end; the last one may have none
            lines = re.findall(rf"([^{LINE_ENDS}]*)([{LINE_ENDS}]|$)", opening)
            written = [(body, end) for body, end in lines if body or end]
            if len(written) > self.form.lines:
                fault = f"it has {len(written)} lines, the form has {self.form.lines}"
            else:
                faults = (self._line_fault(i, *line) for i, line in enumerate(written))
                fault = next((f for f in faults if f), None)
        if fault:
            raise ConstraintError(
                f"the opening does not fit {self.label}: {fault}. Change it, or leave it empty"
            )
        if len(opening) == len(self.slots):
            raise ConstraintError(
                f"the opening already fills {self.label}: nothing is left to write; shorten it"
            )

    def _stray(self, opening: str) -> str | None:
        for i, char in enumerate(opening):
            if not is_han(char) and char not in LINE_ENDS:
                return (
                    f"character {i + 1} is {visible(char)}; it takes Han characters, "
                    f"and {_either(LINE_ENDS)} at the end of a line"
                )
        return None

    def _line_fault(self, line: int, body: str, end: str) -> str | None:
        """What is wrong with one line of an opening, ``end`` empty where it has none."""
        width = self.form.characters
        head = self.slots[line * (width + 1)].characters
        ends = self.slots[line * (width + 1) + width].characters
        if not body:
            return f"line {line + 1} is empty, it takes {width} characters"
        if len(body) > width or (end and len(body) < width):
            return f"line {line + 1} is {len(body)} characters ({body}), it takes {width}"
        if head and body[0] != head:
            return f"line {line + 1} begins with {body[0]}, its head is {head}"
        if end not in ends:
            return f"line {line + 1} ends with {end}, it takes {_either(ends)}"
        return None

    def where(self, position: int) -> str:
        """Slot ``position`` in words, for messages."""
        line, column = divmod(position, self.form.characters + 1)
        slot = self.slots[position]
        place = "the end" if column == self.form.characters else f"character {column + 1}"
        takes = _either(slot.characters) if slot.characters else "a Han character"
        return f"{place} of line {line + 1} of {self.label} takes {takes}"


class FormMatcher:
    """A ``Plan`` followed token by token: the position is the number of slots filled, and
    the bytes that are written of a character spelled for the next one."""

    def __init__(self, plan: Plan, tokenizer: Tokenizer) -> None:
        self._plan = plan
        self._name = tokenizer.name
        self._lexicon = lexicon = lexicon_of(tokenizer)
        _refuse_vocabulary(plan, lexicon)
        self._masks = tuple(
            mask_of(lexicon, plan.slots[i : i + lexicon.longest])
            for i in range(len(plan.slots) + 1)
        )
        self._position = 0
        self._begun = b""
        self._before: list[tuple[int, bytes]] = []  # the state before each accepted token

    @property
    def finished(self) -> bool:
        return self._position == len(self._plan.slots)

    @property
    def forced(self) -> bool:
        return self._here().forced

    @property
    def structural(self) -> Tensor:
        return self._lexicon.structural

    def mask(self) -> Tensor:
        """[V] bool; all False once the form is full."""
        return self._here().tokens

    def accept(self, token: int) -> None:
        if not (0 <= token < self._lexicon.size and bool(self.mask()[token])):
            raise ConstraintError(self._refusal(token))
        self._before.append((self._position, self._begun))
        width = self._lexicon.widths.get(token)
        if width is None:
            self._spell(self._lexicon.byte(token))
        else:
            self._position += width

    def rollback(self, n: int) -> None:
        if not 0 <= n <= len(self._before):
            raise ValueError(f"cannot undo {n} tokens; {len(self._before)} were accepted")
        if n:
            self._position, self._begun = self._before[-n]
            del self._before[-n:]

    def _here(self) -> Mask:
        if self._begun:
            return mask_within(self._lexicon, self._plan.slots[self._position], self._begun)
        return self._masks[self._position]

    def _spell(self, byte: int) -> None:
        self._begun += bytes([byte])
        if is_whole(self._begun):
            self._position += 1
            self._begun = b""

    def _refusal(self, token: int) -> str:
        known = 0 <= token < self._lexicon.size
        name = self._name(token) if known else f"token {token}"
        if self.finished:
            return f"{self._plan.label} is full; {name} is not allowed"
        return f"{self._plan.where(self._position)}; {name} does not fit"


def _slots(form: VerseForm, heads: str, ends: Sequence[str]) -> tuple[Slot, ...]:
    """One slot a character: a head where there is one, Han, and the line's end."""
    slots: list[Slot] = []
    for line in range(form.lines):
        head = Slot(heads[line]) if line < len(heads) else HAN
        slots += [head, *[HAN] * (form.characters - 1), Slot(ends[line])]
    return tuple(slots)


def _refuse_heads(heads: str) -> None:
    strays = dict.fromkeys(c for c in heads if not is_han(c))
    if strays:
        shown = " ".join(visible(c) for c in strays)
        raise ConstraintError(f"heads must be Han characters; these are not: {shown}")


def _refuse_vocabulary(plan: Plan, lexicon: Lexicon) -> None:
    """Every slot must be open to some single-character token or to bytes. Then no position
    is a dead end: a matcher stands between two characters, or within one that its bytes
    can still become."""
    missing: dict[str, None] = {}
    for i, slot in enumerate(plan.slots):
        if lexicon.writes(slot):
            continue
        if not slot.characters:
            raise ConstraintError("the model's vocabulary holds no single Han character")
        if not is_han(slot.characters):
            raise ConstraintError(f"{plan.where(i)}, which the model's vocabulary lacks")
        missing[slot.characters] = None
    if missing:
        raise UnknownCharacters("".join(missing))


def _either(characters: str) -> str:
    return " or ".join(characters)
