"""The lesson in one run: every section there, ours beside its own, and its claims checked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.lab import lesson_figures as lesson
from model.lab.base import Result, collect
from model.lab.lesson import SETTINGS, models, run
from model.lab.lesson_tables import REGULAR, is_acrostic
from model.registry import ModelHandle
from model.tokenizers import CharTokenizer
from tests.helpers import HAN, MARKS, tiny_gpt
from tests.lab.helpers import tiny_handle, tiny_request

TOKENIZER = CharTokenizer(dict.fromkeys(HAN + MARKS + "大漠孤烟直人工智能好学无止境"))


def handle(name: str | None = None) -> ModelHandle:
    """A tiny model that knows every character of the lesson's prompts."""
    model = tiny_gpt(TOKENIZER.vocab_size, block_size=128)
    return replace(tiny_handle(name), model=model, tokenizer=TOKENIZER)


@pytest.fixture(scope="module")
def result() -> Result:
    return collect(run(replace(tiny_request(), load=handle, model="tiny")))


def test_every_claim_of_the_lesson_holds(result: Result):
    assert result.holds, result.checks
    assert any(str(lesson.IDENTICAL) in check.claim for check in result.checks)


def test_all_six_sections_are_there(result: Result):
    assert [table.title.split()[1][0] for table in result.tables] == list("11124566")
    for table, (opening, theirs) in zip(result.tables, lesson.TOP.items(), strict=False):
        assert opening in table.title
        assert table.column("the lesson") == [character for character, _ in theirs]
        assert table.column("the lesson %") == [share for _, share in theirs]


def test_poems_continuations_and_acrostics(result: Result):
    poems, continued, acrostics = result.tables[3:6]
    assert poems.column("setting") == list(SETTINGS) == list(REGULAR)
    assert continued.column("opening") == list(lesson.OPENINGS)
    for opening, _, poem in continued.rows:
        assert str(poem).startswith(str(opening))
    assert acrostics.column("heads") == list(lesson.ACROSTICS)


def test_the_cache_beside_the_lessons(result: Result):
    times, memory = result.tables[6:]
    assert times.column("characters") == list(lesson.MILLISECONDS)
    assert times.column("its times") == [1.8, 2.0, 2.6]
    per_token = 2 * 2 * 32 * 4  # keys and values, two layers, width 32, float32
    assert memory.column("bytes a token") == [4096, per_token]
    assert memory.column("bytes in all") == [524_288, 128 * per_token]


def test_characters_that_the_model_lacks_are_told():
    """The usual tiny vocabulary has neither 大 nor 学: the rest of the lesson goes on."""
    result = collect(run(tiny_request(model="tiny")))
    continued, acrostics = result.tables[4:6]
    assert str(continued.column("poem")[1]).startswith("the vocabulary lacks 大")
    assert acrostics.column("heads") == ["春眠不觉"]


def test_what_is_an_acrostic():
    good = "学道凌云心，无心是死乡。止投心句逸，境转道心狂。"
    assert is_acrostic(good, "学无止境")
    assert not is_acrostic(good.replace("境", "镜"), "学无止境")
    assert not is_acrostic(good[:-1], "学无止境")
    assert not is_acrostic(good.replace("，", "心", 1), "学无止境")


def test_the_model_asked_for_is_the_only_one():
    assert models(tiny_request(model="mine")) == ["mine"]
    assert models(tiny_request())[0] in ("tang-small", "tang-base", None)
