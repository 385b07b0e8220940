"""Frozen settings of the model, the sampler and a run, each checked once, at construction.

Knows ranges and units; knows nothing of tensors.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from model.errors import SettingError

CacheMode = Literal["on", "off", "race"]
Precision = Literal["float32", "bfloat16"]
TokenizerKind = Literal["char", "bpe"]
Stage = Literal[
    "mask", "repetition", "presence_frequency", "temperature", "top_k", "top_p", "min_p"
]

STAGES: tuple[Stage, ...] = (
    "mask",
    "repetition",
    "presence_frequency",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
)
"""The default order. The mask comes before any truncation: else top-k could
throw away every legal token."""

GREEDY_BELOW = 1e-5
"""A temperature at or under this is greedy decoding."""


@dataclass(frozen=True, slots=True)
class GPTConfig:
    """The shape of a GPT."""

    vocab_size: int
    block_size: int = 128
    """Longest context in tokens; there is one learned position for each."""
    n_layer: int = 4
    n_head: int = 4
    n_embd: int = 128
    """Width of the residual stream; divisible by ``n_head``."""
    dropout: float = 0.0
    """Share of activations dropped in training, [0, 1)."""

    def __post_init__(self) -> None:
        for name in ("vocab_size", "n_layer", "n_head", "n_embd"):
            _whole(name, getattr(self, name), low=1)
        _whole("block_size", self.block_size, low=2)
        _real("dropout", self.dropout, low=0.0, high=1.0)
        if self.n_embd % self.n_head:
            raise SettingError("n_embd", self.n_embd, f"a multiple of n_head ({self.n_head})")


@dataclass(frozen=True, slots=True)
class SamplerConfig:
    """What happens between the logits and the drawn token."""

    temperature: float = 1.0
    """Divides the logits; [0, 100]. 1 is the model's own distribution, 0 (anything
    up to 1e-5) is greedy, ties to the lowest id."""
    top_k: int = 0
    """Keep exactly this many tokens, ties to the lowest id. 0 is off."""
    top_p: float = 1.0
    """Keep the smallest set whose mass reaches this, with the token that crosses it
    and at least one; [0, 1]. 1 is off."""
    min_p: float = 0.0
    """Keep tokens with p ≥ min_p · p_max; [0, 1]. 0 is off."""
    presence: float = 0.0
    """Subtracted once from each token already generated; [-2, 2]. 0 is off."""
    frequency: float = 0.0
    """Subtracted as often as the token was generated; [-2, 2]. 0 is off."""
    repetition: float = 1.0
    """CTRL penalty: divides positive and multiplies negative logits of tokens seen,
    prompt included; (0, 10]. 1 is off."""
    window: int = 0
    """The repetition penalty looks back over this many tokens. 0 is all of them."""
    order: tuple[Stage, ...] = STAGES
    """The order of the stages: a permutation of ``STAGES``."""

    def __post_init__(self) -> None:
        _real("temperature", self.temperature, low=0.0, high=100.0)
        _whole("top_k", self.top_k, low=0, what="a whole number, 0 (off) or more")
        _real("top_p", self.top_p, low=0.0, high=1.0)
        _real("min_p", self.min_p, low=0.0, high=1.0)
        _real("presence", self.presence, low=-2.0, high=2.0)
        _real("frequency", self.frequency, low=-2.0, high=2.0)
        _real("repetition", self.repetition, low=0.0, high=10.0)
        if self.repetition == 0:
            raise SettingError("repetition", self.repetition, "a number above 0, up to 10")
        _whole("window", self.window, low=0)
        named = isinstance(self.order, tuple) and all(isinstance(s, str) for s in self.order)
        if not named or sorted(self.order) != sorted(STAGES):
            raise SettingError("order", self.order, f"each of {', '.join(STAGES)} once")

    @property
    def greedy(self) -> bool:
        """True where the token with the highest logit is taken, whatever ``u`` is."""
        return self.temperature <= GREEDY_BELOW

    @property
    def penalised(self) -> bool:
        """True where any penalty is on."""
        return self.repetition != 1.0 or self.presence != 0.0 or self.frequency != 0.0


@dataclass(frozen=True, slots=True)
class Controls:
    """Everything that may change while text streams. A front end replaces the whole
    object; the generator reads it once a step."""

    sampler: SamplerConfig = field(default_factory=SamplerConfig)
    cache: CacheMode = "on"
    """``on`` reuses keys and values, ``off`` recomputes the window at each step,
    ``race`` does both and compares them. None changes a character."""
    seed: int = 0
    """The uniform drawn at a step is a function of this and the position, nothing else."""
    max_tokens: int = 500
    """Stop after this many generated tokens; at least 1."""
    stop: tuple[str, ...] = ()
    """Stop when one of these appears in the generated text; it is never shown."""

    def __post_init__(self) -> None:
        if self.cache not in ("on", "off", "race"):
            raise SettingError("cache", self.cache, "on, off or race")
        _whole("seed", self.seed, low=0, high=2**64 - 1)
        _whole("max_tokens", self.max_tokens, low=1)
        if not isinstance(self.stop, tuple) or not all(isinstance(s, str) for s in self.stop):
            raise SettingError("stop", self.stop, "a tuple of strings")
        if "" in self.stop:
            raise SettingError("stop", self.stop, "strings of at least one character")

    def with_sampler(self, **changes: Any) -> Self:
        """A copy with some of the sampler's fields changed."""
        return replace(self, sampler=replace(self.sampler, **changes))


def _whole(
    name: str, value: object, *, low: int, high: int | None = None, what: str | None = None
) -> None:
    takes = what or (
        f"a whole number from {low} to {high}"
        if high is not None
        else f"a whole number of at least {low}"
    )
    if isinstance(value, bool) or not isinstance(value, int):
        raise SettingError(name, value, takes)
    if value < low or (high is not None and value > high):
        raise SettingError(name, value, takes)


def _real(name: str, value: object, *, low: float, high: float) -> None:
    takes = f"a number from {low:g} to {high:g}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingError(name, value, takes)
    if not low <= value <= high:  # neither holds for NaN
        raise SettingError(name, value, takes)


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """How a model is trained. The schedule: warm-up, a constant rate, then a linear
    decay to zero, so that a run can be made longer as long as its decay has not begun."""

    steps: int = 3000
    """Optimizer steps, at least 1."""
    seed: int = 1
    batch_tokens: int = 2048
    """Targets in a forward pass, about."""
    accumulate: int = 2
    """Forward passes a step; each gathers poems of another length."""
    warmup: int = 100
    """Steps over which the rate grows to its full height."""
    decay: float = 0.4
    """Share of the steps, at the end, over which the rate falls to zero; [0, 1]."""
    muon_lr: float = 0.02
    """Muon's rate, for the blocks' matrices."""
    adam_lr: float = 3e-3
    """AdamW's rate, for embeddings, gains and biases."""
    weight_decay: float = 0.0
    """Decoupled decay of the blocks' matrices."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    fragment_share: float = 0.2
    """Part of the batches that shows windows from anywhere; [0, 1)."""
    fragment_longest: int = 256
    """Longest of these windows, in characters; at least 2."""
    song_share: float = 0.0
    """Part of the poem rows' tokens that are Song poems, each behind its own start token and
    none twice while they last; [0, 0.9]. Tang verse alone is soon learnt by heart."""
    precision: Precision = "float32"
    """Of matrix products while training; weights and the held-out loss stay in float32.
    bfloat16 is two to three times as fast where the processor has units for it."""
    tokenizer: TokenizerKind = "char"
    """``char``: a token is a character of Tang verse; ``bpe``: a piece of Tang and Song verse
    and ci."""
    pieces: int = 8000
    """Tokens of a ``bpe`` vocabulary, bytes and marks among them; the text sets the range."""
    teacher: str = ""
    """A trained model, by name or path, whose probabilities are a part of each target; none
    where empty."""
    teacher_share: float = 0.5
    """That part, where there is a teacher; [0, 1]. The rest is the text's own character."""
    eval_every: int = 250
    """Steps between held-out measurements."""
    save_every: int = 250
    """Steps between writes of the state that a killed run resumes from."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch_tokens", "accumulate", "pieces", "eval_every", "save_every"):
            _whole(name, getattr(self, name), low=1)
        for name in ("seed", "warmup"):
            _whole(name, getattr(self, name), low=0)
        _whole("fragment_longest", self.fragment_longest, low=2)
        _real("decay", self.decay, low=0.0, high=1.0)
        _real("fragment_share", self.fragment_share, low=0.0, high=0.95)
        _real("song_share", self.song_share, low=0.0, high=0.9)
        _real("teacher_share", self.teacher_share, low=0.0, high=1.0)
        for name in ("muon_lr", "adam_lr", "weight_decay", "clip"):
            _real(name, getattr(self, name), low=0.0, high=1000.0)
        if self.precision not in ("float32", "bfloat16"):
            raise SettingError("precision", self.precision, "float32 or bfloat16")
        if self.tokenizer not in ("char", "bpe"):
            raise SettingError("tokenizer", self.tokenizer, "char or bpe")

    def rate(self, step: int) -> float:
        """The learning rate at ``step`` as a share of its full height, (0, 1]."""
        left = (self.steps - step) / max(1.0, self.decay * self.steps)
        return min(1.0, (step + 1) / max(1, self.warmup), left)


DEFAULT_MODEL = "tang-base"
"""The model that both front ends begin with: it writes best of those that are shipped."""

POEM_SAMPLER = SamplerConfig(temperature=0.8, top_p=0.95)
"""What both front ends begin with. Where the shipped models write best to our taste: under this
they repeat themselves, over it they lose the thread."""
