"""The loss of a training run as a picture and in the terminal.

Matplotlib is optional: without it the run is as good, and a line says what to install.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.plot import Axes, Series, plot

if TYPE_CHECKING:
    from rich.console import Console

Losses = Sequence[tuple[int, float, float | None]]
"""(step, training loss, held-out loss where measured)."""

WIDTH, HEIGHT = 80, 20
"""Cells of the plot in the terminal."""


def save_loss(losses: Losses, path: Path, name: str, out: Console) -> None:
    """Draw the losses to ``path`` (PNG), and say so."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        out.print("The plot needs matplotlib: pip install 'yinchuang[train]'")
        return
    figure = Figure(figsize=(8, 4.5), layout="constrained")  # no window, no global state
    axes = figure.add_subplot()
    axes.plot(*_training(losses), label="training, smoothed", linewidth=1)
    axes.plot(*_held_out(losses), "o-", label="held out", markersize=3)
    axes.set(title=name, xlabel="step", ylabel="nats a character")
    axes.set_ylim(*_limits(losses))
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    out.print(f"{path}: the loss", soft_wrap=True)


def draw_loss(losses: Losses, out: Console) -> None:
    """Draw the losses with characters: what comes after the first steep fall."""
    _, high = _limits(losses)
    series = [
        Series(
            name, tuple((step, loss) for step, loss in zip(*columns, strict=True) if loss <= high)
        )
        for name, columns in (
            ("training, smoothed", _training(losses)),
            ("held out", _held_out(losses)),
        )
    ]
    out.print("nats a character, by step")
    for line in plot(series, min(out.width, WIDTH), HEIGHT, Axes("steps")):
        out.print("".join(text for text, _ in line).rstrip(), soft_wrap=True)


def _training(losses: Losses) -> tuple[list[int], list[float]]:
    """Steps and the running mean of their losses: single steps are noise."""
    smoothed: list[float] = []
    for number, (_, loss, _) in enumerate(losses):
        weight = max(0.02, 1 / (number + 1))
        last = smoothed[-1] if smoothed else loss
        smoothed.append(last + weight * (loss - last))
    return [step for step, _, _ in losses], smoothed


def _held_out(losses: Losses) -> tuple[list[int], list[float]]:
    measured = [(step, loss) for step, _, loss in losses if loss is not None]
    return [step for step, _ in measured], [loss for _, loss in measured]


def _limits(losses: Losses) -> tuple[float, float]:
    """The part of the scale where the curves are after the first steep fall."""
    _, smoothed = _training(losses)
    later = smoothed[len(smoothed) // 10 :] + _held_out(losses)[1]
    low, high = min(later), max(later)
    margin = 0.05 * (high - low) or 0.1
    return low - margin, high + margin
