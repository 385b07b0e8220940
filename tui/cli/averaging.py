"""``models average``: one checkpoint from several, measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tui.cli.output import console
from tui.files import refuse_unwritable


def average_models(files: Sequence[Path], shares: Sequence[float], out: Path) -> int:
    """Write the mean of the checkpoints to ``out``, with its held-out loss; the exit code."""
    import torch

    from corpora.poems import read_built
    from model.average import average
    from model.checkpoint import load_checkpoint, save_checkpoint
    from model.data import encode_poems
    from model.held_out import held_out_loss

    refuse_unwritable(out)
    torch.set_num_threads(1)
    held_out = [poem.text for poem in read_built("tang.heldout")]
    mean = average([load_checkpoint(file) for file in files], shares or [1.0] * len(files))
    poems = encode_poems(held_out, mean.tokenizer)
    loss = held_out_loss(mean.model, poems, mean.tokenizer, torch.device("cpu"))
    bits = loss / torch.log(torch.tensor(2.0)).item()
    name = {"name": out.stem, "held_out_loss": loss, "held_out_bits_per_character": bits}
    save_checkpoint(out, mean.model, mean.tokenizer, {**mean.training, **name})
    console().print(f"{out}: held-out loss {loss:.4f} nats a character", markup=False)
    return 0
