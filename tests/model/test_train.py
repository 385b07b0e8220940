"""Training learns, is measured truly, and goes on after any stop as if there had been none."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.data import encode_corpus
from model.errors import CheckpointError
from model.held_out import held_out_loss
from model.train import (
    Trainer,
)
from tests.helpers import CHARACTERS, HAN, slow_logits, tiny_gpt
from tests.model.training import CONFIG, SHAPE, corpus, same_weights, trainer


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    whole = trainer(tmp_path_factory.mktemp("whole"))
    list(whole.run())
    return whole


# -- learning and measuring


def test_the_loss_falls(tmp_path: Path) -> None:
    config = replace(CONFIG, steps=40, eval_every=40, save_every=100)
    records = list(trainer(tmp_path, config, shape=replace(SHAPE, dropout=0.0)).run())
    assert [r.step for r in records] == list(range(1, 41))
    assert records[0].loss == pytest.approx(np.log(CHARACTERS.vocab_size), abs=0.1)
    assert records[-1].held_out is not None
    assert records[-1].held_out < records[0].loss - 1.0
    assert records[-1].tokens > 40 * CONFIG.batch_tokens
    assert [r.rate for r in records[:2]] == [0.5, 1.0]


def test_in_bfloat16_it_learns_as_well_and_keeps_float32_weights(tmp_path: Path) -> None:
    """Half the bits in products only: close to the float32 run, and never the same one."""
    config = replace(CONFIG, steps=40, eval_every=40, save_every=100)
    shape = replace(SHAPE, dropout=0.0)
    exact = trainer(tmp_path / "exact", config, shape=shape)
    low = trainer(tmp_path / "low", replace(config, precision="bfloat16"), shape=shape)
    *_, reference = exact.run()
    *_, record = low.run()
    assert reference.held_out is not None and record.held_out is not None
    assert abs(record.held_out - reference.held_out) < 0.1
    assert record.held_out != reference.held_out
    assert all(p.dtype == torch.float32 for p in low.model.parameters())


def test_a_run_goes_on_only_in_its_own_precision(tmp_path: Path) -> None:
    list(trainer(tmp_path).run())
    other = trainer(tmp_path, replace(CONFIG, precision="bfloat16"))
    with pytest.raises(CheckpointError, match="precision float32 there, bfloat16 here"):
        other.resume()


def test_held_out_is_measured_when_asked_for_and_at_the_end(tmp_path: Path) -> None:
    records = list(trainer(tmp_path, replace(CONFIG, steps=6)).run())
    assert [r.step for r in records if r.held_out is not None] == [4, 6]


def test_the_held_out_loss_is_that_of_a_slow_reading(tmp_path: Path) -> None:
    gpt = tiny_gpt(block_size=16)
    texts = ["春眠不觉晓，", "x春x", HAN[:15], HAN[:16], HAN[:17], HAN * 2]  # shorter and longer
    poems = encode_corpus(texts, texts, [], CHARACTERS).held_out
    nats, counted = 0.0, 0
    with torch.no_grad():
        for poem in poems:
            for target in range(1, len(poem)):
                if poem[target] == CHARACTERS.unk_id:
                    continue
                # where the window that counts this target begins: the first covers a
                # block; each later one half a block more
                late = max(0, target - 16)
                begin = -(-late // 8) * 8
                logits = slow_logits(gpt, poem[begin:target].tolist())[-1]
                nats -= float(logits.log_softmax(-1)[poem[target]])
                counted += 1
    loss = held_out_loss(gpt, poems, CHARACTERS, torch.device("cpu"))
    assert loss == pytest.approx(nats / counted, abs=1e-4)


def test_song_poems_train_behind_their_own_start_and_are_not_held_out() -> None:
    data = corpus()
    assert {int(poem[0]) for poem in data.song} == {CHARACTERS.song_id}
    assert {int(poem[0]) for poem in data.train} == {CHARACTERS.start_id}
    assert {int(poem[0]) for poem in data.held_out} == {CHARACTERS.start_id}


# -- stopping and going on


@pytest.mark.parametrize("stop", range(1, CONFIG.steps))
def test_a_run_closed_at_any_step_goes_on_exactly(
    tmp_path: Path, uninterrupted: Trainer, stop: int
) -> None:
    first = trainer(tmp_path)
    running = first.run()
    for _ in range(stop):
        next(running)
    running.close()
    second = trainer(tmp_path, seed=99)
    assert second.resume() and second.step == stop
    list(second.run())
    assert same_weights(second, uninterrupted)
    assert second.losses == uninterrupted.losses
    assert second.tokens == uninterrupted.tokens


@pytest.mark.parametrize("stops", [[1, 1, 3], [2, 3]])
def test_many_stops_too(tmp_path: Path, uninterrupted: Trainer, stops: list[int]) -> None:
    for steps in stops:
        part = trainer(tmp_path)
        part.resume()
        running = part.run()
        for _ in range(steps):
            next(running)
        running.close()
    last = trainer(tmp_path)
    assert last.resume() and last.step == sum(stops)
    list(last.run())
    assert same_weights(last, uninterrupted) and last.losses == uninterrupted.losses


def test_a_kill_goes_back_to_the_last_save_and_ends_the_same(
    tmp_path: Path, uninterrupted: Trainer
) -> None:
    first = trainer(tmp_path)
    running = first.run()
    for _ in range(5):
        next(running)
    state = first.state_file.read_bytes()
    running.close()
    first.state_file.write_bytes(state)  # a kill would not have saved at the end
    second = trainer(tmp_path)
    assert second.resume() and second.step == 3
    list(second.run())
    assert same_weights(second, uninterrupted) and second.losses == uninterrupted.losses


@pytest.mark.parametrize("place", ["forward", "between-updates", "held-out"])
def test_an_interrupt_inside_a_step_saves_nothing_half_done(
    tmp_path: Path, uninterrupted: Trainer, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    first = trainer(tmp_path)
    running = first.run()
    for _ in range(3):
        next(running)

    def interrupt(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    if place == "forward":
        next(running)
        first.model.register_forward_hook(interrupt)
    elif place == "between-updates":
        next(running)
        first._optimizers[1].step = interrupt  # type: ignore[method-assign]
    else:
        monkeypatch.setattr(first, "held_out_loss", interrupt)
    with pytest.raises(KeyboardInterrupt):
        next(running)
    second = trainer(tmp_path)
    assert second.resume()
    assert second.step == {"forward": 4, "between-updates": 3, "held-out": 4}[place]
    list(second.run())
    assert same_weights(second, uninterrupted)
    expected = [row[:2] for row in uninterrupted.losses]
    assert [row[:2] for row in second.losses] == expected


def test_a_stop_does_not_wait_for_the_measurement(
    tmp_path: Path, uninterrupted: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[None] = []

    def stopped() -> bool:
        asked.append(None)
        return True

    first = trainer(tmp_path)
    with closing(first.run(stopped)) as records:
        measured = next(record for record in records if record.step == CONFIG.eval_every)
    assert measured.held_out is None
    assert len(asked) == 1
    second = trainer(tmp_path)
    assert second.resume()
    assert second.step == CONFIG.eval_every
    list(second.run())
    assert same_weights(second, uninterrupted)


def test_nothing_to_resume(tmp_path: Path) -> None:
    assert trainer(tmp_path).resume() is False


def test_measuring_and_saving_at_other_steps_is_no_other_run(
    tmp_path: Path, uninterrupted: Trainer
) -> None:
    running = trainer(tmp_path).run()
    next(running)
    running.close()
    second = trainer(tmp_path, replace(CONFIG, eval_every=3, save_every=1))
    assert second.resume()
    list(second.run())
    assert same_weights(second, uninterrupted)
