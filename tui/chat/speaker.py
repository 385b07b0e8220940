"""The model that replies: loading it, its cache from turn to turn, its meter.

Imports torch only once a model is there, which has been loaded on a thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.config import Controls, Precision
from model.labels import model_label
from model.speed import Reading, SpeedMeter
from tui.chat.dialogue import Dialogue, Turn
from tui.chat.needs import what_is_missing
from tui.chat.orders import ReplyOrder
from tui.loader import Loader

if TYPE_CHECKING:
    from model.chat import Talk
    from model.registry import ModelHandle


Key = tuple[str, Precision]


def key_of(handle: ModelHandle) -> Key:
    """What tells a loaded model from every other: caches and figures of two precisions are
    not the same."""
    return handle.spec.name, handle.precision


class Speaker:
    """One model at a time; those that were used before keep what was measured of them."""

    def __init__(self, loader: Loader, name: str) -> None:
        """``name``: the model to begin with, which ``load`` loads."""
        self._loader = loader
        self.name = name
        """As it can be asked for."""
        self.precision: Precision = "float32"
        """Of its weights and its cache, in use or asked for."""
        self.handle: ModelHandle | None = None
        self.refused = ""
        """Why there is no model; empty where there is one, or it is being loaded."""
        self.stage = ""
        """What the load is at, in words; empty while nothing is loaded."""
        self._used: Key = (name, self.precision)  # how the model in use was asked for
        self._talks: dict[Key, Talk] = {}
        self._meters: dict[Key, SpeedMeter] = {}

    @property
    def title(self) -> str:
        """Of the model in use, or what is being waited for."""
        if self.stage:
            return f"{model_label(self.name)}: {self.stage}…"
        if self.handle is None:
            return f"{model_label(self.name)}: not loaded"
        return self.handle.title

    @property
    def capacity(self) -> int:
        """Tokens that the model reads; 0 where it is not known."""
        return self.handle.model.config.block_size if self.handle else 0

    # loading

    def load(self, name: str = "", precision: Precision | None = None) -> None:
        """Load another model, or the same in another precision, or try again. One in use stays
        in use until then."""
        self.name, self.precision = name or self.name, precision or self.precision
        self.refused, self.stage = "", "loading"
        self._loader.begin(self.name, self.precision)

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

        key = key_of(handle)
        if key not in self._talks:
            self._talks[key] = Talk(handle.model, handle.tokenizer, handle.chat)
            self._meters[key] = SpeedMeter(name, handle.model.config.block_size)
        self.handle = handle
        self._used = (self.name, self.precision)
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
            self.name, self.precision = self._used
        return text

    # replying

    def order(
        self, dialogue: Dialogue, turn: Turn, controls: Controls, given: tuple[int, ...] = ()
    ) -> ReplyOrder:
        """How ``turn`` comes about. There must be a model."""
        assert self.handle is not None
        messages = dialogue.messages(turn.id)
        talk = self._talks[key_of(self.handle)]
        return ReplyOrder(
            self.handle, talk, messages, controls.max_tokens, given, left_out=turn.left_out
        )

    def check(self, system: str, text: str, controls: Controls) -> None:
        """Raises ``InputError`` where a question is too long to be read with all else left out."""
        if self.handle is None:
            return
        from model.conversation import Message

        said = [Message("system", system)] if system else []
        talk = self._talks[key_of(self.handle)]
        talk.fit([*said, Message("user", text)], controls.max_tokens)

    # measuring

    def meter(self, handle: ModelHandle) -> SpeedMeter | None:
        """What was measured of a model; ``None`` for one that was never in use here."""
        return self._meters.get(key_of(handle))

    def reading(self) -> Reading | None:
        """The figures of the model in use."""
        meter = self.meter(self.handle) if self.handle else None
        return meter.reading() if meter else None

    @property
    def full_cache_bytes(self) -> int:
        """Bytes of the longest cache; 0 where there is no model."""
        return self.handle.full_cache_bytes if self.handle else 0
