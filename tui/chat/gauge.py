"""How full the context is, in words and cells."""

from __future__ import annotations

CELLS = 8


def gauge(used: int, capacity: int) -> str:
    """``██░░░░░░ 2,000 of 8,192 tokens``; empty where the capacity is not known (0)."""
    return f"{bar(used, capacity)} {used:,} of {capacity:,} tokens" if capacity else ""


def bar(used: int, capacity: int) -> str:
    """``CELLS`` cells; something for anything above nothing, full for anything above all."""
    full = min(CELLS, -(-used * CELLS // capacity)) if capacity else 0
    return "█" * full + "░" * (CELLS - full)
