"""What can be loaded, as a table, and everything known about one model."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any, get_args

from corpora.errors import UserError
from model.config import Precision
from model.pretrained.source import look_at
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
        "shape": _fields(handle.model.config),
        "held_out_loss": handle.training.get("held_out_loss"),
        "licence": spec.licence or handle.training.get("licence", ""),
        "precision": handle.precision,
        "chat": handle.chat is not None,
        "fingerprint": handle.fingerprint,
        "training": handle.training,
    }


def _fields(shape: object) -> dict[str, Any]:
    return asdict(shape) if is_dataclass(shape) and not isinstance(shape, type) else {}


def _described(spec: ModelSpec) -> dict[str, Any]:
    """As ``describe``; for a list, where one model that cannot be read must not hide the rest,
    and none of gigabytes is loaded."""
    try:
        return _outlined(spec) if spec.kind == "pretrained" else describe(spec)
    except UserError as error:
        return {"name": spec.name, "note": spec.note, "file": str(spec.path), "fault": str(error)}


def _outlined(spec: ModelSpec) -> dict[str, Any]:
    """What the head of a pretrained model's file says."""
    if not spec.available:
        raise UserError(f"not here yet: run.py models fetch {spec.name}")
    source = look_at(spec.path)
    return {
        "name": spec.name,
        "note": spec.note,
        "file": str(spec.path),
        "bytes": source.bytes,
        "parameters": source.parameters,
        "shape": source.shape,
        "held_out_loss": None,
        "licence": source.licence or spec.licence,
        "precision": " or ".join(get_args(Precision)),
    }


def _print_table(documents: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("model", no_wrap=True)
    for heading in ("parameters", "shape", "vocabulary", "held-out nats", "file"):
        table.add_column(heading, justify="right")
    for heading in ("precision", "licence", ""):
        table.add_column(heading)
    for document in documents:
        if "fault" in document:
            table.add_row(document["name"], *"–" * 7, document["fault"])
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
            document["precision"],
            document["licence"] or "–",
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
