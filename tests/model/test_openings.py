"""An opening passes where the poem can go on from it; else the message says where it fails."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.forms import FORMS, VerseForm
from model.constraints import Acrostic, Constraint, FixedForm
from model.errors import ConstraintError, InputError
from model.tokenizers import Tokenizer
from tests.model.walks import (
    CHARACTERS,
    everywhere,
    walk,
)

torch.set_num_threads(1)


@everywhere
def test_every_beginning_of_a_good_poem_is_a_good_opening(
    tokenizer: Tokenizer, constraint: Constraint, verse: VerseForm, heads: str
) -> None:
    text = tokenizer.decode(walk(constraint.compile(tokenizer), random.Random(6)))
    for cut in range(len(text)):
        constraint.check(text[:cut])
        matcher = constraint.compile(tokenizer)
        for token in tokenizer.encode(text[:cut]):
            matcher.accept(token)
        rest = tokenizer.decode(walk(matcher, random.Random(cut)))
        assert verse.holds(text[:cut] + rest)
    with pytest.raises(ConstraintError, match="nothing is left to write"):
        constraint.check(text)


@pytest.mark.parametrize(
    ("constraint", "opening"),
    [
        (FixedForm(FORMS["五绝"]), ""),
        (FixedForm(FORMS["五绝"]), "床"),
        (FixedForm(FORMS["五绝"]), "床前明月光"),
        (FixedForm(FORMS["五绝"]), "床前明月光，"),
        (FixedForm(FORMS["五绝"]), "床前明月光。疑是"),
        (FixedForm(FORMS["五绝"]), "床前明月光，疑是地上霜。床前明月光，疑是地上霜"),
        (FixedForm(FORMS["五绝"], "床疑"), "床前明月光，疑"),
        (FixedForm(FORMS["五绝"], "床"), "床前明月光，地"),
        (FixedForm(FORMS["五绝"]), "亞洲銅"),
        (Acrostic("床疑", 5), "床前明月光，疑是地上霜"),
    ],
)
def test_openings_that_fit(constraint: Constraint, opening: str) -> None:
    constraint.check(opening)


LINE = "床前明月光"
BAD = [
    (FixedForm(FORMS["七绝"]), LINE + "，", "line 1 is 5 characters (床前明月光), it takes 7"),
    (
        FixedForm(FORMS["五绝"]),
        LINE + "疑是",
        "line 1 is 7 characters (床前明月光疑是), it takes 5",
    ),
    (FixedForm(FORMS["五绝"]), LINE + "，疑是。", "line 2 is 2 characters (疑是), it takes 5"),
    (FixedForm(FORMS["五绝"]), "，", "line 1 is empty, it takes 5 characters"),
    (FixedForm(FORMS["五绝"]), LINE + "，。", "line 2 is empty"),
    (
        FixedForm(FORMS["五绝"]),
        LINE + "！",
        "character 6 is ！; it takes Han characters, and ， or 。",
    ),
    (FixedForm(FORMS["五绝"]), LINE + ",", "character 6 is ,"),
    (FixedForm(FORMS["五绝"]), "床前\n", "character 3 is U+000A"),
    (FixedForm(FORMS["五绝"]), "床[/", "character 2 is ["),
    (FixedForm(FORMS["五绝"], "春"), "床", "五绝 · 藏头 春: line 1 begins with 床, its head is 春"),
    (FixedForm(FORMS["五绝"], "床春"), LINE + "，疑", "line 2 begins with 疑, its head is 春"),
    (FixedForm(FORMS["五绝"]), (LINE + "，") * 4, "line 4 ends with ，, it takes 。"),
    (FixedForm(FORMS["五绝"]), (LINE + "，") * 4 + "床", "it has 5 lines, the form has 4"),
    (Acrostic("床床床", 5), LINE + "。", "line 1 ends with 。, it takes ，"),
    (Acrostic("床床床", 5), LINE + "，" + LINE + "，", "line 2 ends with ，, it takes 。"),
    (Acrostic("床床床", 5), (LINE + "，" + LINE + "。") * 2, "it has 4 lines, the form has 3"),
]


@pytest.mark.parametrize(("constraint", "opening", "named"), BAD)
def test_openings_that_do_not_fit_say_where(
    constraint: Constraint, opening: str, named: str
) -> None:
    with pytest.raises(ConstraintError) as refused:
        constraint.check(opening)
    assert str(refused.value).startswith(f"the opening does not fit {constraint.describe()}")
    assert named in str(refused.value)
    assert str(refused.value).endswith("Change it, or leave it empty")


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(list(FORMS.values())),
    st.text(alphabet="春眠", max_size=4),
    st.text(alphabet="春眠，。！a", max_size=20) | st.lists(
        st.sampled_from(["春眠春眠春", "眠春眠春眠春眠", "，", "。", "春"]), max_size=18
    ).map("".join),
)  # fmt: skip
def test_check_agrees_with_the_matcher(verse: VerseForm, heads: str, opening: str) -> None:
    """An opening passes exactly where its tokens can be fed and something is left."""
    constraint = FixedForm(verse, heads)
    matcher = constraint.compile(CHARACTERS)
    try:
        for token in CHARACTERS.encode(opening):
            matcher.accept(token)
        fits = not matcher.finished
    except ConstraintError:
        fits = False
    try:
        constraint.check(opening)
    except ConstraintError:
        assert not fits
    else:
        assert fits


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=8), st.text(max_size=40))
def test_whatever_is_typed_is_taken_or_refused_by_name(heads: str, opening: str) -> None:
    for build in (lambda: Acrostic(heads), lambda: FixedForm(FORMS["七律"], heads)):
        try:
            build().check(opening)
            build().compile(CHARACTERS)
        except InputError as refused:
            assert str(refused)
