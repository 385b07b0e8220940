"""What a step records is true: counts, bytes, seconds, probabilities, text."""

from __future__ import annotations

from itertools import islice

import pytest
import torch

from corpora.forms import FORMS
from model.config import CacheMode, Controls, SamplerConfig
from model.constraints import FixedForm
from model.generate import Generator, Prompt
from model.steps import Finished, Step
from tests.helpers import (
    CHARACTERS,
    ByteTokenizer,
    ScriptedModel,
    Toggling,
    collect,
    slow_logits,
    tiny_gpt,
)
from tests.model.runs import LENGTH, generator


def mode(cache: CacheMode, **modes: CacheMode) -> Toggling:
    by_step = {int(step.removeprefix("at")): of for step, of in modes.items()}
    return Toggling(Controls(cache=cache, max_tokens=5), by_step)


@pytest.mark.parametrize(
    ("controls", "expected"),
    [
        (mode("on"), [("prefill", 3, 0), *(("decode", n, 0) for n in (4, 5, 6, 7))]),
        (mode("off"), [("prefill", 3, 0), *(("decode", n, n - 1) for n in (4, 5, 6, 7))]),
        (
            mode("on", at1="off", at3="on"),
            # the cache holds 3; two tokens passed it by, and are read again with the new one
            [
                ("prefill", 3, 0),
                ("decode", 4, 3),
                ("decode", 5, 4),
                ("re-prefill", 6, 2),
                ("decode", 7, 0),
            ],
        ),
        (
            mode("off", at2="on"),
            [
                ("prefill", 3, 0),
                ("decode", 4, 3),
                ("re-prefill", 5, 4),
                ("decode", 6, 0),
                ("decode", 7, 0),
            ],
        ),
    ],
    ids=["on", "off", "off-and-on", "on-late"],
)
def test_phase_context_and_recomputed_tokens_by_hand(
    controls: Toggling, expected: list[tuple[str, int, int]]
) -> None:
    run = collect(generator(controls))  # prompt: <poem> 春 眠
    assert [(s.phase, s.context, s.recomputed) for s in run.steps] == expected
    assert [s.position for s in run.steps] == [3, 4, 5, 6, 7]
    per_token = 2 * 2 * 32 * 4
    for step in run.steps:
        held = 0 if step.controls.cache == "off" else step.context
        assert step.cache_bytes == held * per_token
        assert step.forward_s > 0 and step.sampling_s > 0
    decode_s = sum(s.forward_s for s in run.steps if s.phase == "decode")
    decode_s += sum(s.sampling_s for s in run.steps)
    assert run.end.decode_s == pytest.approx(decode_s)
    assert run.end.prefill_s == pytest.approx(
        sum(s.forward_s for s in run.steps if s.phase != "decode")
    )


@pytest.mark.parametrize("cache", ["on", "off"])
def test_a_slide_by_hand(cache: CacheMode) -> None:
    model = ScriptedModel([5] * 20, CHARACTERS.vocab_size, prompt=1, block_size=8)
    run = collect(
        Generator(model, CHARACTERS, Prompt(), Controls(cache=cache, max_tokens=13))
    )  # 5 ends no line: each slide leaves half a block, and the token that overflowed
    slides = [s for s in run.steps if s.phase == "re-prefill"]
    assert [s.context for s in run.steps] == [1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 5]
    assert [(s.position, s.recomputed) for s in slides] == [(9, 4), (13, 4)]


def test_probabilities_are_those_of_an_independent_uncached_pass() -> None:
    model = tiny_gpt()
    run = collect(
        Generator(model, CHARACTERS, Prompt("春眠"), Controls(max_tokens=20), inspected=True)
    )
    ids = [CHARACTERS.start_id, *CHARACTERS.encode("春眠")]
    for step in run.steps:
        raw = torch.log_softmax(slow_logits(model, ids)[-1], -1)
        assert step.logprob == pytest.approx(float(raw[step.token]), abs=1e-4)
        # no stage is on, but the specials that end nothing are masked
        free = raw.clone()
        free[[CHARACTERS.unk_id, CHARACTERS.song_id]] = -torch.inf
        assert step.probability == pytest.approx(float(free.softmax(-1)[step.token]), abs=1e-4)
        assert step.inspection is not None
        below = step.inspection.below
        assert below <= step.u < below + step.probability + 1e-9
        ids.append(step.token)


def test_specials_that_end_nothing_are_never_drawn() -> None:
    model = tiny_gpt(scale=1.0)  # almost uniform: they would be drawn often
    drawn = {
        token
        for seed in range(8)
        for token in collect(
            Generator(model, CHARACTERS, Prompt(), Controls(seed=seed, max_tokens=30))
        ).tokens
    }
    assert len(drawn) > 35
    assert not drawn & {CHARACTERS.unk_id, CHARACTERS.song_id}


@pytest.mark.parametrize("stop", [(), ("。\n",), ("\n", "风，", "光")])
def test_what_is_shown_is_the_decoding_of_all_tokens_up_to_the_stop(stop: tuple[str, ...]) -> None:
    for seed in range(8):
        run = collect(generator(Controls(seed=seed, stop=stop)))
        decoded = CHARACTERS.decode(run.tokens)
        if run.end.reason == "stop_string":
            decoded = next(decoded.removesuffix(s) for s in stop if decoded.endswith(s))
        assert run.text == decoded
        assert not any(s in run.text for s in stop)


# -- characters that come apart


@pytest.mark.parametrize(("limit", "shown"), [(4, "a𨣧"[:1]), (5, "a𨣧")], ids=["cut", "whole"])
def test_an_unfinished_character_waits_and_shows_once_at_the_end(limit: int, shown: str) -> None:
    tokenizer = ByteTokenizer()
    ids = [*"a𨣧".encode(), *b"b"]
    model = ScriptedModel(ids, tokenizer.vocab_size, prompt=1)
    run = collect(Generator(model, tokenizer, Prompt(), Controls(max_tokens=limit)))
    assert "".join(s.text for s in run.steps) == shown
    assert run.end.text == ("\ufffd" if limit == 4 else "")


def test_cancelling_between_the_bytes_shows_one_replacement_character() -> None:
    tokenizer = ByteTokenizer()
    model = ScriptedModel([*"𨣧".encode()], tokenizer.vocab_size, prompt=1)
    seen: list[Step] = []
    running = Generator(model, tokenizer, Prompt(), Controls(), cancelled=lambda: len(seen) == 2)
    for event in running:
        if isinstance(event, Finished):
            break
        seen.append(event)
    assert [s.text for s in seen] == ["", ""]
    assert (event.reason, event.text) == ("cancelled", "\ufffd")


# -- penalties in a run


def test_a_penalty_switched_on_late_knows_what_was_written_before() -> None:
    late = [Controls(SamplerConfig(temperature=0), max_tokens=LENGTH)]
    running = iter(generator(lambda: late[0]))
    first = [event.token for event in islice(running, 12) if isinstance(event, Step)]
    late[0] = late[0].with_sampler(frequency=1.5, presence=0.5, repetition=1.4)
    rest = [event.token for event in running if isinstance(event, Step)]
    on = Controls(late[0].sampler, max_tokens=LENGTH)
    assert rest == collect(generator(on, given=first)).tokens
    assert rest != collect(generator(Controls(SamplerConfig(temperature=0)), given=first)).tokens


@pytest.mark.parametrize("cache", ["on", "off"])
@pytest.mark.parametrize("heads", ["", "春春春春"])
def test_forms_stay_exact_under_a_repetition_penalty_of_two(heads: str, cache: CacheMode) -> None:
    sampler = SamplerConfig(temperature=1.5, repetition=2.0, frequency=1.0)
    for seed in range(6):
        run = collect(
            generator(
                Controls(sampler, cache, seed),
                prompt="",
                constraint=FixedForm(FORMS["七绝"], heads),
            )
        )
        assert run.end.reason == "form_complete"
        assert FORMS["七绝"].holds(run.text)
        assert run.text[::8].startswith(heads)
