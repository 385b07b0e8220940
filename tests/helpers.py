"""What many tests build: tiny models, scripted models, hostile constraints, byte tokenizers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from model.batch import BatchGenerator
from model.cache import KVCache
from model.config import CacheMode, Controls, GPTConfig
from model.conversation import Message
from model.generate import Generator
from model.gpt import GPT
from model.sentencepieces import SentencePieceTokenizer
from model.steps import Finished, Step
from model.tokenizers import CharTokenizer, Unknown

HAN = "春眠不觉晓处闻啼鸟夜来风雨声花落知多少床前明月光疑是地上霜白日依山尽黄河入海流"
MARKS = "，。\n"
CHARACTERS = CharTokenizer([*HAN, *MARKS])

VERSE = (
    "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。",
    "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
    "白日何短短，百年苦易满。黄河春风起，不知花落处。",
    "千里黄河白日寒，春风不知花落处。夜来风雨黄河上，白日千里不知处。",
)
PIECES = SentencePieceTokenizer.train(VERSE, 325)
"""Pieces of a few lines: single characters, 白日, 花落处 and 不知花落处, bytes for the rest."""


def unsized() -> dict[str, str]:
    """The environment without a terminal's size, which pytest-xdist and some shells export: it
    would speak louder than the pseudo-terminal that a test opens."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}


@lru_cache(maxsize=8)
def tiny_gpt(
    vocab_size: int = CHARACTERS.vocab_size,
    *,
    block_size: int = 32,
    n_layer: int = 2,
    n_head: int = 2,
    n_embd: int = 32,
    seed: int = 1,
    scale: float = 6.0,
    training: bool = False,
) -> GPT:
    """A random model with lively logits: fresh weights alone would be almost uniform, so
    that nothing told two contexts apart. Shared between tests: never train it."""
    torch.manual_seed(seed)
    model = GPT(GPTConfig(vocab_size, block_size, n_layer, n_head, n_embd)).train(training)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(scale)
    return model


class Endless:
    """A model that never ends a poem, for runs of a known length."""

    def __init__(self, model: GPT, end_id: int = CHARACTERS.end_id) -> None:
        self.config = model.config
        self.n_parameters = model.n_parameters
        self._model = model
        self._end_id = end_id

    def new_cache(self, batch: int = 1) -> KVCache:
        return self._model.new_cache(batch)

    def __call__(self, ids: Tensor, cache: KVCache | None = None, *, last: bool = False) -> Tensor:
        logits: Tensor = self._model(ids, cache, last=last)
        logits[..., self._end_id] = -50.0
        return logits


@dataclass(frozen=True)
class Ran:
    """A run, collected."""

    steps: list[Step]
    end: Finished

    @property
    def tokens(self) -> list[int]:
        return [step.token for step in self.steps]

    @property
    def text(self) -> str:
        """Everything shown."""
        return "".join(step.text for step in self.steps) + self.end.text


def collect(generator: Generator | Iterable[Step | Finished]) -> Ran:
    """Iterate a generator to its end."""
    *steps, end = list(generator)
    assert isinstance(end, Finished)
    assert all(isinstance(step, Step) for step in steps)
    return Ran(steps, end)  # type: ignore[arg-type]


def collect_rows(batch: BatchGenerator, rows: int) -> list[Ran]:
    """Iterate a batch to its end; one record a row."""
    events: list[list[Step | Finished]] = [[] for _ in range(rows)]
    for row_event in batch:
        events[row_event.row].append(row_event.event)
    return [collect(of_row) for of_row in events]


@dataclass
class Toggling:
    """A control source that changes the cache mode at given steps (0 is the first)."""

    controls: Controls
    modes: dict[int, CacheMode] = field(default_factory=dict)
    step: int = -1

    def __call__(self) -> Controls:
        if self.step in self.modes:
            self.controls = replace(self.controls, cache=self.modes[self.step])
        self.step += 1  # the generator asks once at construction, then once a step
        return self.controls


class ScriptedModel:
    """Says one token after another, almost surely: the script is what comes after the
    first ``prompt`` tokens. The cache only counts."""

    def __init__(self, tokens: Sequence[int], vocab_size: int, prompt: int, block_size: int = 4096):
        self.config = GPTConfig(vocab_size, block_size, 1, 1, 1)
        self._tokens = list(tokens)
        self._prompt = prompt

    def new_cache(self, batch: int = 1) -> KVCache:
        return KVCache(self.config, batch)

    def __call__(self, ids: Tensor, cache: KVCache | None = None, *, last: bool = False) -> Tensor:
        held = 0 if cache is None else cache.position
        if cache is not None:
            cache.advance(ids.shape[1])
        place = held + ids.shape[1] - self._prompt
        logits = torch.full((ids.shape[0], 1, self.config.vocab_size), -40.0)
        logits[:, :, self._tokens[min(place, len(self._tokens) - 1)]] = 40.0
        return logits


class ByteTokenizer:
    """One token a byte, and some of several: characters come apart as they do in BPE."""

    start_id = 256
    end_id = 257
    unk_id = 258

    def __init__(self, pieces: Sequence[bytes] = ()) -> None:
        self._bytes = [*(bytes([b]) for b in range(256)), b"", b"", b"", *pieces]

    @property
    def vocab_size(self) -> int:
        return len(self._bytes)

    @property
    def end_ids(self) -> frozenset[int]:
        return frozenset({self.end_id})

    @property
    def special_ids(self) -> frozenset[int]:
        return frozenset({256, 257, 258})

    @property
    def hash(self) -> str:
        return f"bytes:{self._bytes[259:]}"

    def encode(self, text: str, unknown: Unknown = "error") -> list[int]:
        return list(text.encode())

    def decode(self, ids: Iterable[int]) -> str:
        return b"".join(self._bytes[i] for i in ids).decode("utf-8", "replace")

    def piece_bytes(self, token: int) -> bytes:
        return self._bytes[token]

    def name(self, token: int) -> str:
        return repr(self._bytes[token])

    def to_json(self) -> dict[str, Any]:
        return {"kind": "bytes"}


class Marks:
    """A chat template: a start token before each message and a line feed behind it."""

    def encode(self, messages: Sequence[Message]) -> list[int]:
        ids: list[int] = []
        for message in messages:
            text = list(message.tokens) or CHARACTERS.encode(message.content)
            ids += [CHARACTERS.start_id, *text, CHARACTERS.encode("\n")[0]]
        return [*ids, CHARACTERS.start_id]


class HostileConstraint:
    """Allows everything for ``after`` tokens, then nothing at all, though not finished."""

    def __init__(self, after: int) -> None:
        self.after = after

    def check(self, opening: str = "") -> None:
        pass

    def compile(self, tokenizer: Any) -> HostileMatcher:
        return HostileMatcher(tokenizer.vocab_size, self.after)

    def describe(self) -> str:
        return f"nothing after {self.after}"


class HostileMatcher:
    """A matcher that runs into a dead end."""

    finished = False
    forced = False

    def __init__(self, vocab_size: int, after: int) -> None:
        self._left = after
        self._size = vocab_size
        self.structural = torch.zeros(vocab_size, dtype=torch.bool)

    def mask(self) -> Tensor:
        return torch.full((self._size,), self._left > 0)

    def accept(self, token: int) -> None:
        self._left -= 1

    def rollback(self, n: int) -> None:
        self._left += n


def slow_logits(model: GPT, ids: Sequence[int]) -> Tensor:
    """``[T, V]``: the transformer spelt out in float64, query by query, with no fused
    kernel and no mask: query ``i`` simply gets the first ``i + 1`` keys."""
    weights = {name: p.detach().double() for name, p in model.named_parameters()}
    config = model.config

    def linear(x: Tensor, name: str) -> Tensor:
        return x @ weights[f"{name}.weight"].t() + weights[f"{name}.bias"]

    def norm(x: Tensor, name: str) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    size = config.n_embd // config.n_head
    x = weights["tokens.weight"][list(ids)] + weights["positions.weight"][: len(ids)]
    for layer in range(config.n_layer):
        block = f"blocks.{layer}"
        q, k, v = linear(norm(x, f"{block}.ln1"), f"{block}.attn.qkv").split(config.n_embd, -1)
        rows = []
        for i in range(len(ids)):
            heads = []
            for h in range(config.n_head):
                at = slice(h * size, (h + 1) * size)
                scores = k[: i + 1, at] @ q[i, at] / math.sqrt(size)
                heads.append(torch.softmax(scores, 0) @ v[: i + 1, at])
            rows.append(torch.cat(heads))
        x = x + linear(torch.stack(rows), f"{block}.attn.proj")
        inner = linear(norm(x, f"{block}.ln2"), f"{block}.fc")
        gelu = inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
        x = x + linear(gelu, f"{block}.proj")
    return norm(x, "ln") @ weights["tokens.weight"].t()
