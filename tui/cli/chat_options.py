"""The flags of ``chat`` and what they mean. Imports neither torch nor rich."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Annotated, cast

from model.config import CacheMode, Controls, Precision
from tui.chat.defaults import CHAT_MODEL, CHAT_SAMPLER, MAX_REPLY
from tui.cli.options import (
    Json,
    Number,
    PrecisionChoice,
    SamplerFlags,
    Threads,
    flags_named,
    option,
    read_number,
    read_precision,
    read_sampler,
    switch,
    whole,
)


@dataclass(frozen=True, slots=True)
class ChatFlags(SamplerFlags):
    """The flags as they were typed."""

    model: Annotated[
        str | None,
        option("--model", metavar="NAME|PATH", text="A chat model, or its path. [smollm2]"),
    ] = None
    temperature: Annotated[
        Number,
        option("--temperature", "-t", text="Divides the logits, 0 to 100; 0 is greedy. [0.2]"),
    ] = None
    top_p: Annotated[
        Number,
        option("--top-p", text="Keep the likeliest up to this mass, 0 to 1; 1 is off. [0.9]"),
    ] = None
    system: Annotated[
        str, option("--system", metavar="TEXT", text="What the model is told before all else.")
    ] = ""
    seed: Annotated[
        Number, option("--seed", text="The same seed gives the same reply. [new each time]")
    ] = None
    max_tokens: Annotated[Number, option("--max-tokens", text="Of a reply, at most. [512]")] = None
    stop: Annotated[
        list[str] | None,
        option("--stop", metavar="TEXT", text="Stop before this text; may be given again."),
    ] = None
    cache: Annotated[
        str,
        option("--cache", metavar="on|off|race", text="Changes the speed, never the text. [on]"),
    ] = "on"
    precision: PrecisionChoice = None
    threads: Threads = "1"
    keep: Annotated[
        bool, switch("--keep", "Keep a single question in the history too, as talks are.")
    ] = False
    window: Annotated[
        bool, switch("--window", "Open the chat in the window, where its own settings hold.")
    ] = False
    json: Json = False


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What the flags mean, checked."""

    model: str
    system: str
    controls: Controls
    seed_given: bool
    precision: Precision
    threads: int
    flags: ChatFlags = field(repr=False)


def read_chat_flags(flags: ChatFlags) -> ChatSettings:
    """Check the flags. Raises ``SettingError`` that names the flag, the value and what it takes."""
    with flags_named():
        seed = secrets.randbelow(2**32) if flags.seed is None else read_number(flags.seed)
        most = MAX_REPLY if flags.max_tokens is None else read_number(flags.max_tokens)
        controls = Controls(
            sampler=read_sampler(flags, CHAT_SAMPLER),
            cache=cast(CacheMode, flags.cache),  # what these are is for Controls to check
            seed=cast(int, seed),
            max_tokens=cast(int, most),
            stop=tuple(flags.stop or ()),
        )
        return ChatSettings(
            flags.model or CHAT_MODEL,
            flags.system,
            controls,
            flags.seed is not None,
            read_precision(flags.precision),
            whole("threads", flags.threads, 1, 1024),
            flags,
        )
