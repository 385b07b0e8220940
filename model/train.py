"""The training loop: a generator of progress records.

Knows nothing of who listens: the command line draws a bar from the records, a test
collects them. What a step does is a pure function of the state before it and of
(seed, step), so that a run killed at any moment resumes exactly.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from model.checkpoint import read_safetensors, write_safetensors
from model.claim import STATE
from model.config import TrainConfig
from model.data import Batch, BatchPlan, Corpus
from model.distil import Teacher, mixed_loss
from model.distributed import Processes
from model.errors import CheckpointError
from model.gpt import GPT
from model.held_out import Stopped, held_out_loss, summed_loss
from model.optim import (
    build_optimizers,
    clip_gradients,
    fill_optimizer,
    optimizer_tensors,
    scale_learning_rates,
)
from model.tokenizers import Tokenizer

STATE_FORMAT = "yinchuang-training-state"
STATE_VERSION = 1


@dataclass(frozen=True, slots=True)
class TrainRecord:
    """What is known after a step."""

    step: int
    """Steps done."""
    loss: float
    """Mean training loss of the step, nats a target; where a teacher gives a part of each
    target, the cross-entropy against that mixture."""
    held_out: float | None
    """Held-out loss in nats a character, at the steps where it was measured."""
    rate: float
    """Learning rate as a share of its full height."""
    tokens: int
    """Targets shown since the beginning of the run."""
    tokens_per_s: float
    seconds_left: float


class Trainer:
    """A model, its optimizers and the data, at some step of a run."""

    def __init__(
        self,
        model: GPT,
        tokenizer: Tokenizer,
        corpus: Corpus,
        config: TrainConfig,
        processes: Processes,
        folder: Path,
        origin: str = "",
        teacher: Teacher | None = None,
    ) -> None:
        self.model = model.to(processes.device)
        self.tokenizer = tokenizer
        self.corpus = corpus
        self.config = config
        self.processes = processes
        self.state_file = folder / STATE
        self.origin = origin
        """Where the first weights came from; empty for random ones."""
        self._teacher = teacher
        self.step = 0
        self.tokens = 0
        self._half_updated = False
        self.losses: list[tuple[int, float, float | None]] = []
        """(step, training loss, held-out loss where measured): what the plot shows."""
        self._module = processes.wrap(self.model)
        self._optimizers = build_optimizers(
            self.model,
            muon_lr=config.muon_lr,
            adam_lr=config.adam_lr,
            weight_decay=config.weight_decay,
            precision=getattr(torch, config.precision),
        )
        self._plan = self._batches()
        self._corpus_hash = hashlib.sha256(self._plan.stream.tobytes()).hexdigest()[:16]

    def _batches(self) -> BatchPlan:
        return BatchPlan(
            self.corpus.train,
            self.corpus.song,
            block_size=self.model.config.block_size,
            batch_tokens=self.config.batch_tokens,
            fragment_share=self.config.fragment_share,
            fragment_longest=self.config.fragment_longest,
            other_share=self.config.song_share,
            seed=self.config.seed,
            unk_id=self.tokenizer.unk_id,
        )

    def run(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[TrainRecord]:
        """Train from the present step to the last; one record a step.

        ``stopped`` is asked while the held-out loss is measured, which takes many times as
        long as a step: once it is true the measurement is given up, its step's record comes
        without, and the caller closes the iterator.

        The state is saved as the configuration says, after the last step, and when
        the caller closes the iterator or an exception ends it (Ctrl-C included), unless
        that fell between the updates of two weights: then the last saved state stands.
        """
        saved = self.step
        began, begun_at = time.perf_counter(), self.tokens
        try:
            while self.step < self.config.steps:
                rate = self.config.rate(self.step)
                loss = self._one_step(rate)
                held_out = None
                self.losses.append((self.step, loss, None))
                if self.step % self.config.eval_every == 0 or self.step == self.config.steps:
                    with suppress(Stopped):
                        held_out = self.held_out_loss(stopped)
                    self.losses[-1] = (self.step, loss, held_out)
                if self.step % self.config.save_every == 0:
                    self.save()
                    saved = self.step
                speed = (self.tokens - begun_at) / (time.perf_counter() - began)
                left = (self.config.steps - self.step) * self.tokens / self.step / speed
                yield TrainRecord(self.step, loss, held_out, rate, self.tokens, speed, left)
        finally:
            if saved != self.step and not self._half_updated:
                self.save()

    def _one_step(self, rate: float) -> float:
        """Read the step's batches, update the weights; the mean loss over all processes."""
        first = self.step * self.config.accumulate
        batches = [self._plan.batch(first + i) for i in range(self.config.accumulate)]
        counted = sum(batch.counted for batch in batches)
        # Dropout's randomness belongs to the step, so that a resumed run repeats it.
        torch.manual_seed(hash((self.config.seed, self.step, self.processes.rank)))
        self.model.train()
        total = torch.zeros((), device=self.processes.device)
        for i, batch in enumerate(batches):
            with self.processes.accumulating(self._module, last=i == len(batches) - 1):
                part = batch.shard(self.processes.rank, self.processes.world)
                nats = self._summed_loss(part)
                # Gradients are averaged over processes: scale so that the result is the
                # mean over every target of the step, however unequal the shards.
                torch.autograd.backward(nats * (self.processes.world / counted))
                total += nats.detach()
        clip_gradients(self.model, self.config.clip)
        scale_learning_rates(self._optimizers, rate)
        loss = float(self.processes.total(total)) / counted
        self._half_updated = True
        for optimizer in self._optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.tokens += counted
        self._half_updated = False
        return loss

    def _summed_loss(self, batch: Batch) -> Tensor:
        """The loss in the precision of the run."""
        device = self.processes.device
        low = self.config.precision == "bfloat16"
        # On a CPU the backward pass of fused attention costs a quarter of a step at a poem's
        # length; that of its single products a tenth.
        plain = sdpa_kernel(SDPBackend.MATH) if device.type == "cpu" else nullcontext()
        with plain, torch.autocast(device.type, torch.bfloat16, enabled=low):
            if self._teacher:
                return mixed_loss(self._module, self._teacher, batch, device)
            return summed_loss(self._module, batch, device)

    def held_out_loss(self, stopped: Callable[[], bool] = lambda: False) -> float:
        """Nats a character over the held-out poems; each poem read from its start, the end
        mark counted as a character, characters outside the vocabulary left out. Raises
        ``Stopped`` once ``stopped`` is true."""
        device = self.processes.device
        return held_out_loss(self.model, self.corpus.held_out, self.tokenizer, device, stopped)

    def save(self) -> None:
        """Write everything a resumed run needs, atomically; only the main process does."""
        if not self.processes.main:
            return
        tensors = {f"model.{k}": p.detach().contiguous() for k, p in self.model.named_parameters()}
        for number, optimizer in enumerate(self._optimizers):
            for key, value in optimizer_tensors(optimizer).items():
                tensors[f"optimizer.{number}.{key}"] = value
        progress = {
            "step": self.step,
            "tokens": self.tokens,
            "losses": self.losses,
            "origin": self.origin,
        }
        header = {
            "format": STATE_FORMAT,
            "version": str(STATE_VERSION),
            "progress": json.dumps(progress),
            "fixed": json.dumps(self._fixed()),
            "tokenizer": json.dumps(self.tokenizer.to_json(), ensure_ascii=False),
        }
        write_safetensors(self.state_file, tensors, header)

    def resume(self) -> bool:
        """Continue from the saved state, if there is one; whether there was.

        Refuses a state of another shape, tokenizer, corpus or schedule, naming the
        difference. More steps may be asked for while the decay has not begun.
        """
        if not self.state_file.exists():
            return False
        tensors, header = read_safetensors(self.state_file, STATE_FORMAT, STATE_VERSION)
        try:
            progress = json.loads(header["progress"])
            self._refuse_other_run(json.loads(header["fixed"]), progress["step"])
            self._take(tensors)
            self.step, self.tokens = progress["step"], progress["tokens"]
            self.losses = [tuple(row) for row in progress["losses"]]
            self.origin = progress.get("origin", self.origin)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"{self.state_file}: damaged ({error}); delete it to begin anew"
            ) from error
        return True

    def _take(self, tensors: Mapping[str, Tensor]) -> None:
        """Fill weights and optimizers from a saved state."""
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(tensors[f"model.{name}"])
        for number, optimizer in enumerate(self._optimizers):
            prefix = f"optimizer.{number}."
            part = {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
            fill_optimizer(optimizer, part)

    def _fixed(self) -> dict[str, Any]:
        """What must be equal for a saved state to be continued."""
        train = asdict(self.config)
        for free in ("eval_every", "save_every"):
            del train[free]
        return {
            "model": asdict(self.model.config),
            "tokenizer": self.tokenizer.hash,
            "poems": [len(self.corpus.train), len(self._plan.stream)],
            "corpus": self._corpus_hash,
            "train": train,
            "teacher": self._teacher.digest if self._teacher else "",
        }

    def _refuse_other_run(self, saved: Mapping[str, Any], step: int) -> None:
        own = json.loads(json.dumps(self._fixed()))
        # Early states do not say which text it was, only how long, and know no Song poems
        # and no teachers.
        theirs = {"corpus": own["corpus"], "teacher": "", **saved}
        since_added = {
            "song_share": 0.0,
            "fragment_longest": 256,
            "precision": "float32",
            "tokenizer": "char",
            "pieces": 8000,
            "teacher": "",
            "teacher_share": 0.5,
        }
        theirs["train"] = {**since_added, **saved["train"]}
        earliest_decay = min(
            run["steps"] * (1 - run["decay"]) for run in (own["train"], theirs["train"])
        )
        if step <= earliest_decay:  # both schedules are the same so far
            for name in ("steps", "decay"):
                theirs["train"][name] = own["train"][name]
        for part in ("model", "tokenizer", "poems", "corpus", "train", "teacher"):
            if theirs[part] != own[part]:
                raise CheckpointError(
                    f"{self.state_file}: saved by a run with another {part} "
                    f"({_difference(theirs[part], own[part])}); "
                    "give the same settings, or another --name for a new run"
                )


def _difference(saved: Any, asked: Any) -> str:
    if isinstance(saved, dict) and isinstance(asked, dict):
        return ", ".join(
            f"{k} {saved.get(k)} there, {asked.get(k)} here"
            for k in saved | asked
            if saved.get(k) != asked.get(k)
        )
    return f"{saved} there, {asked} here"
