"""From a conversation to ids, by the chat template that came with a model.

The template is a program of somebody else's: it runs in jinja's sandbox and sees nothing
but the messages. What a message says is text, whatever it looks like: where it spells a
control token, it reaches the model as characters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from model.conversation import Message
from model.errors import CheckpointError, InputError
from model.pretrained.tokenizer import PretrainedTokenizer

_PRIVATE = range(0xF0000, 0xFFFFE)
"""A plane of characters that mean nothing: they hold places in a text while it is rendered."""


class ChatTemplate:
    """The template of one model."""

    def __init__(
        self, source: str, tokenizer: PretrainedTokenizer, variables: dict[str, Any] | None = None
    ) -> None:
        """``source``: jinja. ``variables``: what it may ask for besides the messages, such
        as ``bos_token``. Raises ``CheckpointError`` for a source that is none."""
        self._tokenizer = tokenizer
        self._program = _Program(source, variables or {})

    def encode(self, messages: Sequence[Message], begun: str = "") -> list[int]:
        """The ids of a conversation up to where the model's next reply begins, with ``begun``,
        the beginning of that reply, after it.

        Raises ``InputError`` where the template refuses the conversation.
        """
        held = _Held(self._tokenizer.control, messages)
        rendered = self._program.render([held.message(message) for message in messages])
        ids = [token for part in self._parts(rendered) for token in self._part_ids(part, held)]
        return [*ids, *self._tokenizer.encode(begun)] if begun else ids

    def _parts(self, rendered: str) -> Iterator[int | tuple[str, list[int]]]:
        """Control tokens as ids, and the text between them with its ids, as the library
        splits what a template wrote."""
        encoding = self._tokenizer.parsing.encode(rendered, add_special_tokens=False)
        control = frozenset(self._tokenizer.control.values())
        text_ids: list[int] = []
        begins = 0
        for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if token not in control:
                text_ids.append(token)
                continue
            if text_ids:
                yield rendered[begins:start], text_ids
            text_ids, begins = [], end
            yield token
        if text_ids:
            yield rendered[begins:], text_ids

    def _part_ids(self, part: int | tuple[str, list[int]], held: _Held) -> list[int]:
        if isinstance(part, int):
            return [part]
        text, ids = part
        return held.ids(text, self._tokenizer.encode) if held.is_in(text) else list(ids)


class _Held:
    """What must not go through the template as it is: spelt-out control tokens and turns
    that are ids already. A private character holds the place of each."""

    def __init__(self, control: dict[str, int], messages: Sequence[Message]) -> None:
        texts = "".join(message.content for message in messages)
        self._free = (chr(code) for code in _PRIVATE if chr(code) not in texts)
        self._control = frozenset(control.values())
        # longer ones first: one may be a part of another
        found = sorted((w for w in control if w in texts), key=len, reverse=True)
        self._spelt = {next(self._free): written for written in found}
        self._tokens: dict[str, list[int]] = {}

    def message(self, message: Message) -> dict[str, str]:
        """As the template sees it."""
        content = message.content
        if message.tokens:
            content = next(self._free)
            self._tokens[content] = [t for t in message.tokens if t not in self._control]
        for place, written in self._spelt.items():
            content = content.replace(written, place)
        return {"role": message.role, "content": content}

    def is_in(self, text: str) -> bool:
        """Something in ``text`` is held."""
        return any(char in self._spelt or char in self._tokens for char in text)

    def ids(self, text: str, encode: Callable[[str], list[int]]) -> list[int]:
        """The ids of ``text`` with everything in its place."""
        ids: list[int] = []
        plain = ""
        for char in text:
            if char in self._tokens:
                ids += [*(encode(plain) if plain else []), *self._tokens[char]]
                plain = ""
            else:
                plain += self._spelt.get(char, char)
        return ids + encode(plain) if plain else ids


def end_of_turn(source: str, variables: dict[str, Any], control: dict[str, int]) -> int | None:
    """The control token that a template puts after a reply; ``None`` where it puts none, or
    refuses the shortest of conversations. Raises ``CheckpointError`` for no template."""
    marker = "reply"
    messages = [
        {"role": "user", "content": "question"},
        {"role": "assistant", "content": marker},
    ]
    try:
        rendered = _Program(source, variables).render(messages, reply=False)
    except InputError:
        return None
    behind = rendered[rendered.rfind(marker) + len(marker) :]
    found = [(behind.find(written), -len(written), i) for written, i in control.items()]
    return min((place for place in found if place[0] >= 0), default=(0, 0, None))[2]


class _Program:
    """A template, compiled."""

    def __init__(self, source: str, variables: dict[str, Any]) -> None:
        self._variables = variables
        try:
            self._template = _environment().from_string(source)
        except TemplateError as error:
            raise CheckpointError(f"its chat template cannot be read ({error})") from error

    def render(self, messages: list[dict[str, str]], *, reply: bool = True) -> str:
        """The text of a conversation; ``reply``: and what a reply begins with."""
        try:
            return self._template.render(
                messages=messages, add_generation_prompt=reply, **self._variables
            )
        except Exception as error:  # whatever a program of somebody else's runs into
            raise InputError(f"the model's chat template refuses this: {error}") from error


class _Generation(Extension):
    """``{% generation %}`` marks replies for training; here it only lets them through."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> ImmutableSandboxedEnvironment:
    """What chat templates are written for: see the documentation of ``transformers``."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment


def _to_json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> None:
    raise TemplateError(message)
