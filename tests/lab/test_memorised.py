"""Longest runs in a corpus small enough to look through, and the experiment on one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from corpora.clean import han_only
from corpora.errors import UserError
from corpora.places import built_folder
from model.lab.base import Progress, collect
from model.lab.memorised import HELD_OUT, run
from model.lab.runs import Corpus, Run, encode
from tests.helpers import HAN
from tests.lab.helpers import tiny_request

MOON = "床前明月光，疑是地上霜。举头望明月，低头思故乡。"
SPRING = "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"
CORPUS = Corpus([MOON, SPRING])


def longest(corpus: Corpus, *texts: str) -> list[Run]:
    generator = corpus.longest_runs(texts)
    while True:
        try:
            assert isinstance(next(generator), Progress)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]


def test_a_text_of_the_corpus_gives_its_whole_length():
    assert longest(CORPUS, MOON, SPRING) == [Run(20, 0, 0), Run(20, 0, 1)]


def test_a_run_is_found_wherever_it_stands_over_a_lines_end():
    assert longest(CORPUS, "白日光疑是地！山") == [Run(4, 2, 0)]
    assert longest(CORPUS, "知多少") == [Run(3, 0, 1)]


def test_nothing_in_common():
    assert longest(CORPUS, "黄河入海流", "") == [Run(0, 0, -1), Run(0, 0, -1)]
    assert longest(CORPUS) == []


def test_runs_do_not_go_over_from_one_poem_into_the_next():
    assert longest(CORPUS, "思故乡春眠不") == [Run(3, 0, 0)]


def test_texts_do_not_run_into_each_other():
    assert [r.length for r in longest(CORPUS, "床前明", "月光疑")] == [3, 3]


def test_the_first_of_equals():
    assert longest(CORPUS, "春眠山明月") == [Run(2, 0, 1)]
    assert longest(Corpus(["月光", "明月", "明月"]), "明月") == [Run(2, 0, 1)]


def test_against_looking_through_every_substring():
    chance = random.Random(5)
    corpus = ["".join(chance.choices("甲乙丙丁", k=40)) for _ in range(20)]
    texts = ["".join(chance.choices("甲乙丙丁戊", k=30)) for _ in range(20)]
    for text, found in zip(texts, longest(Corpus(corpus), *texts), strict=True):
        best = max(
            n for i in range(30) for n in range(31 - i) if any(text[i : i + n] in c for c in corpus)
        )
        assert found.length == best
        assert text[found.start : found.start + best] in corpus[found.text]


def test_parts_are_one_corpus():
    corpus = Corpus.joined([encode([MOON]), encode([SPRING])])
    assert corpus.characters == 40
    assert longest(corpus, "闻啼鸟夜") == [Run(4, 0, 1)]


def build(root: Path, **sets: list[str]) -> None:
    folder = built_folder(root)
    folder.mkdir(parents=True)
    for name, texts in sets.items():
        lines = [
            json.dumps({"id": str(i), "title": "题", "author": "人", "text": text})
            for i, text in enumerate(texts)
        ]
        path = folder / f"{name.replace('_', '.')}.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("corpora.places.user_cache_path", lambda name: tmp_path)
    return tmp_path


def test_generated_and_held_out_poems_are_looked_up(cache: Path):
    seven = "春眠不觉晓处闻，啼鸟夜来风雨声。花落知多少床前，明月光疑是地上。"
    build(cache, tang_train=[SPRING, HAN], song_train=[MOON], tang_heldout=[seven, MOON])
    result = collect(run(tiny_request()))
    whole, leaked = result.checks
    assert whole.holds, whole
    assert not leaked.holds  # this split is no split: the poem is made of the training line
    counts = {(row[0], row[1]): row for row in result.tables[0].rows}
    assert counts["七绝", HELD_OUT][2] == 1
    assert counts["七绝", HELD_OUT][5] == len(han_only(seven))
    assert counts["七绝", "T 1"][2] == counts["五律", "T 0.3"][2] == 10


def test_without_the_corpus_it_says_how_to_build_it(cache: Path):
    with pytest.raises(UserError, match="corpus build"):
        collect(run(tiny_request()))
