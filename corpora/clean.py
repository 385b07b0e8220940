"""Cleaning: one rule for each class of dirt, and simplification.

A rule sees one poem's text and repairs it, drops the poem, or lets it pass. Knows nothing of files.
Nothing here is NFKC-normalised: that would turn ， into an ASCII comma in nearly every poem.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from opencc import OpenCC

from corpora.poems import PUNCTUATION
from corpora.variants import TRANSLATION, VARIANTS

Repair = Callable[[str], str | None]
"""Takes a text; returns it clean of one class, or None where the poem has to be dropped."""


@dataclass(frozen=True)
class Rule:
    """One class of dirt: how to see it, what to do about it."""

    key: str
    title: str
    seen: Callable[[str], bool]
    repair: Repair


@dataclass(frozen=True)
class Cleaned:
    """What became of one text. `text` is None where the rule `dropped_by` dropped the poem."""

    text: str | None
    seen: tuple[str, ...]
    dropped_by: str | None


_HAN = "\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U000323af"
_NOT_HAN = re.compile(f"[^{_HAN}]+")


def is_han(char: str) -> bool:
    """True for unified ideographs of any plane; not radicals, compatibility forms, private use."""
    return _NOT_HAN.match(char) is None


def han_only(text: str) -> str:
    """`text` without anything but Han: what two copies of a poem have in common."""
    return _NOT_HAN.sub("", text)


# The marks of each class -----------------------------------------------------------------------

_NOTE = re.compile(r"（[^（）]*）")
_GAP = re.compile(
    r"^(?=.{1,12}$)(?!.*[補补])(?:[缺闕]$|.*(?:[上下中前後]半?[缺闕]|行[缺闕]|[缺闕]第|[缺闕].{0,2}[字句]))"
    r"|^[上下中前後][缺闕]"
)
_WHITE_NOTE = re.compile(r"〖[^〖〗]*〗|【[^【】]*】")
_TORTOISE = re.compile(r"〔([^〔〕]*)〕")
_SQUARE = re.compile(r"[\[［]([^\[\]［］]*)[\]］]")
_FOOTNOTE = re.compile(r"^[〇○一二三四五六七八九十百]+$")
_QUOTES = "「」『』“”‘’《》〈〉"
_BRACKETS = "（）()[]［］〖〗【】〔〕"
_LOST = "□■●○◎\ufffd…"
_GLYPH = "{}｛｝=+/／|*"
_DESCRIPTION = re.compile("[\u2ff0-\u2fff\u31ef\u2e80-\u2fdf]")
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd]")
_ASCII_MARKS = str.maketrans({",": "，", "?": "？", "!": "！", ";": "；", ":": "：", "﹔": "；"})
_RUN = re.compile(f"[{PUNCTUATION}]{{2,}}")
_ENDS = "。？！"
_NOT_TITLE = re.compile(f"[^{_HAN}，、·]+")
_SPOTLESS = re.compile(f"(?:[{_HAN}]+[{PUNCTUATION}])*[{_HAN}]+[{_ENDS}]")


def _any_of(marks: str) -> Callable[[str], bool]:
    members = frozenset(marks)
    return lambda text: not members.isdisjoint(text)


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.search(text) is not None


def _drop(_: str) -> None:
    return None


# The repairs -----------------------------------------------------------------------------------


def _remove_notes(text: str) -> str | None:
    """Take （…） out from the inside outwards; a note that tells of a gap drops the poem."""
    while found := _NOTE.search(text):
        if _GAP.search(found.group()[1:-1]):
            return None
        text = text[: found.start()] + text[found.end() :]
    return text


def _keep_emended(text: str) -> str:
    """[爽]節 is an editor's character: it stays without its brackets; [一二] is a footnote."""
    return _SQUARE.sub(lambda m: "" if _FOOTNOTE.match(m[1]) else m[1], text)


def _tortoise(text: str) -> str:
    """〔態〕 is an editor's character; anything longer is a direction to the musicians."""
    return _TORTOISE.sub(lambda m: m[1] if len(m[1]) == 1 else "", text)


def _remove(marks: str) -> Repair:
    table = dict.fromkeys(map(ord, marks))
    return lambda text: text.translate(table)


def _inner_space(text: str) -> str | None:
    """Space around a poem is nothing; a gap inside it stands for a lost character."""
    text = text.strip()
    return None if re.search(r"\s", text) else text


def _collapse(text: str) -> str:
    """Keep the strongest of neighbouring marks, and none at the beginning."""
    return _RUN.sub(lambda m: min(m[0], key="。？！；，、".index), text).lstrip(PUNCTUATION)


def _needs_collapse(text: str) -> bool:
    return _RUN.search(text) is not None or text[:1] in PUNCTUATION


def _map_variants(text: str) -> str:
    return text.translate(TRANSLATION)


def _is_letter(text: str) -> bool:
    return any(unicodedata.category(c)[0] in "LN" for c in _strays(text))


def _is_stray(text: str) -> bool:
    return bool(_strays(text))


def _strays(text: str) -> set[str]:
    return set("".join(_NOT_HAN.findall(text))).difference(PUNCTUATION)


RULES: tuple[Rule, ...] = (
    Rule("empty", "no text", lambda t: not t.strip(), _drop),
    Rule(
        "space",
        "white space: ends trimmed, inner gap dropped",
        _matches(re.compile(r"\s")),
        _inner_space,
    ),
    Rule(
        "notes",
        "（…） notes removed; dropped where a note tells of a gap",
        _any_of("（）"),
        _remove_notes,
    ),
    Rule(
        "white_notes",
        "〖…〗 【…】 notes removed",
        _any_of("〖〗【】"),
        lambda t: _WHITE_NOTE.sub("", t),
    ),
    Rule("emended", "[…] ［…］ brackets dropped, character kept", _any_of("[]［］"), _keep_emended),
    Rule("tortoise", "〔…〕 one character kept, longer removed", _any_of("〔〕"), _tortoise),
    Rule("unbalanced", "brackets that do not pair", _any_of(_BRACKETS), _drop),
    Rule("lost", "□ ● ○ … U+FFFD: lost characters", _any_of(_LOST), _drop),
    Rule("glyph", "{釒基} a glyph described in parts", _any_of(_GLYPH), _drop),
    Rule("description", "⿰ and bare radicals", _matches(_DESCRIPTION), _drop),
    Rule("private", "private-use characters", _matches(_PRIVATE), _drop),
    Rule(
        "quotes", "「」『』《》〈〉“” marks removed, words kept", _any_of(_QUOTES), _remove(_QUOTES)
    ),
    Rule(
        "ascii",
        "ASCII , ? ! ; : made full width",
        _any_of(",?!;:"),
        lambda t: t.translate(_ASCII_MARKS),
    ),
    Rule("colon", "： made ，", _any_of("：:"), lambda t: t.replace("：", "，")),
    Rule(
        "variants",
        "variant characters mapped to the standard one",
        _any_of("".join(VARIANTS)),
        _map_variants,
    ),
    Rule("letters", "digits, Latin, kana and other letters", _is_letter, _drop),
    Rule("stray", "any other mark", _is_stray, _drop),
    Rule("runs", "neighbouring marks: the strongest kept", _needs_collapse, _collapse),
    Rule("emptied", "nothing left but marks", lambda t: not han_only(t), _drop),
    Rule(
        "unfinished",
        "does not end in 。？！: the rest is missing",
        lambda t: t[-1:] not in _ENDS,
        _drop,
    ),
)
"""In order. `seen` of a class is asked of the raw text by the counts, and again when its turn
comes: dirt that an earlier rule has taken away with a note is no longer there."""

_LATE = {"unbalanced", "stray", "runs", "emptied", "unfinished"}
_RAW_CLASSES = frozenset(rule.key for rule in RULES) - _LATE


def clean_text(raw: str) -> Cleaned:
    """Run every rule over `raw`, then simplify. The text that comes out is Han + PUNCTUATION."""
    if _SPOTLESS.fullmatch(raw):
        return _spotless(raw)
    text = raw
    seen: list[str] = []
    for rule in RULES:
        present = rule.seen(text)
        if present or (rule.key in _RAW_CLASSES and rule.seen(raw)):
            seen.append(rule.key)
        if not present:
            continue
        repaired = rule.repair(text)
        if repaired is None:
            return Cleaned(None, _all_seen(raw, seen), rule.key)
        text = repaired
    return Cleaned(simplify(text), tuple(seen), None)


def _spotless(raw: str) -> Cleaned:
    """The short way for the many texts that hold nothing but Han and well-placed marks."""
    text = _map_variants(raw)
    return Cleaned(simplify(text), ("variants",) if text != raw else (), None)


def _all_seen(raw: str, seen: list[str]) -> tuple[str, ...]:
    """A dropped poem is counted under every class that its raw text shows, not only the first."""
    late = (r.key for r in RULES if r.key in _RAW_CLASSES and r.key not in seen and r.seen(raw))
    return (*seen, *late)


def clean_title(raw: str) -> str:
    """A title or a name: notes and marks out, simplified; words of a list stay apart by 、."""
    text = _WHITE_NOTE.sub("", raw)
    while _NOTE.search(text):
        text = _NOTE.sub("", text)
    text = _map_variants(_keep_emended(text))
    kept = _NOT_TITLE.sub(" ", text)
    return simplify(" ".join(kept.split()).strip("，、· "))


def simplify(text: str) -> str:
    """Traditional to simplified characters, phrase by phrase (OpenCC, t2s)."""
    converter, again = _converter()
    return str(converter.convert(text)).translate(again)


@lru_cache(maxsize=1)
def _converter() -> tuple[OpenCC, dict[int, str]]:
    """OpenCC, and the variant table with simplified right sides: OpenCC itself yields 悮 or 颕."""
    converter = OpenCC("t2s")
    return converter, {ord(k): str(converter.convert(v)) for k, v in VARIANTS.items()}
