"""The flags that the poem commands share, and what they mean.

Numbers arrive as text and are read here, so that a refusal names the flag, the value and
the range in the program's own words. Imports neither torch nor rich.
"""

from __future__ import annotations

import inspect
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, cast, get_args, get_type_hints

import typer

from model.config import POEM_SAMPLER, CacheMode, Controls, Precision, SamplerConfig
from model.errors import InputError, SettingError
from model.tokenizers import Unknown

MOST_POEMS = 10_000

_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def option(*names: str, text: str, metavar: str = "NUMBER") -> Any:
    """A flag that takes a value; its help tells the default in brackets."""
    return typer.Option(*names, metavar=metavar, help=text, show_default=False)


def switch(name: str, text: str) -> Any:
    """A flag that takes none."""
    return typer.Option(name, help=text, show_default=False)


def argument(metavar: str, text: str) -> Any:
    """An argument by place."""
    return typer.Argument(metavar=metavar, help=text, show_default=False)


Opening = Annotated[
    str, argument("OPENING", "What the poem begins with; - reads it from standard input.")
]
Model = Annotated[
    str | None,
    option(
        "--model",
        metavar="NAME|PATH",
        text="A model by name, or a checkpoint, folder or .gguf file.",
    ),
]
Fragment = Annotated[
    bool, switch("--fragment", "Read the text as from anywhere, not as a poem's beginning.")
]
UnknownChoice = Annotated[
    str,
    option(
        "--unknown",
        metavar="error|drop|unk",
        text="Characters that the model does not know: refuse, drop, or read as unknown. [error]",
    ),
]
PrecisionChoice = Annotated[
    str | None,
    option(
        "--precision",
        metavar="TYPE",
        text="float32; bfloat16 for others' models. [float32]",
    ),
]
Threads = Annotated[str, option("--threads", text="Threads of torch. [1]")]
Json = Annotated[bool, switch("--json", "Print one JSON document instead.")]
Number = str | None
"""A number as it was typed; None where the flag was not given."""


@dataclass(frozen=True, slots=True)
class SamplerFlags:
    """Which model, and the flags of its sampler, as they were typed."""

    model: Model = None
    temperature: Annotated[
        Number,
        option("--temperature", "-t", text="Divides the logits, 0 to 100; 0 is greedy. [0.8]"),
    ] = None
    top_k: Annotated[Number, option("--top-k", text="Keep the k likeliest; 0 is off. [0]")] = None
    top_p: Annotated[
        Number,
        option("--top-p", text="Keep the likeliest up to this mass, 0 to 1; 1 is off. [0.95]"),
    ] = None
    min_p: Annotated[
        Number, option("--min-p", text="Keep p ≥ this · the largest p, 0 to 1; 0 is off. [0]")
    ] = None
    presence: Annotated[
        Number, option("--presence", text="Penalty once a token, -2 to 2; 0 is off. [0]")
    ] = None
    frequency: Annotated[
        Number, option("--frequency", text="Penalty each time, -2 to 2; 0 is off. [0]")
    ] = None
    repetition: Annotated[
        Number, option("--repetition", text="CTRL penalty, above 0 to 10; 1 is off. [1]")
    ] = None
    greedy: Annotated[bool, switch("--greedy", "Always the likeliest: temperature 0.")] = False


@dataclass(frozen=True, slots=True)
class PoemFlags(SamplerFlags):
    """The flags that the poem commands share, as they were typed."""

    seed: Annotated[
        Number, option("--seed", text="The same seed gives the same poem. [new each time]")
    ] = None
    max_tokens: Annotated[
        Number, option("--max-tokens", text="Stop after so many. [500, or a whole acrostic]")
    ] = None
    stop: Annotated[
        list[str] | None,
        option("--stop", metavar="TEXT", text="Stop before this text; may be given again."),
    ] = None
    cache: Annotated[
        str,
        option("--cache", metavar="on|off|race", text="Changes the speed, never the text. [on]"),
    ] = "on"
    n: Annotated[
        str, option("--n", "-n", text="Write so many poems, with seeds from --seed on. [1]")
    ] = "1"
    fragment: Fragment = False
    unknown: UnknownChoice = "error"
    precision: PrecisionChoice = None
    threads: Threads = "1"
    json: Json = False
    trace: Annotated[
        str | None,
        option("--trace", metavar="FILE", text="Write every step there, one JSON line each."),
    ] = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What the shared flags mean, checked."""

    controls: Controls
    """With the first poem's seed."""
    seeds: tuple[int, ...]
    """One for each poem."""
    seed_given: bool
    unknown: Unknown
    precision: Precision
    threads: int
    flags: PoemFlags = field(repr=False)

    def with_room_for(self, tokens: int) -> Settings:
        """Raises the limit to what a form needs, where the user set none."""
        if self.flags.max_tokens is not None or tokens <= self.controls.max_tokens:
            return self
        return replace(self, controls=replace(self.controls, max_tokens=tokens))


def read_flags(flags: PoemFlags) -> Settings:
    """Check the flags.

    Raises ``SettingError`` that names the flag, the value and what it takes.
    """
    with flags_named():
        n = whole("n", flags.n, 1, MOST_POEMS)
        seed = secrets.randbelow(2**32) if flags.seed is None else read_number(flags.seed)
        controls = Controls(
            sampler=read_sampler(flags, POEM_SAMPLER),
            cache=cast(CacheMode, flags.cache),  # what these are is for Controls to check
            seed=cast(int, seed),
            max_tokens=(
                Controls().max_tokens
                if flags.max_tokens is None
                else cast(int, read_number(flags.max_tokens))
            ),
            stop=tuple(flags.stop or ()),
        )
        if controls.seed + n > 2**64:
            raise SettingError("seed", controls.seed, f"at most {2**64 - n} with --n {n}")
        return Settings(
            controls,
            tuple(range(controls.seed, controls.seed + n)),
            flags.seed is not None,
            read_unknown(flags.unknown),
            read_precision(flags.precision),
            whole("threads", flags.threads, 1, 1024),
            flags,
        )


def read_sampler(flags: SamplerFlags, default: SamplerConfig) -> SamplerConfig:
    """``default`` with what was given changed. Raises ``SettingError`` that names the field."""
    given: dict[str, Any] = {
        name: read_number(text)
        for name in (
            "temperature",
            "top_k",
            "top_p",
            "min_p",
            "presence",
            "frequency",
            "repetition",
        )
        if (text := getattr(flags, name)) is not None
    }
    if flags.greedy:
        if given.get("temperature", 0) != 0:
            raise InputError("--greedy is temperature 0: give it, or --temperature, not both")
        given["temperature"] = 0
    return replace(default, **given)


def read_unknown(text: str) -> Unknown:
    """The choice of ``--unknown``; raises ``SettingError`` for any other word."""
    if text not in get_args(Unknown):
        raise SettingError("unknown", text, "error, drop or unk")
    return cast(Unknown, text)


def read_precision(text: str | None) -> Precision:
    """The choice of ``--precision``; raises ``SettingError`` for any other word."""
    if text is None:
        return "float32"
    if text not in get_args(Precision):
        raise SettingError("precision", text, " or ".join(get_args(Precision)))
    return cast(Precision, text)


def read_number(text: str) -> int | float | str:
    """The number that ``text`` spells in ASCII; the text itself where it spells none, or one
    that is not finite, for the setting's own check to refuse."""
    try:
        if _WHOLE.fullmatch(text):
            return int(text)
        if _REAL.fullmatch(text) and abs(value := float(text)) != float("inf"):
            return value
    except ValueError:  # thousands of digits
        return text
    return text


def whole(name: str, text: str, low: int, high: int) -> int:
    """The whole number from ``low`` to ``high`` that ``text`` spells, or a ``SettingError``."""
    value = read_number(text)
    if not isinstance(value, int) or not low <= value <= high:
        raise SettingError(name, value, f"a whole number from {low} to {high}")
    return value


@contextmanager
def flags_named(**names: str) -> Iterator[None]:
    """Refusals inside name the flag as it is typed: ``top_k`` as ``--top-k``, or as ``names``
    says."""
    try:
        yield
    except SettingError as error:
        flag = names.get(error.name, error.name).replace("_", "-")
        takes = str(error).split("; it takes ", 1)[1]
        raise SettingError(f"--{flag}", error.value, takes) from error


def with_flags(command: Callable[..., int]) -> Callable[..., int]:
    """``command(…, flags)`` as a function that takes each field of ``flags``' class, a
    dataclass of options, by itself: as typer wants it."""
    hints = get_type_hints(command, include_extras=True)
    kind = hints["flags"]
    shared = {f.name: f.default for f in fields(kind)}

    def wrapper(**given: Any) -> int:
        flags = kind(**{name: given.pop(name) for name in shared})
        return command(**given, flags=flags)

    own = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "flags"
    ]
    kind_hints = get_type_hints(kind, include_extras=True)
    options = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind_hints[name]
        )
        for name, default in shared.items()
    ]
    parameters = [*own, *options]
    wrapper.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    wrapper.__name__, wrapper.__doc__ = command.__name__, command.__doc__
    return wrapper
