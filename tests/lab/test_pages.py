"""Figures of a report in a page: replaced, never mixed; and the lab's own page has a place for
every experiment."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from model.errors import InputError
from model.lab.catalogue import EXPERIMENTS
from tests.lab.scripted import FAILING, HOSTILE, HOSTILE_ONE, IMPOSSIBLE, SMALL, result
from tui.lab.document import document
from tui.lab.outcome import Outcome
from tui.lab.pages import filled, main

MADE = {
    "date": "1 May 2026",
    "seconds": 90.0,
    "models": [{"name": "a|b", "parameters": 1_000, "checkpoint": "0123456789abcdef",
                "tokenizer": None}],
    "python": "3.11", "torch": "2.13", "threads": 1, "machine": "Linux on x86_64", "cores": 2,
    "busy": 1.5,
}  # fmt: skip
REPORT = {
    "made": MADE,
    "experiments": [
        document(Outcome(SMALL, "done", 1.0, result("small"))),
        document(Outcome(HOSTILE_ONE, "done", 1.0, result("hostile", text=HOSTILE))),
        document(Outcome(FAILING, "done", 1.0, result("failing", holds=False))),
        document(Outcome(IMPOSSIBLE, "impossible", 0.0, None, ValueError("no corpus"))),
    ],
}
PAGE = """# A page

<!-- made -->
<!-- end -->

Said by hand.

<!-- figures small: A table -->
old figures | 1 |
<!-- end -->

<!-- figures failing: -->
<!-- end -->

The end.
"""


def test_figures_take_the_place_of_those_before_and_words_stay():
    page = filled(PAGE, REPORT)
    assert "old figures" not in page
    for said in ("# A page", "Said by hand.", "The end.", "- A finding about 春风.",
                 "**A table of 春风**", "| what | share | count | kept |", "| 春风 | 50.0% |",
                 "*1 of 1 checks hold.*", "*0 of 1 checks hold.*", "1 May 2026, 1.5 minutes",
                 "| a\\|b | 1,000 | `0123456789ab` | – |"):  # fmt: skip
        assert said in page
    assert page.count("**A table of") == 1  # failing asked for none
    assert filled(page, REPORT) == page


def test_what_was_measured_cannot_end_its_block():
    page = filled("<!-- figures hostile: A table -->\n<!-- end -->\n", REPORT)
    assert page.count("<!-- end -->") == 1
    assert filled(page, REPORT) == page


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<!-- figures impossible: -->\n<!-- end -->", "no result of impossible"),
        ("<!-- figures unknown: -->\n<!-- end -->", "no result of unknown"),
        ("<!-- figures small: Other -->\n<!-- end -->", "no table whose title begins with 'Other'"),
    ],
)
def test_what_is_not_there_is_said(page: str, said: str):
    with pytest.raises(InputError, match=said):
        filled(page, REPORT)


def test_it_is_run_on_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    report, page = tmp_path / "report.json", tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert main([str(report), str(page)]) == 2
    report.write_text("[]", encoding="utf-8")
    assert main([str(report), str(page)]) == 2
    assert main([]) == 2
    assert capsys.readouterr().err.count("\n") == 3
    assert page.read_text(encoding="utf-8") == PAGE  # nothing was half filled
    report.write_text(json.dumps(REPORT), encoding="utf-8")
    assert main([str(report), str(page)]) == 0
    assert page.read_text(encoding="utf-8") == filled(PAGE, REPORT)


def test_the_labs_page_has_a_place_for_every_experiment():
    page = (Path(__file__).parents[2] / "docs" / "lab.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert [name for name in sections if name in {one.name for one in EXPERIMENTS}] == [
        one.name for one in EXPERIMENTS
    ]
    for one in EXPERIMENTS:
        section = sections[one.name]
        for said in ("**Claim.**", "**How.**", f"<!-- figures {one.name}:", "**What it means.**"):
            assert section.count(said) == 1, (one.name, said)
        assert len(section.split("-->")[1]) > 50, f"{one.name} has no figures"
