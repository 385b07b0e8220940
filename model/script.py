"""Traditional and simplified characters: what a reader types, and what the models read.

The poems are kept in simplified characters, so that traditional input is converted, by
the same rules as the corpus was, and every change is reported. Where one traditional
character has several simplified ones (乾 is 乾 in 乾坤 and 干 in 乾燥), the choice and its
alternatives are reported too: nothing is guessed silently. Knows nothing of models.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from corpora.variants import TRANSLATION

_SEVERAL = """
乾:乾干 餘:余馀 瞭:瞭了 藉:藉借 覆:覆复 徵:征徵 鍾:钟锺 著:著着 夥:伙夥 像:像象 畫:画划 麼:么麽
鉅:巨钜 鍊:炼链 瀋:沈渖 沈:沈沉 蘋:苹蘋 颺:飏扬 閒:闲间 祇:祇只 衹:衹只 祗:祗只 槃:槃盘 釐:厘釐
剋:克剋 絜:絜洁 彷:彷仿 麴:曲麹 昇:升昇 陞:升陞 淼:淼渺 讎:雠仇 甯:宁甯 氾:泛氾 薹:苔薹 袷:夹袷
頫:俯𫖯 菉:菉绿 託:托讬 諮:咨谘 逕:径迳 龢:龢和 耑:耑专 噁:恶𫫇 蒐:搜蒐 箚:札劄
"""

AMBIGUOUS: dict[str, str] = {entry[0]: entry[2:] for entry in _SEVERAL.split()}
"""Traditional characters that simplify in more than one way, each with all of them."""

_FULL_WIDTH = str.maketrans(",?!;:.", "，？！；：。")


@dataclass(frozen=True, slots=True)
class Choice:
    """A character that could have been simplified in another way."""

    given: str
    chosen: str
    others: str
    """The other characters that it may stand for."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted text and what was done to it."""

    text: str
    changed: tuple[tuple[str, str], ...] = ()
    """(from, to), each pair once, in order of appearance."""
    ambiguous: tuple[Choice, ...] = ()
    """Each once, in order of appearance, also where the character stayed as it was."""

    def describe(self) -> str:
        """On one line, what a reader must be told; empty where there is nothing to tell:
        ``牀 → 床; 乾 → 干 (it may also be 乾)``."""
        told = {choice.given: choice for choice in self.ambiguous}
        parts = []
        for old, new in self.changed:
            choice = told.pop(old, None)
            other = f" (it may also be {' or '.join(choice.others)})" if choice else ""
            parts.append(f"{old} → {new}{other}")
        parts += [
            f"{choice.given} was kept (it may also be {' or '.join(choice.others)})"
            for choice in told.values()
        ]
        return "; ".join(parts)


def to_simplified(text: str) -> Conversion:
    """``text`` in the simplified characters of the corpus, and what was changed.

    Which of several a character becomes is decided by the phrase that it stands in, as for
    the corpus; length and order never change.
    """
    converted = _simplify(text)
    if len(converted) != len(text):  # a phrase of another length: go character by character
        converted = "".join(map(_simplify, text))
    return _compared(text, converted)


def read_verse(text: str) -> Conversion:
    """Like ``to_simplified``, for text meant as verse: its ASCII marks become full-width ones,
    as in the corpus, and this is reported in the same way."""
    full_width = text.translate(_FULL_WIDTH)
    return _compared(text, to_simplified(full_width).text)


def to_traditional(text: str) -> str:
    """``text`` in traditional characters, for display. Not an inverse: 发 is 發 or 髮 by the
    phrase that it stands in, which may be wrong in verse."""
    return str(_opencc("s2t").convert(text))


def _simplify(text: str) -> str:
    from corpora.clean import simplify

    return simplify(text.translate(TRANSLATION))


@lru_cache(maxsize=2)
def _opencc(name: str) -> Any:
    from opencc import OpenCC

    return OpenCC(name)


def _compared(given: str, converted: str) -> Conversion:
    pairs = list(zip(given, converted, strict=True))
    changed = dict.fromkeys((old, new) for old, new in pairs if old != new)
    choices = dict.fromkeys(
        Choice(old, new, AMBIGUOUS[old].replace(new, "")) for old, new in pairs if old in AMBIGUOUS
    )
    return Conversion(converted, tuple(changed), tuple(choices))
