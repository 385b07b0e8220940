"""The flags of ``train`` and what they mean. Imports neither torch nor rich."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from model.errors import InputError
from tui.cli.options import Number, Threads, flags_named, option, read_number, switch, whole

RUNS = Path("runs")
"""Where runs keep their states, below the folder that the command is given in."""

FLAG_OF = {"n_layer": "layers", "n_head": "heads", "n_embd": "width", "block_size": "block"}
"""Settings whose flag has another name."""

SETTINGS = (
    "layers", "heads", "width", "block", "dropout", "steps", "seed", "batch_tokens", "accumulate",
    "warmup", "decay", "muon_lr", "adam_lr", "weight_decay", "fragment_share",
    "fragment_longest", "song_share",
    "precision", "tokenizer", "pieces", "teacher_share", "eval_every", "save_every",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TrainFlags:
    """The flags as they were typed."""

    name: Annotated[
        str, option("--name", metavar="NAME", text="The run's name and folder. [tang]")
    ] = "tang"
    layers: Annotated[Number, option("--layers", text="Layers. [4]")] = None
    heads: Annotated[Number, option("--heads", text="Attention heads. [4]")] = None
    width: Annotated[Number, option("--width", text="Width of the model. [128]")] = None
    block: Annotated[Number, option("--block", text="Longest context in tokens. [128]")] = None
    dropout: Annotated[Number, option("--dropout", text="Share of activations dropped. [0]")] = None
    steps: Annotated[Number, option("--steps", text="Optimizer steps. [3000]")] = None
    seed: Annotated[Number, option("--seed", text="Of weights, order and dropout. [1]")] = None
    batch_tokens: Annotated[
        Number, option("--batch-tokens", text="Tokens a forward pass. [2048]")
    ] = None
    accumulate: Annotated[Number, option("--accumulate", text="Forward passes a step. [2]")] = None
    warmup: Annotated[Number, option("--warmup", text="Steps of warm-up. [100]")] = None
    decay: Annotated[Number, option("--decay", text="Share of the steps that decay. [0.4]")] = None
    muon_lr: Annotated[Number, option("--muon-lr", text="Rate of the blocks' matrices. [0.02]")] = (
        None
    )
    adam_lr: Annotated[Number, option("--adam-lr", text="Rate of everything else. [0.003]")] = None
    weight_decay: Annotated[
        Number, option("--weight-decay", text="Of the blocks' matrices. [0]")
    ] = None
    fragment_share: Annotated[
        Number, option("--fragment-share", text="Batches from anywhere. [0.2]")
    ] = None
    eval_every: Annotated[
        Number, option("--eval-every", text="Steps between measurements. [250]")
    ] = None
    save_every: Annotated[Number, option("--save-every", text="Steps between saves. [250]")] = None
    fragment_longest: Annotated[
        Number, option("--fragment-longest", text="Tokens of these at most. [256]")
    ] = None
    song_share: Annotated[
        Number, option("--song-share", text="Song poems among the poems, tagged. [0]")
    ] = None
    precision: Annotated[
        str | None,
        option("--precision", metavar="TYPE", text="float32, or bfloat16: faster. [float32]"),
    ] = None
    tokenizer: Annotated[
        str | None,
        option("--tokenizer", metavar="KIND", text="char, or bpe: pieces of verse. [char]"),
    ] = None
    pieces: Annotated[Number, option("--pieces", text="Pieces of bpe, in all. [8000]")] = None
    teacher: Annotated[
        str | None,
        option(
            "--teacher",
            metavar="MODEL",
            text="Learn also what this model expects: a name or a checkpoint.",
        ),
    ] = None
    teacher_share: Annotated[
        Number, option("--teacher-share", text="Its part of each target. [0.5]")
    ] = None
    grow_from: Annotated[
        str | None,
        option("--grow-from", metavar="FILE", text="Begin as this checkpoint, made deeper."),
    ] = None
    out: Annotated[
        str | None,
        option("--out", metavar="FILE", text="The checkpoint. [runs/NAME/NAME.safetensors]"),
    ] = None
    export_only: Annotated[
        bool, switch("--export-only", "Write the saved state as a checkpoint, train no more.")
    ] = False
    threads: Threads = "1"


@dataclass(frozen=True, slots=True)
class TrainRequest:
    """What is to be trained."""

    name: str
    given: dict[str, Any]
    """Setting → value, for ``GPTConfig`` and ``TrainConfig``. Settings that were not given are
    not there: they come from the saved run of this name, or from the defaults."""
    grow_from: Path | None
    out: Path
    export_only: bool
    threads: int

    @property
    def folder(self) -> Path:
        """The folder of this run."""
        return RUNS / self.name


def read_train_flags(flags: TrainFlags) -> TrainRequest:
    """Check what can be checked without a corpus; ranges are for the settings themselves."""
    if not re.fullmatch(r"\w[\w.-]*", flags.name):
        raise InputError(
            f"--name is {flags.name!r}; it takes letters, digits, - _ and . (no folder)"
        )
    with flags_named():
        threads = whole("threads", flags.threads, 1, 1024)
    setting_of = {flag: setting for setting, flag in FLAG_OF.items()}
    given = {
        setting_of.get(name, name): read_number(text)
        for name in SETTINGS
        if (text := getattr(flags, name)) is not None
    }
    if flags.teacher is not None:
        given["teacher"] = flags.teacher
    own = RUNS / flags.name / f"{flags.name}.safetensors"
    out = own if flags.out is None else Path(flags.out)
    grow_from = None if flags.grow_from is None else Path(flags.grow_from)
    return TrainRequest(flags.name, given, grow_from, out, flags.export_only, threads)
