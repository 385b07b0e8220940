"""Every class of dirt by example, then wild input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.clean import RULES, clean_text, clean_title, han_only, is_han, simplify
from corpora.poems import PUNCTUATION
from corpora.variants import VARIANTS

REPAIRED = [
    ("space", " 春眠不覺曉，處處聞啼鳥。\n", "春眠不觉晓，处处闻啼鸟。"),
    ("notes", "紫紱（一作「綬」）換征衣。", "紫绂换征衣。"),
    ("notes", "紫紱（一作（「綬」））換征衣。", "紫绂换征衣。"),
    ("notes", "老淚濕霜鬚。（卷五八九錄此詩，有缺字，今重錄。）", "老泪湿霜须。"),
    ("white_notes", "耳胡僧笑點頭〖1〗。", "耳胡僧笑点头。"),
    ("white_notes", "胡僧【注】笑點頭。", "胡僧笑点头。"),
    ("emended", "[爽]節在重九，物華新雨餘。", "爽节在重九，物华新雨余。"),
    ("emended", "首旬發定鼎[一]，再信過灞川[一二]。", "首旬发定鼎，再信过灞川。"),
    ("tortoise", "自是清涼〔態〕。", "自是清凉态。"),
    ("tortoise", "〔圜鍾爲宮三奏〕蒐講上儀。", "搜讲上仪。"),
    ("quotes", "童子解吟《長恨曲》，胡兒能唱「琵琶篇」。", "童子解吟长恨曲，胡儿能唱琵琶篇。"),
    ("ascii", "已矣乎!用舍匪吾.".replace(".", "。"), "已矣乎！用舍匪吾。"),
    ("colon", "問春桂：桃李正芬華。", "问春桂，桃李正芬华。"),
    ("variants", "爲君疎劒氣。", "为君疏剑气。"),
    ("runs", "歸去來兮。。", "归去来兮。"),
    ("runs", "，吾聞曰「歸。」，去。", "吾闻曰归。去。"),
]

DROPPED = [
    ("empty", ""),
    ("empty", "  \n"),
    ("space", "盡把師\u3000歸美。"),
    ("notes", "萬里漢都護。（下缺）"),
    ("notes", "（上缺）霜雪唯惜許。（見卷二十二，據別本補。）"),
    ("unbalanced", "老淚濕霜鬚。（《光緒崖州志》。"),
    ("unbalanced", "老淚）濕霜鬚。"),
    ("lost", "冰□已鏤津。"),
    ("lost", "●●啼深竹。"),
    ("lost", "……天地包羞日。"),
    ("lost", "門前數十丘\ufffd。"),
    ("glyph", "絲羅酒{炙火=肉}。"),
    ("glyph", "伯况可人，康巩/言亦脫俗。"),
    ("description", "山色豁林⿰木養。"),
    ("description", "咿呦叫⻊兀。"),
    ("private", "有意\ue85a鯨魚。"),
    ("letters", "Ｂ亂後碧井廢。"),
    ("letters", "長嘯け然。"),
    ("letters", "春山幾處茗旗香。ff。"),
    ("letters", "千尺絲輪0直下垂。"),
    ("stray", "兩宋名賢·小集。"),
    ("stray", "春\x00風。"),
    ("stray", "春\ud83d風。"),
    ("stray", "春🌸風。"),
    ("emptied", "。"),
    ("emptied", "（同前）。"),
    ("unfinished", "春眠不覺曉，處處聞啼鳥"),
    ("unfinished", "春眠不覺曉，"),
]


@pytest.mark.parametrize(("key", "raw", "clean"), REPAIRED)
def test_what_can_be_repaired_is(key: str, raw: str, clean: str) -> None:
    cleaned = clean_text(raw)
    assert cleaned.text == clean
    assert cleaned.dropped_by is None
    assert key in cleaned.seen


@pytest.mark.parametrize(("key", "raw"), DROPPED)
def test_what_cannot_be_repaired_is_dropped_and_says_why(key: str, raw: str) -> None:
    cleaned = clean_text(raw)
    assert cleaned.text is None
    assert cleaned.dropped_by == key
    assert key in cleaned.seen


def test_every_rule_has_an_example() -> None:
    shown = {key for key, *_ in REPAIRED} | {key for key, _ in DROPPED}
    assert shown == {rule.key for rule in RULES}


def test_dirt_inside_a_note_goes_with_the_note() -> None:
    cleaned = clean_text("春風（「□氛」，{釒基}，見p.3）吹又生。")
    assert cleaned.text == "春风吹又生。"
    assert {"notes", "lost", "glyph", "letters"} <= set(cleaned.seen)


def test_a_dropped_poem_is_counted_under_every_class_it_shows() -> None:
    cleaned = clean_text("冰□已{鏤}津\ue85a。")
    assert cleaned.dropped_by == "lost"
    assert {"lost", "glyph", "private"} <= set(cleaned.seen)


def test_nothing_is_nfkc_normalised() -> None:
    assert clean_text("春风，春雨。春花！春月？春山；春水、春草。").text == (
        "春风，春雨。春花！春月？春山；春水、春草。"
    )


def test_han_beyond_the_bmp_stays() -> None:
    assert clean_text("𡏖酒。").text == "𡏖酒。"
    assert is_han("𡏖") and is_han("㟧")
    assert not any(map(is_han, "，⻊\ue85a﨑Aけ〇"))


def test_phrases_are_simplified_as_phrases() -> None:
    assert simplify("乾坤日夜浮，衣乾") == "乾坤日夜浮，衣干"


def test_variants_that_opencc_itself_yields_are_mapped() -> None:
    assert clean_text("悞入塵網中。").text == "误入尘网中。"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("別蘇徯（赴湖南幕）", "别苏徯"),
        ("又酬曉燈[離暗]室五首 一", "又酬晓灯离暗室五首 一"),
        ("〖1〗 句\t", "句"),
        ("魏徵、褚亮", "魏徵、褚亮"),
        ("上嵩高山○（下缺）", "上嵩高山"),
        ("", ""),
    ],
)
def test_titles_lose_their_notes(raw: str, clean: str) -> None:
    assert clean_title(raw) == clean


def test_the_variant_table_maps_han_to_han_and_ends_at_once() -> None:
    for variant, standard in VARIANTS.items():
        assert len(variant) == len(standard) == 1
        assert is_han(standard)
        assert standard not in VARIANTS
        assert simplify(standard) not in VARIANTS


DIRT = "（）[]［］〖〗【】〔〕「」《》□●○{}⿰⻊\ue85a\ufffd\ud83d\x00…:：!,·/=Aけ0 \n\u3000缺一"
wild = st.text(
    st.one_of(st.sampled_from(DIRT + PUNCTUATION + "春風爲疎劒麽於乾悞"), st.characters())
)


@given(wild)
def test_whatever_comes_in_only_han_and_marks_come_out(raw: str) -> None:
    text = clean_text(raw).text
    if text is not None:
        assert all(is_han(char) or char in PUNCTUATION for char in text)
        assert text[0] not in PUNCTUATION and text[-1] in "。？！"
        text.encode("utf-8")


@given(st.text(st.sampled_from(DIRT + PUNCTUATION + "春風爲疎劒悞山水"), max_size=40))
def test_cleaning_what_is_clean_changes_nothing(raw: str) -> None:
    text = clean_text(raw).text
    if text is not None:
        assert clean_text(text).text == text


@given(wild)
def test_the_short_way_for_spotless_texts_agrees_with_the_rules(raw: str) -> None:
    han = han_only(raw)
    if han:
        noted = clean_text(f"（注）{han}。")
        assert clean_text(f"{han}。").text == noted.text


@given(wild)
def test_titles_never_keep_a_bracket_or_a_surrogate(raw: str) -> None:
    title = clean_title(raw)
    assert all(is_han(char) or char in "，、· " for char in title)
