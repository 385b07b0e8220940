"""``models average``: a checkpoint whose loss is measured, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from model.checkpoint import load_checkpoint
from tests.cli.conftest import RUN, Answer


def test_the_mean_of_two_runs_is_a_model_that_tells_what_went_into_it(
    run: Callable[..., Answer], place: Path
) -> None:
    run(*RUN, "--steps", "4")
    first = place / "runs" / "tiny" / "tiny.safetensors"
    run(*RUN, "--name", "more", "--steps", "4", "--grow-from", str(first))
    second = place / "runs" / "more" / "more.safetensors"
    out = place / "mean.safetensors"
    answer = run("models", "average", str(first), str(second), "--out", str(out))
    assert answer.code == 0, answer.stderr
    record = load_checkpoint(out).training
    assert f"held-out loss {record['held_out_loss']:.4f}" in answer.stdout
    assert record["name"] == "mean"
    assert [part["name"] for part in record["mean_of"]] == ["tiny", "more"]
    losses = {record["held_out_loss"], *(part["held_out_loss"] for part in record["mean_of"])}
    assert len(losses) == 3  # measured, and no part's own


@pytest.mark.parametrize(
    ("out", "said"),
    [("mean.safetensors", "two models or more"), ("missing/mean/", "cannot write")],
)
def test_what_cannot_be_done_is_said_in_a_line(
    run: Callable[..., Answer], place: Path, checkpoint: Path, out: str, said: str
) -> None:
    answer = run("models", "average", str(checkpoint), "--out", out)
    assert answer.code == 2
    assert said in answer.stderr
    assert answer.stderr.count("\n") == 1
