"""What a conversation begins with, in the window and in a plain terminal."""

from __future__ import annotations

from dataclasses import dataclass

from model.config import Precision, SamplerConfig

CHAT_MODEL = "smollm2"
CHAT_SAMPLER = SamplerConfig(temperature=0.2, top_p=0.9)
"""What SmolLM2's makers recommend on its model card."""
MAX_REPLY = 512
"""Tokens of a reply where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class ChatStart:
    """What the window is asked to begin its chat with; what is not given is as it was last."""

    model: str = ""
    """Its name or path."""
    precision: Precision | None = None
    """Of its weights and its cache."""
    system: str = ""
    """A system prompt: a new conversation begins under it."""
