"""SmolLM2 itself, where it has been fetched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.config import Controls, SamplerConfig
from model.generate import Generator, Held, Prompt
from model.registry import ModelHandle, find, load
from tests.helpers import Ran, Toggling, collect
from tests.pretrained.makers import needs_extra

pytestmark = [
    needs_extra,
    pytest.mark.skipif(
        not find("smollm2").available, reason="needs SmolLM2: run.py models fetch smollm2"
    ),
]
QUESTION = "Write a two-sentence story about a lighthouse."
GREEDY = Controls(SamplerConfig(temperature=0.0), max_tokens=60)
MOST_BYTES = 1.5e9


@pytest.fixture(scope="module")
def handle() -> ModelHandle:
    return load(find("smollm2"))


@pytest.fixture(scope="module")
def answer(handle: ModelHandle) -> Callable[..., tuple[Ran, Held | None]]:
    from model.conversation import Message

    def ask(*said: Any, controls: Any = GREEDY, held: Held | None = None) -> Any:
        assert handle.chat is not None
        roles: Any = ("user", "assistant")
        messages = [
            Message(roles[i % 2], *((turn,) if isinstance(turn, str) else turn))
            for i, turn in enumerate(said)
        ]
        prompt = Prompt(ids=tuple(handle.chat.encode(messages)))
        run = Generator(
            handle.model, handle.tokenizer, prompt, controls, inspected=False, held=held
        )
        return collect(run), run.held

    return ask


def test_it_answers_and_stops_at_the_end_of_its_turn(answer: Any) -> None:
    ran, _ = answer(QUESTION)
    assert "lighthouse" in ran.text
    assert ran.end.reason == "end_of_poem"
    assert "<|" not in ran.text


def test_switching_the_cache_within_a_reply_changes_no_token(answer: Any) -> None:
    controls = replace(GREEDY, max_tokens=16, sampler=SamplerConfig(temperature=0.8), seed=5)
    plain, _ = answer(QUESTION, controls=controls)
    toggled, _ = answer(QUESTION, controls=Toggling(controls, {4: "off", 9: "on"}))
    assert toggled.tokens == plain.tokens
    assert {step.phase for step in toggled.steps} == {"prefill", "decode", "re-prefill"}


def test_the_next_turn_reads_only_what_is_new(answer: Any, handle: ModelHandle) -> None:
    short = replace(GREEDY, max_tokens=12)
    first, held = answer("My name is Li Bai.", controls=short)
    said = ("My name is Li Bai.", (first.text, tuple(first.tokens)), "What is my name?")
    again, _ = answer(*said, controls=short, held=held)
    alone, _ = answer(*said, controls=short)
    assert again.tokens == alone.tokens
    assert held is not None
    assert again.end.reused == len(held.ids), "all that was read before, to the last token"
    assert handle.model.config.vocab_size == 49152


def test_digits_and_characters_that_its_vocabulary_lacks_come_back(handle: ModelHandle) -> None:
    tokenizer = handle.tokenizer
    text = "1893, 𨣧春眠 <|im_end|> naïve 👩‍👩‍👧\n\n  end"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    names = {tokenizer.name(token) for token in tokenizer.end_ids}
    assert names == {"<|im_end|>", "<|endoftext|>"}


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="only Linux tells the most that this program took, and not what its parent did",
)
def test_a_start_takes_less_than_a_gigabyte_and_a_half(handle: ModelHandle) -> None:
    code = (
        "from model.registry import find, load; load(find('smollm2'));"
        "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    kilobytes = int(run.stdout.split()[1])
    assert kilobytes * 1024 < MOST_BYTES
