"""BPE pieces by ``sentencepiece``: one id for a character, for several, or for one byte.

Text passes exactly as it is: nothing is normalised, no space is added, joined or written
as another sign. A character that is no piece is spelled in the bytes of its UTF-8 form,
so that nothing but half of a surrogate pair is unknown. Marks like ``<poem>`` are control
pieces: text that spells one is text.

Byte pair encoding: Sennrich, Haddow and Birch, 2016; byte fallback and control pieces as
in Kudo and Richardson, 2018.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import sentencepiece

from model.errors import CheckpointError, InputError, SettingError, UnknownCharacters
from model.tokenizers import LOST, OwnTokenizer, Unknown, visible_name

COVERAGE = 0.995
"""Share of all characters of the training text that are pieces by themselves; the rarest
are spelled in bytes."""

LONGEST = 7
"""Characters of a piece at most: a line of verse."""

_ESCAPE = "▁"
"""What sentencepiece writes for a space; no piece may hold it."""

_APART = re.compile("([ \ud800-\udfff])")
"""What never goes through sentencepiece: spaces, and halves of surrogate pairs."""


class SentencePieceTokenizer(OwnTokenizer):
    """BPE pieces behind the protocol of all tokenizers.

    First stand five special ids, then 256 bytes, then text. ``<poem>`` begins a poem,
    ``<end>`` ends it; ``<song>`` and ``<ci>`` begin one of the Song corpora.
    """

    SPECIALS = ("<unk>", "<poem>", "<end>", "<song>", "<ci>")
    unk_id = 0
    start_id = 1
    end_id = 2
    song_id = 3
    ci_id = 4

    def __init__(self, model: bytes) -> None:
        """``model``: a serialised sentencepiece model as ``train`` makes one. Raises
        ``CheckpointError`` for anything else."""
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            pieces = [*map(self._processor.id_to_piece, range(self._processor.vocab_size()))]
        except (RuntimeError, OSError, ValueError) as error:
            raise CheckpointError(f"a damaged sentencepiece model ({error})") from error
        self._model = model
        self._bytes = _bytes_of(pieces)

    @classmethod
    def train(cls, texts: Iterable[str], pieces: int) -> SentencePieceTokenizer:
        """``pieces`` ids in all, specials and bytes among them, for ``texts``, of which
        none may hold a space. The same texts give the same pieces.

        Raises ``SettingError`` with the range that ``texts`` leave, ``InputError`` where
        they are empty.
        """
        texts = list(texts)
        alphabet = _alphabet(texts)
        fewest = len(cls.SPECIALS) + 256 + len(alphabet)
        if pieces < fewest:
            raise SettingError(
                "pieces",
                pieces,
                f"for this text at least {fewest}: {len(alphabet)} characters, 256 bytes and "
                f"{len(cls.SPECIALS)} marks",
            )
        tokenizer = cls(cls._trained(texts, pieces))
        if tokenizer.vocab_size < pieces:
            most = tokenizer.vocab_size
            raise SettingError("pieces", pieces, f"for this text {fewest} to {most}")
        return tokenizer

    @classmethod
    def _trained(cls, texts: Iterable[str], pieces: int) -> bytes:
        """A serialised model of at most so many pieces."""
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(texts),
                model_writer=model,
                model_type="bpe",
                vocab_size=pieces,
                hard_vocab_limit=False,  # too many is said below, with the range
                character_coverage=COVERAGE,
                byte_fallback=True,
                normalization_rule_name="identity",
                add_dummy_prefix=False,
                remove_extra_whitespaces=False,
                split_by_unicode_script=True,  # no piece of Han and punctuation
                max_sentencepiece_length=LONGEST,
                max_sentence_length=1 << 24,
                num_threads=1,
                minloglevel=2,
                **cls._special_pieces(),
            )
        except (RuntimeError, OSError) as error:
            raise InputError(f"sentencepiece makes no {pieces} pieces of this text") from error
        return model.getvalue()

    @classmethod
    def _special_pieces(cls) -> dict[str, Any]:
        unk, poem, end, *tags = cls.SPECIALS
        return {
            "unk_id": cls.unk_id,
            "bos_id": cls.start_id,
            "eos_id": cls.end_id,
            "pad_id": -1,
            "unk_piece": unk,
            "bos_piece": poem,
            "eos_piece": end,
            "control_symbols": tags,
        }

    @property
    def vocab_size(self) -> int:
        """Special tokens, bytes and pieces."""
        return len(self._bytes)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the sentencepiece model."""
        return hashlib.sha256(b"bpe" + self._model).hexdigest()

    def encode(self, text: str, unknown: Unknown = "error") -> list[int]:
        """The pieces of ``text``; only halves of surrogate pairs can be ``unknown``."""
        parts = _APART.split(text)  # text at the even places, what stands apart at the odd
        lone = dict.fromkeys(part for part in parts[1::2] if part != " ")
        if lone and unknown == "error":
            raise UnknownCharacters("".join(lone))
        ids: list[int] = []
        for place, part in enumerate(parts):
            if place % 2 == 0:
                ids += self._processor.encode(part)
            elif part == " ":
                ids.append(len(self.SPECIALS) + ord(" "))
            elif unknown == "unk":
                ids.append(self.unk_id)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``; bytes that make no character read as U+FFFD."""
        return b"".join(self._bytes[i] for i in ids).decode("utf-8", "replace")

    def piece_bytes(self, token: int) -> bytes:
        """What the piece adds to a text, in UTF-8."""
        return self._bytes[token]

    def name(self, token: int) -> str:
        """The piece made visible, ``<poem>``, or a byte as ``<0xE6>``."""
        if token < len(self.SPECIALS):
            return self.SPECIALS[token]
        byte = token - len(self.SPECIALS)
        return f"<0x{byte:02X}>" if byte < 256 else visible_name(self._bytes[token].decode())

    def to_json(self) -> dict[str, Any]:
        """What ``from_json`` takes."""
        return {"kind": "bpe", "model": base64.b64encode(self._model).decode()}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> SentencePieceTokenizer:
        """The tokenizer that ``to_json`` described; ``CheckpointError`` where it is damaged."""
        try:
            model = base64.b64decode(document["model"], validate=True)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"a damaged sentencepiece model ({error})") from error
        return cls(model)


def _bytes_of(pieces: list[str]) -> list[bytes]:
    """What each piece adds to a text, in UTF-8; refuses pieces of another order or kind."""
    specials = SentencePieceTokenizer.SPECIALS
    named = [*specials, *(f"<0x{byte:02X}>" for byte in range(256))]
    if pieces[: len(named)] != named or any(_ESCAPE in piece for piece in pieces):
        raise CheckpointError("not a sentencepiece model of this program")
    marks = [LOST.encode(), *[b""] * (len(specials) - 1)]
    single = [bytes([byte]) for byte in range(256)]
    return [*marks, *single, *(piece.encode() for piece in pieces[len(named) :])]


def _alphabet(texts: list[str]) -> list[str]:
    """The characters that are pieces by themselves: the most frequent ones, until they
    make up ``COVERAGE`` of the text. Raises ``InputError`` for text with a space or none."""
    counts = Counter[str]()
    for text in texts:
        counts.update(text)
    if not counts:
        raise InputError("there is no text to take pieces from")
    if " " in counts or _ESCAPE in counts:
        raise InputError("text to take pieces from must hold no space and no ▁")
    total, covered = counts.total(), 0
    alphabet: list[str] = []
    for character, count in counts.most_common():
        if covered / total >= COVERAGE:
            break
        alphabet.append(character)
        covered += count
    return alphabet
