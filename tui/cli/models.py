"""``models``: what can be loaded, and everything known about one model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from corpora.errors import UserError
from model.registry import ModelSpec, find, load, specs
from tui.cli.output import console, print_json, print_table


def models(name: str | None, as_json: bool) -> int:
    """Print all models, or all about one; the exit code."""
    if name is not None:
        document = describe(find(name))
        if as_json:
            print_json(document)
        else:
            _print_details(document)
        return 0
    documents = [_described(spec) for spec in specs()]
    if as_json:
        print_json({"models": documents})
    else:
        _print_table(documents)
    return 0


def describe(spec: ModelSpec) -> dict[str, Any]:
    """Everything known about a model. Raises ``CheckpointError`` where it cannot be read."""
    handle = load(spec)
    return {
        "name": spec.name,
        "note": spec.note,
        "file": str(spec.path),
        "bytes": spec.path.stat().st_size,
        "parameters": handle.model.n_parameters,
        "shape": asdict(handle.model.config),
        "held_out_loss": handle.training.get("held_out_loss"),
        "fingerprint": handle.fingerprint,
        "training": handle.training,
    }


def _described(spec: ModelSpec) -> dict[str, Any]:
    """As ``describe``; for a list, where one model that cannot be read must not hide the rest."""
    try:
        return describe(spec)
    except UserError as error:
        return {"name": spec.name, "note": spec.note, "file": str(spec.path), "fault": str(error)}


def _print_table(documents: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("model", no_wrap=True)
    for heading in ("parameters", "shape", "vocabulary", "held-out nats", "file"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for document in documents:
        if "fault" in document:
            table.add_row(document["name"], "–", "–", "–", "–", "–", document["fault"])
            continue
        shape, loss = document["shape"], document["held_out_loss"]
        table.add_row(
            document["name"],
            f"{document['parameters'] / 1e6:.2f} M",
            f"{shape['n_layer']} × {shape['n_embd']}, {shape['n_head']} heads, "
            f"block {shape['block_size']}",
            f"{shape['vocab_size']:,}",
            f"{loss:.3f}" if isinstance(loss, int | float) else "–",
            f"{document['bytes'] / 1e6:.1f} MB",
            document["note"],
        )
    print_table(table)


def _print_details(document: dict[str, Any], indent: str = "") -> None:
    out = console()
    for key, value in document.items():
        if isinstance(value, dict):
            out.print(f"{indent}{key}", soft_wrap=True)
            _print_details(value, indent + "  ")
        else:
            out.print(f"{indent}{key}: {value}", soft_wrap=True)
