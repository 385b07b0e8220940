"""Escape codes: on a terminal only, and never with NO_COLOR or TERM=dumb. Pipes and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from model.trace import read_trace
from tests.cli.conftest import ROOT, Answer, in_process, on_terminal, start

ACROSTIC = ("acrostic", "春眠", "--seed", "3")


@pytest.fixture(scope="module")
def plain(checkpoint: Path) -> str:
    """The poem in a pipe."""
    answer = in_process(*ACROSTIC, "--model", str(checkpoint), FORCE_COLOR="1")
    assert answer.code == 0
    assert answer.stderr == ""
    return answer.stdout


def test_a_pipe_gets_plain_text(plain: str) -> None:
    assert re.fullmatch(r"春\w{6}，眠\w{6}。\n", plain)


def test_a_terminal_marks_the_heads_and_tells_how_it_went(checkpoint: Path, plain: str) -> None:
    answer = on_terminal(*ACROSTIC, "--model", str(checkpoint), NO_COLOR="")
    assert "\x1b[1;4m春\x1b[0m" in answer.stdout
    assert "\x1b[1;4m眠\x1b[0m" in answer.stdout
    shown = re.sub(r"\x1b\[[0-9;]*m", "", answer.stdout).splitlines()
    assert shown[0] + "\n" == plain
    assert re.fullmatch(
        r"16 tokens · [\d,]+ tokens/s · cache [\d,]+ bytes · form_complete · seed 3", shown[1]
    )
    assert len(shown) == 2


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb", "NO_COLOR": ""}])
def test_without_colour_brackets_mark_the_heads(
    checkpoint: Path, plain: str, variable: dict[str, str]
) -> None:
    shown = on_terminal(*ACROSTIC, "--model", str(checkpoint), **variable).stdout
    assert "\x1b" not in shown
    assert shown.splitlines()[0] == re.sub("([春眠])(?=.{6}[，。])", r"[\1]", plain).rstrip("\n")


def test_a_terminal_gets_one_sentence_a_line(checkpoint: Path) -> None:
    words = ("acrostic", "春眠不觉", "--seed", "3", "--model", str(checkpoint))
    lines = on_terminal(*words, NO_COLOR="1").stdout.splitlines()
    assert [line[-1] for line in lines[:2]] == ["。", "。"]
    assert len(lines) == 3


def test_a_reader_that_goes_away_ends_the_program_quietly(checkpoint: Path) -> None:
    process = start(
        ["write", "--seed", "1", "--n", "50", "--model", str(checkpoint), "-t", "50"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.read(3)
    process.stdout.close()
    assert process.wait(timeout=120) == 141
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_stream_that_is_closed_is_no_fault(checkpoint: Path, closed: str) -> None:
    command = f'exec "$0" "$@" {closed}'
    words = [sys.executable, str(ROOT / "run.py"), "write", "春", "-t", "9", "--max-tokens", "3"]
    done = subprocess.run(
        ["sh", "-c", command, *words, "--model", str(checkpoint)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("春") == (closed != ">&-")
    assert ("seed" in done.stderr) == (closed != "2>&-")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is played by /dev/full")
def test_a_full_disk_behind_the_output_is_told(checkpoint: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = start(
            ["write", "春", "--seed", "1", "--model", str(checkpoint)],
            stdout=full,
            stderr=subprocess.PIPE,
        )
        _, told = process.communicate(timeout=300)
    assert process.returncode == 1
    assert told.decode() == "the output could not be written (No space left on device)\n"


def interrupted(checkpoint: Path, *flags: str, ready: int) -> Answer:
    """A run without end, interrupted once it has shown ``ready`` bytes."""
    process = start(
        ["write", "--n", "10000", "--cache", "off", "--model", str(checkpoint), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    first = os.read(process.stdout.fileno(), ready)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return Answer((first + out).decode(), err.decode(), process.returncode)


def test_ctrl_c_keeps_the_text_and_the_trace(checkpoint: Path, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    answer = interrupted(checkpoint, "--seed", "1", "--trace", str(trace), ready=3)
    assert answer.code == 130
    assert answer.stderr == ""
    assert answer.stdout.endswith("\n")
    traces = read_trace(trace)
    assert "".join(run.text + "\n" for run in traces) == answer.stdout
    assert traces[-1].finished is not None
    assert traces[-1].finished.reason == "cancelled"
    assert list(tmp_path.iterdir()) == [trace]


def test_json_survives_ctrl_c(checkpoint: Path) -> None:
    # Nothing is shown before the end: the trace's temporary file cannot tell either, so the
    # signal is sent by the program itself, at a token that is known.
    script = (
        "import os, signal, sys\n"
        "from model.run import Run\n"
        "from tui.cli.main import app\n"
        "accept = Run.accept\n"
        "def signalling(run, token, stops):\n"
        "    if run.generated == 5:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return accept(run, token, stops)\n"
        "Run.accept = signalling\n"
        "app(sys.argv[1:])\n"
    )
    words = ["write", "春", "--json", "--seed", "1", "--model", str(checkpoint), "--greedy"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 130
    (document,) = json.loads(done.stdout)["poems"]
    assert document["finish_reason"] == "cancelled"
    assert document["tokens"] == 6
    assert len(document["text"]) == 7
