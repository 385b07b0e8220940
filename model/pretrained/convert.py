"""A GGUF file as a folder with safetensors, made once and kept in the user's cache.

The conversion is the work of ``transformers``, in a process of its own: it takes a minute
and a gigabyte, and a window must go on answering meanwhile. The process ends with the one
that started it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from corpora.files import put_in_place, scratch_folder
from corpora.places import cache_root
from model.errors import CheckpointError
from model.hashing import file_hash
from model.pretrained.source import Source

VERSION = 1
"""Raised when a conversion of the same file would give something else."""
MARKER = "source.json"
"""Written last: what the folder was made of."""

_ROOT = Path(__file__).parents[2]
_END_FIELDS = ("eos", "eot", "eom")


def converted(source: Source, tell: Callable[[str], object] = lambda text: None) -> Path:
    """The folder that holds what ``source``, a GGUF file, holds; made where it is not there.

    ``tell`` hears, in a line, of work that takes long. Raises ``CheckpointError`` where the
    file cannot be converted or the folder not be written.
    """
    digest = file_hash(source.path)
    target = cache_root() / "pretrained" / f"{digest[:16]}-v{VERSION}"
    if (target / MARKER).is_file():
        return target
    tell(f"converting {source.path.name}, once: this takes a minute")
    try:
        with scratch_folder(target.parent, ".convert-") as scratch:
            fresh = scratch / "converted"
            fresh.mkdir()
            _in_process(source.path, fresh)
            record = {
                "file": source.path.name,
                "sha256": digest,
                "licence": source.licence,
                "end_ids": _end_ids(source),
            }
            (fresh / MARKER).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            put_in_place(fresh, target, scratch, stays=lambda there: (there / MARKER).is_file())
    except OSError as error:
        raise CheckpointError(
            f"{source.path} cannot be converted in {target.parent} "
            f"({error.strerror or error}); make room there or correct its permissions"
        ) from error
    return target


def _end_ids(source: Source) -> list[int]:
    """Every id that the file lists as an end: of text, of turn, of message."""
    fields = (source.document.get(f"tokenizer.ggml.{name}_token_id") for name in _END_FIELDS)
    return [value for value in fields if isinstance(value, int)]


def _in_process(path: Path, folder: Path) -> None:
    """Have ``path`` converted into ``folder`` by another process."""
    child = subprocess.Popen(
        [sys.executable, "-m", "model.pretrained.convert", str(path.resolve()), str(folder)],
        cwd=_ROOT,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"},
        stdin=subprocess.PIPE,  # its end tells the child that nobody waits any more
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        assert child.stderr is not None
        said = child.stderr.read().decode("utf-8", "replace").strip()
        status = child.wait()
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stderr):
            if pipe is not None:
                pipe.close()
    if status:
        reason = said.splitlines()[-1] if said else f"exit status {status}"
        raise CheckpointError(f"{path}: transformers cannot convert it ({reason})")


def _convert(path: Path, folder: Path) -> None:
    """The child's work."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    options = {"gguf_file": path.name, "local_files_only": True, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(path.parent, **options)
    tokenizer.save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(path.parent, dtype=torch.float32, **options)
    model.config.__dict__.pop("quantization_config", None)  # it is no longer
    model.config.save_pretrained(folder)
    tensors = dict(model.named_parameters())  # a tied head once
    contents = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    save_file(contents, folder / "model.safetensors", metadata={"format": "pt"})


def _end_with_parent() -> None:
    os.read(0, 1)  # not through sys.stdin, which a waiting thread would keep from closing
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _convert(Path(sys.argv[1]), Path(sys.argv[2]))
