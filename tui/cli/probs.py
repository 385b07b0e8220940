"""``probs``: the lesson's table of what a model expects next."""

from __future__ import annotations

from dataclasses import dataclass

from model.config import Controls
from model.generate import Prompt
from model.reader import Reader
from model.registry import ModelHandle
from tui.cli.inputs import Reader as InputReader
from tui.cli.loading import load_model
from tui.cli.options import flags_named, read_precision, read_unknown, whole
from tui.cli.output import print_json, print_table, say

BAR = 32
"""Cells of a bar that stands for probability 1."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    token: str
    probability: float


def probs(
    text: str,
    model: str | None,
    fragment: bool,
    top: str,
    unknown: str,
    precision: str | None,
    threads: str,
    as_json: bool,
) -> int:
    """Print the likeliest next tokens after ``text``; the exit code."""
    with flags_named():
        rows_wanted = whole("top", top, 1, 10**6)
        choice = read_unknown(unknown)
        kept_in = read_precision(precision)
        thread_count = whole("threads", threads, 1, 1024)
    reader = InputReader()
    prompt = Prompt(reader.verse(text, "text"), fragment, choice)
    handle = load_model(model, thread_count, kept_in)
    rows = expected(handle, prompt, rows_wanted)
    for note in reader.notes:
        say(note)
    if as_json:
        top_rows = [{"token": row.token, "probability": row.probability} for row in rows]
        print_json({"text": prompt.text, "model": handle.spec.name, "top": top_rows})
    else:
        _print_table(rows)
    return 0


def expected(handle: ModelHandle, prompt: Prompt, rows: int) -> list[Row]:
    """The ``rows`` likeliest tokens that may follow ``prompt``, raw probabilities, ties to the
    lowest id."""
    import torch

    with torch.inference_mode():
        ids = prompt.encode(handle.tokenizer)
        reader = Reader(handle.model, handle.tokenizer)
        logits = reader.read(ids, Controls(), lambda: False).logits
        ranked = torch.softmax(logits, -1).sort(descending=True, stable=True)
    pairs = zip(ranked.indices[:rows].tolist(), ranked.values[:rows].tolist(), strict=True)
    return [Row(handle.tokenizer.name(token), probability) for token, probability in pairs]


def _print_table(rows: list[Row]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for row in rows:
        table.add_row(row.token, f"{row.probability:.2%}", "█" * round(row.probability * BAR))
    print_table(table)
