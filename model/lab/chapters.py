"""The parts of the lab's report: what the chapters of each are about, before any figure.

Words only; what was measured is said by the experiments.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """Some chapters that belong together."""

    title: str
    introduction: str


DISTRIBUTION = Part(
    "From scores to a token",
    "A model reads a text and gives every token of its vocabulary a score, the logit. Softmax "
    "makes probabilities of them, and a token is drawn. Between the two stand the knobs that "
    "every interface offers: temperature stretches or flattens the scores, top-k and top-p cut "
    "the tail off. The five chapters of this part ask what the probabilities are worth, what each "
    "knob does to them, and whether it matters which is turned first.",
)
REPETITION = Part(
    "Loops, and two ways to interfere",
    "Always taking the likeliest token sounds like the best one can do, and gives a loop. "
    "Penalties push back against what was said already, without knowing why it was said. A "
    "constraint is the stricter kind of interference: what may not come is given no probability "
    "at all, and that can be counted to the bit.",
)
DRAW = Part(
    "One draw",
    "To draw is to lay all tokens side by side, each as wide as its probability, on a bar from 0 "
    "to 1, and to take the one in which a number u falls. With a seed, u is known beforehand at "
    "every position; so one can ask what else would have been drawn, and what it takes.",
)
NUMBERS = Part(
    "The sums beneath",
    "A logit is a sum of many products, in numbers of 32 or 16 bits. A sum in another order is "
    "another sum, in the last digits; whether that reaches the text depends on how near two "
    "tokens come to each other. This part goes from the sum to the logit to the token.",
)
COST = Part(
    "What a token costs",
    "Nothing in front of a token changes when another one is written behind it, so that what was "
    "computed for it can be kept: the keys and values of every layer. This part counts what "
    "keeping them saves, in multiply-adds and in milliseconds, and what it takes in memory.",
)
LEARNT = Part(
    "What was learnt, and who else serves it",
    "The last part leaves decoding: how a text is cut into tokens, whether a model knows verse or "
    "knows poems, and which of the knobs of this report an inference API would let one turn.",
)
