"""What a teacher adds to the loss, and to a run that is continued."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from model.data import IGNORE, Batch, pad_rows
from model.distil import Teacher, mixed_loss
from model.errors import CheckpointError
from model.gpt import GPT
from model.held_out import summed_loss
from model.train import Trainer
from tests.helpers import CHARACTERS, tiny_gpt
from tests.model.training import ALONE, CONFIG, SHAPE, corpus, same_weights

CPU = torch.device("cpu")


def teacher(share: float, seed: int = 1, digest: str = "first") -> Teacher:
    torch.manual_seed(seed)
    model = GPT(replace(SHAPE, dropout=0.0)).eval().requires_grad_(False)
    with torch.no_grad():
        model.tokens.weight.mul_(20)  # so that it expects something
    return Teacher(model, share, digest)


def student() -> GPT:
    torch.manual_seed(2)
    return GPT(replace(SHAPE, dropout=0.0))


def uneven() -> Batch:
    """Rows of several lengths, padded, with an unknown character in one."""
    batch = pad_rows([poem[: 4 + 3 * i] for i, poem in enumerate(corpus().train[:3])], 0)
    batch.targets[2, 1] = IGNORE
    assert (batch.targets == IGNORE).sum() > 5
    return batch


def by_hand(model: GPT, given: Teacher, batch: Batch) -> float:
    """The mixture's cross-entropy, target by target."""
    nats = 0.0
    scores: Tensor = model(batch.inputs).detach().log_softmax(-1)
    expected: Tensor = given.model(batch.inputs).softmax(-1)
    for row, place in (batch.targets != IGNORE).nonzero().tolist():
        own = scores[row, place, batch.targets[row, place]]
        theirs = (expected[row, place] * scores[row, place]).sum()
        nats -= float((1 - given.share) * own + given.share * theirs)
    return nats


@pytest.mark.parametrize("share", [1e-6, 0.3, 1.0])
def test_the_loss_is_that_of_the_mixture_over_the_counted_targets(share: float) -> None:
    given, model, batch = teacher(share), student(), uneven()
    assert mixed_loss(model, given, batch, CPU).item() == pytest.approx(
        by_hand(model, given, batch)
    )


def test_with_next_to_no_share_it_is_the_loss_on_the_text() -> None:
    model, batch = student(), uneven()
    mixed, plain = mixed_loss(model, teacher(1e-9), batch, CPU), summed_loss(model, batch, CPU)
    torch.testing.assert_close(mixed, plain)


def test_who_knows_all_that_its_teacher_knows_is_left_as_it_is() -> None:
    given = teacher(1.0)
    model = GPT(given.model.config)
    model.load_state_dict(given.model.state_dict())
    mixed_loss(model, given, uneven(), CPU).backward()
    for parameter in model.parameters():
        assert parameter.grad is not None and float(parameter.grad.abs().max()) < 1e-5
    assert all(parameter.grad is None for parameter in given.model.parameters())


def taught(folder: Path, given: Teacher | None, steps: int = 8) -> Trainer:
    torch.manual_seed(7)
    config = replace(CONFIG, steps=steps)
    return Trainer(GPT(SHAPE), CHARACTERS, corpus(), config, ALONE, folder, teacher=given)


def test_a_student_comes_to_expect_what_its_teacher_does(tmp_path: Path) -> None:
    given, batch = teacher(1.0), uneven()

    def distance(model: GPT) -> float:
        """Kullback-Leibler divergence from the teacher, nats a target."""
        own = mixed_loss(given.model, given, batch, CPU)
        return (mixed_loss(model.eval(), given, batch, CPU) - own).item() / batch.counted

    trainer = taught(tmp_path, given, steps=60)
    before = distance(trainer.model)
    losses = [record.loss for record in trainer.run()]
    assert distance(trainer.model) < 0.6 * before
    assert losses[-1] < losses[0]


def test_a_taught_run_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    whole = taught(tmp_path / "whole", teacher(0.5))
    list(whole.run())
    first = taught(tmp_path / "cut", teacher(0.5)).run()
    for _ in range(3):
        next(first)
    first.close()  # type: ignore[attr-defined]
    second = taught(tmp_path / "cut", teacher(0.5))
    assert second.resume()
    list(second.run())
    assert same_weights(whole, second)
    assert not same_weights(whole, _untaught(tmp_path / "alone"))


def _untaught(folder: Path) -> Trainer:
    trainer = taught(folder, None)
    list(trainer.run())
    return trainer


@pytest.mark.parametrize(("before", "after"), [("first", "second"), ("first", ""), ("", "second")])
def test_a_run_goes_on_only_with_its_own_teacher(tmp_path: Path, before: str, after: str) -> None:
    def named(digest: str) -> Teacher | None:
        return teacher(0.5, digest=digest) if digest else None

    list(taught(tmp_path, named(before)).run())
    other = taught(tmp_path, named(after))
    with pytest.raises(CheckpointError, match=f"another teacher .*{before} there, {after} here"):
        other.resume()


def test_the_teacher_of_a_long_text_is_asked_for_no_more_than_its_batch() -> None:
    """A teacher with a longer block serves a student with a shorter one."""
    given = replace(teacher(0.5), model=tiny_gpt(block_size=64).eval())
    assert mixed_loss(student(), given, uneven(), CPU).item() > 0
