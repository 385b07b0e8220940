"""A talk in a plain terminal: what has been said, and how the next reply comes about.

Streams each reply to standard output as it is written, and hands it to the history where the
talk is kept.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from corpora.errors import UserError
from model.chat import Reply as TalkReply
from model.chat import Talk, ending
from model.config import Controls
from model.conversation import Message
from model.errors import InputError
from model.registry import ModelHandle
from model.steps import Finished, Step
from tui.cli.chat_options import ChatSettings
from tui.cli.guard import FAILED, one_line, refuse_undecodable
from tui.cli.interrupt import Interrupt, ended, interruptible
from tui.cli.output import print_json, say
from tui.history import Recorder
from tui.history import Reply as KeptReply

PROMPT = "› "
HELP = """\
/again  another reply to the last message      /new   begin a new conversation
/more   go on with a reply that was stopped    /system TEXT   what the model is told first
/quit   leave (Ctrl-D too)                     Ctrl-C stops a reply"""


@dataclass
class Said:
    """A reply, as far as it came."""

    text: str = ""
    tokens: list[int] = field(default_factory=list)
    finished: Finished | None = None
    used: int = 0
    capacity: int = 0
    left_out: int = 0

    @property
    def stopped(self) -> bool:
        """It can be gone on with."""
        return self.finished is not None and self.finished.reason in ("cancelled", "length")


class Conversation:
    """What has been said, and how the next reply comes about."""

    def __init__(
        self, handle: ModelHandle, talk: Talk, settings: ChatSettings, recorder: Recorder | None
    ) -> None:
        self._handle = handle
        self._talk = talk
        self._settings = settings
        self._recorder = recorder
        self._system = settings.system
        self._messages: list[Message] = []
        self._said = Said()
        self._work = ""
        self._turns: list[str | None] = []  # of each message, in the history
        self._reply: KeptReply | None = None
        self._begin(settings.system)

    def answer_once(self, question: str) -> int:
        """One question, one answer; the exit code."""
        silent = self._settings.flags.json
        self._user(question)
        code = self._answer(self._settings.controls, silent=silent)
        if silent:
            print_json(self._document())
        return code

    def go_on(self) -> int:
        """Read a line, reply, and so on, until the end of input; 0."""
        say(f"{self._handle.title} · /help · Ctrl-D leaves")
        while True:
            try:
                line = input(PROMPT)
                refuse_undecodable([line])
            except EOFError:
                print()
                return 0
            except KeyboardInterrupt:
                print()
                say("Ctrl-D leaves")
                continue
            except (UnicodeDecodeError, UserError):
                say("that line is not UTF-8 text; nothing was sent")
                continue
            try:
                if self._line(line.strip()):
                    return 0
            except UserError as error:
                say(str(error))

    def _line(self, line: str) -> bool:
        """Do what a line asks; True where it asks to leave."""
        command, _, rest = line.partition(" ")
        if not line.startswith("/"):
            if line:
                self._user(line)
                self._answer(self._next_controls())
            return False
        if command == "/again":
            self._again()
        elif command == "/more":
            self._more()
        elif command in ("/new", "/system"):
            self._begin(rest if command == "/system" else self._system)
            say(f"a new conversation; system prompt: {self._system or 'none'}")
        elif command == "/help":
            print(HELP)
        elif command != "/quit":
            say(f"there is no {command}; /help lists what there is")
        return command == "/quit"

    def _begin(self, system: str) -> None:
        self._system = system
        self._messages = [Message("system", system)] if system else []
        self._said = Said()
        self._work, self._turns, self._reply = "", [], None

    def _user(self, text: str) -> None:
        """A message of the user's, refused before it is kept where it cannot fit."""
        message = Message("user", text)
        self._talk.fit([*self._messages, message], self._settings.controls.max_tokens)
        if self._recorder:
            if not self._work:
                work = self._recorder.create_chat(self._handle.spec.name, system=self._system)
                self._work = work.id
                self._turns = [work.active] if self._system else []
            parent = self._turns[-1] if self._turns else None
            turn = self._recorder.add_turn(self._work, "user", text, parent=parent)
            self._turns.append(turn.id)
        self._messages.append(message)

    def _again(self) -> None:
        if not self._messages or self._messages[-1].role != "assistant":
            raise InputError("there is no reply to write again")
        self._answer(self._next_controls(), instead=True)

    def _more(self) -> None:
        if not self._said.stopped:
            raise InputError("the last reply came to its end; there is nothing to go on with")
        given = self._said.tokens
        most = self._settings.controls.max_tokens + len(given)
        self._answer(replace(self._controls, max_tokens=most), given=given, instead=True)

    def _next_controls(self) -> Controls:
        """Each reply has a seed of its own, drawn anew unless the user gave the first."""
        controls = self._settings.controls
        turn = sum(message.role == "user" for message in self._messages) - 1
        if self._settings.seed_given:
            return replace(controls, seed=(controls.seed + turn) % 2**64)
        return replace(controls, seed=secrets.randbelow(2**32))

    def _answer(
        self,
        controls: Controls,
        *,
        given: Sequence[int] = (),
        instead: bool = False,
        silent: bool = False,
    ) -> int:
        """Stream the reply to what was said, ``instead`` of the last one or after it; the exit
        code. Ctrl-C ends the reply only."""
        asked = self._messages[:-1] if instead else list(self._messages)
        with interruptible() as interrupt:
            reply = self._talk.reply(
                asked, controls, given=given, wanted=lambda: False, cancelled=interrupt
            )
            self._controls, self._messages = controls, asked
            self._turns = self._turns[: len(asked)]
            said = self._said = Said(reply.given_text, list(given))
            said.capacity, said.left_out = reply.fitted.capacity, reply.fitted.left_out
            kept = self._keeper(controls, resumed=bool(given))
            self._stream(reply, said, kept, interrupt, silent)
        self._messages.append(Message("assistant", said.text, tuple(said.tokens)))
        if not silent:
            self._tell(said)
        assert said.finished is not None
        return FAILED if said.finished.reason in ("dead_end", "error") else interrupt.code

    def _stream(
        self,
        reply: TalkReply,
        said: Said,
        kept: KeptReply | None,
        interrupt: Interrupt,
        silent: bool,
    ) -> None:
        if said.left_out and not silent:
            say(f"the conversation is full: its {said.left_out} oldest messages are left out")
        with ended(iter(reply)) as events:
            for event in events:
                said.text += event.text
                if isinstance(event, Step):
                    said.tokens.append(event.token)
                    if kept:
                        kept.append_steps([event])
                else:
                    said.finished = event
                    if kept:
                        kept.finish(event)
                if not silent:
                    _write(event.text)
        said.used = reply.used
        if not silent:
            _write("\n")

    def _keeper(self, controls: Controls, *, resumed: bool) -> KeptReply | None:
        if not self._recorder:
            return None
        if resumed and self._reply:
            kept = self._recorder.resume_reply(self._reply.turn)
        else:
            kept = self._recorder.start_reply(
                self._work, parent=self._turns[-1], model=self._handle.spec.name, controls=controls
            )
        self._reply = kept
        self._turns.append(kept.turn)
        return kept

    def _tell(self, said: Said) -> None:
        """How it went, for a person."""
        end = said.finished
        if end is None or not sys.stderr.isatty():
            return
        seconds = end.prefill_s + end.decode_s
        parts = [f"{end.tokens:,} tokens"]
        if seconds > 0:
            parts.append(f"{end.tokens / seconds:,.0f} tokens/s")
        parts.append(f"context {said.used:,} of {said.capacity:,}")
        if end.reused:
            parts.append(f"{end.reused:,} not read again")
        parts += [ending(end) + (" (/more goes on)" if said.stopped else "")]
        parts.append(f"seed {self._controls.seed}")
        say(" · ".join(parts))

    def _document(self) -> dict[str, Any]:
        """The JSON record of a single answer."""
        said, end = self._said, self._said.finished
        assert end is not None
        return {
            "messages": [{"role": m.role, "content": m.content} for m in self._messages],
            "reply": said.text,
            "tokens": end.tokens,
            "token_ids": said.tokens,
            "finish_reason": ending(end),
            "seed": self._controls.seed,
            "model": self._handle.spec.name,
            "cache": self._controls.cache,
            "context": {"used": said.used, "capacity": said.capacity, "left_out": said.left_out},
            "prefill_s": end.prefill_s,
            "decode_s": end.decode_s,
            "fingerprint": self._handle.fingerprint,
        }


def _write(text: str) -> None:
    """Text of a model, its line ends as they are and nothing that a terminal would obey."""
    if sys.stdout.isatty():
        text = "\n".join(one_line(line) for line in text.split("\n"))
    sys.stdout.write(text)
    sys.stdout.flush()
