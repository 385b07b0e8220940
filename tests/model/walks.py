"""A vocabulary of pieces, random walks, and the constraints that every test runs for."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from corpora.forms import FORMS, LINE_ENDS, VerseForm
from model.constraints import Acrostic, Constraint, FixedForm, Matcher
from model.errors import UnknownCharacters
from model.tokenizers import CharTokenizer, Tokenizer, Unknown
from tests.helpers import PIECES as SENTENCEPIECES

HAN = "春眠不觉晓处闻啼鸟夜来风雨声花落知多少床前明月光疑是地上霜"
PIECES = (
    "春风",
    "风，",
    "，春",
    "花落知多少",
    "少。",
    "。夜",
    "，",
    "。",
    "，。",
    "春，眠",
    "风雨声，花落",
)
STRAYS = ("a", "7", " ", "\n", "！", "？", "、", ",", "□", "▁春", "春a", "々")


class PieceTokenizer:
    """A vocabulary with pieces of several characters, byte pieces and empty ones."""

    start_id = 0
    end_id = 1
    unk_id = 2

    def __init__(self, characters: str = HAN, pieces: tuple[str, ...] = PIECES) -> None:
        halves = "春".encode()
        texts = [t.encode() for t in (*characters, *pieces, *STRAYS)]
        # a special piece that reads like text must stay out too
        specials = [b"", b"", "春".encode()]
        parts = [b"", halves[:1], halves[1:], halves[:2], "风".encode() + halves[:1]]
        self._bytes: list[bytes] = [*specials, *parts, *texts]

    @property
    def vocab_size(self) -> int:
        return len(self._bytes)

    @property
    def special_ids(self) -> frozenset[int]:
        return frozenset({0, 1, 2})

    @property
    def hash(self) -> str:
        return "pieces:" + "|".join(b.hex() for b in self._bytes)

    def encode(self, text: str, unknown: Unknown = "error") -> list[int]:
        """Greedy: the longest whole-character piece first."""
        ids: list[int] = []
        data = text.encode()
        while data:
            fitting = [i for i in range(3, self.vocab_size) if self._fits(i, data)]
            if not fitting:
                raise UnknownCharacters(text)
            ids.append(max(fitting, key=lambda i: len(self._bytes[i])))
            data = data[len(self._bytes[ids[-1]]) :]
        return ids

    def _fits(self, token: int, data: bytes) -> bool:
        piece = self._bytes[token]
        whole = b"" != piece.decode("utf-8", errors="ignore").encode() == piece
        return whole and data.startswith(piece)

    def decode(self, ids: Iterable[int]) -> str:
        return b"".join(self._bytes[i] for i in ids if i > 2).decode("utf-8", errors="replace")

    def piece_bytes(self, token: int) -> bytes:
        return self._bytes[token]

    def name(self, token: int) -> str:
        return f"<{token}>"

    def to_json(self) -> dict[str, Any]:
        return {"kind": "pieces"}


CHARACTERS = CharTokenizer([*HAN, *LINE_ENDS, *"！？、a7 \n□"])
PIECEWISE = PieceTokenizer()
TOKENIZERS: list[Tokenizer] = [CHARACTERS, PIECEWISE, SENTENCEPIECES]

CASES: list[tuple[Constraint, VerseForm, str]] = [
    *((FixedForm(f), f, "") for f in FORMS.values()),
    (FixedForm(FORMS["七绝"], "春眠不觉"), FORMS["七绝"], "春眠不觉"),
    (FixedForm(FORMS["七律"], "春春"), FORMS["七律"], "春春"),
    (FixedForm(VerseForm("三句", 3, 3), "花"), VerseForm("三句", 3, 3), "花"),
    (FixedForm(VerseForm("一字", 1, 1)), VerseForm("一字", 1, 1), ""),
    (Acrostic("春"), VerseForm("", 1, 7), "春"),
    (Acrostic("春眠不", 5), VerseForm("", 3, 5), "春眠不"),
    (Acrostic("花花花花花花"), VerseForm("", 6, 7), "花花花花花花"),
    (Acrostic(HAN[:20]), VerseForm("", 20, 7), HAN[:20]),
]

everywhere = pytest.mark.parametrize(
    ("tokenizer", "constraint", "verse", "heads"),
    [pytest.param(t, *case, id=f"{type(t).__name__}-{case[0].describe()}")
     for t in TOKENIZERS for case in CASES],
)  # fmt: skip


def allowed(matcher: Matcher) -> list[int]:
    mask = matcher.mask()
    assert mask is not None
    return mask.nonzero().flatten().tolist()


def walk(matcher: Matcher, rng: random.Random, steps: int = 10**6) -> list[int]:
    """Random allowed tokens until the form is full, or for so many steps."""
    tokens: list[int] = []
    while not matcher.finished and len(tokens) < steps:
        choices = allowed(matcher)
        assert choices, "a dead end"
        tokens.append(rng.choice(choices))
        matcher.accept(tokens[-1])
    return tokens


def initials(text: str, verse: VerseForm) -> str:
    return text[:: verse.characters + 1]
