"""What a form costs where it can be worked out: a uniform model, and one that knows the form."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from corpora.forms import FORMS
from model.cache import KVCache
from model.config import GPTConfig
from model.lab.base import Request, Result, collect
from model.lab.constraint import run
from model.lab.paid import Chance, Place, Writable, Written, by_position, standard_error
from tests.helpers import CHARACTERS, HAN, MARKS
from tests.lab.helpers import tiny_handle, tiny_request

V = CHARACTERS.vocab_size


class FirstLetters:
    """Logits by how many tokens were read: ``rows`` in turn, each ``[V]``, then the last."""

    def __init__(self, rows: list[Tensor]) -> None:
        self.config = GPTConfig(V, 128, 1, 1, 1)
        self._rows = rows

    def new_cache(self, batch: int = 1) -> KVCache:
        return KVCache(self.config, batch)

    def __call__(self, ids: Tensor, cache: Any = None, *, last: bool = False) -> Tensor:
        read = ids.shape[1] + (cache.position if cache is not None else 0)
        if cache is not None:
            cache.advance(ids.shape[1])
        row = self._rows[min(read, len(self._rows)) - 1]
        return row.expand(ids.shape[0], 1, V).clone()


def on(model: object) -> Result:
    def load(name: str | None) -> Any:
        return replace(tiny_handle(), model=model)

    return collect(run(Request(load, quick=True)))


def knows(form: str) -> FirstLetters:
    """Han where the form wants them and ， or 。 where it wants these, then an end."""
    known, rows = FORMS[form], []
    ends, han = CHARACTERS.encode("，。"), CHARACTERS.encode(HAN)
    for place in range(known.length):
        row = torch.full((V,), -60.0)
        row[ends if place % (known.characters + 1) == known.characters else han] = 0.0
        if place == known.length - 1:
            row[ends[0]] = -60.0
        rows.append(row)
    over = torch.full((V,), -60.0)
    over[CHARACTERS.end_id] = 0.0
    return FirstLetters([*rows, over])


def test_a_uniform_model_pays_by_the_count():
    h, all_but_end = len(HAN), len(HAN) + len(MARKS)
    legal = all_but_end + 1  # the end, which may come anywhere but at the very start
    bits = {
        "first": math.log2(all_but_end / h),
        "han": math.log2(legal / h),
        "end": math.log2(legal / 2),
        "last": math.log2(legal),
    }
    result = on(FirstLetters([torch.zeros(V)]))
    assert result.holds, result.checks
    for row in result.tables[0].rows:
        form = FORMS[str(row[0])]
        han = form.lines * form.characters - 1
        paid = bits["first"] + han * bits["han"] + (form.lines - 1) * bits["end"] + bits["last"]
        assert row[2] == pytest.approx(paid, rel=1e-4)
        at_ends = (form.lines - 1) * bits["end"] + bits["last"]
        assert row[4] == pytest.approx(at_ends / paid, rel=1e-4)
    places = result.tables[1]
    assert places.column("line 1")[0] == pytest.approx(bits["first"], rel=1e-4)
    assert places.column("line 4")[-1] == pytest.approx(bits["last"], rel=1e-4)


def test_nothing_is_paid_where_nothing_is_forbidden():
    result = on(knows("七绝"))
    assert result.holds, result.checks
    costs = {row[0]: row for row in result.tables[0].rows}
    assert costs["七绝"][2] == pytest.approx(0.0, abs=1e-4)
    assert costs["五绝"][2] > 50  # a comma after five characters is all but impossible
    chances = {row[0]: row for row in result.tables[2].rows}
    assert chances["七绝"][1] == 1.0
    assert chances["七绝"][3] == pytest.approx(1.0, abs=1e-4)
    assert chances["五绝"][1] == 0.0


def test_what_no_run_writes_has_no_probability():
    model = Writable(FirstLetters([torch.zeros(V)]), CHARACTERS)
    first = model(torch.tensor([[CHARACTERS.start_id]]), last=True).softmax(-1)[0, 0]
    later = model(torch.tensor([[CHARACTERS.start_id, 9]]), last=True).softmax(-1)[0, 0]
    assert first[CHARACTERS.unk_id] == later[CHARACTERS.unk_id] == 0
    assert first[CHARACTERS.end_id] == 0 < later[CHARACTERS.end_id]


def test_the_error_is_never_less_than_the_scatter_of_any_values_in_one_range():
    """0 and 1 scatter most of all values of a mean; all alike still leave a doubt."""
    coin = [0.0, 1.0] * 50
    assert standard_error(coin) == pytest.approx(0.05)
    assert standard_error([0.5] * 100) == pytest.approx(0.05)
    assert 0 < standard_error([0.0] * 100) < 0.02
    assert standard_error([1.0] * 100) == pytest.approx(standard_error([0.0] * 100))


@pytest.mark.parametrize(
    ("counted", "error", "agree"),
    [(0.5, 0.05, True), (0.8, 0.05, False), (0.8, 0.12, None), (0.5, 0.12, None)],
)
def test_two_estimates_agree_or_not_or_are_too_coarse(
    counted: float, error: float, agree: bool | None
):
    assert Chance("七绝", counted, error, 0.5, 0.03).agree is agree


def test_places_are_gathered_by_what_stood_before():
    one, other = Place(0, 0.5, 1.0, 2.0), Place(1, 0.0, 0.0, 3.0)
    poems = [Written("春眠", [one, other]), Written("夜", [one])]
    assert by_position(poems) == {0: [one, one], 1: [other]}
    assert poems[0].paid == 1.0


def test_a_random_model_runs_and_its_poems_have_their_forms():
    result = collect(run(tiny_request()))
    whole = next(check for check in result.checks if "every poem" in check.claim)
    assert whole.holds
