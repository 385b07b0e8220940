"""``calibration``: does the model's probability of 。 mean what it says, on unseen poems?"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from model.calibration import WordCalibration
    from model.registry import ModelHandle

WORD = "春风"
"""The lesson's fragment."""

FRAGMENT_WITHIN = 0.03
"""How far P(。|春风) as a fragment may lie from its frequency in the corpus."""

MEAN_WITHIN = 0.02
"""How far the mean P(。) after frequent words may lie from the share that 。 follows."""


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""

    @app.command("calibration")
    def command(
        model: Annotated[
            str | None, typer.Option(metavar="NAME|FILE", help="A model.", show_default=False)
        ] = None,
        json: Annotated[
            bool, typer.Option("--json", help="Print one JSON document.", show_default=False)
        ] = False,
    ) -> int:
        """Compare P(。) with what follows frequent words in unseen poems (needs the corpus)."""
        return calibrate(model, json)


def calibrate(model: str | None, as_json: bool) -> int:
    """Print the comparison; 0 where the model keeps within both bounds, else 1."""
    from corpora.poems import read_built
    from corpora.stats import following, verse
    from model.calibration import calibration, fragment_stop_probability, frequent_words, pooled
    from tui.cli.loading import load_model
    from tui.cli.output import print_json

    handle = load_model(model, 1)
    words = frequent_words(poem.text for poem in read_built("tang.train"))
    rows = calibration(handle, [poem.text for poem in read_built("tang.heldout")], words)
    together = pooled(rows)
    predicted = fragment_stop_probability(handle, WORD)
    observed = following(WORD, verse()).share("。")
    within = (
        abs(predicted - observed) <= FRAGMENT_WITHIN
        and abs(together.predicted - together.observed) <= MEAN_WITHIN
    )
    if as_json:
        document = {
            "model": handle.spec.name,
            "fragment": {"text": WORD, "predicted": predicted, "observed": observed},
            "words": [asdict(row) for row in rows],
            "all": asdict(together),
            "within": within,
        }
        print_json(document)
    else:
        _print(handle, [*rows, together], predicted, observed)
    return 0 if within else 1


def _print(
    handle: ModelHandle, rows: list[WordCalibration], predicted: float, observed: float
) -> None:
    from rich.table import Table

    from tui.cli.output import print_table

    table = Table(box=None, pad_edge=False)
    table.add_column("after")
    for heading in ("places", "mean P(。)", "。 follows", "difference"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            row.word,
            f"{row.places:,}",
            f"{row.predicted:.1%}",
            f"{row.observed:.1%}",
            f"{100 * (row.predicted - row.observed):+.1f} points",
        )
    print(f"{handle.title}, unseen poems, each read from its start (all: within 2 points)")
    print_table(table)
    print(
        f"{WORD} as a fragment: P(。) {predicted:.1%}, in the corpus {observed:.1%} "
        f"({100 * (predicted - observed):+.1f} points, within 3)"
    )
