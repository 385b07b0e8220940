"""``train`` on a small corpus: the checkpoint, the plot, Ctrl-C and resuming, two processes."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpora.places import built_folder
from model.checkpoint import load_checkpoint, read_safetensors
from model.sentencepieces import SentencePieceTokenizer
from model.train import STATE_FORMAT, STATE_VERSION
from tests.cli.conftest import ROOT, RUN, Answer

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]


def state(place: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The saved run's tensors and its progress."""
    path = place / "runs" / "tiny" / "state.safetensors"
    tensors, header = read_safetensors(path, STATE_FORMAT, STATE_VERSION)
    return tensors, json.loads(header["progress"])


def test_a_run_ends_with_a_checkpoint_that_tells_how_it_came_about(
    run: Callable[..., Answer], place: Path
) -> None:
    answer = run(*RUN, "--steps", "6")
    assert answer.code == 0, answer.stderr
    assert answer.stdout.count("held-out loss") == 3  # step 4, step 6, and the export
    assert "\x1b" not in answer.stdout
    drawn = answer.stdout.partition("nats a character, by step\n")[2].splitlines()
    assert any("⠀" < char <= "⣿" for line in drawn for char in line)
    assert any(line.endswith("held out") for line in drawn)
    checkpoint = load_checkpoint(place / "runs" / "tiny" / "tiny.safetensors")
    record = checkpoint.training
    assert record["steps"] == 6
    assert record["data"]["train_poems"] == 60
    assert record["data"]["held_out_poems"] == 60
    assert 2 < record["held_out_loss"] < 5
    assert record["settings"]["seed"] == record["seed"] == 3
    assert set(record["versions"]) >= {"python", "torch"}
    assert checkpoint.model.config.block_size == 32
    assert (place / "runs" / "tiny" / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_goes_on_with_the_settings_that_it_began_with(
    run: Callable[..., Answer], place: Path
) -> None:
    run(*RUN, "--steps", "10", "--decay", "0.5")
    # The name alone is enough, where nothing is changed.
    assert "from step 10 of 10" in run("train", "--name", "tiny").stdout
    refused = run("train", "--name", "tiny", "--width", "32")
    assert refused.code == 2
    assert "n_embd 16 there, 32 here" in refused.stderr
    assert state(place)[1]["step"] == 10


def interrupted(place: Path, sent: signal.Signals) -> int:
    """A longer run, stopped at its first measurement; the exit code."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), *RUN, "--steps", "12"],
        cwd=place,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with process:
        assert process.stdout is not None
        next(line for line in process.stdout if line.startswith("step 4"))
        process.send_signal(sent)
        began = time.monotonic()
        process.stdout.read()
        code = process.wait(timeout=300)
        assert time.monotonic() - began < 2
    return code


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_told_to_stop_resumes_exactly(
    run: Callable[..., Answer], place: Path, sent: signal.Signals
) -> None:
    assert interrupted(place, sent) == 128 + sent
    assert 4 <= state(place)[1]["step"] < 12
    assert run("train", "--name", "tiny", "--eval-every", "4").code == 0
    resumed, progress = state(place)
    assert progress["step"] == 12
    (place / "runs" / "tiny" / "state.safetensors").unlink()
    assert run(*RUN, "--steps", "12").code == 0
    straight, whole = state(place)
    assert progress["losses"] == whole["losses"]
    assert all(bool((resumed[name] == straight[name]).all()) for name in straight)


def test_export_only_writes_the_saved_state(run: Callable[..., Answer], place: Path) -> None:
    refused = run("train", "--name", "tiny", "--export-only")
    assert refused.code == 2
    assert "no saved run" in refused.stderr
    run(*RUN, "--steps", "4")
    before = state(place)[1]
    out = place / "snapshot.safetensors"
    assert run("train", "--name", "tiny", "--export-only", "--out", str(out)).code == 0
    assert load_checkpoint(out).training["held_out_loss"] == before["losses"][-1][2]
    assert state(place)[1] == before


def test_song_poems_are_added(run: Callable[..., Answer], place: Path) -> None:
    assert run(*RUN, "--steps", "1", "--song-share", "0.5").code == 0
    checkpoint = load_checkpoint(place / "runs" / "tiny" / "tiny.safetensors")
    assert checkpoint.training["data"]["song_poems"] == 60


def test_pieces_are_trained_kept_with_the_run_and_measured_by_the_character(
    run: Callable[..., Answer], place: Path
) -> None:
    bpe = ["--tokenizer", "bpe", "--pieces", "340", "--song-share", "0.5"]
    answer = run(*RUN, *bpe, "--steps", "4")
    assert answer.code == 0, answer.stderr
    checkpoint = load_checkpoint(place / "runs" / "tiny" / "tiny.safetensors")
    tokenizer, record = checkpoint.tokenizer, checkpoint.training
    assert isinstance(tokenizer, SentencePieceTokenizer)
    assert tokenizer.vocab_size == checkpoint.model.config.vocab_size == 340
    assert record["data"]["song_poems"] == 120  # Song poems and ci
    characters = 60 * (4 * 6 + 1)  # with the ends
    assert record["data"]["held_out_tokens"] < characters
    per_piece = record["held_out_loss"] * characters / record["data"]["held_out_tokens"]
    assert 5 < per_piece < 6.5, "an untrained model of 340 pieces has a loss near their logarithm"
    bits = record["held_out_bits_per_character"]
    assert bits == pytest.approx(record["held_out_loss"] / math.log(2))
    for name in ("tang.train", "song.train", "ci.train"):
        # Resumed, the vocabulary comes from the run: other text would give another.
        path = built_folder() / f"{name}.jsonl"
        path.write_text(path.read_text("utf-8").replace("春", "眠"), "utf-8")
    assert "another poems" in run("train", "--name", "tiny").stderr


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ("96000", "--pieces is 96000; it takes for this text 302 to "),
        ("260", "--pieces is 260; it takes for this text at least 302: 41 characters, 256 bytes"),
        ("0", "--pieces is 0; it takes a whole number of at least 1"),
        ("many", "--pieces is 'many'"),
    ],
)
def test_a_number_of_pieces_that_cannot_be_is_refused_with_the_range(
    run: Callable[..., Answer], place: Path, pieces: str, said: str
) -> None:
    answer = run(*RUN, "--tokenizer", "bpe", "--pieces", pieces)
    assert answer.code == 2
    assert said in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not (place / "runs").exists()


def test_a_tokenizer_of_no_known_kind_is_refused(run: Callable[..., Answer], place: Path) -> None:
    answer = run(*RUN, "--tokenizer", "words")
    assert answer.code == 2
    assert "--tokenizer is 'words'; it takes char or bpe" in answer.stderr


def test_a_deeper_model_begins_where_a_trained_one_stands(
    run: Callable[..., Answer], place: Path
) -> None:
    assert run(*RUN, "--steps", "6").code == 0
    first = place / "runs" / "tiny" / "tiny.safetensors"
    deeper = [word if word != "tiny" else "deep" for word in RUN]
    deeper[deeper.index("--layers") + 1] = "4"
    answer = run(
        *deeper, "--steps", "1", "--muon-lr", "0", "--adam-lr", "0", "--grow-from", str(first)
    )
    assert answer.code == 0, answer.stderr
    grown = load_checkpoint(place / "runs" / "deep" / "deep.safetensors")
    assert grown.model.config.n_layer == 4
    assert "after 6 steps" in grown.training["origin"]
    old = load_checkpoint(first).training["held_out_loss"]
    assert abs(grown.training["held_out_loss"] - old) < 1e-3
    wider = [*deeper, "--name", "wide", "--width", "64", "--grow-from", str(first)]
    assert run(*wider).code == 2


def test_a_model_learns_from_another_and_its_record_says_so(
    run: Callable[..., Answer], place: Path
) -> None:
    assert run(*RUN, "--steps", "4").code == 0
    taught = [word if word != "tiny" else "taught" for word in RUN]
    teacher = ["--teacher", "runs/tiny/tiny.safetensors", "--teacher-share", "0.7"]
    answer = run(*taught, *teacher, "--steps", "4", "--decay", "0.1")
    assert answer.code == 0, answer.stderr
    settings = load_checkpoint(place / "runs" / "taught" / "taught.safetensors").training[
        "settings"
    ]
    assert (settings["teacher"], settings["teacher_share"]) == (teacher[1], 0.7)
    # The name alone goes on with the same teacher, and no longer once that is another model.
    assert "from step 4 of 4" in run("train", "--name", "taught").stdout
    assert run("train", "--name", "tiny", "--export-only").code == 0
    assert run(*[word if word != "tiny" else "more" for word in RUN], "--steps", "2").code == 0
    (place / "runs" / "more" / "more.safetensors").rename(place / teacher[1])
    refused = run("train", "--name", "taught")
    assert (refused.code, refused.stderr.count("\n")) == (2, 1)
    assert "saved by a run with another teacher" in refused.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--teacher", "nobody"], "there is no model named 'nobody'; use one of tang-base"),
        (["--teacher", "smollm2"], "--teacher takes a checkpoint of this program, not smollm2"),
        (["--teacher", "tang-small"], "trained with another vocabulary than this run has"),
        (["--teacher", "none.safetensors"], "none.safetensors"),
        (["--teacher", "tang-base", "--teacher-share", "1.5"], "--teacher-share is 1.5; it takes"),
        (["--block", "64", "--teacher", "runs/tiny/tiny.safetensors"], "give --block 32 or less"),
    ],
)
def test_a_teacher_that_cannot_teach_this_run_is_refused_before_it_begins(
    run: Callable[..., Answer], place: Path, more: list[str], said: str
) -> None:
    assert run(*RUN, "--steps", "1").code == 0
    answer = run(*[word if word != "tiny" else "taught" for word in RUN], *more)
    assert (answer.code, answer.stderr.count("\n")) == (2, 1), answer.stderr
    assert said in answer.stderr
    assert not (place / "runs" / "taught" / "state.safetensors").exists()


def test_without_a_corpus_it_is_said_how_to_get_one(
    run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    answer = run(*RUN)
    assert answer.code == 2
    assert "corpus fetch" in answer.stderr


def test_two_processes_train_as_one(run: Callable[..., Answer], place: Path) -> None:
    together = subprocess.run(
        [*TORCHRUN, str(ROOT / "run.py"), *RUN, "--steps", "4"],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert together.returncode == 0, together.stderr
    assert together.stdout.count("held-out loss") == 2  # one process speaks
    losses = state(place)[1]["losses"]
    (place / "runs" / "tiny" / "state.safetensors").unlink()
    assert run(*RUN, "--steps", "4").code == 0
    alone = state(place)[1]["losses"]
    for (step, loss, _), (other_step, other_loss, _) in zip(losses, alone, strict=True):
        assert step == other_step
        assert loss == pytest.approx(other_loss, abs=1e-4)


def test_a_folder_that_cannot_be_written_is_refused_before_the_first_step(
    run: Callable[..., Answer], place: Path
) -> None:
    (place / "taken").write_text("a file")
    answer = run(*RUN, "--steps", "4", "--out", str(place / "taken" / "m.safetensors"))
    assert answer.code == 2
    assert "cannot write in the folder" in answer.stderr
    assert "step" not in answer.stdout
