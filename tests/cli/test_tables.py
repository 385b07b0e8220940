"""``probs``, ``models`` and ``corpus``: tables for people, JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from model.reader import line_end_ids
from model.registry import find, load
from model.window import next_start
from tests.cli.conftest import HAN, Answer, on_terminal

Call = Callable[..., Answer]


@pytest.fixture
def table(run: Call, checkpoint: Path) -> Callable[..., dict]:
    def call(*arguments: str) -> dict:
        return run("probs", *arguments, "--json", "--model", str(checkpoint)).json

    return call


def reference(checkpoint: Path, ids: list[int]) -> torch.Tensor:
    """Probabilities from one plain forward pass."""
    handle = load(find(str(checkpoint)))
    with torch.inference_mode():
        return handle.model(torch.tensor([ids]))[0, -1].softmax(-1)


def test_probs_are_the_raw_ones_of_a_beginning_and_of_a_fragment(
    checkpoint: Path, table: Callable[..., dict]
) -> None:
    tokenizer = load(find(str(checkpoint))).tokenizer
    ids = tokenizer.encode("春眠不觉")
    for flags, read in (([], [tokenizer.start_id, *ids]), (["--fragment"], ids)):
        document = table("春眠不觉", *flags)
        assert (document["text"], document["model"]) == ("春眠不觉", "tiny")
        wanted = reference(checkpoint, read).topk(8)
        assert [row["token"] for row in document["top"]] == [
            tokenizer.name(token) for token in wanted.indices.tolist()
        ]
        got = [row["probability"] for row in document["top"]]
        assert got == pytest.approx(wanted.values.tolist(), abs=1e-6)


def test_probs_name_the_token_that_ends_a_poem_by_what_it_does(
    checkpoint: Path, table: Callable[..., dict]
) -> None:
    tokenizer = load(find(str(checkpoint))).tokenizer
    assert tokenizer.end_id == tokenizer.start_id, "one token begins a poem and ends it"
    names = [row["token"] for row in table("春", "--top", str(tokenizer.vocab_size))["top"]]
    assert names.count("<end>") == 1 and "<poem>" not in names


def test_probs_work_past_the_block(checkpoint: Path, table: Callable[..., dict]) -> None:
    handle = load(find(str(checkpoint)))
    text = "".join(HAN[i * 7 % len(HAN)] + "，" * (i % 6 == 5) for i in range(170))
    ids = [handle.tokenizer.start_id, *handle.tokenizer.encode(text)]
    block = handle.model.config.block_size
    assert len(ids) > 2 * block
    start = next_start(ids, 0, len(ids), block, line_end_ids(handle.tokenizer))
    wanted = reference(checkpoint, ids[start:]).max()
    assert table(text, "--top", "1")["top"][0]["probability"] == pytest.approx(float(wanted))


def test_top_gives_as_many_rows_as_there_are(table: Callable[..., dict]) -> None:
    assert len(table("春", "--top", "3")["top"]) == 3
    everything = table("春", "--top", "9999")["top"]
    assert sum(row["probability"] for row in everything) == pytest.approx(1, abs=1e-5)


def test_the_table_shows_tokens_shares_and_bars(run: Call, checkpoint: Path) -> None:
    answer = run("probs", "春", "--model", str(checkpoint), "--top", "4")
    lines = answer.stdout.splitlines()
    assert len(lines) == 4
    assert all(line.split()[1].endswith("%") for line in lines)
    assert "\x1b" not in answer.stdout


def test_converted_text_is_told_beside_the_table(run: Call, checkpoint: Path) -> None:
    answer = run("probs", "覺", "--json", "--model", str(checkpoint))
    assert answer.json["text"] == "觉"
    assert answer.stderr == "text: 覺 → 觉\n"


def test_one_model_tells_everything(run: Call, checkpoint: Path) -> None:
    document = run("models", str(checkpoint), "--json").json
    assert document["parameters"] == load(find(str(checkpoint))).model.n_parameters
    assert document["shape"]["n_layer"] == 2
    assert document["held_out_loss"] == 5.5
    assert document["bytes"] == checkpoint.stat().st_size
    assert document["training"] == {"held_out_loss": 5.5, "steps": 0}
    assert document["fingerprint"]["dtype"] == "float32"
    plain = run("models", str(checkpoint)).stdout
    assert document["fingerprint"]["checkpoint"] in plain


def test_the_list_goes_on_past_a_file_that_cannot_be_read(
    run: Call, checkpoint: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tang-small.safetensors").write_bytes(b"damaged")
    (tmp_path / "tang-base.safetensors").write_bytes(checkpoint.read_bytes())
    monkeypatch.setattr("model.registry.WEIGHTS", tmp_path)
    answer = run("models")
    assert answer.code == 0
    good, bad = (
        next(line for line in answer.stdout.splitlines() if line.startswith(name))
        for name in ("tang-base", "tang-small")
    )
    assert "5.500" in good
    assert "–" in bad
    documents = run("models", "--json").json["models"]
    faults = {document["name"]: "fault" in document for document in documents}
    assert (faults["tang-small"], faults["tang-base"]) == (True, False)


def test_corpus_build_and_stats_print_their_tables(
    run: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "corpus fetch" in run("corpus", "build").stderr
    assert "corpus build" in run("corpus", "stats").stderr
    verse = tmp_path / "yinchuang" / "chinese-poetry-2.0.1" / "dist"
    regular = ["春風吹又生，明月照還來。", "春風不相識，人間[知]不知。"]
    poems = [
        {"id": "a", "title": "甲", "author": "乙", "paragraphs": regular},
        {"id": "b", "title": "甲", "author": "乙", "paragraphs": ["□風吹又生，明月照還來。"]},
    ]
    ci = [{"rhythmic": "甲", "author": "乙", "paragraphs": ["春花秋月何時了，往事知多少。"]}]
    for name, records in (
        ("quantangshi/poet.tang.0.json", poems),
        ("quantangshi/poet.song.0.json", poems[1:]),
        ("songci/ci.song.0.json", ci),
    ):
        path = verse / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(records), encoding="utf-8")
    built = run("corpus", "build")
    assert built.code == 0
    assert "brackets dropped, character kept" in built.stdout
    assert "there already" in run("corpus", "build").stdout
    stats = run("corpus", "stats").stdout
    (line,) = (line for line in stats.splitlines() if line.startswith("春风"))
    assert line.split()[1:4] == ["2", "0.0%", "0.0%"]
    assert "五绝" in stats


@pytest.mark.parametrize("columns", [20, 80])
def test_a_table_wider_than_the_terminal_is_told_row_under_row(columns: int) -> None:
    shown = on_terminal("models", COLUMNS=str(columns), NO_COLOR="1").stdout
    lines = [line.rstrip() for line in shown.splitlines()]
    assert max(map(len, lines)) <= columns
    first = lines.index("tang-base")
    assert re.fullmatch(r"  parameters: \d+\.\d\d M", lines[first + 1])
    assert "…" not in shown


def test_in_a_pipe_a_row_is_a_line(run: Call) -> None:
    lines = run("models").stdout.splitlines()
    assert len(lines) == 1 + len(run("models", "--json").json["models"])
