"""What the cache saves a chat model, and how its pass stands beside the library's own.

The same weights, one thread, in turns. A token's time at a length of context: the text
before it is in the cache already, or all of it is computed anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.benchmarks import CLOSE, BenchmarkError, Comparison, in_turns
from model.config import Controls, Precision, SamplerConfig
from model.generate import Generator, Prompt
from model.registry import ModelHandle
from model.steps import Step
from model.subjects import TEMPERATURE, Endless

AIM = 1.5
"""Times the speed of ``transformers`` to reach."""
CLOSE_HALF = 0.1
"""The most by which bfloat16 logits may differ, as a share of the largest."""


@dataclass(frozen=True, slots=True)
class ChatWorkload:
    """What is measured: lengths of context in tokens, and how often."""

    lengths: tuple[int, ...] = (64, 256, 512)
    """Cached against uncached."""
    context: int = 256
    """Where decoding is compared with ``transformers``."""
    tokens: int = 24
    """Decoded there in each run."""
    repeats: int = 5
    quick_repeats: int = 2


def chat_benchmarks(
    handle: ModelHandle, folder: Path, *, quick: bool, work: ChatWorkload = ChatWorkload()
) -> Iterator[Comparison]:
    """Every comparison in turn. ``folder``: where ``transformers`` finds the same weights.

    Raises ``BenchmarkError`` where two ways that must agree do not.
    """
    torch.set_num_threads(1)
    repeats = work.quick_repeats if quick else work.repeats
    yield against_library(handle, folder, work.context, work.tokens, repeats)
    for length in work.lengths:
        yield cached_against_uncached(handle, length, repeats)


@torch.inference_mode()
def cached_against_uncached(handle: ModelHandle, length: int, repeats: int) -> Comparison:
    """One token behind ``length - 1`` others."""
    model = handle.model
    ids = _some_ids(handle, length)
    cache = model.new_cache()
    model(ids, cache, last=True)
    logits: dict[str, Tensor] = {}

    def cached() -> None:
        cache.truncate(length - 1)
        logits["cached"] = model(ids[:, -1:], cache, last=True)

    def uncached() -> None:
        logits["uncached"] = model(ids, last=True)

    cached_s, uncached_s = in_turns(cached, uncached, repeats)
    _refuse_other(logits["cached"], logits["uncached"], handle.precision)
    title = f"a token at context {length}"
    return Comparison(
        f"cached_{length}", title, "without cache", 1, cached_s, uncached_s, repeats, None
    )


def against_library(
    handle: ModelHandle, folder: Path, context: int, tokens: int, repeats: int
) -> Comparison:
    """Decoding and sampling ``tokens`` up to ``context``, against ``generate``."""
    ids = _some_ids(handle, context - tokens)
    theirs = _library(folder, handle.precision)
    with torch.inference_mode():
        _refuse_other(handle.model(ids), theirs(ids).logits.float(), handle.precision)
    ours_s, theirs_s = [], []
    for _ in range(repeats + 1):  # the first warms up
        ours_s.append(_ours(handle, ids, tokens))
        theirs_s.append(_theirs(theirs, ids, tokens))
    middle = repeats // 2
    return Comparison(
        "vs_hf_chat",
        f"{tokens} tokens to context {context}",
        "transformers",
        tokens,
        sorted(ours_s[1:])[middle],
        sorted(theirs_s[1:])[middle],
        repeats,
        AIM,
    )


def _ours(handle: ModelHandle, ids: Tensor, tokens: int) -> float:
    """Seconds for ``tokens`` after the prefill, sampling included."""
    run = Generator(
        handle.model,
        handle.tokenizer,
        Prompt(ids=tuple(ids[0].tolist())),
        Controls(SamplerConfig(temperature=TEMPERATURE), max_tokens=tokens + 1),
        constraint=Endless(),
        inspected=False,
    )
    steps = [event for event in run if isinstance(event, Step)]
    return sum(step.forward_s + step.sampling_s for step in steps[1:])


def _theirs(model: Any, ids: Tensor, tokens: int) -> float:
    """The same for ``generate``: from its first token to its last."""
    at: list[float] = []

    def note(generated: Tensor, scores: Tensor, **extra: object) -> Tensor:
        at.append(time.perf_counter())
        return torch.zeros(len(generated), dtype=torch.bool)

    model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=True,
        temperature=TEMPERATURE,
        top_k=0,
        top_p=1.0,
        min_new_tokens=tokens + 1,
        max_new_tokens=tokens + 1,
        eos_token_id=None,
        pad_token_id=0,
        stopping_criteria=[note],
    )
    return at[-1] - at[0]


def _library(folder: Path, precision: Precision) -> Any:
    from model.pretrained.load import quieten_library

    quieten_library()
    import transformers

    auto: Any = transformers.AutoModelForCausalLM
    return auto.from_pretrained(
        folder, dtype=getattr(torch, precision), local_files_only=True, trust_remote_code=False
    ).eval()


def _refuse_other(ours: Tensor, theirs: Tensor, precision: Precision) -> None:
    largest = float((ours - theirs).abs().max())
    allowed = CLOSE if precision == "float32" else CLOSE_HALF * float(theirs.abs().max())
    if not largest <= allowed:
        raise BenchmarkError(f"logits of both ways differ by up to {largest:.1e}")


def _some_ids(handle: ModelHandle, tokens: int) -> Tensor:
    """The same text's worth of ids at every call: ``[1, tokens]``."""
    random = torch.Generator().manual_seed(0)
    return torch.randint(handle.model.config.vocab_size, (1, tokens), generator=random)
