"""The inputs that broke programs of this kind, typed at this one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corpora.forms import FORMS
from corpora.places import built_folder
from model.config import Controls, SamplerConfig
from model.generate import Generator, Prompt
from model.registry import find, load
from tests.cli.conftest import HAN, RUN, Answer
from tests.helpers import Endless, collect

Call = Callable[..., Answer]

GREEDY = ("--greedy", "--max-tokens", "30")


@pytest.fixture
def greedy(poem: Call) -> str:
    """What the likeliest tokens write after 春, longer than any stop string below needs."""
    text = poem("write", "春", *GREEDY).stdout.strip()
    assert len(text) > 12
    return text


@pytest.mark.parametrize("cut", [slice(1, 2), slice(1, 3), slice(5, 8)], ids=str)
def test_nothing_of_a_stop_string_is_printed(poem: Call, greedy: str, cut: slice) -> None:
    stop = greedy[cut]
    for stops in ((stop,), (stop[:1], stop), (stop, stop + "眠眠")):
        flags = [word for one in stops for word in ("--stop", one)]
        shown = poem("write", "春", *GREEDY, *flags).stdout
        first = min(greedy.index(one, 1) for one in stops if one in greedy[1:])
        assert shown == greedy[:first] + "\n"
        (document,) = poem("write", "春", *GREEDY, *flags, "--json").json["poems"]
        assert document["text"] == greedy[:first]
        assert document["finish_reason"] == "stop_string"


def test_what_was_held_back_for_a_stop_string_that_never_came_is_printed(
    poem: Call, greedy: str
) -> None:
    never = greedy[-2:] + "春眠不觉晓"
    assert poem("write", "春", *GREEDY, "--stop", never).stdout == greedy + "\n"


@pytest.mark.parametrize(
    ("typed", "read"), [("春聞", "春闻"), ("春\r\n眠\n", "春眠"), ("春,眠.", "春，眠。")]
)
def test_what_can_be_written_otherwise_is_converted(poem: Call, typed: str, read: str) -> None:
    answer = poem("write", typed, "--json", *GREEDY)
    assert answer.json["poems"][0]["prompt"] == read


@pytest.mark.parametrize(
    ("typed", "named"), [("春雲", "云"), ("爲", "为"), ("　春 眠", "U+3000 U+0020")]
)
def test_what_the_model_does_not_know_is_named_as_it_was_read(
    poem: Call, typed: str, named: str
) -> None:
    answer = poem("write", typed)
    assert (answer.code, answer.stdout) == (2, "")
    assert f"the model does not know: {named}. " in answer.stderr


@pytest.mark.parametrize("char", ["d", "?", "é", "😀", "𨣧", "\u200b", "\ufffd", "[", "□"])
@pytest.mark.parametrize(
    "words", [("write",), ("acrostic",), ("form", "五绝"), ("probs",)], ids=lambda words: words[0]
)
def test_a_character_outside_the_vocabulary_is_one_line(
    run: Call, checkpoint: Path, words: tuple[str, ...], char: str
) -> None:
    answer = run(*words, "春" + char, "--model", str(checkpoint))
    assert (answer.code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("cache", ["on", "off"])
@pytest.mark.parametrize("value", ["0", "0.0", "-0.0", "1e-9", "1e-40", ".0"])
def test_a_temperature_of_nothing_is_greedy(
    poem: Call, greedy: str, value: str, cache: str
) -> None:
    words = ("--temperature", value, "--max-tokens", "30", "--cache", cache)
    assert poem("write", "春", *words, "--seed", "9").stdout.strip() == greedy


@pytest.mark.parametrize("value", ["1e-8", "1e-4", "0"])
def test_the_least_nucleus_is_the_likeliest_token(poem: Call, greedy: str, value: str) -> None:
    words = ("-t", "1", "--top-p", value, "--max-tokens", "30")
    assert poem("write", "春", *words).stdout.strip() == greedy


def test_top_k_is_off_at_0_and_keeps_all_from_the_vocabulary_on(
    poem: Call, greedy: str, checkpoint: Path
) -> None:
    vocabulary = load(find(str(checkpoint))).tokenizer.vocab_size
    words = ("write", "春", "-t", "1.5", "--top-p", "1", "--max-tokens", "30", "--top-k")
    everything = poem(*words, "0").stdout
    for k in (vocabulary, vocabulary + 1, 10**9):
        assert poem(*words, str(k)).stdout == everything
    assert poem(*words, "1").stdout.strip() == greedy != everything.strip()


@pytest.mark.parametrize("penalty", ["1.3", "2.0", "10"])
@pytest.mark.parametrize("more", [(), ("--presence", "2", "--frequency", "2")], ids=["", "all"])
def test_penalties_leave_forms_exact(poem: Call, penalty: str, more: tuple[str, ...]) -> None:
    words = ("--repetition", penalty, *more, "-t", "1")
    verse = poem("form", "七律", *words).stdout.strip()
    assert FORMS["七律"].holds(verse)
    lines = poem("acrostic", "春春眠春", *words).stdout.strip()
    assert lines[::8] == "春春眠春"
    assert lines[7::8] == "，。，。"


def test_a_head_that_is_not_there_and_heads_without_a_line_are_refused(poem: Call) -> None:
    for words in (("acrostic", "春囧"), ("form", "五绝", "--heads", HAN[:5])):
        answer = poem(*words)
        assert (answer.code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)


def test_a_form_whose_marks_are_stop_strings_ends_at_the_first(poem: Call) -> None:
    (document,) = poem("form", "五绝", "--stop", "，", "--stop", "。", "--json").json["poems"]
    assert document["finish_reason"] == "stop_string"
    assert len(document["text"]) == 5


def test_500_tokens_of_a_shipped_model_are_the_same_without_its_cache() -> None:
    handle = load(find("tang-small"))
    endless = Endless(handle.model)
    written = {
        cache: collect(
            Generator(
                endless,
                handle.tokenizer,
                Prompt("春"),
                Controls(SamplerConfig(temperature=0), cache=cache, max_tokens=500),
                inspected=False,
            )
        ).tokens
        for cache in ("on", "off")
    }
    assert len(written["on"]) == 500
    assert written["on"] == written["off"]


@pytest.mark.parametrize("tokenizer", ["char", "bpe"])
def test_a_corpus_of_nothing_is_refused(run: Call, place: Path, tokenizer: str) -> None:
    for path in built_folder().glob("*.jsonl"):
        path.write_text("", encoding="utf-8")
    answer = run(*RUN, "--steps", "1", "--tokenizer", tokenizer)
    assert answer.code == 2
    assert answer.stderr.startswith("the built corpus has no poems to train on")
    assert not (place / "runs").exists()
