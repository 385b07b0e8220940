"""The chat model's bench: both ways run, agree and are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.benchmarks import BenchmarkError
from model.pretrained.benchmark import ChatWorkload, cached_against_uncached, chat_benchmarks
from model.registry import find, load
from tests.pretrained.makers import needs_extra, write_folder

pytestmark = needs_extra
SMALL = ChatWorkload(lengths=(4, 40), context=24, tokens=4, repeats=2, quick_repeats=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "tiny"
    write_folder(path)
    return path


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_pass_is_compared_with_the_library_and_with_no_cache(
    folder: Path, precision: Any
) -> None:
    handle = load(find(str(folder)), precision=precision)
    results = list(chat_benchmarks(handle, folder, quick=True, work=SMALL))
    assert [result.key for result in results] == ["vs_hf_chat", "cached_4", "cached_40"]
    assert all(result.ours_s > 0 and result.other_s > 0 and result.n == 1 for result in results)
    assert results[0].other == "transformers" and results[0].aim == 1.5


def test_other_weights_are_no_comparison(folder: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "other", seed=9)
    handle = load(find(str(folder)))
    with pytest.raises(BenchmarkError, match="logits of both ways differ"):
        list(chat_benchmarks(handle, tmp_path / "other", quick=True, work=SMALL))


def test_a_cache_that_changes_the_logits_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = load(find(str(folder)))
    monkeypatch.setattr("model.pretrained.llama._turn", lambda heads, turns: heads * len(turns))
    with pytest.raises(BenchmarkError, match="logits of both ways differ"):
        cached_against_uncached(handle, 20, 1)
