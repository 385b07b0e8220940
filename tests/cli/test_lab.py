"""``lab``: the list, one experiment, all of them with a report, on a scripted catalogue."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from model.lab.base import Request, Result
from model.lab.chapters import Part
from model.registry import ModelSpec
from tests.cli.conftest import ROOT, Answer, in_process, on_terminal
from tests.lab.scripted import (
    BROKEN,
    FAILING,
    HOSTILE,
    HOSTILE_ONE,
    IMPOSSIBLE,
    SMALL,
    result,
    scripted,
    small,
)

Call = Callable[..., Answer]


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts other experiments in the place of the real ones."""

    def put(*experiments: object) -> None:
        monkeypatch.setattr("model.lab.catalogue.EXPERIMENTS", experiments)

    return put


def test_the_list_has_every_experiment_with_its_claim(run: Call) -> None:
    from model.lab.catalogue import EXPERIMENTS

    answer, document = run("lab"), run("lab", "--json").json
    assert answer.code == 0
    for experiment in EXPERIMENTS:
        assert re.search(rf"^{experiment.name} ", answer.stdout, re.MULTILINE)
    assert [one["name"] for one in document["experiments"]] == [one.name for one in EXPERIMENTS]
    assert all(one["claim"] for one in document["experiments"])


def test_one_is_run_with_what_was_asked(run: Call, catalogue, checkpoint: Path) -> None:
    catalogue(SMALL)
    answer = run("lab", "small", "--model", str(checkpoint), "--prompt", "覺", "--seed", "7")
    assert answer.code == 0
    assert f"A table of {checkpoint} 觉 7 False" in answer.stdout.replace("\n", "")
    assert "The small one\nWhat small claims.\n" in answer.stdout
    assert answer.stderr == "prompt: 覺 → 觉\n"  # no bar where there is no terminal
    assert "\x1b" not in answer.stdout


def test_a_model_of_another_maker_reads_the_prompt_as_it_was_typed(
    run: Call, catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue(SMALL)
    other = ModelSpec("other", Path("nowhere.gguf"), kind="pretrained")
    monkeypatch.setattr("tui.cli.loading.spec_of", lambda name: other)
    assert "The cat, a 覺" in run("lab", "small", "--prompt", "The cat, a 覺").stdout
    piped = run("lab", "small", "--prompt", "-", stdin=b"a, b")
    assert "A table of None a, b 1 False" in piped.stdout


def test_a_check_that_does_not_hold_is_the_exit_code(run: Call, catalogue) -> None:
    catalogue(FAILING, SMALL)
    assert run("lab", "failing").code == 1
    assert run("lab", "small").code == 0
    assert run("lab", "all").code == 1


def test_the_document_is_json_whatever_was_measured(run: Call, catalogue) -> None:
    catalogue(HOSTILE_ONE)
    document = run("lab", "hostile", "--json").json
    assert document["tables"][0]["rows"][0][0] == HOSTILE
    assert document["state"] == "done" and document["holds"] is True
    assert run("lab", "all", "--json").json["experiments"][0]["name"] == "hostile"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lab", "nothing"), "there is no experiment named 'nothing'"),
        (("lab", "small", "--seed", "-1"), "--seed is -1"),
        (("lab", "small", "--plot", "x.pdf"), "--plot is 'x.pdf'; it takes a .png or .svg"),
        (("lab", "all", "--plot", "x.png"), "--report DIR draws them all"),
        (("lab", "failing", "--prompt", "春"), "failing reads no prompt"),
        (("lab", "failing", "--trace", "x.jsonl"), "failing looks at no saved run"),
        (("lab", "plain", "--seed", "2"), "plain draws nothing: leave --seed out"),
        (("lab", "plain", "--model", "tang-small"), "plain asks no model"),
        (("lab", "plain", "--plot", "x.png"), "plain has no plots"),
        (("lab", "looks", "--trace", "x.jsonl", "--seed", "2"), "the saved run has its own seed"),
        (("lab", "small", "--model", "none"), "there is no model named 'none'"),
        (("lab", "impossible"), "run.py corpus build makes it"),
        (("lab", "small", "--report", "/dev/null/x"), "cannot make the folder"),
        (("lab", "small", "--plot", "/nowhere/at/all.png"), "cannot write /nowhere/at/all.png"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_code_2(
    run: Call, catalogue, arguments: tuple[str, ...], said: str
) -> None:
    plain = scripted("plain", small, models="none", draws=False, plots=False)
    looks = scripted("looks", small, reads_trace=True)
    catalogue(SMALL, FAILING, IMPOSSIBLE, plain, looks)
    answer = run(*arguments)
    assert answer.code == 2
    assert said in answer.stderr and answer.stderr.count("\n") == 1


def test_a_fault_is_one_line_and_code_1(run: Call, catalogue) -> None:
    catalogue(BROKEN)
    answer = run("lab", "broken")
    assert answer.code == 1
    assert "ZeroDivisionError: by zero [/b]" in answer.stderr and answer.stderr.count("\n") == 1


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_plots_are_drawn_to_a_file(run: Call, catalogue, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib", reason="the extra train is not installed")
    catalogue(HOSTILE_ONE)
    path = tmp_path / f"plot.{suffix}"
    answer = run("lab", "hostile", "--plot", str(path))
    assert answer.code == 0
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")
    assert answer.stderr == f"{path}: 2 plots\n"


def test_the_report_goes_on_past_what_fails(run: Call, catalogue, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra train is not installed")
    catalogue(SMALL, BROKEN, IMPOSSIBLE, HOSTILE_ONE, FAILING)
    answer = run("lab", "all", "--report", str(tmp_path / "r"), "--quick")
    assert answer.code == 1
    text = (tmp_path / "r" / "report.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert headings == [
        "Contents",
        "1. The small one",
        "2. The broken one",
        "3. The impossible one",
        "4. The hostile one",
        "5. The failing one",
        "What it was made with",
    ]
    assert "ZeroDivisionError" in text and "corpus build makes it" in text
    assert "5 experiments, 2 of 3 checks hold; cannot run here: impossible; broke off" in text
    assert "2 of 3 checks hold" in answer.stdout
    assert "1. [The small one](#1-the-small-one) ✓ 1 of 1 checks hold" in text
    assert "2. [The broken one](#2-the-broken-one) ✗" in text
    assert "Made with `--quick`" in text
    assert re.search(r"\d+ cores? with \d+\.\d programs at work", text)
    pictures = set(re.findall(r"\]\((.*?\.png)\)", text))
    assert pictures == {f"{n}-{i}.png" for n in ("small", "hostile", "failing") for i in (1, 2)}
    assert {path.name for path in (tmp_path / "r").iterdir()} == pictures | {
        "report.md",
        "report.json",
    }
    assert "**What did not come out.**\n\n- [2](#2-the-broken-one): broken broke off" in text
    assert "- [5](#5-the-failing-one): the claim of 春风: 1.0 against 1.0" in text
    data = json.loads((tmp_path / "r" / "report.json").read_text(encoding="utf-8"))
    assert [one["state"] for one in data["experiments"]] == [
        *("done", "failed", "impossible", "done", "done")
    ]
    assert data["made"]["quick"] is True


def test_chapters_stand_in_their_parts_and_have_numbers(
    run: Call, catalogue, tmp_path: Path
) -> None:
    one, other = Part("One", "The *first* part."), Part("Other", "The second.")
    exercise = "Again: ``run.py lab a``."
    catalogue(
        scripted("a", small, part=one, exercise=exercise),
        scripted("b", small, part=one),
        scripted("c", small, part=other),
    )
    assert run("lab", "all", "--report", str(tmp_path)).code == 0
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert re.findall(r"^##+ (.*)", text, re.MULTILINE) == [
        *("Contents", "Part I. One", "1. The a one", "2. The b one", "Part II. Other"),
        *("3. The c one", "What it was made with"),
    ]
    for said in (
        "**Part I. One**\n\n1. [The a one](#1-the-a-one) ✓",
        "The \\*first\\* part.",
        "**Table 3.1. A table of",
        "*Figure 2.2. Bars. Bars of mass.*",
        "**Try it.** Again: `run.py lab a`.",
    ):
        assert said in text


def test_a_report_leaves_one_document_on_standard_output(
    run: Call, catalogue, tmp_path: Path
) -> None:
    catalogue(SMALL)
    answer = run("lab", "small", "--json", "--report", str(tmp_path))
    assert answer.json["name"] == "small"
    assert answer.stderr.endswith(f"1 of 1 checks hold; {tmp_path / 'report.md'}\n")


def test_without_matplotlib_the_report_draws_with_characters(
    run: Call, catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue(SMALL)
    monkeypatch.setattr("tui.lab.pictures.available", lambda: False)
    assert run("lab", "all", "--report", str(tmp_path)).code == 0
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "pictures need matplotlib" in text and "```text" in text
    assert {path.name for path in tmp_path.iterdir()} == {"report.md", "report.json"}
    refused = run("lab", "small", "--plot", str(tmp_path / "x.png"))
    assert refused.code == 2 and "yinchuang[train]" in refused.stderr


INTERRUPTED = """
import os, signal, sys
from tests.lab.scripted import SMALL, scripted
from model.lab import catalogue
from model.lab.base import Progress

def slow(request):
    for number in range(1000):
        if number == 3:
            os.kill(os.getpid(), signal.SIGINT)
        yield Progress(number, 1000)

catalogue.EXPERIMENTS = (SMALL, scripted("slow", slow), SMALL)
from tui.cli.main import app
app(sys.argv[1:])
"""


def test_ctrl_c_keeps_what_was_found(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "lab", "all", "--report", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "## 1. The small one" in text
    assert "## 2. The slow one" in text and "stopped before its end" in text
    assert "2 experiments, 1 of 1 checks hold" in text


def test_a_real_one_runs_in_a_process_of_its_own(checkpoint: Path) -> None:
    words = ("lab", "nucleus", "--quick", "--json", "--model", str(checkpoint), "--prompt", "春眠")
    answer = in_process(*words)
    assert answer.code == 0, answer.stderr
    assert json.loads(answer.stdout)["settings"]["prompts"] == ["春眠"]
    assert answer.stderr == ""


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"NO_COLOR": "", "TERM": "dumb"}])
def test_without_colour_a_terminal_gets_no_styles(
    checkpoint: Path, environment: dict[str, str]
) -> None:
    words = ("lab", "nucleus", "--quick", "--model", str(checkpoint), "--prompt", "春")
    answer = on_terminal(*words, **environment)
    assert answer.code == 0
    assert not re.search(r"\x1b\[[0-9;]*m", answer.stdout)
    assert ("\x1b" in answer.stdout) == ("TERM" not in environment)  # the bar moves the cursor
    assert "✓ " in answer.stdout


def test_a_saved_run_is_handed_to_who_reads_one(run: Call, catalogue, tmp_path: Path) -> None:
    seen: list[object] = []

    def look(request: Request) -> Iterator[Result]:
        seen.append(request.trace)
        yield result()

    reads, ignores = scripted("reads", look, reads_trace=True), scripted("ignores", look)
    catalogue(reads, ignores)
    assert run("lab", "all", "--trace", "poem.jsonl").code == 0
    assert seen == [Path("poem.jsonl"), None]
