"""A finished poem, token by token: which smallest change of temperature, k or p would have
drawn another token with the same u.

The poem is written from the prompt and seed asked for, or read from a trace. What is asked
of each step is ``model.whatif``; here it is asked of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import torch

from model.config import Controls
from model.inspect_at import Kept, keep_step
from model.lab.base import Cell, Check, Plot, Progress, Records, Request, Result, Series, Table
from model.lab.base import table as make_table
from model.lab.finished import Poem, read_poem, write_poem
from model.run import Run
from model.steps import Step
from model.tokenizers import CharTokenizer
from model.whatif import FINENESS, Flip, Knob, Leeway, smallest_flips

ASKED: tuple[Knob, ...] = ("temperature", "top_k", "top_p")
SIGNS = {"temperature": "T", "top_k": "k", "top_p": "p"}
NUDGE = 0.1
"""A turn of a knob that one would make without much thought."""

Named = Callable[[int], str]
"""The visible name of a token."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One step, drawn again."""

    step: Step
    kept: Kept
    drawn: int
    """What seed and position draw from it under the controls that it had."""
    leeways: tuple[Leeway, ...]
    """Of ``ASKED``, in order."""

    @property
    def reproduced(self) -> bool:
        """The step's token is the one that is drawn: nobody chose it by hand."""
        return self.drawn == self.step.token


def run(request: Request) -> Records:
    """One progress record a token."""
    yield Progress(0, 1, "the poem")
    poem = read_poem(request.trace, request) if request.trace else (yield from write_poem(request))
    seen: list[Seen] = []
    for index, step in enumerate(poem.steps):
        yield Progress(index, len(poem.steps), f"token {index + 1}")
        seen.append(_look(poem, index, step))
    name = poem.handle.tokenizer.name
    yield Result(
        "whatif",
        (_by_token(seen, name), _by_knob(seen, name)),
        (_plot(seen),),
        (_drawn_again(seen), _neighbours(seen), _two_tokens()),
        _findings(seen, name),
        _settings(poem, request),
    )


def _settings(poem: Poem, request: Request) -> dict[str, str | int]:
    said: dict[str, str | int] = {
        "model": poem.handle.spec.name,
        "prompt": poem.prompt.text,
        "seed": poem.steps[0].controls.seed if poem.steps else request.seed,
    }
    return said | ({"trace": str(request.trace)} if request.trace else {})


def _look(poem: Poem, index: int, step: Step) -> Seen:
    kept = keep_step(
        poem.handle.model,
        poem.handle.tokenizer,
        poem.prompt,
        poem.tokens,
        index,
        constraint=poem.constraint,
        stops=step.controls.stop,
    )
    leeways = smallest_flips(kept, step.controls, ASKED)
    return Seen(step, kept, kept.would_choose(step.controls), leeways)


def _by_token(seen: list[Seen], name: Named) -> Table:
    rows = [
        (
            place,
            name(one.step.token),
            one.step.probability,
            one.step.u,
            *(cell for leeway in one.leeways for cell in _flip_cells(leeway, name)),
        )
        for place, one in enumerate(seen, 1)
    ]
    heads = {"#": "", "token": "", "probability": ".1%", "u": ".3f"}
    for knob, form in zip(ASKED, (".3f", ",.0f", ".3f"), strict=True):
        heads |= {SIGNS[knob]: form, f"{SIGNS[knob]} gives": ""}
    return make_table(
        "The nearest setting of each knob that flips the token under the same u",
        heads,
        rows,
        f"{_now(seen)}. Each knob by itself, the text before left as it is; a dash: no setting "
        "flips it.",
    )


def _flip_cells(leeway: Leeway, name: Named) -> tuple[Cell, Cell]:
    flip = leeway.nearest
    return (None, None) if flip is None else (flip.value, _said(flip, name))


def _said(flip: Flip, name: Named) -> str:
    return "nothing" if flip.token is None else name(flip.token)


def _now(seen: list[Seen]) -> str:
    """What the knobs stood at."""
    if not seen:
        return "nothing was written"
    off = seen[0].step.controls.sampler.top_k == 0
    said = [
        f"{SIGNS[leeway.knob]} {'off' if leeway.knob == 'top_k' and off else f'{leeway.now:g}'}"
        for leeway in seen[0].leeways
    ]
    return f"Written at {', '.join(said)}"


def _by_knob(seen: list[Seen], name: Named) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for place, knob in enumerate(ASKED):
        changes = _changes(seen, place)
        off = knob == "top_k" and any(one.step.controls.sampler.top_k == 0 for one in seen)
        settings = [flip.value for one in seen if (flip := one.leeways[place].nearest) is not None]
        rows.append(
            (
                SIGNS[knob],
                len(changes),
                median(settings) if settings else None,
                median(changes) if changes and not off else None,
                min(changes) if changes and not off else None,
                _most_fragile(seen, place, name),
            )
        )
    heads = {"knob": "", "tokens that flip": ",", "median setting": ",.4g"}
    heads |= {"median change": ",.3g", "smallest": ",.3g", "where": ""}
    note = "A k that is off is the whole vocabulary: a change from there says little."
    return make_table(f"How much it takes, over {len(seen)} tokens", heads, rows, note)


def _changes(seen: list[Seen], place: int) -> list[float]:
    """The smallest change that flips, of each token that can be flipped."""
    leeways = [one.leeways[place] for one in seen]
    return [abs(flip.value - one.now) for one in leeways if (flip := one.nearest) is not None]


def _most_fragile(seen: list[Seen], place: int, name: Named) -> str | None:
    found = [
        (abs(flip.value - one.leeways[place].now), number, flip)
        for number, one in enumerate(seen)
        if (flip := one.leeways[place].nearest) is not None
    ]
    if not found:
        return None
    _, number, flip = min(found, key=lambda item: item[:2])
    return f"token {number + 1}: {name(seen[number].step.token)} → {_said(flip, name)}"


def _plot(seen: list[Seen]) -> Plot:
    """Temperature and p live on one scale; k does not."""
    series = []
    for place, knob in enumerate(ASKED):
        if knob != "top_k":
            ranked = sorted(_changes(seen, place))
            points = [(change, (n + 1) / len(seen)) for n, change in enumerate(ranked)]
            series.append(Series(SIGNS[knob], tuple(points)))
    return Plot(
        "Tokens that a change of the knob would have flipped",
        "change of T or p",
        "share of tokens",
        tuple(series),
        log_x=True,
        note="The further to the left a line climbs, the less it takes to get another poem.",
    )


def _drawn_again(seen: list[Seen]) -> Check:
    same = sum(one.reproduced for one in seen)
    return Check(
        "each token is drawn again from seed, position and settings",
        same == len(seen),
        f"{same} of {len(seen)}",
    )


def _neighbours(seen: list[Seen]) -> Check:
    """Every flip found, tried once more beside the value one step nearer."""
    tried = right = 0
    for one in seen:
        for leeway in one.leeways:
            for flip in (leeway.lower, leeway.upper):
                if flip is not None:
                    tried += 1
                    right += _is_the_edge(one, leeway, flip)
    return Check(
        "the setting found flips the token and the one a step nearer does not",
        right == tried,
        f"{right} of {tried}",
    )


def _is_the_edge(one: Seen, leeway: Leeway, flip: Flip) -> bool:
    step = 1 if leeway.knob == "top_k" else 1 / FINENESS
    nearer = flip.value + math.copysign(step, leeway.now - flip.value)
    if (nearer - leeway.now) * (flip.value - leeway.now) < 0:  # there is none between
        nearer = leeway.now

    def drawn(value: float) -> int:
        set_to = round(value) if leeway.knob == "top_k" else round(value, 6)
        changed = one.step.controls.with_sampler(**{leeway.knob: set_to})
        return one.kept.would_choose(changed)

    return drawn(flip.value) == flip.token != one.drawn == drawn(nearer)


def _two_tokens() -> Check:
    """Of two tokens at 3 to 1 the likelier has 1 / (1 + 3^(-1/T)), which is u at one T."""
    tokenizer = CharTokenizer("甲乙")
    likelier, other = tokenizer.encode("甲乙")
    logits = torch.full((tokenizer.vocab_size,), -math.inf)
    logits[likelier], logits[other] = math.log(3), 0.0
    kept = Kept(logits, Run(tokenizer, [tokenizer.start_id]))
    seed = next(seed for seed in range(1000) if 0.6 < kept.run.uniform(seed) < 0.7)
    u = kept.run.uniform(seed)
    expected = math.log(3) / math.log(u / (1 - u))
    (leeway,) = smallest_flips(kept, Controls(seed=seed), ("temperature",))
    found = leeway.upper.value if leeway.upper else math.nan
    return Check(
        "of two tokens at 3 : 1 the likelier falls at T = ln 3 / ln(u / (1 − u))",
        0 <= found - expected <= 1 / FINENESS,
        f"u = {u:.4f}: {found:.3f}, by the formula {expected:.4f}",
    )


def _findings(seen: list[Seen], name: Named) -> tuple[str, ...]:
    if not seen:
        return ("Nothing was written, so nothing could have been otherwise.",)
    changes = _changes(seen, ASKED.index("temperature"))
    close = sum(change <= NUDGE for change in changes)
    firm = [one for one in seen if all(leeway.nearest is None for leeway in one.leeways)]
    found = [
        f"Turning the temperature by {NUDGE:g} or less would have flipped {close} of {len(seen)} "
        f"tokens; each of them makes another poem from there on, so the seed alone does not "
        f"name a poem."
    ]
    narrow = sum(one.leeways[1].nearest is None for one in seen)
    found.append(
        f"{narrow} of {len(seen)} tokens stand at every k: they are the likeliest of their step, "
        f"and k = 1 would have drawn them too."
    )
    if firm:
        found.append(f"{len(firm)} no setting of any of the three knobs would have changed.")
    chosen = [one for one in seen if not one.reproduced]
    if chosen:
        found.append(
            f"{len(chosen)} tokens are not what their seed draws here (the first: "
            f"{name(chosen[0].step.token)}): chosen by hand, or written with other logits."
        )
    return tuple(found)
