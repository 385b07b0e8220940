"""The header of a GGUF file: what it says of itself, and whether the file is whole.

Reads metadata only, in a fraction of a second; the weights are another library's work.
Layout: magic, version, counts, key-value pairs, tensor descriptions, padding, tensor data
(the GGUF specification, versions 2 and 3; little endian).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from model.errors import CheckpointError

MAGIC = b"GGUF"
VERSIONS = (2, 3)

_SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_SHORT = 64
"""Longest array of numbers that is kept."""
_MOST_DIMENSIONS = 8
_ALIGNMENT = 32
_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 30: (1, 2),
}  # fmt: skip
"""GGML types by number: values of a block and its bytes, for F32, F16, Q4_0, Q4_1, Q5_0, Q5_1,
Q8_0, Q2_K to Q6_K and BF16. Of other types only the beginning is checked."""


@dataclass(frozen=True, slots=True)
class GGUFHeader:
    """What a GGUF file says of itself."""

    fields: dict[str, Any]
    """Metadata by key; of arrays the length alone, but for short ones of numbers."""
    parameters: int
    """Values in all tensors."""
    types: frozenset[int]
    """GGML type numbers of the tensors: quantisations."""

    @property
    def architecture(self) -> str:
        """``llama``, ``qwen2``, …; empty where the file does not say."""
        return str(self.fields.get("general.architecture", ""))

    def of_architecture(self, key: str) -> Any:
        """The field ``<architecture>.<key>``; ``None`` where there is none."""
        return self.fields.get(f"{self.architecture}.{key}")


def read_header(path: Path) -> GGUFHeader:
    """Read the header of ``path`` and check that all tensors lie within the file.

    Raises ``CheckpointError`` for a file that is no GGUF, cut short, or damaged, and
    ``OSError`` as it comes.
    """
    with path.open("rb") as file:
        size = path.stat().st_size
        if file.read(4) != MAGIC:
            raise CheckpointError(f"{path}: not a GGUF file (it does not begin with GGUF)")
        try:
            return _read(_Cursor(file, size))
        except _Damaged as error:
            raise CheckpointError(
                f"{path}: not a whole GGUF file ({error}); get it again"
            ) from error


class _Damaged(Exception):
    """What is wrong with the bytes."""


class _Cursor:
    """Reads values one after another, never past the end of the file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size

    def take(self, count: int) -> bytes:
        if count > self.size - self._file.tell():
            raise _Damaged(f"it ends within its header, at byte {self.size:,}")
        return self._file.read(count)

    def number(self, code: str) -> Any:
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def text(self) -> str:
        return self.take(self.number("<Q")).decode("utf-8", "replace")

    def skip_texts(self, count: int) -> None:
        for _ in range(count):
            self.take(self.number("<Q"))

    def tell(self) -> int:
        return self._file.tell()


def _read(cursor: _Cursor) -> GGUFHeader:
    version, tensors, pairs = (cursor.number(code) for code in ("<I", "<Q", "<Q"))
    if version not in VERSIONS:
        raise _Damaged(f"version {version}, where 2 and 3 are known")
    fields = {}
    for _ in range(pairs):
        key = cursor.text()
        fields[key] = _value(cursor, cursor.number("<I"))
    parameters, types, end = 0, set(), 0
    for _ in range(tensors):
        cursor.text()
        dimensions = cursor.number("<I")
        if dimensions > _MOST_DIMENSIONS:
            raise _Damaged(f"a tensor of {dimensions} dimensions")
        values = math.prod(cursor.number("<Q") for _ in range(dimensions))
        kind, offset = cursor.number("<I"), cursor.number("<Q")
        block, size = _BLOCKS.get(kind, (1, 0))
        types.add(kind)
        end = max(end, offset + values // block * size)
        parameters += values
    if not tensors:
        raise _Damaged("it holds no tensors")
    alignment = fields.get("general.alignment", _ALIGNMENT)
    if not isinstance(alignment, int) or not 0 < alignment <= 1 << 16:
        raise _Damaged(f"an alignment of {alignment}")
    begins = -(-cursor.tell() // alignment) * alignment
    if begins + end > cursor.size:
        raise _Damaged(f"its tensors take {begins + end:,} bytes, it has {cursor.size:,}")
    return GGUFHeader(fields, parameters, frozenset(types))


def _value(cursor: _Cursor, kind: int) -> Any:
    if kind in _SCALARS:
        return cursor.number(_SCALARS[kind])
    if kind == _STRING:
        return cursor.text()
    if kind != _ARRAY:
        raise _Damaged(f"a value of the unknown type {kind}")
    inner, count = cursor.number("<I"), cursor.number("<Q")
    if inner == _STRING:
        cursor.skip_texts(count)
        return count
    if inner not in _SCALARS:
        raise _Damaged(f"an array of the unknown type {inner}")
    code = _SCALARS[inner]
    data = cursor.take(count * struct.calcsize(code))
    if count > _SHORT:
        return count
    return [struct.unpack_from(code, data, i * struct.calcsize(code))[0] for i in range(count)]
