"""A Hugging Face tokenizer behind the engine's protocol.

Text is text: what looks like a control token in it is encoded as the characters it
consists of. Control tokens enter as ids only, through a chat template. A piece's bytes
are exact, for byte-level BPE and for the sentencepiece kind with its ``▁`` and byte
tokens, so that a stream of ids joins to the decoding of all of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Literal

from tokenizers import Tokenizer as Library

from model.errors import CheckpointError, UnknownCharacters
from model.tokenizers import Unknown, visible_name

Style = Literal["bytes", "sentencepiece"]

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_WORD_START = "▁"
_BETWEEN_TEXTS = "<|endoftext|>"


class PretrainedTokenizer:
    """The tokenizer of a model that was trained elsewhere."""

    def __init__(
        self, document: str, vocab_size: int, *, bos: str | None, end_ids: Iterable[int]
    ) -> None:
        """``document``: the contents of a ``tokenizer.json``. ``vocab_size``: logits of the
        model, which may be more than there are tokens. ``bos``: how the token before a
        text is written, if any is. ``end_ids``: at least one that is a token.

        Raises ``CheckpointError`` for a document that cannot be used.
        """
        try:
            self.parsing = Library.from_str(document)
            """Reads control tokens out of text: for what a template wrote, never for a user's."""
            parts = json.loads(document)
            self._added = parts["added_tokens"]
            self._style = _style(parts["decoder"])
            unknown = parts["model"].get("unk_token")
            self.control = control_tokens(document)
            """Tokens that steer a model rather than being its text, by how they are written."""
            self._plain = Library.from_str(_with_control_tokens_special(document))
        except CheckpointError:
            raise
        except Exception as error:  # the library raises bare Exception
            raise CheckpointError(f"its tokenizer.json cannot be read ({error})") from error
        self._plain.encode_special_tokens = True
        self._document = document
        ids: dict[str, int] = self.parsing.get_vocab(with_added_tokens=True)
        self._used = frozenset(ids.values())
        if max(self._used, default=0) >= vocab_size:
            raise CheckpointError(
                f"its tokenizer has ids up to {max(self._used):,}, the model {vocab_size:,} tokens"
            )
        self._size = vocab_size
        ends = sorted(self._used.intersection(end_ids))
        if not ends:
            raise CheckpointError("nothing says which token ends a text")
        self.end_id = ends[0]
        self.end_ids = frozenset(ends)
        self.start_id = self._start(bos)
        self._unknown = self.parsing.token_to_id(unknown) if unknown else None
        self.unk_id = self.end_id if self._unknown is None else self._unknown

    @property
    def vocab_size(self) -> int:
        """Logits of a position: V."""
        return self._size

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids that are no text."""
        special = {token["id"] for token in self._added if token["special"]}
        unused = {*range(self._size)} - self._used  # a model's table is often a little longer
        return frozenset(special | self.end_ids | unused)

    @cached_property
    def hash(self) -> str:
        """Hex digest of everything that decides what an id means."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def encode(self, text: str, unknown: Unknown = "error") -> list[int]:
        """The ids of ``text``, all of it read as text, without start or end."""
        ids = self._text_ids(text)
        if self._unknown is None or self._unknown not in ids or unknown == "unk":
            return ids
        if unknown == "drop":
            return [token for token in ids if token != self._unknown]
        lost = [char for char in dict.fromkeys(text) if self._unknown in self._text_ids(char)]
        raise UnknownCharacters("".join(lost))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``; special tokens are no text."""
        return b"".join(map(self.piece_bytes, ids)).decode("utf-8", "replace")

    def piece_bytes(self, token: int) -> bytes:
        """The UTF-8 bytes that a token adds; none where it is special."""
        if token in self.special_ids:
            return b""
        piece: str | None = self.parsing.id_to_token(token)
        if piece is None:
            return b""
        if token in self._added_ids:
            return piece.encode()
        if self._style == "bytes":
            return b"".join(_byte_of(char) for char in piece)
        if match := _BYTE_TOKEN.fullmatch(piece):
            return bytes([int(match[1], 16)])
        return piece.replace(_WORD_START, " ").encode()

    def name(self, token: int) -> str:
        """A visible, single-line name of a token for tables."""
        if token in self.special_ids:
            return visible_name(self.parsing.id_to_token(token) or f"<{token}>")
        data = self.piece_bytes(token)
        try:
            return visible_name(data.decode("utf-8"))
        except UnicodeDecodeError:
            return "".join(f"<{byte:02X}>" for byte in data)

    def to_json(self) -> dict[str, Any]:
        """Everything needed to build the tokenizer again."""
        return {
            "kind": "pretrained",
            "document": self._document,
            "vocab_size": self._size,
            "start_id": self.start_id,
            "end_ids": sorted(self.end_ids),
        }

    def _start(self, bos: str | None) -> int:
        """What the tokenizer itself puts before a text; else what stands between the texts
        that such models are trained on; else whatever there is."""
        first: list[int] = self.parsing.encode("a", add_special_tokens=True).ids[:1]
        if first and first[0] in self.control.values():
            return first[0]
        for written in (_BETWEEN_TEXTS, bos):
            if written in self.control:
                return self.control[written]
        return self.end_id

    @cached_property
    def _added_ids(self) -> frozenset[int]:
        return frozenset(token["id"] for token in self._added)

    def _text_ids(self, text: str) -> list[int]:
        ids: list[int] = self._plain.encode(text, add_special_tokens=False).ids
        if not self._control_ids.intersection(ids):
            return ids
        # A vocabulary may still spell one in text: cut it in two, so that neither half does.
        for written in self.control:
            if (at := text.find(written)) >= 0 and len(written) > 1:
                return self._text_ids(text[: at + 1]) + self._text_ids(text[at + 1 :])
        return [token for token in ids if token not in self._control_ids]

    @cached_property
    def _control_ids(self) -> frozenset[int]:
        """Without the unknown token, which text may well come to."""
        return frozenset(self.control.values()) - {self._unknown}


def control_tokens(document: str) -> dict[str, int]:
    """The control tokens of a ``tokenizer.json``: ids by how they are written.

    Raises ``CheckpointError`` for a document that is none."""
    try:
        added = json.loads(document)["added_tokens"]
        return {token["content"]: token["id"] for token in added if _is_control(token)}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"its tokenizer.json cannot be read ({error})") from error


def _is_control(token: dict[str, Any]) -> bool:
    """Runs of blanks may be tokens of their own; every other added token steers."""
    return bool(token["special"] or token["content"].strip())


def _with_control_tokens_special(document: str) -> str:
    """The same tokenizer with every control token marked special, so that all can be told
    apart from text in one go."""
    changed = json.loads(document)
    for token in changed["added_tokens"]:
        token["special"] = _is_control(token)
    changed["truncation"] = changed["padding"] = None
    return json.dumps(changed, ensure_ascii=False)


def _style(decoder: object) -> Style:
    kinds = set(_kinds(decoder))
    if "ByteLevel" in kinds:
        return "bytes"
    if kinds & {"ByteFallback", "Metaspace", "Replace"}:
        return "sentencepiece"
    raise CheckpointError(
        "its tokenizer is neither byte-level BPE nor of the sentencepiece kind, so that what a "
        "piece adds to a text cannot be told"
    )


def _kinds(decoder: object) -> Iterator[str]:
    """Types of a decoder and of those it consists of."""
    if isinstance(decoder, dict):
        yield str(decoder.get("type"))
        for part in decoder.get("decoders", ()):
            yield from _kinds(part)


def _byte_table() -> dict[str, bytes]:
    """Characters that stand for bytes in byte-level BPE (Radford et al. 2019, GPT-2): those
    that print stand for themselves, the others are counted up from U+0100."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (byte for byte in range(256) if byte not in printing)
    table = {chr(byte): bytes([byte]) for byte in printing}
    table.update({chr(0x100 + place): bytes([byte]) for place, byte in enumerate(others)})
    return table


_BYTES = _byte_table()


def _byte_of(char: str) -> bytes:
    return _BYTES.get(char) or char.encode()
