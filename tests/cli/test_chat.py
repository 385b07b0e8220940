"""The chat command over a tiny model: one question, a talk line by line, and what is kept."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from model.errors import InputError, SettingError
from model.registry import ModelHandle, ModelSpec
from tests.helpers import CHARACTERS, Endless, Marks, tiny_gpt
from tui.cli.chat import chat, converse
from tui.cli.chat_options import CHAT_SAMPLER, ChatFlags, read_chat_flags
from tui.history import open_history


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YINCHUANG_STATE", str(tmp_path))


def handle(block_size: int = 160) -> ModelHandle:
    return ModelHandle(
        ModelSpec("tiny", Path("nowhere")),
        Endless(tiny_gpt(block_size=block_size)),  # type: ignore[arg-type]
        CHARACTERS,
        {},
        {"dtype": "float32"},
        chat=Marks(),  # type: ignore[arg-type]
    )


def flags(**given: Any) -> Any:
    return read_chat_flags(ChatFlags(**{"max_tokens": "8", "seed": "5", **given}))


def talk(monkeypatch: pytest.MonkeyPatch, *lines: str, **given: Any) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(line + "\n" for line in lines)))
    return converse(handle(), None, flags(**given))


def kept() -> list[tuple[str, str, str]]:
    """(role, text, state) of the active path of the one conversation in the history."""
    history = open_history()
    try:
        (work,) = history.works("chat")
        return [(turn.role, turn.text, turn.state) for turn in history.active_path(work.id)]
    finally:
        history.close()


# -- one question


def test_a_question_prints_its_answer_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert converse(handle(), "春眠", flags()) == 0
    first = capsys.readouterr()
    assert len(first.out.strip()) == 8 and first.err == ""
    converse(handle(), "春眠", flags())
    assert capsys.readouterr().out == first.out, "the same seed, the same answer"
    converse(handle(), "春眠", flags(cache="off"))
    assert capsys.readouterr().out == first.out, "whatever the cache"


def test_json_holds_the_conversation_and_what_it_cost(capsys: pytest.CaptureFixture[str]) -> None:
    converse(handle(), "春眠", flags(system="不觉", json=True))
    document = json.loads(capsys.readouterr().out)
    roles = [message["role"] for message in document["messages"]]
    assert roles == ["system", "user", "assistant"]
    assert document["messages"][2]["content"] == document["reply"]
    assert document["tokens"] == len(document["token_ids"]) == 8
    assert document["finish_reason"] == "length" and document["seed"] == 5
    assert document["context"]["used"] == len(Marks().encode([])) + 2 * 4 + 8
    assert document["context"]["left_out"] == 0


def test_a_single_question_is_kept_only_where_that_is_asked_for() -> None:
    converse(handle(), "春眠", flags())
    history = open_history()
    assert history.works("chat") == []
    history.close()
    converse(handle(), "春眠", flags(keep=True))
    assert [role for role, _, _ in kept()] == ["user", "assistant"]


@pytest.mark.parametrize("question", ["", "  ", "\n"])
def test_an_empty_question_is_refused(question: str) -> None:
    with pytest.raises(InputError, match="the question is empty"):
        chat(question, flags())


def test_a_model_that_only_continues_text_says_so() -> None:
    with pytest.raises(InputError, match="tang-small only continues text"):
        chat("春眠", flags(model="tang-small"))


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("temperature", "nan"), ("temperature", "0,8"), ("top_k", "-1"), ("max_tokens", "0"),
        ("seed", "x"), ("cache", "maybe"), ("precision", "int4"), ("threads", "0"),
    ],
)  # fmt: skip
def test_a_bad_flag_is_refused_by_name(flag: str, value: str) -> None:
    with pytest.raises(SettingError, match=f"--{flag.replace('_', '-')} is"):
        flags(**{flag: value})


def test_the_sampler_begins_where_the_makers_recommend() -> None:
    assert read_chat_flags(ChatFlags()).controls.sampler == CHAT_SAMPLER


# -- a talk


def test_a_talk_is_kept_turn_by_turn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert talk(monkeypatch, "春眠", "不觉", system="白日") == 0
    shown = [line.removeprefix("› ") for line in capsys.readouterr().out.splitlines()]
    turns = kept()
    assert [role for role, _, _ in turns] == ["system", "user", "assistant", "user", "assistant"]
    assert [text for role, text, _ in turns if role != "assistant"] == ["白日", "春眠", "不觉"]
    assert [text for role, text, _ in turns if role == "assistant"] == shown[:2]
    assert {state for _, _, state in turns} <= {"done", "stopped"}


def test_another_reply_stands_beside_the_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    talk(monkeypatch, "春眠", "/again", "不觉")
    history = open_history()
    (work,) = history.works("chat")
    path = history.active_path(work.id)
    assert [turn.role for turn in path] == ["user", "assistant", "user", "assistant"]
    replies = history.children(work.id, path[0].id)
    assert len(replies) == 2 and path[1].id == replies[1].id
    history.close()


def test_a_reply_that_was_cut_goes_on_in_the_same_turn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    talk(monkeypatch, "春眠", "/more", "/more")
    (_, whole, _) = kept()[-1]
    assert len(whole) == 24 and len(kept()) == 2
    converse(handle(), "春眠", flags(max_tokens="24"))
    assert capsys.readouterr().out.splitlines()[-1] == whole, "as if it had never been cut"


def test_a_new_conversation_forgets_and_keeps_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    talk(monkeypatch, "春眠", "/new", "不觉", "/system 白日", "入海")
    history = open_history()
    works = history.works("chat")
    assert sorted(work.opening for work in works) == sorted(["春眠", "不觉", "入海"])
    history.close()


def test_what_cannot_be_done_is_said_and_the_talk_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["/again", "/more", "/what", "春" * 400, "/help", "\udcff", "春眠", "/quit", "不觉"]
    assert talk(monkeypatch, *lines) == 0
    told = capsys.readouterr()
    for words in (
        "no reply to write again",
        "nothing to go on with",
        "there is no /what",
        "shorten the message",
        "not UTF-8 text",
    ):
        assert words in told.err
    assert "another reply to the last message" in told.out
    assert [text for role, text, _ in kept() if role == "user"] == ["春眠"]


def test_a_full_conversation_says_what_leaves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    talk(monkeypatch, *["春眠不觉晓处处闻啼鸟" * 2] * 6)
    assert "oldest messages are left out" in capsys.readouterr().err
    assert len(kept()) == 12, "kept all the same"
