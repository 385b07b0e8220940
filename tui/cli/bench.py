"""``bench``: a table of what was measured, and one JSON line that ends it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from tui.cli.guard import FAILED
from tui.cli.options import option, switch
from tui.cli.output import say

if TYPE_CHECKING:
    from model.benchmarks import CacheSize, Comparison, Result

MODEL = "tang-small"
"""Whose weights are measured: the lesson's shape."""
CHAT_MODEL = "smollm2"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""

    @app.command()
    def bench(
        peers: Annotated[
            bool, switch("--peers", "Also against transformers (pip install -e '.[peers]').")
        ] = False,
        quick: Annotated[bool, switch("--quick", "Fewer repeats: rough figures.")] = False,
        json_only: Annotated[bool, switch("--json", "Print the JSON line alone.")] = False,
        window: Annotated[bool, switch("--tui", "Only what the window costs.")] = False,
        chat: Annotated[bool, switch("--chat", "Only the chat model smollm2.")] = False,
        precision: Annotated[
            str, option("--precision", metavar="TYPE", text="With --chat: float32 or bfloat16.")
        ] = "float32",
    ) -> int:
        """Measure speed and cache on one thread; the last line is JSON with every ratio."""
        if chat:
            return run_chat(precision, quick=quick, json_only=json_only)
        if window:
            return run_window(quick=quick, json_only=json_only)
        return run(peers=peers, quick=quick, json_only=json_only)


def run(*, peers: bool, quick: bool, json_only: bool) -> int:
    """Measure and print; the exit code."""
    from model.benchmarks import BenchmarkError, as_document, benchmarks
    from model.peers import require
    from model.subjects import shipped

    if peers:
        require()
    small = shipped(MODEL)
    if not json_only:
        _print_head(small.weights)
    results: list[Result] = []
    try:
        for result in benchmarks(small, peers=peers, quick=quick):
            results.append(result)
            if not json_only:
                _print_result(result)
    except BenchmarkError as error:
        say(str(error))
        return FAILED
    print(json.dumps(as_document(results, small.weights, quick=quick), ensure_ascii=False))
    return 0


def run_chat(precision: str, *, quick: bool, json_only: bool) -> int:
    """Measure a chat model against ``transformers`` and against no cache; the exit code."""
    from model.benchmarks import BenchmarkError, as_document
    from model.config import Precision
    from model.errors import SettingError
    from model.pretrained.benchmark import chat_benchmarks
    from model.pretrained.convert import converted
    from model.pretrained.source import look_at
    from model.registry import find, load

    if precision not in get_args(Precision):
        raise SettingError("--precision", precision, " or ".join(get_args(Precision)))
    handle = load(find(CHAT_MODEL), 1, cast(Precision, precision), say)
    folder = converted(look_at(handle.spec.path))
    if not json_only:
        _print_head(handle.title)
    results = []
    try:
        for result in chat_benchmarks(handle, folder, quick=quick):
            results.append(result)
            if not json_only:
                _print_result(result)
    except BenchmarkError as error:
        say(str(error))
        return FAILED
    print(json.dumps(as_document(results, handle.title, quick=quick)))
    return 0


def run_window(*, quick: bool, json_only: bool) -> int:
    """Measure how soon the window is there, what it costs a run, and how soon it answers
    keys; the exit code."""
    from model.registry import find, load
    from tui import bench, first_frame

    start = first_frame.measure(3 if quick else 7)  # before torch takes a core here
    cost = bench.measure(
        load(find(MODEL)), tokens=1000 if quick else 4000, rounds=3 if quick else 7
    )
    if not json_only:
        print(
            f"first frame {1000 * start.first_frame_s:.0f} ms after the start, "
            f"{1000 * start.first_frame_cpu_s:.0f} ms of it computing (aim: 500)"
        )
        print(f"keys while torch loads: 95 % within {1000 * start.early_key_p95_s:.0f} ms")
        print(f"{cost.tokens:,} characters at full pace, alone {cost.alone_s:.2f} s")
        print(
            f"under the window {cost.window_s:.2f} s: {cost.overhead:+.0%}, the median of "
            f"{cost.n} pairs (aim: at most 15 %); in computing time {cost.cpu_overhead:+.0%}"
        )
        print(
            f"there {cost.frames_per_s:.0f} frames a second; "
            f"the window's thread computes {cost.thread_share:.0%} of the time"
        )
        print(f"keys while text streams: 95 % within {1000 * cost.key_p95_s:.0f} ms (aim: 100)")
        print(
            f"setting a character: {1e6 * cost.early_s:.0f} µs at the beginning, "
            f"{1e6 * cost.late_s:.0f} µs after {bench.LONG:,}"
        )
    print(json.dumps({**asdict(cost), **asdict(start)}))
    return 0


def _print_head(weights: str) -> None:
    kind = f"random, for {MODEL} is not there" if weights == "random" else weights
    print("Medians of n runs each, taken in turns, on one thread.")
    print(f"Weights: {kind}.")
    print(f"{'':32}{'ours':>9}{'other':>10}{'':15}{'ratio':>6}{'aim':>4}{'n':>3}", flush=True)


def _print_result(result: Result) -> None:
    """A line as soon as it is measured: the whole takes a minute."""
    from model.benchmarks import Comparison

    line = _comparison(result) if isinstance(result, Comparison) else _cache_size(result)
    print(line, flush=True)


def _comparison(result: Comparison) -> str:
    aim = f"{result.aim:g}×" if result.aim else "–"
    return (
        f"{result.title:<32}{_time(result.ours_s):>9}{_time(result.other_s):>10} "
        f"{result.other:<14}{result.ratio:>5.1f}×{aim:>4}{result.n:>3}"
    )


def _cache_size(result: CacheSize) -> str:
    return (
        f"cache of {result.title}: {result.bytes_per_token:,} bytes a token, "
        f"{result.allocated:,} for {result.tokens:,}"
    )


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"
