"""``baseline``: held-out losses beside what counting alone reaches on the same poems."""

from __future__ import annotations

import typer

GRAMS = 5


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""

    @app.command("baseline")
    def command() -> int:
        """Compare held-out losses with a Kneser-Ney 5-gram model (needs the corpus)."""
        return baseline()


def baseline() -> int:
    """Measure each shipped model and the n-gram model on the held-out poems; takes minutes."""
    from typing import cast

    import torch
    from rich.table import Table

    from corpora.poems import read_built
    from model.data import encode_poems
    from model.gpt import GPT
    from model.held_out import held_out_loss
    from model.ngram import KneserNey
    from model.recipe import MINIMUM
    from model.registry import load, specs
    from model.tokenizers import CharTokenizer
    from tui.cli.output import print_table

    texts = [poem.text for poem in read_built("tang.train")]
    held_out = [poem.text for poem in read_built("tang.heldout")]
    tokenizer = CharTokenizer.train(texts, MINIMUM)
    unread = [row.tolist() for row in encode_poems(held_out, tokenizer)]
    read = [row.tolist() for row in encode_poems(texts, tokenizer)]
    counting = KneserNey(read, tokenizer.vocab_size, GRAMS).loss(unread, tokenizer.unk_id)
    table = Table(box=None, pad_edge=False)
    table.add_column("model")
    table.add_column("held-out nats", justify="right")
    table.add_column("against counting", justify="right")
    table.add_row(f"Kneser-Ney, {GRAMS} characters", f"{counting:.3f}", "")
    for spec in (spec for spec in specs() if spec.available and spec.kind == "own"):
        handle = load(spec)
        poems = encode_poems(held_out, handle.tokenizer)
        loss = held_out_loss(cast(GPT, handle.model), poems, handle.tokenizer, torch.device("cpu"))
        table.add_row(handle.title, f"{loss:.3f}", f"{loss - counting:+.3f}")
    print(f"{len(held_out):,} held-out poems, nats a character, end marks counted")
    print_table(table)
    return 0
