"""What the Chinese lesson prints (生成文字和 KV 快取: a GPT of 4 layers and width 128 on
《全唐诗》, vocabulary 6,289), as data. Read from the lesson's own page; no other file of this
program knows its numbers of these sections.
"""

from __future__ import annotations

VOCABULARY = 6289
TOP: dict[str, tuple[tuple[str, float], ...]] = {
    "白日依山尽，黄河入海": (
        *(("无", 0.069), ("间", 0.045), ("多", 0.043), ("深", 0.037)),
        *(("边", 0.030), ("空", 0.026), ("难", 0.023), ("遥", 0.021)),
    ),
    "床前明月光，疑是地上": (
        *(("天", 0.032), ("花", 0.029), ("楼", 0.024), ("清", 0.018)),
        *(("看", 0.017), ("游", 0.017), ("人", 0.016), ("枝", 0.013)),
    ),
    "春风": (
        *(("。", 0.142), ("，", 0.051), ("吹", 0.033), ("满", 0.029)),
        *(("雨", 0.019), ("起", 0.019), ("尽", 0.014), ("落", 0.013)),
    ),
}
"""The next-character tables: after each opening, the eight likeliest."""
FRAGMENTS = ("春风",)
"""Those of the openings that are text from anywhere; the others begin a poem."""
ORIGINAL = {"白日依山尽，黄河入海": "流", "床前明月光，疑是地上": "霜"}
"""How the famous poems go on; neither stands in the lesson's tables."""
SPRING_WIND, SPRING_WIND_STOP = 797, 111
"""Times that 春风 occurs in the lesson's training text, and of these with 。 behind it."""
TEMPERATURES = (0.3, 1.0, 1.5)
HOT, HOT_TOP_K = 1.5, 20
OPENINGS = ("床前明月光，", "大漠孤烟直，", "人工智能好，")
ACROSTICS = {"春眠不觉": 7, "学无止境": 5}
"""Heads, and characters of a line."""
MILLISECONDS = {32: (23, 12, 1.8), 64: (52, 26, 2.0), 120: (130, 49, 2.6)}
"""By characters written: without the cache, with it, and how many times faster."""
IDENTICAL = 120
"""Characters over which both ways wrote the same."""
CACHE_PER_TOKEN, BLOCK = 4096, 128
"""Bytes of a token's keys and values, and tokens of the longest context."""
