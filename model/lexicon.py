"""Rules for characters lifted to a vocabulary's pieces.

A rule says what one character of a text may be (a ``Slot``); a mask says which tokens
may come where a row of such rules begins. Knows slots, pieces and masks; knows nothing
of verse forms, of runs or of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import torch
from torch import Tensor

from corpora.forms import LINE_ENDS, is_han
from model.tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Slot:
    """What one character of the text may be."""

    characters: str = ""
    """The characters to choose from; empty for any Han character."""


HAN = Slot()


class Lexicon:
    """The tokens of a vocabulary that verse can be made of: only Han, ， and 。."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        special = tokenizer.special_ids
        texts = {
            token: text
            for token in range(tokenizer.vocab_size)
            if token not in special
            and (text := _text(tokenizer.piece_bytes(token)))
            and all(is_han(c) or c in LINE_ENDS for c in text)
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
        self.tokens = torch.tensor(list(texts), dtype=torch.long)  # [U]
        padded = [[*map(ord, text), *[0] * (self.longest - len(text))] for text in texts.values()]
        self.codes = torch.tensor(padded, dtype=torch.int32).view(-1, self.longest)  # [U, longest]
        self.structural = self._over_vocabulary(
            torch.tensor([all(c in LINE_ENDS for c in t) for t in texts.values()], dtype=torch.bool)
        )

    def mask(self, window: Sequence[Slot]) -> Tensor:
        """[V] bool: the tokens whose characters fit the slots of ``window`` from its
        start on. A piece that runs past the window does not fit."""
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
        return self._over_vocabulary(fits)

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
def mask_of(lexicon: Lexicon, window: tuple[Slot, ...]) -> Tensor:
    """``lexicon.mask(window)``, built once: the same tensor for the same window, to be
    read only. No more slots than ``lexicon.longest`` matter."""
    return lexicon.mask(window)


def _text(piece: bytes) -> str:
    """The text of a piece; empty for a part of a character."""
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return ""
