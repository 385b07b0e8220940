"""Figures of a report put into a page of documentation, so that a page never has other
figures than a run gave.

    python -m tui.lab.pages report/report.json docs/lab.md

A page says where they stand: between ``<!-- figures NAME: TITLE | TITLE -->`` and
``<!-- end -->`` come what an experiment found and those of its tables whose titles begin so;
between ``<!-- made -->`` and ``<!-- end -->`` what the report was made with.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpora.errors import UserError
from model.errors import InputError
from model.lab.base import Check, Column, Table
from tui.files import write_whole
from tui.lab.markdown import escaped, made_with, table_text
from tui.lab.outcome import tally

BLOCK = re.compile(r"(<!-- (figures ([\w-]+): ?(.*?)|made) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, report: Mapping[str, Any]) -> str:
    """``page`` with the figures of ``report``, a report's JSON, in every place for some.

    Raises ``InputError`` where an experiment has no result there, or no table of a title.
    """
    results = {one["name"]: one for one in report["experiments"]}

    def block(found: re.Match[str]) -> str:
        opening, kind, name, titles, closing = found.groups()
        if kind == "made":
            text = made_with(report["made"])
        elif "tables" not in results.get(name, {}):
            raise InputError(f"the report has no result of {name}")
        else:
            text = figures(results[name], [title for title in titles.split(" | ") if title])
        return f"{opening}\n{text}\n\n{closing}"

    return BLOCK.sub(block, page)


def figures(result: Mapping[str, Any], titles: Sequence[str]) -> str:
    """What was found, the tables whose titles begin with one of ``titles``, how checks ended."""
    parts = ["\n".join(f"- {escaped(finding)}" for finding in result["findings"])]
    for title in titles:
        known = [table for table in result["tables"] if table["title"].startswith(title)]
        if not known:
            raise InputError(f"{result['name']} has no table whose title begins with {title!r}")
        for each in known:
            table = _table(each)
            parts += [f"**{escaped(table.title)}**", table_text(table)]
            if table.note:
                parts.append(f"*{escaped(table.note)}*")
    parts.append(f"*{tally([Check(**check) for check in result['checks']])}.*")
    return "\n\n".join(part for part in parts if part)


def _table(made: Mapping[str, Any]) -> Table:
    return Table(
        made["title"],
        tuple(Column(**column) for column in made["columns"]),
        tuple(map(tuple, made["rows"])),
        made["note"],
    )


def main(words: Sequence[str]) -> int:
    """Fill the page in place; the exit code."""
    try:
        if len(words) != 2:
            raise InputError("two files are needed: a report.json and a page to fill")
        report, page = map(Path, words)
        try:
            measured = json.loads(report.read_text(encoding="utf-8"))
            text = page.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read {' or '.join(words)} ({error})") from error
        if not isinstance(measured, dict) or not {"made", "experiments"} <= measured.keys():
            raise InputError(f"{report} is no report of run.py lab all --report DIR")
        write_whole(page, filled(text, measured))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
