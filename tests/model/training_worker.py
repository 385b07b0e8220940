"""A short training run, for one process of several: the losses it reports.

Started as a module by ``test_distributed``, with the environment of ``torchrun``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from model.config import GPTConfig, TrainConfig
from model.data import encode_corpus
from model.distributed import Processes, processes
from model.gpt import GPT
from model.train import Trainer
from tests.helpers import CHARACTERS, HAN

POEMS = [HAN[i : i + 3 + i % 7] for i in range(20)]
BATCH_TOKENS = {"large": 60, "small": 8}
"""With so few targets a batch holds a poem or two, and a process may get no row at all."""

Curve = list[tuple[float, float | None]]


def curves(group: Processes, folder: Path) -> dict[str, Curve]:
    """(training, held-out) losses of each step, for each size of the batches."""
    data = encode_corpus(POEMS, POEMS[:3], [], CHARACTERS)
    found = {}
    for name, tokens in BATCH_TOKENS.items():
        config = TrainConfig(steps=8, batch_tokens=tokens, warmup=2, eval_every=4, save_every=4)
        torch.manual_seed(1 + group.rank)  # the first process's weights must reach the others
        gpt = GPT(GPTConfig(CHARACTERS.vocab_size, 16, 1, 2, 16))
        trainer = Trainer(gpt, CHARACTERS, data, config, group, folder / name)
        found[name] = [(record.loss, record.held_out) for record in trainer.run()]
    return found


def threads() -> list[str]:
    """Names of this process's threads, where the system tells them."""
    return [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]


if __name__ == "__main__":
    torch.set_num_threads(1)
    target = Path(sys.argv[1])
    with processes() as own:
        document = json.dumps(curves(own, target))
    (target / f"curves.{own.rank}.json").write_text(document)
    (target / f"threads.{own.rank}").write_text(" ".join(threads()))
