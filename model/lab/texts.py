"""Openings to write from, greedy texts of one length for experiments that need many steps of
decoding rather than good poems, and real poems to hold against what is written."""

from __future__ import annotations

from collections.abc import Iterator

from corpora.poems import read_built
from model.config import Controls, SamplerConfig
from model.errors import UserError
from model.generate import Generator, Prompt
from model.registry import ModelHandle
from model.steps import Step
from model.subjects import Endless

OPENINGS = (
    *("春风", "明月", "白日", "黄河", "夜雨", "落花", "山月", "海上"),
    *("春山", "风雨", "白花", "夜声", "春来", "月光", "花落", "河上"),
    *("山雨", "春眠", "霜月", "风声", "日落", "海风", "明日", "啼鸟"),
)
"""Words that poems begin with, of frequent characters only."""

PROSE = (
    "The lighthouse keeper had lived alone for thirty years when",
    "Scientists were surprised to find that the animals",
    "When the train stopped between two stations, the passengers",
)
"""Openings of English prose, for models that have read some."""

GREEDY = SamplerConfig(temperature=0.0)


def greedy_texts(
    handle: ModelHandle, openings: tuple[str, ...], tokens: int
) -> Iterator[list[int]]:
    """The ids of one text from each opening, as they are written: the start token, the opening
    and up to ``tokens`` more, within the model's block. Text that would have ended goes on."""
    for opening in openings:
        prompt = Prompt(opening)
        ids = prompt.encode(handle.tokenizer)
        room = handle.model.config.block_size - len(ids)
        controls = Controls(GREEDY, max_tokens=max(1, min(tokens, room)))
        run = Generator(
            handle.model,
            handle.tokenizer,
            prompt,
            controls,
            constraint=Endless(),
            inspected=False,
        )
        yield ids + [event.token for event in run if isinstance(event, Step)]


def real_poems(count: int) -> list[str]:
    """``count`` Tang poems that no model was trained on, from all over the held-out set;
    none where the corpus is not built."""
    try:
        poems = [poem.text for poem in read_built("tang.heldout")]
    except UserError:
        return []
    return poems[:: max(1, len(poems) // count)][:count]
