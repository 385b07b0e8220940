"""Rules for characters lifted to a vocabulary's pieces.

A rule says what one character of a text may be (a ``Slot``); a mask says which tokens
may come where a row of such rules begins. Knows slots, pieces and masks; knows nothing
of verse forms, of runs or of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from corpora.forms import LINE_ENDS, han_characters, is_han
from model.spelling import Spelling, byte_tokens
from model.tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Slot:
    """What one character of the text may be."""

    characters: str = ""
    """The characters to choose from; empty for any Han character."""


HAN = Slot()


@dataclass(frozen=True, slots=True)
class Mask:
    """What may come at one place."""

    tokens: Tensor
    """[V] bool, True where a token is allowed."""
    forced: bool
    """Exactly one is."""

    @classmethod
    def of(cls, tokens: Tensor) -> Mask:
        """The mask of ``tokens``."""
        return cls(tokens, int(tokens.sum()) == 1)


class Lexicon:
    """The tokens of a vocabulary that verse can be made of: only Han, ， and 。, and the
    bytes of Han characters that no token writes whole."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        special = tokenizer.special_ids
        pieces = {
            token: tokenizer.piece_bytes(token)
            for token in range(tokenizer.vocab_size)
            if token not in special
        }
        texts = {
            token: text
            for token, piece in pieces.items()
            if (text := _text(piece)) and all(is_han(c) or c in LINE_ENDS for c in text)
        }
        self.size = tokenizer.vocab_size
        """Tokens of the whole vocabulary: V."""
        self.widths = {token: len(text) for token, text in texts.items()}
        """Characters of each token that verse can be made of; there are U of them."""
        self.longest = max(self.widths.values(), default=1)
        """Characters of the longest of them."""
        self.singles = frozenset(text for text in texts.values() if len(text) == 1)
        """Characters that are a token by themselves."""
        self.has_han = any(map(is_han, self.singles))
        self.bytes = byte_tokens(pieces.items())
        """The token of each byte, int64 [256]; ``None`` where not every byte has one."""
        self.tokens = torch.tensor(list(texts), dtype=torch.long)  # [U]
        padded = [[*map(ord, text), *[0] * (self.longest - len(text))] for text in texts.values()]
        self.codes = torch.tensor(padded, dtype=torch.int32).view(-1, self.longest)  # [U, longest]
        self.structural = self._over_vocabulary(
            torch.tensor([all(c in LINE_ENDS for c in t) for t in texts.values()], dtype=torch.bool)
        )

    def writes(self, slot: Slot) -> bool:
        """Whether a character of ``slot`` is a token by itself or can be spelled."""
        if self.bytes is not None:
            return True
        return any(c in self.singles for c in slot.characters) if slot.characters else self.has_han

    def mask(self, window: Sequence[Slot]) -> Mask:
        """The tokens whose characters fit the slots of ``window`` from its start on, and
        the first bytes of what the first slot takes spelled. A piece that runs past the
        window does not fit."""
        fits = torch.ones(len(self.tokens), dtype=torch.bool)  # [U]
        for column in range(self.longest):
            codes = self.codes[:, column]
            fine = codes == 0  # the piece has ended
            if column < len(window):
                characters = window[column].characters
                listed = torch.tensor([ord(c) for c in characters or LINE_ENDS], dtype=torch.int32)
                found = torch.isin(codes, listed)
                fine |= found if characters else ~found
            fits &= fine
        allowed = self._over_vocabulary(fits)
        if window:
            allowed |= self._spelled(window[0], b"")
        return Mask.of(allowed)

    def mask_within(self, slot: Slot, begun: bytes) -> Mask:
        """The next bytes of a character for ``slot`` of which ``begun`` is written."""
        return Mask.of(self._spelled(slot, begun))

    def byte(self, token: int) -> int:
        """The byte that a token spells, of those that verse can be made of."""
        assert self.bytes is not None
        return int((self.bytes == token).nonzero()[0, 0])

    @cached_property
    def _other_han(self) -> Spelling:
        """Han characters that are no token. Those that are one are never spelled: the
        tokenizer would not, and the model has not seen it done."""
        return Spelling(c for c in han_characters() if c not in self.singles)

    def _spelled(self, slot: Slot, begun: bytes) -> Tensor:
        allowed = torch.zeros(self.size, dtype=torch.bool)
        if self.bytes is None:
            return allowed
        listed = slot.characters
        others = Spelling(c for c in listed if c not in self.singles) if listed else self._other_han
        allowed[self.bytes[others.next_bytes(begun)]] = True
        return allowed

    def _over_vocabulary(self, flags: Tensor) -> Tensor:
        """[U] flags put at their tokens' places: [V]."""
        return torch.zeros(self.size, dtype=torch.bool).index_put_((self.tokens,), flags)


@dataclass(frozen=True, slots=True)
class _ByHash:
    """A tokenizer as a cache's key: two of the same hash are the same one."""

    hash: str
    tokenizer: Tokenizer = field(compare=False)


@lru_cache(maxsize=8)
def _lexicon(key: _ByHash) -> Lexicon:
    return Lexicon(key.tokenizer)


def lexicon_of(tokenizer: Tokenizer) -> Lexicon:
    """The lexicon of ``tokenizer``, built once for each tokenizer hash."""
    return _lexicon(_ByHash(tokenizer.hash, tokenizer))


@lru_cache(maxsize=512)
def mask_of(lexicon: Lexicon, window: tuple[Slot, ...]) -> Mask:
    """``lexicon.mask(window)``, built once: the same tensor for the same window, to be
    read only. No more slots than ``lexicon.longest`` matter."""
    return lexicon.mask(window)


@lru_cache(maxsize=512)
def mask_within(lexicon: Lexicon, slot: Slot, begun: bytes) -> Mask:
    """``lexicon.mask_within(slot, begun)``, built once, to be read only."""
    return lexicon.mask_within(slot, begun)


def _text(piece: bytes) -> str:
    """The text of a piece; empty for a part of a character."""
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return ""
