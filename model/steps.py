"""What a generation run yields: one ``Step`` a token, then one ``Finished``.

Plain immutable records. A front end keeps, shows or writes them; nothing in them
refers back to the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.config import Controls, Stage

FinishReason = Literal[
    "end_of_poem", "stop_string", "length", "form_complete", "dead_end", "cancelled", "error"
]
Phase = Literal["prefill", "decode", "re-prefill"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row of the top-8 table."""

    token: int
    piece: str
    """The token's text; a special token's or unprintable one's visible name."""
    raw: float
    """Probability under the model alone: softmax of the raw logits."""
    masked: float
    """Probability after mask and penalties, at temperature 1; 0 where the mask forbids it."""
    final: float
    """Probability in the distribution that was drawn from; 0 where cut."""
    cut_by: Stage | None
    """The stage that removed the token; ``None`` where it was kept."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the model considered at one step, and what each stage did to it."""

    candidates: tuple[Candidate, ...]
    """The eight most probable tokens by raw probability and, where it is not among
    them, the chosen one as a ninth."""
    entropy: float
    """Of the raw distribution, in bits."""
    final_entropy: float
    """Of the distribution drawn from, in bits."""
    nucleus: int
    """How many tokens the stages kept."""
    forbidden: float
    """Raw probability mass that the constraint's mask forbids."""
    altered: bool
    """True where the penalties changed the outcome: without them the same ``u``
    (greedy: the argmax) would have given another token."""
    below: float
    """Final probability mass of the tokens that stand before the chosen one, so that
    ``below <= u < below + p`` on the cumulative bar."""


@dataclass(frozen=True, slots=True)
class Race:
    """Both cache modes on the same prefix, compared."""

    cached_s: float
    uncached_s: float
    max_logit_difference: float
    argmax_agrees: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One token of a run."""

    position: int
    """Index of the token in the whole sequence, prompt and start token included."""
    token: int
    text: str
    """What this step adds to the visible text: may be empty while bytes or a possible
    stop string are held back."""
    probability: float
    """Final probability of the token: in the distribution it was drawn from."""
    logprob: float
    """Natural logarithm of its raw probability: under the model alone."""
    u: float
    """The uniform in [0, 1) that was drawn."""
    forced: bool
    """True where a constraint left one token only (an acrostic's head, a final 。)."""
    phase: Phase
    """How the logits came about: first pass over the prompt, one more token, or a
    window that slid and was read again."""
    context: int
    """Tokens in the window that the logits were computed from."""
    recomputed: int
    """Tokens passed through the model again in this step though seen before: with the cache off,
    where a window slid, and where a draw was too near to an edge to be left to rounding."""
    forward_s: float
    sampling_s: float
    cache_bytes: int
    """Bytes of keys and values in use; 0 uncached."""
    controls: Controls
    inspection: Inspection | None = None
    race: Race | None = None
    reused: int = 0
    """Tokens before this one that a cache taken over from an earlier run had read already:
    what its prefill saved. Above 0 at the run's first cached step only."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a run."""

    reason: FinishReason
    text: str
    """Text released at the end: held-back characters that turned out not to be a stop
    string, or an incomplete byte sequence as U+FFFD."""
    tokens: int
    """Generated tokens, the end-of-poem token and a stop string's tokens included."""
    prefill_s: float
    """First pass and re-prefills, in seconds."""
    decode_s: float
    """Forward passes of one more token and all sampling, in seconds."""
    detail: str = ""
    """For ``dead_end`` and ``error``: what happened."""
    reused: int = 0
    """Tokens of the prompt that did not have to be read, because a cache taken over from an
    earlier run held them."""
