"""``train``: the loop's records as a bar, sample poems, the checkpoint and the plot.

The same command runs alone and under ``torchrun``; only the main process speaks and writes.
"""

from __future__ import annotations

import copy
import os
from contextlib import nullcontext
from typing import TYPE_CHECKING

import torch

from corpora.errors import UserError
from model.allocator import keep_memory
from model.claim import claimed, refuse_unwritable
from model.config import POEM_SAMPLER, Controls
from model.distributed import Processes, processes
from model.errors import InputError
from model.generate import Generator, Prompt
from model.recipe import export, make_trainer, saved_settings
from model.steps import Step
from model.train import Trainer, TrainRecord
from tui.cli.guard import REFUSED
from tui.cli.interrupt import Interrupt, ended, interruptible
from tui.cli.options import flags_named
from tui.cli.output import console
from tui.cli.plots import draw_loss, save_loss
from tui.cli.train_options import FLAG_OF, TrainRequest

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

SAMPLES = (("", 1), ("春风", 2))
"""Opening and seed of the poems written at each measurement."""

LINE_EVERY = 25
"""Steps between lines of progress where there is no terminal for a bar."""


def train(request: TrainRequest) -> int:
    """Train, or only export; the exit code."""
    torch.set_num_threads(request.threads)
    keep_memory()
    alone = int(os.environ.get("WORLD_SIZE", "1")) == 1
    with processes() as group:
        try:
            return _train(request, group, alone)
        except UserError:
            if group.main:
                raise
            return REFUSED  # every process found the same; one says it


def _train(request: TrainRequest, group: Processes, alone: bool) -> int:
    if request.export_only:
        return _export_only(request, group)
    with claimed(request.folder, group):
        return _trained(request, group, alone)


def _export_only(request: TrainRequest, group: Processes) -> int:
    """Another process may be training the run meanwhile: its saved state is whole."""
    trainer = _trainer(request, group)
    if not trainer.resume():
        raise InputError(
            f"there is no saved run in {request.folder}; train --name {request.name} begins one"
        )
    group.checked(lambda: refuse_unwritable(request.out.parent))
    return _export(request, trainer, console()) if group.main else 0


def _trainer(request: TrainRequest, group: Processes) -> Trainer:
    with flags_named(**FLAG_OF):
        settings = {**saved_settings(request.folder), **request.given}
        return make_trainer(settings, group, request.folder, grow_from=request.grow_from)


def _trained(request: TrainRequest, group: Processes, alone: bool) -> int:
    out = console()
    trainer = _trainer(request, group)
    resumed = trainer.resume()
    group.checked(lambda: refuse_unwritable(request.out.parent))
    if group.main:
        _introduce(trainer, resumed, out)
    # Only here: what comes before and after is cut short by a signal at once.
    with interruptible(twice_kills=alone) as interrupt:
        stopped = _steps(trainer, interrupt, out)
    if not group.main:
        return interrupt.code if stopped else 0
    if stopped:
        out.print(f"Stopped after step {trainer.step}; the same command goes on from there.")
        return interrupt.code
    _export(request, trainer, out)
    save_loss(trainer.losses, request.folder / "loss.png", request.name, out)
    draw_loss(trainer.losses, out)
    return 0


def _introduce(trainer: Trainer, resumed: bool, out: Console) -> None:
    config = trainer.model.config
    begun = f"goes on from step {trainer.step}" if resumed else "begins"
    out.print(
        f"{trainer.model.n_parameters / 1e6:.2f} million parameters "
        f"({config.n_layer} × {config.n_embd}, {config.n_head} heads, block {config.block_size}), "
        f"{len(trainer.corpus.train):,} poems, {len(trainer.corpus.held_out):,} held out; "
        f"the run {begun} of {trainer.config.steps}.",
        soft_wrap=True,
    )


def _steps(trainer: Trainer, interrupt: Interrupt, out: Console) -> bool:
    """Go through the run; True where it was stopped before its end.

    The iterator is closed between two steps, so that what it saves is a whole step.
    """
    main = trainer.processes.main
    bar = _bar(out) if main and out.is_terminal else None
    task = bar.add_task("", total=trainer.config.steps, completed=trainer.step) if bar else None
    smoothed: float | None = None
    with bar or nullcontext(), ended(trainer.run(interrupt)) as records:
        for record in records:
            smoothed = record.loss if smoothed is None else 0.98 * smoothed + 0.02 * record.loss
            if bar and task is not None:
                _update(bar, task, record, smoothed)
            elif main and (record.step % LINE_EVERY == 0 or record.held_out is not None):
                out.print(_line(record, smoothed, trainer.config.steps), soft_wrap=True)
            if main and record.held_out is not None:
                _measured(trainer, record, out)
            if _agreed(trainer.processes, interrupt):
                return trainer.step < trainer.config.steps
    return False


def _agreed(group: Processes, interrupt: Interrupt) -> bool:
    """Whether any process was asked to stop: all stop after the same step."""
    if group.world == 1:
        return interrupt()
    asked = torch.tensor(float(interrupt()), device=group.device)
    return bool(group.total(asked) > 0)


def _bar(out: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("{task.description}", markup=False),
        console=out,
    )


def _update(bar: Progress, task: TaskID, record: TrainRecord, smoothed: float) -> None:
    bar.update(task, completed=record.step, description=_figures(record, smoothed))


def _figures(record: TrainRecord, smoothed: float) -> str:
    hours, minutes = divmod(round(record.seconds_left / 60), 60)
    left = f"{hours} h {minutes:02} min" if hours else f"{minutes} min"
    return f"loss {smoothed:.3f} · {record.tokens_per_s:,.0f} tokens/s · {left} left"


def _line(record: TrainRecord, smoothed: float, steps: int) -> str:
    return f"step {record.step} of {steps} · {_figures(record, smoothed)}"


def _measured(trainer: Trainer, record: TrainRecord, out: Console) -> None:
    """The held-out loss and what the model writes by now."""
    out.print(f"step {record.step}: held-out loss {record.held_out:.4f} nats a character")
    for text in sample_poems(trainer):
        out.print(f"  {text}", soft_wrap=True)


def sample_poems(trainer: Trainer) -> list[str]:
    """A poem for each of ``SAMPLES``, always with the same seeds; training is not disturbed."""
    model = trainer.model
    if trainer.processes.device.type != "cpu":
        model = copy.deepcopy(model).cpu()
    model.eval()
    texts = []
    for opening, seed in SAMPLES:
        controls = Controls(POEM_SAMPLER, seed=seed, max_tokens=100)
        prompt = Prompt(opening, unknown="drop")
        run = Generator(model, trainer.tokenizer, prompt, controls, inspected=False)
        texts.append(opening + "".join(step.text for step in run if isinstance(step, Step)))
    return texts


def _export(request: TrainRequest, trainer: Trainer, out: Console) -> int:
    step, _, measured = trainer.losses[-1] if trainer.losses else (0, 0.0, None)
    if measured is None or step != trainer.step:
        measured = trainer.held_out_loss()
    export(trainer, request.out, request.name, measured)
    out.print(
        f"{request.out}: step {trainer.step}, held-out loss {measured:.4f} nats a character",
        soft_wrap=True,
    )
    return 0
