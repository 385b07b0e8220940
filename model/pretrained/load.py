"""From a path to a model that can be written with: weights, tokenizer, chat template."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from model.config import Precision
from model.errors import CheckpointError, InputError
from model.pretrained.convert import MARKER, converted
from model.pretrained.llama import Llama, LlamaShape
from model.pretrained.source import Source, look_at, read_json

if TYPE_CHECKING:
    from model.pretrained.library import LibraryModel
    from model.pretrained.template import ChatTemplate
    from model.pretrained.tokenizer import PretrainedTokenizer

HOW_TO_INSTALL = "pip install -e '.[chat]' installs it"

_ENDS = frozenset(
    {
        "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|im_end|>", "<|eot_id|>",
        "<|eom_id|>", "<|end|>", "<end_of_turn>", "<|END_OF_TURN_TOKEN|>",
    }
)  # fmt: skip
"""How ends of texts and turns are written: files are known to list the wrong one or few."""

_SETTINGS = "tokenizer_config.json"
_DTYPES: dict[Precision, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class Pretrained:
    """A loaded model of somebody else's."""

    model: Llama | LibraryModel
    tokenizer: PretrainedTokenizer
    chat: ChatTemplate | None
    """``None`` where the model came without: it continues text only."""
    source: Source


def require_extra() -> None:
    """Raises ``InputError`` that says how to install what these models need."""
    missing = [name for name in ("transformers", "gguf", "accelerate") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"this model needs the optional extra chat ({', '.join(missing)} not installed); "
            f"{HOW_TO_INSTALL}"
        )


def open_pretrained(
    path: Path,
    precision: Precision = "float32",
    tell: Callable[[str], object] = lambda text: None,
) -> Pretrained:
    """Load the model at ``path``: a folder with safetensors, or one GGUF file.

    ``tell`` hears, in a line, of work that takes long. Raises ``InputError`` without the
    extra and ``CheckpointError`` for what cannot be loaded. No code of the folder's runs.
    """
    source = look_at(path)
    require_extra()
    folder = converted(source, tell) if source.kind == "gguf" else path
    files = look_at(folder) if source.kind == "gguf" else source
    try:
        model = _model(files, _DTYPES[precision])
        tokenizer, chat = _text(folder, model.config.vocab_size)
    except CheckpointError as error:
        told = str(error)
        raise CheckpointError(told if str(path) in told else f"{path}: {told}") from error
    return Pretrained(model, tokenizer, chat, source)


# Weights ---------------------------------------------------------------------------------------


def _model(source: Source, dtype: torch.dtype) -> Llama | LibraryModel:
    try:
        shape = LlamaShape.of(source.document)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError) as error:
        raise CheckpointError(f"its config.json is damaged ({error!r})") from error
    if shape is None:
        return _by_library(source, dtype)
    try:
        return Llama(shape, _reader(source.weights), dtype)
    except KeyError as error:
        raise CheckpointError(f"the weight {error} is missing") from error
    except (ValueError, TypeError, RuntimeError, SafetensorError) as error:
        raise CheckpointError(
            f"its weights do not fit the shape in its config.json ({error})"
        ) from error


def _reader(files: Iterable[Path]) -> Callable[[str], Tensor | None]:
    """Gives tensors by name. Each is mapped for itself, so that no more of the file stays in
    memory than is being copied."""
    where: dict[str, Path] = {}
    for path in files:
        with safe_open(path, framework="pt") as file:
            where.update(dict.fromkeys(file.keys(), path))

    def read(name: str) -> Tensor | None:
        if name not in where:
            return None
        with safe_open(where[name], framework="pt") as file:
            tensor: Tensor = file.get_tensor(name)
        return tensor

    return read


def _by_library(source: Source, dtype: torch.dtype) -> LibraryModel:
    quieten_library()
    import transformers

    from model.pretrained.library import LibraryModel

    try:
        auto: Any = transformers.AutoModelForCausalLM
        loaded, info = auto.from_pretrained(
            source.path,
            dtype=dtype,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    except Exception as error:  # whatever a foreign folder makes the library do
        raise CheckpointError(
            f"transformers cannot load this {source.architecture} model ({_first_line(error)})"
        ) from error
    if missing := sorted(info["missing_keys"]):
        raise CheckpointError(f"the weight {missing[0]!r} is missing")
    return LibraryModel(loaded)


# Text ------------------------------------------------------------------------------------------


def _text(folder: Path, vocab_size: int) -> tuple[PretrainedTokenizer, ChatTemplate | None]:
    from model.pretrained.template import ChatTemplate, end_of_turn
    from model.pretrained.tokenizer import PretrainedTokenizer, control_tokens

    settings = read_json(folder / _SETTINGS) if (folder / _SETTINGS).is_file() else {}
    document = _tokenizer_document(folder)
    names = {key: _written(settings.get(f"{key}_token")) for key in ("bos", "eos", "unk", "pad")}
    variables = {f"{key}_token": written for key, written in names.items() if written}
    control = control_tokens(document)
    ends = {i for written, i in control.items() if written in {*_ENDS, names["eos"]}}
    ends |= _listed_ends(folder)
    source = _template(folder, settings)
    if source and (turn := end_of_turn(source, variables, control)) is not None:
        ends.add(turn)
    tokenizer = PretrainedTokenizer(document, vocab_size, bos=names["bos"], end_ids=ends)
    return tokenizer, ChatTemplate(source, tokenizer, variables) if source else None


def _tokenizer_document(folder: Path) -> str:
    """The contents of ``tokenizer.json``; made by the library where only an older form of
    it is there."""
    try:
        return (folder / "tokenizer.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        pass
    except ValueError as error:
        raise CheckpointError(f"its tokenizer.json is not text ({error})") from error
    quieten_library()
    from transformers import AutoTokenizer

    try:
        loaded = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        return str(loaded.backend_tokenizer.to_str())
    except Exception as error:  # whatever a foreign folder makes the library do
        raise CheckpointError(f"its tokenizer cannot be loaded ({_first_line(error)})") from error


def _listed_ends(folder: Path) -> set[int]:
    """Every id that the folder's files list as an end."""
    listed: set[int] = set()
    for name, key in (
        ("config.json", "eos_token_id"),
        ("generation_config.json", "eos_token_id"),
        (MARKER, "end_ids"),
    ):
        if (folder / name).is_file():
            value = read_json(folder / name).get(key)
            values = value if isinstance(value, list) else [value]
            listed |= {each for each in values if isinstance(each, int)}
    return listed


def _template(folder: Path, settings: dict[str, Any]) -> str | None:
    """The chat template, where there is one; of several the one called default."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8", errors="replace")
    found = settings.get("chat_template")
    if isinstance(found, list):
        named = {t.get("name"): t.get("template") for t in found if isinstance(t, dict)}
        found = named.get("default")
    return found if isinstance(found, str) else None


def _written(token: object) -> str | None:
    """How a token is written, in either form that ``tokenizer_config.json`` has for it."""
    written = token.get("content") if isinstance(token, dict) else token
    return written if isinstance(written, str) else None


def quieten_library() -> None:
    """Before ``transformers`` is imported: no network, and nothing printed over a window."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import transformers

    logging: Any = transformers.utils.logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
