"""The same numbers in another order give another sum: a million float32 are added one after the
other, pairwise, and in 4, 8 and 16 chunks, and each sum is held against that in float64; of
twenty draws of such numbers the median error is taken, since one draw may be lucky.

Why it matters: every logit is such a sum, and how it is cut into parts is decided by who else
is being served. The error of a running sum grows with n, that of a pairwise one with log n
(Higham 1993, "The accuracy of floating point summation").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import median

import numpy as np
from numpy.typing import NDArray

from model.lab.base import (
    Cell,
    Check,
    Plot,
    Progress,
    Records,
    Request,
    Result,
    Series,
    Table,
    table,
)

COUNT = 1_000_000
DRAWS = 20
"""Times a million new numbers are added, since one draw may be lucky."""
CHUNKS = (4, 8, 16)
LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
SEQUENTIAL, PAIRWISE = "sequential", "pairwise"
LESSON = {SEQUENTIAL: 6.393e-3, PAIRWISE: 1.061e-4, "4": 1.672e-4, "8": 1.061e-4, "16": 1.594e-5}
"""Errors that the lesson reports; by number of chunks where there are chunks."""

Floats = NDArray[np.float32]


def sequential(numbers: Floats) -> np.float32:
    """The float32 sum from left to right, rounded after each addition."""
    # `add.reduce` would add pairwise; a running total has to go in order.
    running: np.float32 = np.cumsum(numbers, dtype=np.float32)[-1]
    return running


def pairwise(numbers: Floats) -> np.float32:
    """The float32 sum by halves, as ``numpy.sum`` adds contiguous numbers."""
    return np.sum(numbers, dtype=np.float32)


def chunked(numbers: Floats, chunks: int) -> np.float32:
    """The float32 sum of the sums of so many parts, each pairwise, these from left to right."""
    parts = np.array([pairwise(part) for part in np.array_split(numbers, chunks)])
    return sequential(parts)


def exact(numbers: Floats) -> float:
    """The sum rounded once: ``math.fsum`` loses nothing on the way."""
    return math.fsum(numbers.tolist())


WAYS: Mapping[str, Callable[[Floats], np.float32]] = {
    SEQUENTIAL: sequential,
    PAIRWISE: pairwise,
    **{f"{n} chunks": lambda numbers, n=n: chunked(numbers, n) for n in CHUNKS},  # type: ignore[misc]
}


def run(request: Request) -> Records:
    """One progress record a draw of a million numbers. No model is asked."""
    draws = DRAWS  # two seconds: nothing to be quicker about
    total = 1 + draws + len(LENGTHS)
    yield Progress(0, total, "one million numbers")
    first = _numbers(request.seed, 0)
    single = _single(first)
    errors: dict[str, list[float]] = {way: [] for way in WAYS}
    for draw in range(draws):
        yield Progress(1 + draw, total, f"draw {draw + 1} of {draws}")
        for way, error in _errors(_numbers(request.seed, draw)).items():
            errors[way].append(error)
    curves: list[tuple[int, dict[str, float]]] = []
    for place, length in enumerate(LENGTHS):
        yield Progress(1 + draws + place, total, f"{length:,} numbers")
        several = [_errors(_numbers(request.seed, draw)[:length]) for draw in range(min(draws, 5))]
        curves.append((length, {way: median(e[way] for e in several) for way in WAYS}))
    yield Result(
        "sums",
        (single, _spread(errors)),
        (_growth(curves),),
        _checks(first, errors),
        _findings(errors),
        {"seed": request.seed, "numbers": COUNT, "draws": draws, "distribution": "normal(0, 1)"},
    )


def _numbers(seed: int, draw: int) -> Floats:
    return np.random.default_rng((seed, draw)).standard_normal(COUNT, dtype=np.float32)


def _errors(numbers: Floats) -> dict[str, float]:
    reference = float(np.sum(numbers, dtype=np.float64))
    return {way: abs(float(add(numbers)) - reference) for way, add in WAYS.items()}


def _single(numbers: Floats) -> Table:
    reference = float(np.sum(numbers, dtype=np.float64))
    rows: list[tuple[Cell, ...]] = [
        (way, float(add(numbers)), abs(float(add(numbers)) - reference), _lesson(way))
        for way, add in WAYS.items()
    ]
    rows.append(("float64", reference, abs(reference - exact(numbers)), None))
    return table(
        f"The same {COUNT:,} float32 numbers, added in five ways",
        {"added": "", "sum": ".9f", "error": ".3e", "the lesson's": ".3e"},
        rows,
        "error: against the float64 sum; that one's against the exactly rounded sum. The numbers "
        "are normal with deviation 1, others than the lesson's. Next to this sum float32 counts in "
        f"steps of {float(np.spacing(np.float32(abs(reference)))):.1e}.",
    )


def _lesson(way: str) -> float:
    return LESSON[way.removesuffix(" chunks")]


def _spread(errors: dict[str, list[float]]) -> Table:
    draws = len(errors[SEQUENTIAL])
    return table(
        f"Errors over {draws} draws of {COUNT:,} numbers",
        {"added": "", "median error": ".3e", "largest": ".3e", "smallest": ".3e"},
        [(way, median(e), max(e), min(e)) for way, e in errors.items()],
    )


def _growth(curves: list[tuple[int, dict[str, float]]]) -> Plot:
    series = [
        # an error of exactly 0 has no place on a logarithmic axis
        Series(way, tuple((float(n), by_way[way]) for n, by_way in curves if by_way[way] > 0))
        for way in WAYS
    ]
    return Plot(
        "Error by how many numbers are added (median over draws)",
        "numbers",
        "error against float64",
        tuple(series),
        log_x=True,
        log_y=True,
        note="A straight line is a power of n: the steeper, the faster the error grows.",
    )


def _checks(first: Floats, errors: dict[str, list[float]]) -> tuple[Check, ...]:
    ratio = median(errors[SEQUENTIAL]) / max(
        median(errors[way]) for way in WAYS if way != SEQUENTIAL
    )
    rough = max(median(errors[f"{n} chunks"]) for n in CHUNKS)
    sums = {way: float(add(first)) for way, add in WAYS.items()}
    absorbed = np.array([2.0**24, *[1.0] * 1024], dtype=np.float32)
    lost = float(sequential(absorbed)), float(pairwise(absorbed[1:]) + absorbed[0])
    return (
        Check(
            "one after the other errs at least ten times as much as pairwise or in chunks",
            ratio >= 10,
            f"{ratio:.0f} times, by the medians",
        ),
        Check(
            "in chunks the error stays under 2e-4, the lesson's largest",
            rough <= 2e-4,
            f"{rough:.1e}, the largest of the medians",
        ),
        Check(
            "the order decides the sum",
            len(set(sums.values())) > 1,
            f"{len(set(sums.values()))} different sums of the same numbers",
        ),
        Check(
            "1,024 ones added one by one to 2²⁴ are lost, added together first they are not",
            lost == (2.0**24, 2.0**24 + 1024),
            f"{lost[0]:.0f} and {lost[1]:.0f}",
        ),
    )


def _findings(errors: dict[str, list[float]]) -> tuple[str, ...]:
    middle = {way: median(e) for way, e in errors.items()}
    worst = max(max(e) for way, e in errors.items() if way != SEQUENTIAL)
    return (
        f"Added one after the other a million numbers are off by {middle[SEQUENTIAL]:.1e} "
        f"(median), pairwise by {middle[PAIRWISE]:.1e}; no pairwise or chunked sum of "
        f"{len(errors[PAIRWISE])} draws was off by more than {worst:.1e}. The lesson's one draw "
        f"gave {LESSON[SEQUENTIAL]:.1e} and {LESSON[PAIRWISE]:.1e}.",
        "The number of chunks changes the answer, and it is not the caller who chooses it: a "
        "server cuts its sums by how many requests it serves.",
    )
