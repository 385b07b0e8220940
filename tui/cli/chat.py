"""``chat``: a conversation in a plain terminal, or one question and its answer for a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from model.chat import Talk
from model.errors import InputError
from model.registry import ModelHandle, find, load
from tui.cli.chat_options import ChatSettings
from tui.cli.inputs import STDIN, read_stdin
from tui.cli.output import say
from tui.cli.talk import Conversation
from tui.history import Recorder, open_history


def chat(question: str | None, settings: ChatSettings) -> int:
    """Answer ``question`` (``-``, or none and no terminal: standard input), or talk until the
    user leaves; the exit code."""
    single = question is not None or not sys.stdin.isatty()
    if not single and settings.flags.json:
        raise InputError("--json needs a question; give it, or pipe it in")
    asked = _question(question) if single else None
    handle = load(find(settings.model), settings.threads, settings.precision, say)
    if handle.chat is None:
        raise InputError(
            f"{handle.spec.name} only continues text, as `run.py write --model NAME` does; "
            "it takes a model with a chat template to chat"
        )
    return converse(handle, asked, settings)


def converse(handle: ModelHandle, question: str | None, settings: ChatSettings) -> int:
    """Answer ``question``, or talk where there is none; the exit code."""
    assert handle.chat is not None
    with ExitStack() as stack:
        kept = question is None or settings.flags.keep
        recorder = stack.enter_context(_recording()) if kept else None
        talk = Talk(handle.model, handle.tokenizer, handle.chat)
        conversation = Conversation(handle, talk, settings, recorder)
        return conversation.go_on() if question is None else conversation.answer_once(question)


def _question(question: str | None) -> str:
    text = read_stdin("the question") if question in (None, STDIN) else question
    if not text or not text.strip():
        raise InputError("the question is empty; write one")
    return text


@contextmanager
def _recording() -> Iterator[Recorder]:
    """The history, written to by a thread; what is there is written before it is left."""
    history = open_history()
    recorder = Recorder(history, say)
    try:
        yield recorder
    finally:
        recorder.close(timeout=5.0)
        history.close()
