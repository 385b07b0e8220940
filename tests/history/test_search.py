"""A search finds exactly what was typed, whatever it is, wherever it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.steps import Finished
from tui.history import open_history, search
from tui.history.search import BEFORE, LENGTH, excerpt, marks

TEXTS = (
    "床前明月光，疑是地上霜。\n举头望明月，低头思故乡。",
    "春眠不觉晓，处处闻啼鸟。",
    "The Lighthouse stood on the cliff; C++ and 100% [/bold] \"quoted\" AND OR NOT NEAR(",
    "１２３ＡＢＣ ｶ ß é 𨣧 日日是好日",
    "夜来 风雨\t声",
)  # fmt: skip


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    opened = open_history(tmp_path_factory.mktemp("history") / "history.sqlite3")
    for text in TEXTS:
        work = opened.create_chat("m")
        opened.add_turn(work.id, "user", text, parent=None)
    yield opened
    opened.close()


def found(history, *queries, **options):
    """Numbers of the texts that are found."""
    return sorted(
        TEXTS.index(history.turn(hit.turn).text) for hit in search(history, *queries, **options)
    )


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("床", [0]),
        ("春眠", [1]),
        ("明月光", [0]),
        ("望明月，低头思", [0]),
        ("霜。 举头", [0]),
        ("霜 举", [0]),
        ("霜举", []),
        ("，", [0, 1]),
        (",", [0, 1]),
        ("lighthouse", [2]),
        ("HTHOU", [2]),
        ("cliff the", [2]),
        ("C++", [2]),
        ("100%", [2]),
        ("[/bold]", [2]),
        ('"quoted"', [2]),
        ("and or not near(", [2]),
        ("AND", [2]),
        ("*", []),
        ("^", []),
        ("found:", []),
        ("-", []),
        ("123abc", [3]),
        ("ss", [3]),
        ("𨣧", [3]),
        ("日日", [3]),
        ("日", [3]),
        ("夜来 风雨", [4]),
        ("风雨　声", [4]),
        ("来风", []),
        ("", []),
        ("  \n", []),
        ("\0", []),
        ("\ud83d", []),
    ],
)
def test_what_is_typed_is_what_is_looked_for(history, query, numbers):
    assert found(history, query) == numbers


def test_any_of_several_and_of_one_kind(history):
    assert found(history, "馬", "春") == [1]
    assert found(history, "床", "春") == [0, 1]
    assert search(history, "床", kind="poem") == []


@given(st.text(max_size=8) | st.sampled_from(TEXTS).flatmap(
    lambda text: st.tuples(st.integers(0, len(text)), st.integers(0, 9)).map(
        lambda span: text[span[0] : span[0] + span[1]])))  # fmt: skip
def test_the_index_agrees_with_looking_at_every_text(history, query):
    looked = [n for n, text in enumerate(TEXTS) if query.strip() and marks(text, query)]
    assert found(history, query) == looked


@given(st.text(max_size=200), st.text(min_size=1, max_size=3))
def test_marks_stand_in_the_snippet_and_hold_what_was_typed(text, query):
    text = f"{text}{query}{text}"
    snippet, places = excerpt(text, marks(text, query))
    assert len(snippet) <= LENGTH + 2
    assert "\n" not in snippet
    for start, end in places:
        assert 0 <= start < end <= len(snippet)
    if query.strip() and not any(char.isspace() for char in query):
        assert any(marks(snippet[start:end], query) for start, end in places)


def test_a_snippet_surrounds_what_was_found():
    snippet, ((start, end),) = excerpt("一" * 100 + "春风" + "二" * 100, [(100, 102)])
    assert snippet == "…" + "一" * BEFORE + "春风" + "二" * (LENGTH - BEFORE - 2) + "…"
    assert snippet[start:end] == "春风"


def test_a_title_is_found_and_what_is_written_once_it_has_ended(tmp_path):
    history = open_history(tmp_path / "history.sqlite3")
    work = history.create_chat("m", system="s")
    reply = history.start_reply(work.id, parent=work.active, model="m")
    reply.append("春江花月夜")
    assert search(history, "花月") == []
    reply.finish(Finished("cancelled", "", 1, 0, 0))
    assert [hit.snippet for hit in search(history, "花月")] == ["春江花月夜"]
    again = history.resume_reply(reply.turn)
    again.append("，潮水")
    again.finish(Finished("length", "。", 1, 0, 0))
    (hit,) = search(history, "夜，潮水。")
    assert hit.marks == ((4, 9),)
    history.rename(work.id, "A night of 花")
    assert [hit.snippet for hit in search(history, "NIGHT")] == ["A night of 花"]
    history.delete(work.id)
    assert search(history, "花月") == search(history, "night") == []
    history.close()
