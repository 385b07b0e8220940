"""The same weights in 32 and in 16 bits: when do greedy texts part, and could one have known?
One text is written from each of 24 openings in every type; then each type reads the float32
texts, which gives its logits at the same places, and the margins between the best two.

A logit is rounded to what its type can hold. Where the best two stand nearer than that
spacing, rounding decides which is taken, and after one other token the texts have nothing
more to do with each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

import torch
from torch import Tensor

from model.config import Controls
from model.errors import InputError
from model.generate import Generator, Prompt
from model.gpt import GPT
from model.lab.base import Check, Plot, Progress, Records, Request, Result, Table, table
from model.lab.batch import top_two_margins
from model.lab.distributions import below
from model.lab.parting import first_difference
from model.lab.texts import GREEDY, OPENINGS
from model.registry import ModelHandle
from model.steps import Step

TYPES = (torch.float32, torch.bfloat16, torch.float16)
LONGEST = 120
QUICK_OPENINGS = 4
REFERENCE = 16.0
"""Where the lesson states bfloat16's spacing: 0.125."""
NARROW = 0.1
LESSON_NARROW = 0.047
"""A margin, and the lesson's share of steps with less."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Greedy texts of one type, and what its logits are along the float32 texts."""

    dtype: torch.dtype
    written: tuple[tuple[int, ...], ...]
    """Ids after each opening."""
    tops: Tensor
    """``[S]``: the best logit at each step of the float32 texts."""
    margins: Tensor
    """``[S]``: how far it is above the second."""
    largest: float
    """Largest change of any logit against float32."""


def spacing(dtype: torch.dtype, value: float) -> float:
    """From ``value`` to the next number that ``dtype`` can hold, away from zero."""
    return float(torch.finfo(dtype).eps * 2.0 ** math.floor(math.log2(abs(value))))


def cast(model: GPT, dtype: torch.dtype) -> GPT:
    """A copy of ``model`` that computes in ``dtype``."""
    copy = GPT(model.config)
    copy.load_state_dict(model.state_dict())
    return copy.to(dtype).eval().requires_grad_(False)


def run(request: Request) -> Records:
    """One progress record a text. Raises ``InputError`` for another maker's model."""
    yield Progress(0, 1, "the model")
    handle = request.handle()
    if not isinstance(handle.model, GPT):
        raise InputError(
            f"{handle.spec.name} cannot be read in other precisions here; "
            "take one of this program's own models: --model tang-small"
        )
    openings = OPENINGS[:QUICK_OPENINGS] if request.quick else OPENINGS
    total = len(openings) * len(TYPES)
    found: list[Texts] = []
    unsupported: list[torch.dtype] = []
    for dtype in TYPES:
        written: list[tuple[int, ...]] = []
        model = cast(handle.model, dtype)
        try:
            for text in _greedy(model, handle, openings):
                written.append(text)
                done = (len(found) + len(unsupported)) * len(openings) + len(written)
                yield Progress(done, total, f"{_name(dtype)}: {openings[len(written) - 1]}")
            reference = found[0].written if found else tuple(written)
            found.append(_along(model, handle, openings, dtype, tuple(written), reference))
        except RuntimeError as error:  # torch has no kernel for this type on this processor
            if "not implemented" not in str(error):
                raise
            unsupported.append(dtype)
    yield Result(
        "precision",
        (_spacings(found), _divergences(found, unsupported), *_example(handle, openings, found)),
        (_margin_plot(found[0]),),
        _checks(found),
        _findings(found),
        {"model": handle.spec.name, "openings": list(openings), "longest": LONGEST},
    )


def _greedy(model: GPT, handle: ModelHandle, openings: Sequence[str]) -> Iterator[tuple[int, ...]]:
    controls = Controls(GREEDY, cache="off", max_tokens=min(LONGEST, _room(model)))
    for opening in openings:
        generator = Generator(model, handle.tokenizer, Prompt(opening), controls, inspected=False)
        yield tuple(event.token for event in generator if isinstance(event, Step))


def _room(model: GPT) -> int:
    """Tokens after an opening that fit the block: so that no window slides."""
    return max(1, model.config.block_size - 4)


@torch.inference_mode()
def _along(
    model: GPT,
    handle: ModelHandle,
    openings: Sequence[str],
    dtype: torch.dtype,
    written: tuple[tuple[int, ...], ...],
    reference: tuple[tuple[int, ...], ...],
) -> Texts:
    """Read the float32 texts with ``model`` and with float32."""
    tops, margins, largest = [], [], 0.0
    for opening, text in zip(openings, reference, strict=True):
        ids = Prompt(opening).encode(handle.tokenizer)
        place = torch.tensor([[*ids, *text[:-1]]])
        logits = model(place)[0, len(ids) - 1 :].float()  # [steps, V]
        exact = handle.model(place)[0, len(ids) - 1 :]
        largest = max(largest, float((logits - exact).abs().max()))
        tops.append(logits.max(-1).values)
        margins.append(top_two_margins(logits))
    return Texts(dtype, written, torch.cat(tops), torch.cat(margins), largest)


def _spacings(found: list[Texts]) -> Table:
    exact = found[0]
    top = float(exact.tops.median())
    rows = []
    for texts in found:
        step = spacing(texts.dtype, top)
        rows.append(
            (
                _name(texts.dtype),
                spacing(texts.dtype, REFERENCE),
                step,
                float((exact.margins < step).float().mean()),
                float((exact.margins < NARROW).float().mean()),
            )
        )
    return table(
        f"How finely logits are held, and how near the best two come in {len(exact.margins):,} "
        "greedy steps",
        {
            "type": "",
            "spacing near 16": ".3g",
            f"near {top:.1f}": ".3g",
            "steps with a margin under that": ".1%",
            f"under {NARROW:g}": ".1%",
        },
        rows,
        f"{top:.1f} is the median of the best logit. Margins are those of float32.",
    )


def _divergences(found: list[Texts], unsupported: list[torch.dtype]) -> Table:
    exact = found[0]
    rows: list[tuple[str | int | float | None, ...]] = []
    for texts in found[1:]:
        steps = _steps(exact, texts)
        rows.append(
            (
                _name(texts.dtype),
                len(texts.written),
                len(steps),
                mean(steps) + 1 if steps else None,
                texts.largest,
                float((texts.margins == 0).float().mean()),
            )
        )
    rows += [(_name(dtype), None, None, None, None, None) for dtype in unsupported]
    note = "first at step: mean over those that diverge. tie: the best two logits are equal."
    if unsupported:
        note += f" This processor computes nothing in {', '.join(map(_name, unsupported))}."
    heads = {"against float32": "", "texts": ",", "diverge": ",", "first at step": ".1f"}
    heads |= {"largest logit change": ".2g", "steps with a tie": ".1%"}
    return table("Greedy texts, no seed involved", heads, rows, note)


def _steps(exact: Texts, texts: Texts) -> list[int]:
    pairs = zip(exact.written, texts.written, strict=True)
    return [step for one, other in pairs if (step := first_difference(one, other)) is not None]


def _example(handle: ModelHandle, openings: Sequence[str], found: list[Texts]) -> list[Table]:
    """The first opening whose texts differ, in every type."""
    exact = found[0].written
    for place, opening in enumerate(openings):
        if any(texts.written[place] != exact[place] for texts in found):
            rows = [
                (_name(t.dtype), opening + handle.tokenizer.decode(t.written[place])) for t in found
            ]
            return [table(f"What became of 「{opening}」", {"type": "", "text": ""}, rows)]
    return []


def _margin_plot(exact: Texts) -> Plot:
    return Plot(
        "How near the best two logits come under greedy",
        "margin (logits)",
        "share of steps",
        (below("steps with a smaller margin", exact.margins.tolist()),),
        log_x=True,
        note=f"What stands left of {spacing(torch.bfloat16, REFERENCE):g} rounding may decide, "
        f"where logits are near {REFERENCE:g} and held in bfloat16.",
    )


def _checks(found: list[Texts]) -> tuple[Check, ...]:
    held = spacing(torch.bfloat16, REFERENCE)
    after = torch.tensor([REFERENCE], dtype=torch.bfloat16).view(torch.int16) + 1
    counted = (
        float(after.view(torch.bfloat16)) - REFERENCE
    )  # the next bit pattern is the next number
    changes = {texts.dtype: texts.largest for texts in found}
    checks = [
        Check(
            "bfloat16 is spaced by 0.125 near 16",
            held == counted == 0.125,
            f"{held:g} by the formula, {counted:g} to the next bit pattern",
        ),
    ]
    if torch.bfloat16 in changes and torch.float16 in changes:
        fine, coarse = changes[torch.float16], changes[torch.bfloat16]
        checks.append(
            Check(
                "float16, with three bits more, changes logits less than bfloat16",
                fine < coarse,
                f"{fine:.2g} against {coarse:.2g}",
            )
        )
    return tuple(checks)


def _findings(found: list[Texts]) -> tuple[str, ...]:
    exact = found[0]
    narrow = float((exact.margins < NARROW).float().mean())
    sentences = []
    for texts in found[1:]:
        steps = _steps(exact, texts)
        first = f", first at step {mean(steps) + 1:.0f} on average" if steps else ""
        sentences.append(
            f"In {_name(texts.dtype)} {len(steps)} of {len(texts.written)} greedy texts "
            f"diverge{first}; its logits differ from float32's by up to {texts.largest:.2g}."
        )
    top = float(exact.tops.median())
    length = mean(map(len, exact.written))
    wide = "wider" if narrow < LESSON_NARROW else "narrower"
    sentences.append(
        f"{narrow:.1%} of the steps have a margin under {NARROW:g}, in the lesson "
        f"{LESSON_NARROW:.1%}: margins are {wide} here. The best logit is about {top:.0f}, where "
        f"bfloat16 counts in steps of {spacing(torch.bfloat16, top):.2g}, not {REFERENCE:g} as in "
        f"the lesson's example. A greedy poem has {length:.0f} tokens to part in; of the lesson's "
        "answers 6 of 8 parted, at step 23 on average."
    )
    return tuple(sentences)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
