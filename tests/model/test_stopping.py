"""A stop string is found wherever it falls, and nothing of it is ever shown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.config import Controls
from model.generate import Generator, Prompt
from model.stopping import StopScanner
from tests.helpers import ByteTokenizer, Ran, ScriptedModel, collect

# two letters: stop strings begin within each other, and end within each other, often
LETTERS = st.text("a。", max_size=24)
STOPS = st.lists(st.text("a。", min_size=1, max_size=5), min_size=1, max_size=3)


def scan(pieces: Sequence[str], stops: Sequence[str]) -> tuple[str, bool]:
    """All that is shown of ``pieces``, the end included, and whether it stopped."""
    scanner, shown = StopScanner(), ""
    for piece in pieces:
        text, stopped = scanner.push(piece, stops)
        shown += text
        if stopped:
            return shown + scanner.flush(), True
    return shown + scanner.flush(), False


def expected(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """The text up to the stop string that is complete first, by looking at every prefix."""
    for end in range(1, len(text) + 1):
        found = [stop for stop in stops if text[:end].endswith(stop)]
        if found:
            return text[: end - max(map(len, found))], True
    return text, False


@settings(max_examples=200)
@given(LETTERS, STOPS, st.lists(st.integers(0, 24), max_size=8))
def test_however_the_text_is_cut_the_same_is_shown(
    text: str, stops: list[str], cuts: list[int]
) -> None:
    edges = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[a:b] for a, b in pairwise(edges)]
    assert scan(pieces, stops) == expected(text, stops)
    assert scan(list(text), stops) == expected(text, stops)


@settings(max_examples=200)
@given(LETTERS, STOPS)
def test_text_is_held_only_while_it_may_become_a_stop_string(text: str, stops: list[str]) -> None:
    scanner, shown = StopScanner(), ""
    for i, char in enumerate(text, 1):
        more, stopped = scanner.push(char, stops)
        shown += more
        if stopped:
            break
        held = text[len(shown) : i]
        assert not held or any(s.startswith(held) for s in stops)
        # and nothing shown could have begun one: the longest such end is what is held
        ends = [text[a:i] for a in range(i) if any(s.startswith(text[a:i]) for s in stops)]
        assert held == max(ends, key=len, default="")


@pytest.mark.parametrize(
    ("pieces", "stops", "shown", "stopped"),
    [
        (["床前。", "\n明"], ["。\n"], "床前", True),
        (["a", "b", "c"], ["ab", "abc"], "", True),
        (["a", "b", "c"], ["abc", "abx"], "", True),
        (["xa", "bd"], ["abc", "b"], "xa", True),
        (["own", " fox", " runs"], ["own fox"], "", True),
        (["stop and more"], ["stop"], "", True),
        (["aaab"], ["aab"], "a", True),
        (["ab", "ab", "ac"], ["abac"], "ab", True),
        (["ab"], ["abc"], "ab", False),
        (["[/", "b]"], ["[/b]"], "", True),
        (["AB"], ["ab"], "AB", False),
        (["xa", "b"], ["b", "ab"], "x", True),
    ],
)
def test_by_hand(pieces: list[str], stops: list[str], shown: str, stopped: bool) -> None:
    assert scan(pieces, stops) == (shown, stopped)


def test_stop_strings_changed_in_mid_stream_meet_what_is_held() -> None:
    scanner = StopScanner()
    assert scanner.push("xab", ["abc"]) == ("x", False)
    assert scanner.push("d", ["bd"]) == ("a", True), "held text can complete a new stop"
    scanner = StopScanner()
    assert scanner.push("ab", ["abc"]) == ("", False)
    assert scanner.push("c", []) == ("abc", False), "no stops: nothing is held"
    scanner = StopScanner()
    assert scanner.push("ab", ["abc"]) == ("", False)
    assert scanner.push("", ["ab"]) == ("", True)


# -- in a run, over tokens that are pieces of text

PIECES = [b"own", b" fox", b" runs", "。\n床".encode(), b"The br"]
TOKENIZER = ByteTokenizer(PIECES)
OWN, FOX, RUNS, STOP_BED, THE_BR = range(259, 264)


def run(tokens: Sequence[int], *stops: str, limit: int = 50) -> Ran:
    model = ScriptedModel([*tokens, TOKENIZER.end_id], TOKENIZER.vocab_size, prompt=1)
    controls = Controls(stop=stops, max_tokens=limit)
    return collect(Generator(model, TOKENIZER, Prompt(), controls, inspected=False))


@pytest.mark.parametrize(
    ("tokens", "stops", "text", "used"),
    [
        ([THE_BR, OWN, FOX, RUNS], ["own fox"], "The br", 3),
        ([THE_BR, OWN, FOX, RUNS], ["wn", "wn fox"], "The bro", 2),
        ([STOP_BED, RUNS], ["。\n"], "", 1),
        ([OWN, FOX], ["o"], "", 1),
        ([OWN, RUNS], ["own fox"], "own runs", 3),
        ([*"春眠".encode(), OWN], ["眠o"], "春", 7),
        ([*"春眠".encode(), OWN], ["眠"], "春", 6),
    ],
)
def test_stop_strings_over_tokens(
    tokens: list[int], stops: list[str], text: str, used: int
) -> None:
    ran = run(tokens, *stops)
    assert (ran.text, ran.end.tokens) == (text, used)
    stopped = text != "own runs"
    assert ran.end.reason == ("stop_string" if stopped else "end_of_poem")
    assert not any(stop in ran.text for stop in stops)


def test_what_was_held_is_shown_when_the_run_ends_without_the_stop() -> None:
    ran = run([THE_BR, OWN], "own fox")
    assert [step.text for step in ran.steps] == ["The br", "", ""]
    assert (ran.end.text, ran.end.reason) == ("own", "end_of_poem")
    ran = run([THE_BR, OWN, FOX], "own fox", limit=2)
    assert (ran.text, ran.end.reason) == ("The brown", "length")


def test_a_fork_past_a_stop_string_ends_at_it() -> None:
    model = ScriptedModel([TOKENIZER.end_id], TOKENIZER.vocab_size, prompt=1)
    fork = Generator(model, TOKENIZER, Prompt(), Controls(stop=("fox",)), given=[OWN, FOX, RUNS])
    assert fork.run.given_text == "own "
    ran = collect(fork)
    assert (ran.steps, ran.end.reason, ran.text) == ([], "stop_string", "")


@pytest.mark.parametrize("place", range(1, 6))
def test_a_fork_within_held_text_goes_on_as_the_original(place: int) -> None:
    tokens = [THE_BR, OWN, FOX, RUNS, OWN, RUNS]
    whole = run(tokens, " runsown f")
    model = ScriptedModel([*tokens, TOKENIZER.end_id], TOKENIZER.vocab_size, prompt=1)
    controls = Controls(stop=(" runsown f",))
    fork = Generator(model, TOKENIZER, Prompt(), controls, given=tokens[:place])
    rest = collect(fork)
    assert fork.run.given_text + rest.text == whole.text == "The brown fox runsown runs"


class TwoEnds(ByteTokenizer):
    """An end of text and an end of turn, as chat models have them."""

    END_OF_TURN = ByteTokenizer.start_id

    @property
    def end_ids(self) -> frozenset[int]:
        return frozenset({self.end_id, self.END_OF_TURN})


@pytest.mark.parametrize("end", sorted(TwoEnds().end_ids))
def test_every_token_that_ends_a_text_ends_the_run_and_none_is_printed(end: int) -> None:
    tokenizer = TwoEnds()
    model = ScriptedModel([ord("a"), end, ord("b")], tokenizer.vocab_size, prompt=1)
    ran = collect(Generator(model, tokenizer, Prompt(), Controls(max_tokens=9)))
    assert (ran.text, ran.tokens, ran.end.reason) == ("a", [ord("a"), end], "end_of_poem")
