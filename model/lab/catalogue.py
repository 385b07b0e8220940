"""Every experiment by name, listed without loading what it runs on.

Knows no torch: ``find`` imports an experiment's module only when it is to be run.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from model.errors import InputError
from model.lab.base import Records, Request

Need = Literal["corpus", "chat"]
"""The built corpus; an instruct model. An experiment that lists one does less without it,
or says that it cannot run: see its module."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One entry of the list."""

    name: str
    title: str
    claim: str
    """What the textbook says, in a sentence."""
    uses: tuple[Need, ...] = ()
    reads_prompt: bool = False
    """Whether ``--prompt`` means anything to it."""
    reads_trace: bool = False
    """Whether it looks at a saved run where one is given."""

    def run(self, request: Request) -> Records:
        """Progress, then the result. Raises ``InputError`` for what cannot be run."""
        records: Records = import_module(f"model.lab.{self.name}").run(request)
        return records


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "lesson",
        "The lesson, section by section",
        "Probabilities, temperature, top-k, openings, acrostics and the KV cache: what the Chinese "
        "lesson prints, from our own models beside its figures.",
    ),
    Experiment(
        "top8",
        "What may come next",
        "A model gives each next character about the share that it has in the verse it learnt "
        "from: 。 follows 春风 one time in seven.",
        uses=("corpus",),
        reads_prompt=True,
    ),
    Experiment(
        "temperature",
        "Heat, and heat with its tail cut",
        "A low temperature keeps to the form and repeats itself, a high one breaks it with rare "
        "characters, and top-k or top-p at a high one has form and variety; the order of the "
        "tokens never changes.",
        uses=("corpus",),
    ),
    Experiment(
        "nucleus",
        "How wide the nucleus is",
        "Top-p keeps few tokens where the model is sure and many where it is not; a fixed k "
        "cannot do both.",
        reads_prompt=True,
    ),
    Experiment(
        "order",
        "Two stages swapped",
        "The same settings mean another distribution when the nucleus is cut before the "
        "temperature instead of after it, or the penalty subtracted after it instead of before.",
        reads_prompt=True,
    ),
    Experiment(
        "penalties",
        "Three penalties and what they break",
        "Presence, frequency and the CTRL penalty differ in how many decisions they rewrite, and "
        "none can tell a loop from a structure that repeats because it must.",
        uses=("chat",),
        reads_prompt=True,
    ),
    Experiment(
        "degeneration",
        "The likeliest text is a loop",
        "Greedy decoding falls into repetition the longer it writes, and each round makes the "
        "next one likelier; sampling does not.",
        uses=("chat",),
        reads_prompt=True,
    ),
    Experiment(
        "constraint",
        "What a form costs",
        "Banning what breaks a form costs what the model would have given it, paid where the "
        "form is chosen and nowhere else.",
    ),
    Experiment(
        "whatif",
        "What would have flipped each token",
        "A draw is a function of its u: a small turn of temperature, k or p gives another token, "
        "and for each token the smallest can be found.",
        reads_prompt=True,
        reads_trace=True,
    ),
    Experiment(
        "seed",
        "What a seed fixes",
        "A seed fixes the draw, so the same seed gives the same text; it does not fix the "
        "distribution that is drawn from.",
        reads_prompt=True,
    ),
    Experiment(
        "sums",
        "The order of a sum",
        "The same million float32 numbers give another sum in another order, and how many "
        "parts they are cut into decides which.",
    ),
    Experiment(
        "batch",
        "One prompt among others",
        "Alone a prompt gives the same logits to the bit; in a batch nearly all of them "
        "change a little, and whether a token flips depends on how close the best two come.",
    ),
    Experiment(
        "precision",
        "Thirty-two bits against sixteen",
        "In sixteen bits logits are held so coarsely that greedy texts diverge: near 16 "
        "bfloat16 counts in steps of 0.125, and many steps are decided by less.",
    ),
    Experiment(
        "cost",
        "What a cache saves in multiply-adds",
        "Writing N tokens costs O(N²d²) + O(N³d) without a cache and O(Nd²) + O(N²d) with one.",
    ),
    Experiment(
        "cache",
        "The cache: same text, less time, more memory",
        "A cache changes no character; a token's time stays flat instead of growing with the "
        "text, for 2 · layers · tokens · width · bytes of memory.",
    ),
    Experiment(
        "block512",
        "Block 512, 500 characters",
        "The longer the text the more the cache saves: 500 characters with a block of 512 "
        "come out the same in both modes.",
    ),
    Experiment(
        "tokenizers",
        "Characters against pieces",
        "Longer tokens make shorter texts and need a longer table of embeddings: what is gained "
        "shows by the character only.",
        uses=("corpus",),
    ),
    Experiment(
        "memorised",
        "Does the model recite?",
        "A model that memorised would share longer runs with its training poems than real "
        "poems that it never saw do.",
        uses=("corpus",),
    ),
    Experiment(
        "providers",
        "What inference APIs accept",
        "Each inference API accepts another subset of the sampling parameters, with other "
        "ranges, and ignores the rest without a word.",
    ),
)
"""In the order in which one would teach them: what is drawn from, how it is shaped, the draw,
the sums beneath it, what it costs, and what the models have learnt."""


def find(name: str) -> Experiment:
    """The experiment called ``name``. Raises ``InputError`` that lists the names."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    known = ", ".join(experiment.name for experiment in EXPERIMENTS)
    raise InputError(f"there is no experiment named {name!r}; there are {known}")
