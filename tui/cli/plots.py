"""The loss of a training run as a picture and in the terminal.

Both libraries are optional: without them the run is as good, and a line says what to install.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Losses = Sequence[tuple[int, float, float | None]]
"""(step, training loss, held-out loss where measured)."""

MISSING = "needs {}: pip install 'yinchuang[train]'"
WIDTH, HEIGHT = 80, 20
"""Cells of the plot in the terminal."""


def save_loss(losses: Losses, path: Path, name: str, out: Console) -> None:
    """Draw the losses to ``path`` (PNG), and say so."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        out.print(f"The plot {MISSING.format('matplotlib')}")
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
    """Draw the losses with characters."""
    try:
        import plotext
    except ImportError:
        out.print(f"The plot in the terminal {MISSING.format('plotext')}")
        return
    low, high = _limits(losses)
    steps, smoothed = _training(losses)
    figure = plotext.figure.clear()
    figure.theme("colorless")
    figure.plot_size(WIDTH, HEIGHT)
    figure.draw(figure.signal(steps, smoothed, marker="braille").label("training, smoothed"))
    figure.draw(figure.signal(*_held_out(losses), marker="x").label("held out"))
    figure.ruler("x").lim(0, steps[-1])
    figure.ruler("y").lim(low, high)
    figure.legend(x=steps[-1], y=high, ha="right", relative=True)
    print("nats a character, by step")
    print(figure.build().string(colorless=True))


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
