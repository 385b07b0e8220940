"""What is told of finished runs: the JSON record of a poem and the line of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from model.trace import Trace


def poem_document(trace: Trace) -> dict[str, Any]:
    """One poem of ``--json``. ``tokens_per_s`` counts the prefill too; with a race it says how
    far the two cache modes were apart."""
    header, finished = trace.header, trace.finished
    document: dict[str, Any] = {
        "text": trace.text,
        "prompt": header.prompt,
        "tokens": len(trace.steps),
        "token_ids": list(trace.token_ids),
        "finish_reason": finished.reason if finished else None,
        "seed": header.seed,
        "model": header.model,
        "constraint": header.constraint,
        "cache": header.cache,
        "cache_bytes": trace.steps[-1].cache_bytes if trace.steps else 0,
        "prefill_s": finished.prefill_s if finished else None,
        "decode_s": finished.decode_s if finished else None,
        "tokens_per_s": trace.tokens_per_s,
        "fingerprint": header.fingerprint,
    }
    if finished and finished.detail:
        document["detail"] = finished.detail
    if race := race_of(trace):
        document["race"] = race
    return document


def race_of(trace: Trace) -> dict[str, Any] | None:
    """Medians of both cache modes a step, their largest logit difference, and whether their
    best tokens always agreed; None without a race."""
    races = [step.race for step in trace.steps if step.race]
    if not races:
        return None
    return {
        "cached_s": median(race.cached_s for race in races),
        "uncached_s": median(race.uncached_s for race in races),
        "max_logit_difference": max(race.max_logit_difference for race in races),
        "argmax_agrees": all(race.argmax_agrees for race in races),
    }


def summary(traces: Sequence[Trace]) -> str:
    """All runs of a command on one line."""
    ends = [trace.finished for trace in traces if trace.finished]
    tokens = sum(len(trace.steps) for trace in traces)
    seconds = sum(end.prefill_s + end.decode_s for end in ends)
    cache = sum(trace.steps[-1].cache_bytes for trace in traces if trace.steps)
    reasons = dict.fromkeys(end.reason for end in ends)
    parts = [f"{tokens:,} tokens"]
    if seconds > 0:
        parts.append(f"{tokens / seconds:,.0f} tokens/s")
    parts += [f"cache {cache:,} bytes", ", ".join(reasons)]
    seeds = [trace.header.seed for trace in traces]
    if len(seeds) > 1:
        parts = [f"{len(seeds)} poems", *parts, f"seeds {seeds[0]} to {seeds[-1]}"]
    elif seeds:
        parts.append(f"seed {seeds[0]}")
    if len(traces) == 1 and (race := race_of(traces[0])):
        parts.append(
            f"a step {race['cached_s'] * 1e3:.2f} ms cached, {race['uncached_s'] * 1e3:.2f} ms "
            f"not, logits at most {race['max_logit_difference']:.1e} apart"
        )
    return " · ".join(parts)
