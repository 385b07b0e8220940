"""The model that replies: loading it, its cache from turn to turn, its meter.

Imports torch only once a model is there, which has been loaded on a thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.config import Controls
from model.speed import Reading, SpeedMeter
from tui.chat.dialogue import Dialogue, Turn
from tui.chat.needs import what_is_missing
from tui.chat.orders import ReplyOrder
from tui.loader import Loader

if TYPE_CHECKING:
    from model.chat import Talk
    from model.registry import ModelHandle


class Speaker:
    """One model at a time; those that were used before keep what was measured of them."""

    def __init__(self, loader: Loader, name: str) -> None:
        """``name``: the model to begin with, which ``load`` loads."""
        self._loader = loader
        self.name = name
        """As it can be asked for."""
        self.handle: ModelHandle | None = None
        self.refused = ""
        """Why there is no model; empty where there is one, or it is being loaded."""
        self.stage = ""
        """What the load is at, in words; empty while nothing is loaded."""
        self._used = name  # how the model in use was asked for
        self._talks: dict[str, Talk] = {}
        self._meters: dict[str, SpeedMeter] = {}

    @property
    def title(self) -> str:
        """Of the model in use, or what is being waited for."""
        if self.stage:
            return f"{self.name}: {self.stage}…"
        if self.handle is None:
            return f"{self.name}: not loaded"
        return self.handle.title

    @property
    def capacity(self) -> int:
        """Tokens that the model reads; 0 where it is not known."""
        return self.handle.model.config.block_size if self.handle else 0

    # loading

    def load(self, name: str = "") -> None:
        """Load another model, or try again. One in use stays in use until then."""
        self.name = name or self.name
        self.refused, self.stage = "", "loading"
        self._loader.begin(self.name)

    def awaits(self, request: int) -> bool:
        """Whether an answer is to the latest request."""
        return request == self._loader.request

    def ready(self, handle: ModelHandle) -> str:
        """Use this one; why not, where it cannot chat."""
        self.stage = ""
        name = handle.spec.name
        if handle.chat is None:
            return self._refuse(
                f"{name} only continues text; choose a model with a chat template (^L)"
            )
        from model.chat import Talk

        if name not in self._talks:
            self._talks[name] = Talk(handle.model, handle.tokenizer, handle.chat)
            self._meters[name] = SpeedMeter(name, handle.model.config.block_size)
        self.handle = handle
        self._used = self.name
        return ""

    def failed(self, text: str) -> str:
        """It could not be loaded; what to say of it."""
        self.stage = ""
        return self._refuse(what_is_missing(self.name) or text)

    def _refuse(self, text: str) -> str:
        """Without a model nothing can be said; with one it stays in use."""
        if self.handle is None:
            self.refused = text
        else:
            self.name = self._used
        return text

    # replying

    def order(
        self, dialogue: Dialogue, turn: Turn, controls: Controls, given: tuple[int, ...] = ()
    ) -> ReplyOrder:
        """How ``turn`` comes about. There must be a model."""
        assert self.handle is not None
        messages = dialogue.messages(turn.id)
        talk = self._talks[self.handle.spec.name]
        return ReplyOrder(
            self.handle, talk, messages, controls.max_tokens, given, left_out=turn.left_out
        )

    def check(self, system: str, text: str, controls: Controls) -> None:
        """Raises ``InputError`` where a question is too long to be read with all else left out."""
        if self.handle is None:
            return
        from model.conversation import Message

        said = [Message("system", system)] if system else []
        talk = self._talks[self.handle.spec.name]
        talk.fit([*said, Message("user", text)], controls.max_tokens)

    # measuring

    def meter(self, model: str) -> SpeedMeter | None:
        """What was measured of a model."""
        return self._meters.get(model)

    def reading(self) -> Reading | None:
        """The figures of the model in use."""
        meter = self._meters.get(self.handle.spec.name) if self.handle else None
        return meter.reading() if meter else None

    @property
    def full_cache_bytes(self) -> int:
        """Bytes of the longest cache; 0 where there is no model."""
        return self.handle.full_cache_bytes if self.handle else 0
