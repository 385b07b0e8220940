"""What a conversation begins with, in the window and in a plain terminal."""

from __future__ import annotations

from model.config import SamplerConfig

CHAT_MODEL = "smollm2"
CHAT_SAMPLER = SamplerConfig(temperature=0.2, top_p=0.9)
"""What SmolLM2's makers recommend on its model card."""
MAX_REPLY = 512
"""Tokens of a reply where nothing else is asked for."""
