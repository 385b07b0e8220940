"""What the poem commands write: the same text for the same seed, whatever else is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from corpora.forms import FORMS
from model.trace import read_trace
from tests.cli.conftest import Answer

Call = Callable[..., Answer]


def test_the_text_goes_to_stdout_alone_and_begins_with_the_opening(poem: Call) -> None:
    answer = poem("write", "床前明月光", "--max-tokens", "12")
    assert answer.code == 0
    assert answer.stdout.startswith("床前明月光")
    assert answer.stdout.endswith("\n")
    assert answer.stdout.count("\n") == 1
    assert answer.stderr == ""


def test_without_a_seed_the_one_drawn_is_told_and_repeats_the_poem(
    run: Call, checkpoint: Path
) -> None:
    first = run("write", "春", "--model", str(checkpoint))
    assert first.code == 0
    name, seed = first.stderr.split()
    assert name == "seed"
    again = run("write", "春", "--model", str(checkpoint), "--seed", seed)
    assert again.stdout == first.stdout
    other = run("write", "春", "--model", str(checkpoint))
    assert other.stderr != first.stderr


def test_the_order_of_flags_never_changes_the_text(poem: Call) -> None:
    one = poem(
        "write", "春", "-t", "1.2", "--top-k", "20", "--min-p", "0.01", "--repetition", "1.3"
    )
    two = poem(
        "write", "--repetition", "1.3", "--min-p", "0.01", "--top-k", "20", "春", "-t", "1.2"
    )
    assert one.stdout == two.stdout
    assert one.stdout != poem("write", "春", "-t", "1.2").stdout


LONG = ("write", "春眠", "-t", "1.4", "--max-tokens", "200", "--presence", "0.5")


@pytest.mark.parametrize("mode", ["off", "race"])
def test_cache_modes_write_the_same(poem: Call, mode: str) -> None:
    assert poem(*LONG, "--cache", mode).stdout == poem(*LONG).stdout


def test_json_and_trace_change_nothing(poem: Call, tmp_path: Path) -> None:
    plain = poem(*LONG).stdout.removesuffix("\n")
    trace = tmp_path / "run.jsonl"
    with_both = poem(*LONG, "--json", "--trace", str(trace))
    assert with_both.json["poems"][0]["text"] == plain
    (traced,) = read_trace(trace)
    assert traced.text == plain


@pytest.mark.parametrize("mode", ["on", "off"])
def test_n_poems_are_those_of_the_seeds_that_follow(poem: Call, mode: str) -> None:
    words = ("write", "春", "-t", "1.3", "--max-tokens", "60")
    single = [poem(*words, "--seed", str(seed)).stdout for seed in (40, 41, 42, 43)]
    together = poem(*words, "--seed", "40", "--n", "4", "--cache", mode)
    assert together.stdout == "".join(single)
    assert len(set(single)) > 1


def test_greedy_is_temperature_0_and_needs_no_seed(poem: Call) -> None:
    greedy = poem("write", "春", "--greedy", "--max-tokens", "20", "--seed", "1")
    assert (
        greedy.stdout == poem("write", "春", "-t", "0", "--max-tokens", "20", "--seed", "2").stdout
    )


def test_json_has_everything_that_was_promised(poem: Call, checkpoint: Path) -> None:
    answer = poem("form", "五绝", "白日依山尽", "--json", "--n", "2", "--seed", "3")
    assert answer.stderr == ""
    poems = answer.json["poems"]
    assert [p["seed"] for p in poems] == [3, 4]
    for document in poems:
        assert document["prompt"] == "白日依山尽"
        assert document["text"].startswith("白日依山尽")
        assert document["tokens"] == len(document["token_ids"]) == len(document["text"]) - 5
        assert document["finish_reason"] == "form_complete"
        assert (document["model"], document["cache"]) == ("tiny", "on")
        assert document["prefill_s"] > 0
        assert document["decode_s"] > 0
        total = document["prefill_s"] + document["decode_s"]
        assert document["tokens_per_s"] == pytest.approx(document["tokens"] / total)
        assert set(document["fingerprint"]) >= {
            "checkpoint",
            "tokenizer",
            "dtype",
            "threads",
            "torch",
        }


def test_a_race_reports_how_far_the_modes_were_apart(poem: Call) -> None:
    (document,) = poem("write", "春", "--cache", "race", "--json", "--max-tokens", "9").json[
        "poems"
    ]
    assert 0 <= document["race"]["max_logit_difference"] < 1e-4
    assert document["race"]["argmax_agrees"] is True


@pytest.mark.parametrize("name", sorted(FORMS))
def test_a_form_is_exact_and_continues_an_opening(poem: Call, name: str) -> None:
    opening = "床前明月光" if name.startswith("五") else "黄河入海流不尽"
    text = poem("form", name, opening, "-t", "1.5").stdout.removesuffix("\n")
    assert FORMS[name].holds(text)
    assert text.startswith(opening)


def test_an_acrostic_form_has_its_heads(poem: Call) -> None:
    text = poem("form", "qijue", "--heads", "春眠不觉").stdout.removesuffix("\n")
    assert FORMS["七绝"].holds(text)
    assert text[::8] == "春眠不觉"


def test_traditional_heads_are_converted_and_shown(poem: Call) -> None:
    answer = poem("acrostic", "春眠不覺", "--chars", "5")
    assert answer.stdout[:-1:6] == "春眠不觉"
    assert answer.stderr == "heads: 覺 → 觉\n"


def test_an_acrostic_longer_than_the_usual_limit_is_finished(poem: Call) -> None:
    (document,) = poem("acrostic", "春" * 70, "--json").json["poems"]
    assert document["finish_reason"] == "form_complete"
    assert document["text"][::8] == "春" * 70


def test_a_stop_string_is_never_shown(poem: Call) -> None:
    words = ("write", "春", "-t", "1.5", "--max-tokens", "80", "--json")
    whole = poem(*words).json["poems"][0]["text"]
    stop = whole[11:13]  # two tokens: its first must not be shown before the second comes
    (stopped,) = poem(*words, "--stop", stop).json["poems"]
    assert stopped["finish_reason"] == "stop_string"
    assert stopped["text"] == whole[: whole.index(stop, 1)]
    assert poem(*words[:-1], "--stop", stop).stdout == stopped["text"] + "\n"


def test_an_opening_can_come_from_a_pipe_in_lines(poem: Call) -> None:
    words = ("--max-tokens", "10")
    piped = poem("write", "-", *words, stdin="床前明月光，\n疑是地上霜。\r\n".encode())
    assert piped.stdout == poem("write", "床前明月光，疑是地上霜。", *words).stdout


def test_unknown_characters_are_dropped_or_read_as_unknown_where_asked(poem: Call) -> None:
    words = ("--max-tokens", "8", "--json")
    (dropped,) = poem("write", "囧春", "--unknown", "drop", *words).json["poems"]
    (plain,) = poem("write", "春", *words).json["poems"]
    assert dropped["text"] == plain["text"]
    (unknown,) = poem("write", "囧春", "--unknown", "unk", *words).json["poems"]
    assert unknown["prompt"] == "□春"
    assert poem("form", "五绝", "囧白日依山尽", "--unknown", "drop").stdout.startswith("白日依山尽")


def test_a_fragment_is_read_without_a_beginning(poem: Call, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    poem("write", "春眠", "--fragment", "--max-tokens", "2", "--trace", str(trace))
    (fragment,) = read_trace(trace)
    poem("write", "春眠", "--max-tokens", "2", "--trace", str(trace))
    (whole,) = read_trace(trace)
    assert len(fragment.header.prompt_ids) == 2
    assert len(whole.header.prompt_ids) == 3


def test_a_trace_holds_every_run_in_order(poem: Call, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    answer = poem("acrostic", "春眠", "--n", "3", "--seed", "5", "--trace", str(path))
    traces = read_trace(path)
    assert [trace.header.seed for trace in traces] == [5, 6, 7]
    assert [trace.text for trace in traces] == answer.stdout.splitlines()
    assert all(step.inspection for trace in traces for step in trace.steps)
    first = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert (first["kind"], first["constraint"]) == ("run", "七言 · 藏头 春眠")
    assert list(tmp_path.iterdir()) == [path]
