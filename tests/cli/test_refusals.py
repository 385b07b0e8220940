"""Bad input: exit code 2 and one line that names what was wrong; never a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Answer, in_process, on_terminal

Call = Callable[..., Answer]

NUMBERS = ["nan", "inf", "1e999", "-1", "", "0,8", "０．８", "abc", "9" * 5000]


def refused(answer: Answer) -> str:
    """The one line."""
    assert answer.code == 2, answer
    assert answer.stdout == ""
    assert answer.stderr.count("\n") == 1
    return answer.stderr


@pytest.mark.parametrize("value", NUMBERS)
@pytest.mark.parametrize(
    ("flag", "takes"),
    [
        ("--temperature", "a number from 0 to 100"),
        ("--top-p", "a number from 0 to 1"),
        ("--min-p", "a number from 0 to 1"),
        ("--repetition", "a number from 0 to 10"),
        ("--top-k", "a whole number, 0 (off) or more"),
        ("--seed", "a whole number from 0 to 18446744073709551615"),
        ("--max-tokens", "a whole number of at least 1"),
        ("--n", "a whole number from 1 to 10000"),
        ("--threads", "a whole number from 1 to 1024"),
    ],
)
def test_numbers_are_refused_by_name_with_their_range(
    run: Call, flag: str, takes: str, value: str
) -> None:
    line = refused(run("write", "春", flag, value))
    assert line.startswith(f"{flag} is ")
    assert line.endswith(f"; it takes {takes}\n")


@pytest.mark.parametrize("command", ["write", "acrostic", "form", "probs"])
def test_a_precision_that_cannot_be_had_is_refused(run: Call, command: str) -> None:
    words = (command, "七绝", "--precision")
    assert refused(run(*words, "half")) == "--precision is 'half'; it takes float32 or bfloat16\n"
    assert "is read in float32 only" in refused(run(*words, "bfloat16"))


@pytest.mark.parametrize("flag", ["--presence", "--frequency"])
@pytest.mark.parametrize("value", ["nan", "-inf", "2.1", "-2.1", "", "０"])
def test_penalties_are_refused_outside_their_range(run: Call, flag: str, value: str) -> None:
    assert refused(run("write", flag, value)).endswith("; it takes a number from -2 to 2\n")


def test_a_top_k_that_is_not_whole_is_refused(run: Call) -> None:
    assert "--top-k is 2.5" in refused(run("write", "--top-k", "2.5"))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["write", "--cache", "maybe"], "--cache is 'maybe'; it takes on, off or race"),
        (["write", "--unknown", "guess"], "--unknown is 'guess'"),
        (["write", "--stop", ""], "--stop is ('',)"),
        (["write", "--greedy", "-t", "1"], "--greedy"),
        (["write", "--seed", str(2**64 - 1), "--n", "2"], "--seed"),
        (["write", "--nope"], "--nope"),
        (["write", "--seed"], "--seed"),
        (["write", "春", "眠"], "眠"),
        (["wrte"], "write"),
        (["form"], "NAME"),
        (["form", "十绝"], "五绝"),
        (["form", "七绝", "床前明月光，"], "line 1 is 5 characters"),
        (["form", "五绝", "床前明月光 疑是"], "U+0020"),
        (["form", "五绝", "--heads", "春眠不觉晓"], "at most 4"),
        (["acrostic"], "HEADS"),
        (["acrostic", ""], "heads"),
        (["acrostic", "春a"], "a"),
        (["acrostic", "春", "--chars", "6"], "--chars is 6; it takes 5 or 7"),
        (["acrostic", "春", "--chars", "七"], "--chars is '七'"),
        (["probs", "春", "--top", "0"], "--top is 0"),
        (["probs"], "TEXT"),
        (["models", "nothing"], "tang-base"),
        (["write", "--model", "nothing"], "nothing"),
        (["write", "--model", "nothing.safetensors"], "there is no such model file"),
        (["write", "--trace", "no/such/folder/t.jsonl"], "--trace"),
        (["write", "--trace", ""], "--trace is ''; it cannot be written there"),
        (["train", "--name", "../x"], "--name"),
        (["train", "--layers", "0"], "--layers is 0"),
        (["train", "--width", "130"], "--width is 130"),
        (["train", "--steps", "１"], "--steps is '１'"),
        (["train", "--dropout", "1.5"], "--dropout is 1.5"),
    ],
)
def test_what_cannot_be_done_is_named(run: Call, arguments: list[str], named: str) -> None:
    assert named in refused(run(*arguments))


def test_characters_that_the_model_does_not_know_are_named(poem: Call) -> None:
    assert "囧 x." in refused(poem("write", "囧春x囧"))
    assert "囧" in refused(poem("acrostic", "春囧"))
    assert "U+000B" in refused(poem("write", "春\x0b"))


def test_a_refusal_hides_no_control_characters_and_reads_no_markup(run: Call) -> None:
    line = refused(run("write", "--cache", "\x1b[31m[bold]red[/bold]\n"))
    assert "\x1b" not in line
    assert "[bold]red[/bold]" in line
    assert "\\x1b" in refused(run("write", "--model", "\x1b[2J.safetensors"))


def test_a_damaged_model_file_is_refused_by_name(run: Call, tmp_path: Path) -> None:
    path = tmp_path / "broken.safetensors"
    path.write_bytes(b"not a model")
    assert str(path) in refused(run("write", "--model", str(path)))
    assert str(path) in refused(run("models", str(path)))


@pytest.mark.parametrize("place", [0, 2])
def test_bytes_that_are_no_text_are_refused(place: int) -> None:
    arguments: list[str | bytes] = ["write", "春", "--stop", "x"]
    arguments[place + 1] = b"\xe6\x98\xff"
    answer = in_process(*arguments)
    line = refused(answer)
    assert "the byte" in line
    assert f"argument {place + 2}" in line


@pytest.mark.parametrize("text", ["春\ud83d", "春\0"])
def test_lone_surrogates_and_nul_are_refused(run: Call, text: str) -> None:
    assert "is not text" in refused(run("write", text))


@pytest.mark.parametrize(
    ("data", "named"), [(b"\xe6\x98\xa5\xff", "byte 4 (FF)"), ("春\0".encode(), "NUL")]
)
def test_a_pipe_that_holds_no_text_is_refused(poem: Call, data: bytes, named: str) -> None:
    assert named in refused(poem("write", "-", stdin=data))


def test_the_window_is_refused_without_a_terminal() -> None:
    assert "terminal" in refused(in_process())


def test_the_window_is_refused_on_a_terminal_that_cannot_place_text() -> None:
    answer = on_terminal(TERM="dumb")
    assert answer.code == 2
    assert "that can place text" in answer.stdout
    assert "\x1b" not in answer.stdout


def test_what_may_not_be_written_or_read_is_refused_before_the_poem(
    checkpoint: Path, tmp_path: Path
) -> None:
    locked, unreadable = tmp_path / "locked", tmp_path / "unreadable.safetensors"
    locked.mkdir(0o500)
    unreadable.write_bytes(checkpoint.read_bytes())
    unreadable.chmod(0)
    words = ("write", "--model", str(checkpoint), "--trace", str(locked / "t.jsonl"))
    assert "it cannot be written there" in refused(as_user(*words))
    assert "correct its permissions" in refused(as_user("write", "--model", str(unreadable)))


def as_user(*arguments: str) -> Answer:
    """The program with the rights of a user, also where the tests run as the administrator."""
    dropping = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    if os.geteuid() != 0:
        dropping = []
    elif shutil.which("setpriv") is None:
        pytest.skip("the administrator may do anything, and setpriv is not there to be less")
    done = subprocess.run(
        [*dropping, sys.executable, str(ROOT / "run.py"), *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    return Answer(done.stdout, done.stderr, done.returncode)
