"""What a form costs: how much of the model's own probability it forbids, place by place.

At a step whose allowed tokens hold the mass a, sampling under the mask gives each of them
1/a of the probability that the model gave it: -log2 a bits are paid. Over a poem they add up
to how much less likely the model alone would have been to write it, and their mean power of
two is the probability that a free sample has the form: both are measured, and must agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean

from corpora.forms import FORMS, VerseForm
from model.lab.base import Check, Plot, Progress, Records, Request, Result, Series, Table, table
from model.lab.paid import Chance, Written, by_position, chance, write
from model.lab.portion import portion

POEMS, QUICK_POEMS = 64, 8
"""Written under each form."""
FREE, QUICK_FREE = 256, 16
"""Written without one."""
DEAREST = 2
"""Places of a form that its finding names, at most."""
WORTH_NAMING = 0.05
"""Bits of a place from which on it is named."""
SHOWN = "七绝"
"""The form whose places are listed one by one."""


def run(request: Request) -> Records:
    """A progress record each half second."""
    yield Progress(0, 1, "the model")
    handle = request.handle()
    poems = QUICK_POEMS if request.quick else POEMS
    free = QUICK_FREE if request.quick else FREE
    held = {}
    parts = len(FORMS) + 1
    for done, form in enumerate(FORMS.values()):
        written = write(handle, form, request.seed, poems)
        held[form.name] = yield from portion(written, done / parts, (done + 1) / parts)
    freely = write(handle, None, request.seed, free)
    samples = yield from portion(freely, len(FORMS) / parts, 1.0)
    chances = [chance(FORMS[name], poems, samples) for name, poems in held.items()]
    yield Result(
        "constraint",
        (_costs(held), _places(FORMS[SHOWN], held[SHOWN]), _chances(chances), _examples(held)),
        (_plot(held),),
        _checks(held, chances),
        tuple(_findings(held, samples)),
        {"model": handle.spec.name, "seed": request.seed, "poems": poems, "free": free},
    )


def _costs(held: dict[str, list[Written]]) -> Table:
    rows = []
    for name, poems in held.items():
        form, places = FORMS[name], [place for poem in poems for place in poem.places]
        paid = sum(place.paid for place in places)
        at_ends = sum(p.paid for p in places if _is_end(form, p.position))
        rows.append(
            (
                name,
                len(poems),
                paid / len(poems),
                paid / (len(poems) * form.length),
                at_ends / paid if paid else None,
                sum(place.own for place in places) / (len(poems) * form.length),
            )
        )
    heads = {"form": "", "poems": ",", "bits paid a poem": ".2f", "a character": ".3f"}
    heads |= {"of it at line ends": ".0%", "own bits a character": ".2f"}
    return table(
        "What a form costs",
        heads,
        rows,
        "temperature 1. own bits: -log2 of the model's own probability of what was written, "
        "which the form does not change.",
    )


def _is_end(form: VerseForm, position: int) -> bool:
    return position % (form.characters + 1) == form.characters


def _places(form: VerseForm, poems: Sequence[Written]) -> Table:
    """Every place of a line, by line."""
    width = form.characters + 1
    found = by_position(poems)
    rows = []
    for column in range(width):
        cells = [
            mean(place.paid for place in found[line * width + column])
            if line * width + column in found
            else None
            for line in range(form.lines)
        ]
        here = [p for position, ps in found.items() if position % width == column for p in ps]
        label = "，。" if column == form.characters else f"character {column + 1}"
        forbidden = mean(place.forbidden for place in here) if here else None
        rows.append((label, *cells, forbidden))
    heads = {"place": ""} | {f"line {line + 1}": ".3f" for line in range(form.lines)}
    return table(
        f"Bits paid at each place of {form.name}",
        heads | {"mean mass forbidden": ".2%"},
        rows,
        "means over the poems",
    )


def _chances(chances: Sequence[Chance]) -> Table:
    return table(
        "How likely a free sample is to have the form",
        {"form": "", "counted": ".1%", "±": ".1%", "from what is paid": ".1%", "± ": ".1%"},
        [(c.form, c.counted, c.counted_error, c.computed, c.computed_error) for c in chances],
        "counted: free samples that begin with a whole poem of the form. From what is paid: the "
        "mean of 2^-bits over poems written under it. ±: one standard error, at most.",
    )


def _examples(held: dict[str, list[Written]]) -> Table:
    """The poem of each form that paid least and the one that paid most."""
    rows = []
    for name, poems in held.items():
        ranked = sorted(poems, key=lambda poem: poem.paid)
        rows += [(name, poem.paid, poem.text) for poem in (ranked[0], ranked[-1])]
    return table(
        "Poems that paid least and most", {"form": "", "bits paid": ".2f", "text": ""}, rows
    )


def _plot(held: dict[str, list[Written]]) -> Plot:
    series = [
        Series(
            name,
            tuple(
                (float(position + 1), mean(place.paid for place in places))
                for position, places in by_position(poems).items()
            ),
        )
        for name, poems in held.items()
    ]
    note = "A spike stands where the form is chosen; everywhere else it is free."
    return Plot("Bits paid by place", "character of the poem", "bits", tuple(series), note=note)


def _checks(held: dict[str, list[Written]], chances: Sequence[Chance]) -> tuple[Check, ...]:
    places = [place for poems in held.values() for poem in poems for place in poem.places]
    off = max(abs(2.0**-place.paid - (1 - place.forbidden)) for place in places)
    free = [place for place in places if place.forbidden < 1e-6]
    broken = [p.text for name, ps in held.items() for p in ps if not FORMS[name].holds(p.text)]
    return (
        Check(
            "at every step -log2 of the allowed mass is paid",
            off < 1e-4,
            f"allowed mass and 2^-bits differ by {off:.1e} at most, in {len(places):,} steps",
        ),
        Check(
            "nothing is paid where nothing is forbidden",
            all(abs(place.paid) < 1e-4 for place in free),
            f"{len(free):,} steps with less than a millionth forbidden",
        ),
        Check(
            "every poem has its form",
            not broken,
            "; ".join(broken[:3]) or f"{sum(map(len, held.values())):,} poems",
        ),
        *(
            Check(
                f"free samples have {c.form} as often as what is paid says",
                c.agree,
                f"{c.counted:.1%} ± {c.counted_error:.1%} and "
                f"{c.computed:.1%} ± {c.computed_error:.1%}",
            )
            for c in chances
        ),
    )


def _findings(held: dict[str, list[Written]], samples: Sequence[Written]) -> Iterator[str]:
    for name, poems in held.items():
        spent = {
            position: mean(place.paid for place in places)
            for position, places in by_position(poems).items()
        }
        total = sum(spent.values())
        ranked = sorted(spent, key=lambda position: -spent[position])[:DEAREST]
        dearest = [at for at in ranked if spent[at] >= WORTH_NAMING]
        told = ", ".join(f"{spent[at]:.1f} at {_where(FORMS[name], at)}" for at in dearest)
        rest = total - sum(spent[at] for at in dearest)
        yield f"{name} costs {total:.1f} bits a poem: " + (
            f"{told}, and {rest:.1f} in all other {len(spent) - len(dearest)} places together."
            if told
            else f"nowhere as much as {WORTH_NAMING:g}."
        )
    own = sum(place.own for poem in samples for place in poem.places)
    characters = sum(len(poem.text) for poem in samples)
    begun = mean(
        any(form.holds(poem.text[: form.length]) for form in FORMS.values()) for poem in samples
    )
    yield (
        f"{begun:.0%} of the free samples begin as a whole poem of one of the forms; they cost "
        f"{own / max(1, characters):.2f} bits a character under the model."
    )


def _where(form: VerseForm, position: int) -> str:
    line, column = divmod(position, form.characters + 1)
    place = "the end" if _is_end(form, position) else f"character {column + 1}"
    return f"{place} of line {line + 1}"
