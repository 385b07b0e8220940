"""Which sampling parameters inference APIs accept, what they ignore without a word, and what
would be lost of this program's settings in each: read from their documentation, not measured.

The lesson's warning: a file that says so is a claim about somebody else's API, made on one
day, which nothing checks afterwards. Hence the page and the date beside each row. No model is
asked, and no network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from model.config import Controls, SamplerConfig
from model.lab.apis import NEUTRAL, SETTINGS, Provider, Translation, looked_up, providers, translate
from model.lab.base import Check, Progress, Records, Request, Result, Table, table

EXAMPLES: dict[str, tuple[Controls, str]] = {
    "the default": (Controls(), ""),
    "greedy": (Controls(SamplerConfig(temperature=0.0), max_tokens=120), ""),
    "everything on": (
        Controls(
            SamplerConfig(
                temperature=1.5,
                top_k=20,
                top_p=0.9,
                min_p=0.05,
                presence=0.5,
                frequency=0.5,
                repetition=1.2,
                window=64,
            ),
            seed=7,
            max_tokens=120,
            stop=("。\n",),
        ),
        "七绝",
    ),
}
LESSON_SEEDS, LESSON_OF = 1, 9
"""In the lesson's catalogue exactly one of nine accepted a seed."""


def run(request: Request) -> Records:
    """One progress record a set of settings."""
    known = providers()
    tables: list[Table] = [_accepted(known), _caveats(known)]
    said: dict[str, list[Translation]] = {}
    for done, (name, (controls, form)) in enumerate(EXAMPLES.items()):
        yield Progress(done, len(EXAMPLES), name)
        said[name] = [translate(provider, controls, form) for provider in known]
        tables.append(_translated(name, known, said[name]))
    tables.append(_sources(known))
    yield Result(
        "providers",
        tuple(tables),
        checks=_checks(known, said),
        findings=tuple(_findings(known, said)),
        settings={"looked up": looked_up(), "examples": list(EXAMPLES)},
    )


def _accepted(known: Sequence[Provider]) -> Table:
    rows = []
    for provider in known:
        cells = [_cell(provider, name) for name in SETTINGS]
        rows.append((provider.name, *cells))
    return table(
        f"What each accepts, looked up on {looked_up()}",
        {"API": ""} | dict.fromkeys(SETTINGS, ""),
        rows,
        "–: its pages list no such field. accepted: no range is stated. order: whether the order "
        "of the stages is documented, or can be chosen. form: whether a verse form can be "
        "demanded, as a grammar or a regular expression.",
    )


def _cell(provider: Provider, name: str) -> str | None:
    taken = provider.settings[name]
    if taken is None:
        return None
    if name == "order":
        return "chosen" if taken.key else ", ".join(taken.documented)
    if name == "stop" and taken.most is not None:
        return f"up to {taken.most}"
    return taken.span() if name in NEUTRAL else taken.key


def _caveats(known: Sequence[Provider]) -> Table:
    return table(
        "What a request does not tell",
        {"API": "", "": "", "what": "", "page": "", "as of": "", "official": ""},
        [
            (p.name, caveat.kind, caveat.text, source.title, source.as_of, source.official)
            for p in known
            for caveat in p.caveats
            for source in [p.source(caveat)]
        ],
        "ignored: accepted without effect. changed: has another effect than it says. refused: an "
        "error, which at least is noticed.",
    )


def _translated(name: str, known: Sequence[Provider], said: Sequence[Translation]) -> Table:
    return table(
        f"Settings translated: {name}",
        {"API": "", "request": "", "lost": ""},
        [
            (
                provider.name,
                json.dumps(translation.request, ensure_ascii=False),
                "; ".join(translation.lost) or None,
            )
            for provider, translation in zip(known, said, strict=True)
        ],
        "A field is left out where its default does what is asked for.",
    )


def _sources(known: Sequence[Provider]) -> Table:
    return table(
        "The pages",
        {"API": "", "interface": "", "page": "", "as of": "", "official": "", "address": ""},
        [
            (p.name, p.api, source.title, source.as_of, source.official, source.address)
            for p in known
            for source in p.sources
        ],
        f"All looked up on {looked_up()}. As of: date, version or commit of what was read. Not "
        "official: by someone who restates what the API's maker says.",
    )


def _checks(known: Sequence[Provider], said: dict[str, list[Translation]]) -> tuple[Check, ...]:
    unnamed = [
        f"{p.name}: {name}"
        for p in known
        for name, taken in p.settings.items()
        if taken is not None and not 0 <= taken.source < len(p.sources)
    ]
    outside = [
        f"{p.name}: {taken.key} {value}"
        for translations in said.values()
        for p, translation in zip(known, translations, strict=True)
        for name in NEUTRAL
        if (taken := p.settings[name]) is not None
        and (value := translation.request.get(taken.key)) is not None
        and not taken.takes(value)
    ]
    rows = sum(taken is not None for p in known for taken in p.settings.values())
    return (
        Check("each row's source is named", not unnamed, "; ".join(unnamed) or f"{rows} rows"),
        Check(
            "what is sent is within the range that is stated",
            not outside,
            "; ".join(outside) or f"{len(said)} settings for {len(known)} APIs",
        ),
    )


def _findings(known: Sequence[Provider], said: dict[str, list[Translation]]) -> Iterator[str]:
    def accept(name: str) -> list[str]:
        return [p.name for p in known if p.settings[name] is not None]

    seeds = accept("seed")
    yield (
        f"{len(seeds)} of {len(known)} accept a seed ({', '.join(seeds)}); in the lesson's "
        f"catalogue it was {LESSON_SEEDS} of {LESSON_OF}. Such a list ages: look at its dates."
    )
    highest: dict[float, list[str]] = {}
    for provider in known:
        taken = provider.settings["temperature"]
        if taken is not None and taken.high is not None:
            highest.setdefault(taken.high, []).append(provider.name)
    yield (
        "The highest temperature is "
        + "; ".join(f"{high:g} with {', '.join(names)}" for high, names in sorted(highest.items()))
        + ". The others state none."
    )
    yield (
        f"top_k is accepted by {len(accept('top_k'))}, min_p by {len(accept('min_p'))}, presence "
        f"and frequency penalties by {len(accept('presence'))} and {len(accept('frequency'))}, a "
        f"CTRL repetition penalty by {len(accept('repetition'))}; by all "
        f"{len(known)} only {', '.join(n for n in SETTINGS if len(accept(n)) == len(known))}."
    )
    silent = [p.name for p in known if any(c.kind in ("ignored", "changed") for c in p.caveats)]
    yield f"Something is ignored or changed without an error by {', '.join(silent)}."
    losses = {p.name: len(t.lost) for p, t in zip(known, said["everything on"], strict=True)}
    least, most = min(losses, key=losses.__getitem__), max(losses, key=losses.__getitem__)
    yield (
        f"With everything on, {least} loses least ({losses[least]}) and {most} most "
        f"({losses[most]})."
    )
