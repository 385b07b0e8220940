"""A conversation's next reply: what of the conversation fits into the model, and the run
that writes the reply with a cache that is kept from turn to turn.

Knows messages and runs; knows nothing of branches, files or screens.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Protocol

from model.config import Controls
from model.errors import InputError
from model.generate import ControlSource, Generator, Prompt
from model.inspect_at import Kept, Watched, keep_step
from model.protocol import Held, LanguageModel
from model.steps import Finished, Step
from model.tokenizers import Tokenizer

if TYPE_CHECKING:
    from model.conversation import Message

LOOK_BYTES = 200_000_000
"""Up to so many bytes a cache is copied to look back with; a longer text is read anew."""
NEARLY = 16
"""So many tokens are read sooner than a cache is copied."""
ROOM_SHARE = 4
"""One part in so many of the context is kept free for the reply, unless it may not be as long."""


def ending(finished: Finished) -> str:
    """Why a reply ended, in a conversation's words: there are no poems in it."""
    return "end_of_turn" if finished.reason == "end_of_poem" else finished.reason


class Template(Protocol):
    """How a model wants to be spoken to."""

    def encode(self, messages: Sequence[Message]) -> list[int]:
        """The ids of a conversation, up to where the next reply begins."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """As much of a conversation as a model can read before it replies."""

    ids: tuple[int, ...]
    left_out: int
    """Messages that had to leave, the oldest; the system prompt never does."""
    capacity: int
    """Tokens that the model reads, reply included."""

    @property
    def room(self) -> int:
        """Tokens left for the reply."""
        return self.capacity - len(self.ids)


def fit(
    template: Template,
    messages: Sequence[Message],
    *,
    capacity: int,
    reply_tokens: int,
    begun: int = 0,
) -> Fitted:
    """Leave out the oldest messages until a reply has room: whole questions with their answers,
    so that what is left still begins with a question.

    ``reply_tokens``: what the reply may take; a quarter of ``capacity`` is enough room, beside
    the ``begun`` tokens that it has already. Raises ``InputError`` where the last message alone
    is too long, or there is none.
    """
    system = [m for m in messages[:1] if m.role == "system"]
    rest = list(messages[len(system) :])
    if not rest:
        raise InputError("there is nothing to reply to; write a message first")
    room = begun + min(max(1, reply_tokens - begun), capacity // ROOM_SHARE)
    starts = [0, *(i for i in range(1, len(rest)) if rest[i].role == "user")]

    @cache
    def read(place: int) -> tuple[int, ...]:
        return tuple(template.encode([*system, *rest[starts[place] :]]))

    def fits(place: int) -> bool:
        return len(read(place)) + room <= capacity

    # each start leaves less than the one before it: a few lengths tell which is the first to fit
    first = 0 if fits(0) else bisect_left(range(len(starts)), True, lo=1, key=fits)
    if first == len(starts):
        raise InputError(
            f"the message takes {len(read(first - 1)):,} tokens with what stands around it; the "
            f"model reads {capacity:,} and its reply needs {room:,} of them: shorten the message"
        )
    return Fitted(read(first), starts[first], capacity)


class Talk:
    """One conversation with one model: its cache goes from reply to reply."""

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer, template: Template) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.template = template
        self._held: Held | None = None
        self._looked: Held | None = None  # a second cache, to look back with

    @property
    def capacity(self) -> int:
        """Tokens that the model reads."""
        return self.model.config.block_size

    def fit(self, messages: Sequence[Message], reply_tokens: int, begun: int = 0) -> Fitted:
        """What ``reply`` would read of ``messages``; see ``model.chat.fit``."""
        return fit(
            self.template,
            messages,
            capacity=self.capacity,
            reply_tokens=reply_tokens,
            begun=begun,
        )

    def without(self, messages: Sequence[Message], left_out: int) -> Fitted:
        """What is read of ``messages`` where the oldest ``left_out`` have left, however much room
        that leaves: what an older reply was written from. Raises ``ValueError`` where they are
        not so many."""
        system = [m for m in messages[:1] if m.role == "system"]
        if not 0 <= left_out < len(messages) - len(system):
            raise ValueError(f"{left_out} of {len(messages)} messages cannot have been left out")
        ids = self.template.encode([*system, *messages[len(system) + left_out :]])
        return Fitted(tuple(ids), left_out, self.capacity)

    def look(
        self, fitted: Fitted, tokens: Sequence[int], index: int, stops: Sequence[str] = ()
    ) -> Kept:
        """What step ``index`` of a reply of ``tokens`` to ``fitted`` saw. Costs a token or two
        where the text has been read: the cache for the next reply is copied, not cut back. Not
        while the model is in use."""
        held = self._to_look_with((*fitted.ids, *tokens[:index]))
        kept = keep_step(
            self.model,
            self.tokenizer,
            Prompt(ids=fitted.ids),
            tokens,
            index,
            stops=stops,
            held=held,
        )
        self._looked = kept.held
        return kept

    def _to_look_with(self, ids: Sequence[int]) -> Held | None:
        """The one of both caches that has read more of ``ids``, or a copy of it."""
        looked, self._looked = self._looked, None
        held = self._held
        if held is None or held.cache.nbytes > LOOK_BYTES:
            return looked
        if looked is not None and looked.common(ids) + NEARLY >= held.common(ids):
            return looked
        cache = self.model.new_cache()
        cache.restore(held.cache.snapshot())
        return Held(cache, held.ids)

    def reply(
        self,
        messages: Sequence[Message],
        controls: Controls | ControlSource,
        *,
        given: Sequence[int] = (),
        wanted: Callable[[], bool] = lambda: True,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Reply:
        """The reply to ``messages``, to be iterated. ``given``: tokens that it begins with (a
        stopped reply that goes on, a fork). ``wanted``: asked before each step whether to
        inspect it. Only one reply may be iterated at a time.

        Raises ``InputError`` where nothing can be replied to, see ``fit``.
        """
        ask = controls if callable(controls) else lambda: controls
        fitted = self.fit(messages, ask().max_tokens, len(given))
        held, self._held = self._held, None

        def within() -> Controls:
            """No longer than the model reads: its window must not slide over the question."""
            asked = ask()
            return replace(asked, max_tokens=min(asked.max_tokens, fitted.room))

        generator = Watched(
            self.model,
            self.tokenizer,
            Prompt(ids=fitted.ids),
            within,
            given=given,
            wanted=wanted,
            cancelled=cancelled,
            held=held,
        )
        return Reply(self, fitted, generator)

    def _take_back(self, generator: Generator) -> None:
        self._held = generator.held


class Reply:
    """One reply: iterate it for its steps and its end."""

    def __init__(self, talk: Talk, fitted: Fitted, generator: Generator) -> None:
        self.fitted = fitted
        self._talk = talk
        self._generator = generator

    @property
    def given_text(self) -> str:
        """What the given tokens make visible."""
        return self._generator.run.given_text

    @property
    def used(self) -> int:
        """Tokens of the context taken so far, of ``fitted.capacity``."""
        return len(self._generator.run.ids)

    def __iter__(self) -> Iterator[Step | Finished]:
        """Steps, then ``Finished``. However it is left, the cache is the conversation's again."""
        try:
            yield from self._generator
        finally:
            self._talk._take_back(self._generator)
