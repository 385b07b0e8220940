"""A conversation that fits, that does not, and a cache that is kept between replies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from torch import Tensor

from model.chat import Talk, fit
from model.config import Controls, SamplerConfig
from model.conversation import Message
from model.errors import InputError
from model.steps import Finished, Step
from tests.helpers import CHARACTERS, HAN, Endless, Marks, collect, tiny_gpt

GREEDY = Controls(SamplerConfig(temperature=0), max_tokens=12)


def user(text: str) -> Message:
    return Message("user", text)


def answer(text: str) -> Message:
    return Message("assistant", text)


def talk(block_size: int = 96) -> Talk:
    return Talk(Endless(tiny_gpt(block_size=block_size)), CHARACTERS, Marks())


# -- what fits


def test_everything_fits_while_there_is_room() -> None:
    messages = [Message("system", "春眠"), user("不觉"), answer("晓"), user("处")]
    fitted = fit(Marks(), messages, capacity=40, reply_tokens=10)
    assert fitted.left_out == 0
    assert fitted.ids == tuple(Marks().encode(messages))
    assert fitted.room == 40 - len(fitted.ids)


def test_the_oldest_question_leaves_with_its_answer_and_the_system_prompt_stays() -> None:
    messages = [Message("system", "春"), user("眠" * 9), answer("不" * 9), user("觉"), answer("晓")]
    messages.append(user("处"))
    fitted = fit(Marks(), messages, capacity=24, reply_tokens=100)
    assert fitted.left_out == 2
    assert fitted.ids == tuple(Marks().encode([messages[0], *messages[3:]]))
    assert fitted.room >= 24 // 4


def test_a_message_too_long_alone_is_refused_with_the_figures() -> None:
    with pytest.raises(InputError, match=r"takes 43 tokens .* reads 40 .* needs 5"):
        fit(Marks(), [user("春" * 40)], capacity=40, reply_tokens=5)


def test_without_a_message_there_is_nothing_to_reply_to() -> None:
    for messages in ([], [Message("system", "春")]):
        with pytest.raises(InputError, match="nothing to reply to"):
            fit(Marks(), messages, capacity=40, reply_tokens=5)


@drawn(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(20, 200))
def test_what_is_kept_is_the_newest_and_begins_with_a_question(
    lengths: list[int], capacity: int
) -> None:
    roles = [user, answer]
    messages = [roles[i % 2](HAN[0] * n) for i, n in enumerate(lengths)]
    try:
        fitted = fit(Marks(), messages, capacity=capacity, reply_tokens=8)
    except InputError:
        last = max(i for i, m in enumerate(messages) if m.role == "user")
        assert len(Marks().encode(messages[last:])) + min(8, capacity // 4) > capacity
        return
    kept = messages[fitted.left_out :]
    assert fitted.ids == tuple(Marks().encode(kept))
    assert kept[0].role == "user" and kept[-1] is messages[-1]
    assert fitted.room >= min(8, capacity // 4)


# -- replies


def test_the_next_turn_reads_only_what_is_new_and_says_the_same_as_from_nothing() -> None:
    chat = talk()
    first = collect(chat.reply([user("春眠不觉晓")], GREEDY))
    messages = [user("春眠不觉晓"), Message("assistant", first.text, tuple(first.tokens))]
    messages.append(user("处处"))
    second = collect(chat.reply(messages, GREEDY))
    assert second.end.reused > len("春眠不觉晓")
    assert second.steps[0].phase == "prefill"
    alone = collect(talk().reply(messages, GREEDY))
    assert alone.end.reused == 0
    assert second.tokens == alone.tokens


def test_an_edited_question_reuses_what_comes_before_it() -> None:
    chat = talk()
    collect(chat.reply([Message("system", "白日依山"), user("春眠不觉晓")], GREEDY))
    edited = [Message("system", "白日依山"), user("春眠山")]
    again = collect(chat.reply(edited, GREEDY))
    assert again.end.reused == len(Marks().encode(edited[:1])) + len("春眠")
    assert again.tokens == collect(talk().reply(edited, GREEDY)).tokens


@pytest.mark.parametrize("stopped_after", [1, 5, 11])
def test_a_stopped_reply_goes_on_as_if_it_had_not_been_stopped(stopped_after: int) -> None:
    sampled = replace(GREEDY, sampler=SamplerConfig(temperature=1.0), seed=4)
    whole = collect(talk().reply([user("春")], sampled))
    chat = talk()
    part: list[Step] = []
    for event in chat.reply([user("春")], sampled):
        assert isinstance(event, Step)
        part.append(event)
        if len(part) == stopped_after:
            break
    reply = chat.reply([user("春")], sampled, given=[step.token for step in part])
    rest = collect(reply)
    assert [step.token for step in part] + rest.tokens == whole.tokens
    assert reply.given_text + rest.text == whole.text


def test_a_reply_ends_where_the_context_is_full_and_never_slides_over_the_question() -> None:
    chat = talk(block_size=32)
    long = replace(GREEDY, max_tokens=500)
    reply = chat.reply([user("春眠不觉晓")], long)
    ran = collect(reply)
    assert ran.end.reason == "length"
    assert reply.used == reply.fitted.capacity == 32
    assert all(step.context == step.position for step in ran.steps)


def test_a_reply_that_filled_the_context_goes_on_when_the_oldest_turns_leave() -> None:
    chat = talk(block_size=40)
    long = replace(GREEDY, max_tokens=500)
    messages = [user("春眠不觉晓"), answer("处处"), user("闻啼鸟")]
    first = collect(chat.reply(messages, long))
    assert first.end.reason == "length"
    more = chat.reply(messages, long, given=first.tokens)
    assert more.fitted.left_out == 2
    assert len(collect(more).steps) > 0


def test_the_cache_may_be_switched_between_and_within_replies() -> None:
    chat, modes = talk(), ["off", "on", "off", "on"]
    messages = [user("春眠")]
    expected = collect(talk().reply(messages, GREEDY)).tokens
    for mode in modes:
        controls = replace(GREEDY, cache=mode)  # type: ignore[arg-type]
        assert collect(chat.reply(messages, controls)).tokens == expected


def test_a_cancelled_reply_keeps_its_cache_for_the_next() -> None:
    chat = talk()
    taken = 0

    def enough() -> bool:
        return taken >= 3

    for event in chat.reply([user("春眠不觉晓")], GREEDY, cancelled=enough):
        taken += isinstance(event, Step)
    assert isinstance(event, Finished) and event.reason == "cancelled"
    again = collect(chat.reply([user("春眠不觉晓")], GREEDY))
    assert again.end.reused > 0


# -- looking back


class Counting(Endless):
    """Counts the tokens that go through it."""

    fed = 0

    def __call__(self, ids: Tensor, cache: Any = None, *, last: bool = False) -> Tensor:
        self.fed += ids.shape[1]
        return super().__call__(ids, cache, last=last)


def test_looking_back_sees_what_the_reply_saw_and_reads_next_to_nothing() -> None:
    model = Counting(tiny_gpt(block_size=96))
    chat = Talk(model, CHARACTERS, Marks())
    messages = [user("春眠不觉晓")]
    ran = collect(chat.reply(messages, GREEDY))
    fitted = chat.fit(messages, GREEDY.max_tokens)
    for index in (11, 10, 3, 4):
        model.fed = 0
        kept = chat.look(fitted, ran.tokens, index)
        step = ran.steps[index]
        assert model.fed <= 2
        assert step.inspection is not None
        seen = kept.inspect(GREEDY, step.token)
        for now, then in zip(seen.candidates, step.inspection.candidates, strict=True):
            assert now.token == then.token and now.raw == pytest.approx(then.raw, abs=1e-5)
    messages += [Message("assistant", ran.text, tuple(ran.tokens)), user("处处")]
    assert collect(chat.reply(messages, GREEDY)).end.reused >= len(fitted.ids) + 11


def test_a_look_at_another_text_reads_it_anew() -> None:
    chat = talk()
    ran = collect(chat.reply([user("春眠不觉晓")], GREEDY))
    other = chat.fit([user("白日依山")], GREEDY.max_tokens)
    assert chat.look(other, ran.tokens, 2).run.ids[: len(other.ids)] == list(other.ids)


def test_what_was_left_out_is_left_out_again() -> None:
    messages = [user("春眠"), answer("不觉"), user("晓处"), answer("处闻"), user("啼鸟")]
    known = talk().without(messages, 2)
    assert known.ids == tuple(Marks().encode(messages[2:])) and known.left_out == 2
    system = [Message("system", "白"), *messages]
    assert talk().without(system, 2).ids == tuple(Marks().encode([system[0], *messages[2:]]))
    for nonsense in (-1, 5, 99):
        with pytest.raises(ValueError, match="cannot have been left out"):
            talk().without(messages, nonsense)
