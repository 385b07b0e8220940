"""Every experiment by name, listed without loading what it runs on.

Knows no torch: an experiment's module is imported only when it is to be run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from model.errors import InputError
from model.lab import chapters
from model.lab.base import Load, Records, Request
from model.lab.chapters import Part

if TYPE_CHECKING:
    from model.registry import ModelHandle

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
    part: Part | None = None
    """Of the report, in which it is a chapter."""
    exercise: str = ""
    """What a reader may do next; commands stand between pairs of backquotes."""
    uses: tuple[Need, ...] = ()
    models: Literal["any", "verse", "none"] = "any"
    """What ``--model`` may name; of ``none`` no model is asked."""
    draws: bool = True
    """Whether ``--seed`` means anything to it."""
    plots: bool = True
    reads_prompt: bool = False
    """Whether ``--prompt`` means anything to it."""
    reads_trace: bool = False
    """Whether it looks at a saved run where one is given."""

    def run(self, request: Request) -> Records:
        """Progress, then the result. Raises ``InputError`` for what cannot be run."""
        if self.models == "verse":
            request = replace(request, load=_of_verse(self.name, request.load))
        records: Records = import_module(f"model.lab.{self.name}").run(request)
        return records


def _of_verse(name: str, load: Load) -> Load:
    """``load`` for an experiment that counts verse or looks into a model of this program's: it
    refuses one of another maker."""

    def checked(model: str | None) -> ModelHandle:
        handle = load(model)
        if handle.spec.kind == "pretrained":
            raise InputError(
                f"{name} runs on this program's own models, which write verse, and not on "
                f"{handle.spec.name}: take tang-base or tang-small"
            )
        return handle

    return checked


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "lesson",
        "The lesson, section by section",
        "Probabilities, temperature, top-k, openings, acrostics and the KV cache: what the Chinese "
        "lesson prints, from our own models beside its figures.",
        chapters.DISTRIBUTION,
        "Find a setting at which three poems of three are regular and none has a character that "
        "you would call rare: ``run.py write -n 3 --temperature 1.2 --top-p 0.8``.",
        models="verse",
    ),
    Experiment(
        "top8",
        "What may come next",
        "A model gives each next character about the share that it has in the verse it learnt "
        "from: 。 follows 春风 one time in seven.",
        chapters.DISTRIBUTION,
        "Ask about a word that you know, both as a beginning and from anywhere: "
        "``run.py lab top8 --prompt 明月``. Where do the two tables differ most, and why there?",
        uses=("corpus",),
        draws=False,
        reads_prompt=True,
    ),
    Experiment(
        "temperature",
        "Heat, and heat with its tail cut",
        "A low temperature keeps to the form and repeats itself, a high one breaks it with rare "
        "characters, and top-k or top-p at a high one has form and variety; the order of the "
        "tokens never changes.",
        chapters.DISTRIBUTION,
        "Another seed draws another 200 poems, ``run.py lab temperature --seed 2``: which figures "
        "move, and by how much? That is how far one run can be trusted.",
        uses=("corpus",),
        models="verse",
    ),
    Experiment(
        "nucleus",
        "How wide the nucleus is",
        "Top-p keeps few tokens where the model is sure and many where it is not; a fixed k "
        "cannot do both.",
        chapters.DISTRIBUTION,
        "Look for an opening after which k = 40 and p = 0.9 keep about the same: "
        "``run.py lab nucleus --prompt 春眠不觉``.",
        draws=False,
        reads_prompt=True,
    ),
    Experiment(
        "order",
        "Two stages swapped",
        "The same settings mean another distribution when the nucleus is cut before the "
        "temperature instead of after it, or the penalty subtracted after it instead of before.",
        chapters.DISTRIBUTION,
        "Before running ``run.py lab order --prompt 白日依山尽，``, say which order will keep more "
        "tokens at T = 0.5 and which at T = 2.",
        models="verse",
        reads_prompt=True,
    ),
    Experiment(
        "degeneration",
        "The likeliest text is a loop",
        "Greedy decoding falls into repetition the longer it writes, and each round makes the "
        "next one likelier; sampling does not.",
        chapters.REPETITION,
        "Start it inside a loop, ``run.py lab degeneration --prompt 花落花落花落``: does the model "
        "stay in it?",
        uses=("chat",),
        reads_prompt=True,
    ),
    Experiment(
        "penalties",
        "Three penalties and what they break",
        "Presence, frequency and the CTRL penalty differ in how many decisions they rewrite, and "
        "none can tell a loop from a structure that repeats because it must.",
        chapters.REPETITION,
        "In the window, write a 七律 and turn the CTRL penalty up while it writes: the marks stay, "
        "since a form exempts them.",
        uses=("chat",),
        reads_prompt=True,
    ),
    Experiment(
        "constraint",
        "What a form costs",
        "Banning what breaks a form costs what the model would have given it, paid where the "
        "form is chosen and nowhere else.",
        chapters.REPETITION,
        "An opening of five characters and a comma has chosen already: with one, write a 五绝 in "
        "the window and watch the forbidden mass beside the table.",
        models="verse",
    ),
    Experiment(
        "whatif",
        "What would have flipped each token",
        "A draw is a function of its u: a small turn of temperature, k or p gives another token, "
        "and for each token the smallest can be found.",
        chapters.DRAW,
        "Save a poem of your own with ``run.py write --trace poem.jsonl`` and ask about it: "
        "``run.py lab whatif --trace poem.jsonl``. Then set the temperature that the table names, "
        "with the same seed, and see it flip.",
        reads_prompt=True,
        reads_trace=True,
    ),
    Experiment(
        "seed",
        "What a seed fixes",
        "A seed fixes the draw, so the same seed gives the same text; it does not fix the "
        "distribution that is drawn from.",
        chapters.DRAW,
        "Write a poem twice with one seed, ``run.py write --seed 7``, the second time with "
        "``--cache off``; then once more with ``--temperature 0.81``.",
        reads_prompt=True,
    ),
    Experiment(
        "sums",
        "The order of a sum",
        "The same million float32 numbers give another sum in another order, and how many "
        "parts they are cut into decides which.",
        chapters.NUMBERS,
        "How many of ``--seed`` 1 to 10 have a chunked sum that beats the pairwise one? There is "
        "no best number of chunks.",
        models="none",
    ),
    Experiment(
        "batch",
        "One prompt among others",
        "Alone a prompt gives the same logits to the bit; in a batch nearly all of them "
        "change a little, and whether a token flips depends on how close the best two come.",
        chapters.NUMBERS,
        "``run.py lab batch --threads 2`` cuts the sums in another way. Which figures change?",
        draws=False,
    ),
    Experiment(
        "precision",
        "Thirty-two bits against sixteen",
        "In sixteen bits logits are held so coarsely that greedy texts diverge: near 16 "
        "bfloat16 counts in steps of 0.125, and many steps are decided by less.",
        chapters.NUMBERS,
        "From the share of narrow margins, guess how many of 24 poems will diverge with another "
        "model, then run it: ``run.py lab precision --model tang-small``.",
        models="verse",
        draws=False,
    ),
    Experiment(
        "cost",
        "What a cache saves in multiply-adds",
        "Writing N tokens costs O(N²d²) + O(N³d) without a cache and O(Nd²) + O(N²d) with one.",
        chapters.COST,
        "By the formula, at how many tokens would the head stop being the larger part of what is "
        "left with a cache?",
        models="verse",
        draws=False,
    ),
    Experiment(
        "cache",
        "The cache: same text, less time, more memory",
        "A cache changes no character; a token's time stays flat instead of growing with the "
        "text, for 2 · layers · tokens · width · bytes of memory.",
        chapters.COST,
        "Switch the cache off in the window in the middle of a poem: the text goes on as it would "
        "have, and the meter's second line climbs.",
        draws=False,
    ),
    Experiment(
        "block512",
        "Block 512, 500 characters",
        "The longer the text the more the cache saves: 500 characters with a block of 512 "
        "come out the same in both modes.",
        chapters.COST,
        "From the two columns of milliseconds, work out the ratio at 1,000 characters of a block "
        "of 1,024.",
        draws=False,
    ),
    Experiment(
        "tokenizers",
        "Characters against pieces",
        "Longer tokens make shorter texts and need a longer table of embeddings: what is gained "
        "shows by the character only.",
        chapters.LEARNT,
        "Open both in the window, side by side, and let them go on from one line: where do the "
        "pieces end, and what does the other table show there?",
        uses=("corpus",),
        models="verse",
        plots=False,
    ),
    Experiment(
        "memorised",
        "Does the model recite?",
        "A model that memorised would share longer runs with its training poems than real "
        "poems that it never saw do.",
        chapters.LEARNT,
        "Look at the longest runs: which are names and set phrases, and which would you call "
        "copied?",
        uses=("corpus",),
        models="verse",
    ),
    Experiment(
        "providers",
        "What inference APIs accept",
        "Each inference API accepts another subset of the sampling parameters, with other "
        "ranges, and ignores the rest without a word.",
        chapters.LEARNT,
        "Take the API that you use and open its page: what has changed since the date beside it?",
        models="none",
        draws=False,
        plots=False,
    ),
)
"""In the order in which one would teach them."""


def find(name: str) -> Experiment:
    """The experiment called ``name``. Raises ``InputError`` that lists the names."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    known = ", ".join(experiment.name for experiment in EXPERIMENTS)
    raise InputError(f"there is no experiment named {name!r}; there are {known}")
