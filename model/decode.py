"""One more token a sequence through a GPT, with little else than its arithmetic.

A pass over single positions computes so little that a small model spends most of its time
between the operations, and reads every weight for a row or a few, so that how the products
are done decides the rest. Here is the function of ``GPT.forward`` on ``[B, C]`` in NumPy,
whose products of one row take little more than half of torch's time, with matrices that
carry all that is constant:

- the gain of a norm is in the matrix behind it, and so are the √C of its deviation and the
  1/√hd of the scores;
- the norm's shift and the matrix's bias are one more row of it, which meets a 1 at the end
  of what is multiplied;
- what is added to the residual stream has its mean taken off, as every norm would take it
  off. All that is left of a norm is a division by a length.

The tests hold both to the same logits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from model.cache import KVCache

if TYPE_CHECKING:
    from model.gpt import GPT, Block

Array = NDArray[np.float32]

MANY = 2**22
"""Multiplications from which oneDNN, which needs 10 µs to begin, has the product sooner."""


class OneToken:
    """The forward pass for one new token a sequence, with weights of its own made from the
    model's: to be built again where those change."""

    def __init__(self, model: GPT) -> None:
        config = model.config
        self._embedding = _centred(_values(model.tokens.weight)).astype(np.float32)
        self._positions = _centred(_values(model.positions.weight)).astype(np.float32)
        self._layers = [_layer(block, config.n_head) for block in model.blocks]  # type: ignore[arg-type]
        self._head = _laid_out(_reading(model.ln, model.tokens.weight))
        self._least = config.n_embd * model.ln.eps
        self._ordered: dict[int, Tensor] = {}
        # Products are NumPy's now, and it takes every core unless it is told.
        threadpool_limits(torch.get_num_threads(), user_api="blas")

    def __call__(self, ids: Tensor, cache: KVCache) -> Tensor:
        """Logits ``[B, 1, V]`` of what follows ``ids`` ``[B, 1]``, which the cache then holds."""
        room = cache.workspace or _Workspace(cache)
        cache.workspace = room
        product = np.ndarray.dot if len(ids) == 1 else self._product
        held, new = cache.next_token()
        scores, shares = room.attention(cache.position + 1)
        scored, shared = torch.from_numpy(scores[..., 0]), torch.from_numpy(shares[:, :, 0])
        x = room.x
        np.add(self._embedding[ids.numpy()[:, 0]], self._positions[cache.position], out=x)
        for layer, (keys, values), place in zip(self._layers, held, new, strict=True):
            product(self._normal(room), layer.qkv, room.qkv)
            place[...] = room.keys_values
            np.matmul(keys, room.query, out=scores)
            torch.softmax(scored, -1, out=shared)  # NumPy would need five operations
            np.matmul(shares, values, out=room.heads)
            x += product(room.attended, layer.attended, room.update)
            product(self._normal(room), layer.hidden, room.hidden)
            F.gelu(room.before_gelu, out=room.after_gelu)  # type: ignore[call-arg]
            x += product(room.active, layer.back, room.update)
        cache.advance(1)
        return torch.from_numpy(product(self._normal(room), self._head)[:, None])

    def _normal(self, room: _Workspace) -> Array:
        """The residual stream divided by its length, which is √C deviations."""
        x = room.x
        if len(x) == 1:  # one number is sooner computed in Python than as an array of one
            np.multiply(x, 1 / math.sqrt(room.row.dot(room.row) + self._least), out=room.normal)
        else:
            squares = np.vecdot(x, x)[:, None] + np.float32(self._least)
            np.divide(x, np.sqrt(squares, out=squares), out=room.normal)
        return room.read

    def _product(self, rows: Array, matrix: Array, out: Array | None = None) -> Array:
        """Of rows that end with a 1, ``[B, in + 1]``, and a matrix whose last row is its bias."""
        ordered = self._ordered_for(matrix) if len(rows) * matrix.size >= MANY else None
        if ordered is None:
            product: Array = rows.dot(matrix, out)
            return product
        times = torch.ops.mkldnn._linear_pointwise
        product = times(torch.from_numpy(rows), ordered, None, "none", [], "").numpy()
        if out is None:
            return product
        out[...] = product
        return out

    def _ordered_for(self, matrix: Array) -> Tensor | None:
        """``matrix`` as oneDNN reads it, made once there are many rows. ``None`` where torch
        was built without."""
        if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
            return None
        if id(matrix) not in self._ordered:
            turned = torch.from_numpy(np.ascontiguousarray(matrix.T))
            order = torch.ops.mkldnn._reorder_linear_weight
            self._ordered[id(matrix)] = order(turned, None)
        return self._ordered[id(matrix)]


class _Layer(NamedTuple):
    """A block's matrices, ``[in + 1, out]``."""

    qkv: Array
    attended: Array
    hidden: Array
    back: Array


def _layer(block: Block, n_head: int) -> _Layer:
    qkv = _reading(block.ln1, block.attn.qkv.weight, block.attn.qkv.bias)
    width = qkv.shape[1] // 3
    qkv[:, :width] /= math.sqrt(width // n_head)
    return _Layer(
        _laid_out(qkv),
        _laid_out(_writing(block.attn.proj)),
        _laid_out(_reading(block.ln2, block.fc.weight, block.fc.bias)),
        _laid_out(_writing(block.proj)),
    )


def _reading(norm: nn.LayerNorm, weight: Tensor, bias: Tensor | None = None) -> NDArray[np.float64]:
    """The matrix that reads the residual stream behind ``norm``."""
    gain, shift, matrix = _values(norm.weight), _values(norm.bias), _values(weight).T
    constant = shift @ matrix
    if bias is not None:
        constant += _values(bias)
    return np.vstack([matrix * (gain * math.sqrt(len(gain)))[:, None], constant])


def _writing(linear: nn.Linear) -> NDArray[np.float64]:
    """The matrix whose product is added to the residual stream."""
    return _centred(np.vstack([_values(linear.weight).T, _values(linear.bias)]))


def _laid_out(matrix: NDArray[np.float64]) -> Array:
    """Rows side by side: then a product with one row reads it from beginning to end."""
    return np.ascontiguousarray(matrix, np.float32)


def _centred(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    centred: NDArray[np.float64] = rows - rows.mean(-1, keepdims=True)
    return centred


def _values(parameter: Tensor) -> NDArray[np.float64]:
    return parameter.detach().double().numpy()


class _Workspace:
    """Where a pass writes what it needs on the way, so that it asks for no memory: at this
    size, asking costs as much as computing. Worth nothing between passes."""

    def __init__(self, cache: KVCache) -> None:
        B, C, H = cache.batch, cache.config.n_embd, cache.config.n_head
        self.x = _empty(B, C)
        """The residual stream."""
        self.row = self.x[0]
        self.update = _empty(B, C)
        self.read = _ending_with_one(B, C)
        self.normal = self.read[:, :-1]
        self.qkv = _empty(B, 3 * C)
        parts = self.qkv.reshape(B, 3, H, -1)
        self.query = parts[:, 0, :, :, None]
        """Of ``qkv``, as ``[B, H, hd, 1]``."""
        self.keys_values = parts[:, 1:].swapaxes(0, 1)
        """Of ``qkv``, as ``[2, B, H, hd]``."""
        self.attended = _ending_with_one(B, C)
        self.heads = self.attended[:, :-1].reshape(B, H, 1, -1)
        """Of ``attended``, one head after the other."""
        self.hidden = _empty(B, 4 * C)
        self.active = _ending_with_one(B, 4 * C)
        self.before_gelu = _from_behind(self.hidden)
        self.after_gelu = _from_behind(self.active[:, :-1])
        self._attention = _empty(2, B * H * cache.capacity)
        self._rows = B, H

    def attention(self, keys: int) -> tuple[Array, Array]:
        """For scores ``[B, H, keys, 1]`` and what they become, ``[B, H, 1, keys]``."""
        B, H = self._rows
        scores, shares = self._attention[:, : B * H * keys]
        return scores.reshape(B, H, keys, 1), shares.reshape(B, H, 1, keys)


def _empty(*shape: int) -> Array:
    return np.empty(shape, np.float32)


def _from_behind(rows: Array) -> Tensor:
    """``rows`` with their dimensions in another order. What is not contiguous, torch leaves to
    its own GELU; the rest it gives to oneDNN's, which takes several times as long."""
    B, width = rows.shape
    return torch.from_numpy(rows).view(B, 2, width // 2).permute(2, 1, 0)


def _ending_with_one(rows: int, width: int) -> Array:
    """``[rows, width + 1]``, what is multiplied with a matrix and its bias."""
    return np.ones((rows, width + 1), np.float32)
