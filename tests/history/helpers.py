"""Steps as a run yields them."""

from model.config import Controls
from model.steps import Step


def step(index, text="春", controls=None, logprob=-1.5):
    return Step(
        position=index + 1, token=index + 7, text=text, probability=0.25, logprob=logprob,
        u=0.125, forced=index == 0, phase="decode", context=index + 1, recomputed=0,
        forward_s=0.001, sampling_s=0.0001, cache_bytes=512, controls=controls or Controls(),
    )  # fmt: skip
