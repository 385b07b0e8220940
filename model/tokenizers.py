"""Text to ids and back, and the text of a stream of ids.

Knows nothing of tensors or models. Nothing is replaced silently: a character
that a tokenizer cannot represent raises an error that names it, unless the
caller chose what to do with such characters.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

from model.errors import CheckpointError, UnknownCharacters

Unknown = Literal["error", "drop", "unk"]
"""What to do with characters outside the vocabulary."""

LOST = "□"
"""How the unknown token reads: the printed sign for a lost character."""


class Tokenizer(Protocol):
    """What the engine asks of a tokenizer."""

    start_id: int
    """The token that stands before the first one of a text."""
    end_id: int
    """The token that ends a text."""

    @property
    def end_ids(self) -> frozenset[int]:
        """Every token that ends a text, ``end_id`` among them: a chat model may have an end
        of turn beside its end of text, and generation stops at any."""

    unk_id: int

    @property
    def vocab_size(self) -> int:
        """Tokens in all, special ones among them."""

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids that are no text: start, end, unknown, tags."""

    @property
    def hash(self) -> str:
        """Hex digest of everything that decides what an id means."""

    def encode(self, text: str, unknown: Unknown = "error") -> list[int]:
        """The ids of ``text``, without start or end.

        Raises ``UnknownCharacters`` for what the vocabulary lacks, unless told to
        ``drop`` it or to put the ``unk`` token in its place.
        """

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``; special tokens are no text."""

    def piece_bytes(self, token: int) -> bytes:
        """The UTF-8 bytes that a token adds: a whole character, several, or a part of one."""

    def name(self, token: int) -> str:
        """A visible, single-line name of a token for tables."""

    def to_json(self) -> dict[str, Any]:
        """Everything needed to build the tokenizer again."""


class OwnTokenizer:
    """What the tokenizers of this program have in common: their special ids stand first."""

    SPECIALS: ClassVar[tuple[str, ...]]
    """Names of the special tokens, in the order of their ids."""
    end_id: int

    @property
    def end_ids(self) -> frozenset[int]:
        """The one token that ends a text."""
        return frozenset({self.end_id})

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of ``SPECIALS``."""
        return frozenset(range(len(self.SPECIALS)))


class CharTokenizer(OwnTokenizer):
    """One id a character, for verse.

    Three special ids stand first: ``<unk>``, ``<poem>``, which both begins a poem
    and ends it (as the line feed does in the lesson), and ``<song>``, which begins
    a poem of the Song corpus, so that a model trained on both knows which it reads.
    """

    SPECIALS = ("<unk>", "<poem>", "<song>")
    unk_id = 0
    start_id = 1
    end_id = 1
    song_id = 2

    def __init__(self, characters: Sequence[str]) -> None:
        """``characters``: the vocabulary in id order, after the specials; each once."""
        if len(set(characters)) != len(characters) or not all(map(_is_character, characters)):
            raise CheckpointError("a character vocabulary must hold single characters, each once")
        self.characters = tuple(characters)
        self._ids = {c: i for i, c in enumerate(self.characters, len(self.SPECIALS))}
        self._texts = (LOST, "", "", *self.characters)

    @classmethod
    def train(cls, texts: Iterable[str], minimum: int = 2) -> CharTokenizer:
        """The characters that occur at least ``minimum`` times, most frequent first
        (ties by code point, so that the same corpus gives the same ids)."""
        counts = Counter[str]()
        for text in texts:
            counts.update(text)
        kept = [c for c, n in counts.items() if n >= minimum]
        return cls(sorted(kept, key=lambda c: (-counts[c], c)))

    @property
    def vocab_size(self) -> int:
        """Characters and special tokens."""
        return len(self._texts)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the vocabulary in its order."""
        document = json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(document.encode()).hexdigest()

    def encode(self, text: str, unknown: Unknown = "error") -> list[int]:
        """An id for each character of ``text``; see ``Tokenizer.encode`` for ``unknown``."""
        ids = [self._ids.get(c, self.unk_id) for c in text]
        if unknown == "unk" or self.unk_id not in ids:
            return ids
        if unknown == "drop":
            return [i for i in ids if i != self.unk_id]
        missing = dict.fromkeys(c for c, i in zip(text, ids, strict=True) if i == self.unk_id)
        raise UnknownCharacters("".join(missing))

    def decode(self, ids: Iterable[int]) -> str:
        """The characters of ``ids``; the unknown token reads □, the others nothing."""
        return "".join(self._texts[i] for i in ids)

    def piece_bytes(self, token: int) -> bytes:
        """The character in UTF-8."""
        return self._texts[token].encode()

    def name(self, token: int) -> str:
        """The character made visible; a special token's own name, but ``<end>`` for
        ``<poem>``: drawn, it ends the poem, as ``<end>`` does in the other vocabulary."""
        if token == self.end_id:
            return "<end>"
        if token < len(self.SPECIALS):
            return self.SPECIALS[token]
        return visible_name(self._texts[token])

    def to_json(self) -> dict[str, Any]:
        """What ``tokenizer_from_json`` takes."""
        return {
            "kind": "char",
            "specials": list(self.SPECIALS),
            "characters": "".join(self.characters),
        }


def tokenizer_from_json(document: dict[str, Any]) -> Tokenizer:
    """The tokenizer that ``to_json`` described; refuses a kind it does not know."""
    kind = document.get("kind")
    if kind == "bpe":
        from model.sentencepieces import SentencePieceTokenizer  # the library loads where needed

        return SentencePieceTokenizer.from_json(document)
    if kind != "char" or tuple(document.get("specials", ())) != CharTokenizer.SPECIALS:
        raise CheckpointError(
            f"tokenizer of kind {kind!r} is not one that this version reads; "
            "use the version that wrote the checkpoint, or train again"
        )
    return CharTokenizer(tuple(document["characters"]))


class StreamDecoder:
    """Turns ids, one at a time, into increments of text.

    Bytes of a character that is not complete yet wait; the increments joined, with
    ``flush`` at the end, equal the decoding of all the ids. Bytes that can never
    become a character read as U+FFFD, as soon as that is certain.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> str:
        """The text that ``token`` completes; may be empty."""
        return self._decoder.decode(self._tokenizer.piece_bytes(token))

    def flush(self) -> str:
        """What is left of an unfinished character, as U+FFFD; empty otherwise."""
        return self._decoder.decode(b"", final=True)


def _is_character(text: object) -> bool:
    """One character that UTF-8 can write: half of a surrogate pair is none."""
    return isinstance(text, str) and len(text) == 1 and not "\ud800" <= text <= "\udfff"


def visible_name(text: str) -> str:
    """``text`` made visible on one line: ``\\n`` as ⏎, space as ␠, others by code point."""
    named = {"\n": "⏎", "\t": "⇥", " ": "␠", "\u3000": "␠全"}
    return "".join(
        named.get(c, c if not unicodedata.category(c).startswith(("C", "Z")) else f"U+{ord(c):04X}")
        for c in text
    )
