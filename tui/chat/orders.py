"""What a writer runs in a conversation: a reply.

Imports torch only when a run begins. Knows the engine; knows nothing of threads or widgets.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from model.config import Controls
from model.steps import Finished, Step

if TYPE_CHECKING:
    from model.chat import Fitted, Talk
    from model.conversation import Message
    from model.inspect_at import Kept
    from model.registry import ModelHandle

LOOK_S = 0.2


@dataclass(slots=True)
class ReplyOrder:
    """The reply to what was said."""

    handle: ModelHandle
    talk: Talk
    """Keeps the cache from reply to reply."""
    messages: list[Message]
    reply_tokens: int
    """What the reply may take; decides how much of a long conversation is read."""
    given: tuple[int, ...] = ()
    """Tokens taken as generated already: a reply that goes on, or a fork. They do not count
    against what a reply may take."""
    left_out: int | None = None
    """Messages that it was written without, where that is known: looking at it reads the same."""
    fitted: Fitted | None = None
    """What of the conversation the model reads; there once the run has begun."""

    @property
    def lock(self) -> threading.Lock:
        """Held while the model is in use."""
        return self.handle.lock

    def steps(
        self,
        controls: Callable[[], Controls],
        wanted: Callable[[], bool],
        cancelled: Callable[[], bool],
    ) -> Iterator[Step | Finished]:
        """The run. Raises ``InputError`` for what cannot be replied to.

        A step is inspected every ``LOOK_S``, whatever is ``wanted``: among 50,000 tokens that
        takes a third of a pass, and nobody reads tables faster.
        """

        def beside_given() -> Controls:
            asked = controls()
            more = len(self.given)
            return replace(asked, max_tokens=asked.max_tokens + more) if more else asked

        looked_at = -LOOK_S

        def due() -> bool:
            nonlocal looked_at
            now = time.monotonic()
            if now < looked_at + LOOK_S:
                return False
            looked_at = now
            return True

        reply = self.talk.reply(
            self.messages, beside_given, given=self.given, wanted=due, cancelled=cancelled
        )
        self.fitted = reply.fitted
        return iter(reply)

    def text_of(self, tokens: tuple[int, ...], stops: tuple[str, ...]) -> str:
        """What ``tokens`` make visible."""
        from model.run import Run

        tokenizer = self.handle.tokenizer
        return Run(tokenizer, [tokenizer.start_id], given=tokens, stops=stops).given_text

    def keep(self, tokens: tuple[int, ...], index: int, stops: tuple[str, ...]) -> Kept:
        """What step ``index`` of a reply of ``tokens`` saw."""
        if self.left_out is None:
            fitted = self.talk.fit(self.messages, self.reply_tokens)
        else:
            fitted = self.talk.without(self.messages, self.left_out)
        return self.talk.look(fitted, tokens, index, stops)
