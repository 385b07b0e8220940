"""The eight likeliest next characters after an opening, beside what follows it in the corpus
and beside the lesson's table.

A model that has learnt how characters follow each other gives 。 after 春风 about as often as
it stands there in Tang verse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor

from corpora.poems import Poem
from corpora.stats import Following, following, verse
from model.errors import UserError
from model.generate import Prompt
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
from model.lab.distributions import next_logits
from model.lab.handles import writes_prose
from model.lab.lesson_figures import FRAGMENTS, ORIGINAL, TOP
from model.registry import ModelHandle

WORD, STOP = "春风", "。"
KNOWN = (0.139, 0.145)
"""P(。) after 春风 by two ways of counting Tang verse; what the corpus gives, where it is built."""
WITHIN = 0.03
"""How far the model may be from it."""
SHOWN = 8
ENOUGH = 50
"""Occurrences from which on a share says something."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A text and what comes after it."""

    text: str
    fragment: bool
    probabilities: Tensor
    """``[V]``, raw."""
    found: Following | None
    """In the corpus, at the beginnings of poems or anywhere; ``None`` where that is not built."""

    @property
    def words(self) -> str:
        """How a heading calls it."""
        return f"「{self.text}」" + (" from anywhere" if self.fragment else "")


def run(request: Request) -> Records:
    """A progress record an opening."""
    asked = [(text, text in FRAGMENTS) for text in TOP] + [(WORD, False)]
    if request.prompt is not None:
        asked = [(request.prompt, False)] + [(request.prompt, True)] * bool(request.prompt)
    yield Progress(0, len(asked) + 1, "the model")
    handle = request.handle()
    openings: list[Opening] = []
    for text, fragment in asked:
        yield Progress(len(openings), len(asked) + 1, text)
        openings.append(opening(handle, text, fragment))
    yield Progress(len(asked), len(asked) + 1, "the corpus")
    word = opening(handle, WORD, fragment=True) if _has(handle, WORD + STOP) else None
    yield Result(
        "top8",
        tuple(_table(one, handle) for one in openings),
        (_plot(openings, handle),),
        () if word is None else (_near_the_corpus(word, handle),),
        tuple(_findings(openings, word, handle)),
        {"model": handle.spec.name, "openings": [text for text, _ in asked]},
    )


def opening(handle: ModelHandle, text: str, fragment: bool) -> Opening:
    """What the model expects after ``text``, and what the corpus has there."""
    probabilities = next_logits(handle, text, fragment=fragment).softmax(-1)
    try:
        found = following(text, verse()) if fragment else beginning(text, verse())
    except UserError:
        found = None
    return Opening(text, fragment, probabilities, found)


def beginning(text: str, poems: Iterable[Poem]) -> Following:
    """What follows ``text`` in those ``poems`` that begin with it, commonest first."""
    size = len(text)
    after = Counter(poem.text[size : size + 1] for poem in poems if poem.text.startswith(text))
    return Following(text, after.total(), tuple(after.most_common()))


def likeliest(probabilities: Tensor, count: int = SHOWN) -> list[tuple[int, float]]:
    """The most probable tokens of ``[V]``, ties by id, each with its probability."""
    ranked = probabilities.sort(descending=True, stable=True)
    return list(zip(ranked.indices[:count].tolist(), ranked.values[:count].tolist(), strict=True))


def _has(handle: ModelHandle, text: str) -> bool:
    ids = Prompt(text, unknown="unk").encode(handle.tokenizer)
    return handle.tokenizer.unk_id not in ids


def _table(one: Opening, handle: ModelHandle) -> Table:
    lesson = TOP.get(one.text, ()) if one.fragment or one.text not in FRAGMENTS else ()
    rows: list[tuple[Cell, ...]] = []
    for place, (token, probability) in enumerate(likeliest(one.probabilities)):
        said = handle.tokenizer.decode([token])
        theirs: tuple[Cell, Cell] = lesson[place] if lesson else (None, None)
        rows.append(
            (
                place + 1,
                said or handle.tokenizer.name(token),
                probability,
                one.found.share(said) if one.found and one.found.count else None,
                *theirs,
            )
        )
    times = "the corpus is not built"
    if one.found:
        times = _counted(one.found.count, one.fragment)
    heads = {"rank": "", "next": "", "probability": ".1%", "in the corpus": ".1%"}
    return table(
        f"After {one.words} ({times})",
        heads | {"the lesson's": "", "its probability": ".1%"},
        rows,
        "In the corpus: share of the occurrences, or of the beginnings, that it follows.",
    )


def _plot(openings: list[Opening], handle: ModelHandle) -> Plot:
    series = tuple(
        Series(
            one.words,
            tuple((float(n), p) for n, (_, p) in enumerate(likeliest(one.probabilities), 1)),
        )
        for one in openings
    )
    note = "How steep a line is shows how sure the model is: where it lies flat, many will do."
    return Plot("The eight likeliest", "rank", "probability", series, note=note)


def _stop(handle: ModelHandle, one: Opening) -> float:
    (token,) = handle.tokenizer.encode(STOP)
    return float(one.probabilities[token])


def _expected(word: Opening) -> tuple[float, float]:
    if word.found is None or word.found.count < ENOUGH:
        return KNOWN
    share = word.found.share(STOP)
    return share, share


def _near_the_corpus(word: Opening, handle: ModelHandle) -> Check:
    low, high = _expected(word)
    given = _stop(handle, word)
    wanted = f"{low:.1%}" if low == high else f"{low:.1%} to {high:.1%}"
    return Check(
        f"after {WORD} from anywhere {STOP} is as probable as it is frequent, within 3 points",
        None if writes_prose(handle) else low - WITHIN <= given <= high + WITHIN,
        f"{given:.1%}, in the corpus {wanted}"
        + (f"; {handle.spec.name} was not made to write verse" if writes_prose(handle) else ""),
    )


def _counted(count: int, fragment: bool) -> str:
    if fragment:
        return f"{count:,} time{'' if count == 1 else 's'} in Tang verse"
    return f"{count:,} poem begins so" if count == 1 else f"{count:,} poems begin so"


def _findings(openings: list[Opening], word: Opening | None, handle: ModelHandle) -> list[str]:
    said = []
    if word is not None:
        low, _ = _expected(word)
        said.append(
            f"After {WORD} from anywhere {handle.spec.name} gives {STOP} {_stop(handle, word):.1%}"
            f"; the corpus has it {low:.1%} of the time, the lesson's model gave "
            f"{dict(TOP[WORD])[STOP]:.1%}."
        )
        begin = [one for one in openings if one.text == WORD and not one.fragment]
        said += [
            f"Where {WORD} begins a poem it gives {STOP} {_stop(handle, one):.2%}: a line of two "
            "characters does not exist, and this model knows where a poem begins."
            for one in begin
            if _stop(handle, one) < 0.01
        ]
    for one in openings:
        if one.found and one.found.count >= ENOUGH:
            best = likeliest(one.probabilities)
            shares = [one.found.share(handle.tokenizer.decode([token])) for token, _ in best]
            apart = [abs(p - share) for (_, p), share in zip(best, shares, strict=True)]
            said.append(
                f"After {one.words} the eight likeliest are {100 * sum(apart) / len(apart):.1f} "
                f"points from their share of {one.found.count:,} places on average, "
                f"{100 * max(apart):.1f} at most."
            )
        original = ORIGINAL.get(one.text)
        if original is None or not _has(handle, original):
            continue
        (token,) = handle.tokenizer.encode(original)
        rank = 1 + int((one.probabilities > one.probabilities[token]).sum())
        said.append(
            f"{one.words} goes on with {original}, which has rank {rank:,} here with "
            f"{float(one.probabilities[token]):.1%}; in the lesson it is not among the eight."
        )
    return said
