"""Conversations of many turns: a reply ends where the model ends it, whatever the penalties, and
on every token that counts as an end."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from model.cache import KVCache
from model.chat import Talk
from model.config import Controls, GPTConfig, SamplerConfig
from model.conversation import Message
from tests.helpers import ByteTokenizer, collect

SAID = "Hi, hi."


class Polite:
    """Says ``SAID`` and ends its turn; the end is only just likelier than an ``x`` that nobody
    has said yet, so that any penalty on it would let the reply run on."""

    def __init__(self, ends: list[int], vocab_size: int) -> None:
        self.config = GPTConfig(vocab_size, 65_536, 1, 1, 1)
        self._ends = ends
        self._turn = -1

    def new_cache(self, batch: int = 1) -> KVCache:
        return KVCache(self.config, batch)

    def __call__(self, ids: Tensor, cache: Any = None, *, last: bool = False) -> Tensor:
        if cache is not None:
            cache.advance(ids.shape[1])
        if int(ids[0, -1]) == ByteTokenizer.start_id:
            self._turn, self._at = self._turn + 1, 0
        script = [*SAID.encode(), self._ends[self._turn % len(self._ends)]]
        logits = torch.full((1, 1, self.config.vocab_size), -30.0)
        logits[0, 0, ord("x")] = 4.9 if self._at == len(SAID) else -20.0
        logits[0, 0, script[min(self._at, len(SAID))]] = 5.0
        self._at += 1
        return logits


class ManyEnds(ByteTokenizer):
    """Three tokens end a turn, as files of chat models list them."""

    @property
    def end_ids(self) -> frozenset[int]:
        return frozenset({257, 259, 260})

    @property
    def special_ids(self) -> frozenset[int]:
        return super().special_ids | self.end_ids


class Spelt:
    """A template over bytes."""

    def encode(self, messages: Any) -> list[int]:
        ids: list[int] = []
        for message in messages:
            ids += [ByteTokenizer.start_id, *(message.tokens or message.content.encode()), 257]
        return [*ids, ByteTokenizer.start_id]


def talked(turns: int, controls: Controls) -> list[Any]:
    """So many replies, each to all that was said before."""
    tokenizer = ManyEnds([b"<|im_end|>", b"<|endoftext|>"])
    model: Any = Polite([257, 259, 260], tokenizer.vocab_size)
    talk = Talk(model, tokenizer, Spelt())
    messages: list[Message] = []
    replies = []
    for number in range(turns):
        messages.append(Message("user", f"Hi for the {number}. time!"))
        reply = collect(talk.reply(messages, controls))
        messages.append(Message("assistant", reply.text, tuple(reply.tokens)))
        replies.append(reply)
    return replies


@pytest.mark.parametrize("penalty", [1.3, 2.0])
def test_penalties_never_keep_a_reply_from_ending(penalty: float) -> None:
    sampler = SamplerConfig(temperature=0, repetition=penalty, presence=1.0, frequency=1.0)
    for reply in talked(20, Controls(sampler, max_tokens=40)):
        assert reply.end.reason == "end_of_poem"
        assert reply.text == SAID


def test_fifty_turns_end_on_every_token_that_ends_a_turn_and_show_none_of_them() -> None:
    replies = talked(50, Controls(SamplerConfig(temperature=0), max_tokens=40))
    assert {reply.tokens[-1] for reply in replies} == {257, 259, 260}
    for reply in replies:
        assert (reply.text, reply.end.reason) == (SAID, "end_of_poem")
