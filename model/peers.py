"""The same weights in ``transformers``, to be measured against.

Needs the optional extra ``peers``. Knows how the names of both correspond; measures
nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from model.errors import InputError
from model.gpt import GPT

_OF_BLOCK = {
    "ln_1": "ln1",
    "attn.c_attn": "attn.qkv",
    "attn.c_proj": "attn.proj",
    "ln_2": "ln2",
    "mlp.c_fc": "fc",
    "mlp.c_proj": "proj",
}


def require() -> None:
    """Raises ``InputError`` where ``transformers`` is not installed."""
    if find_spec("transformers") is None:
        raise InputError(
            "transformers is not installed, which --peers measures against; "
            "pip install -e '.[peers]' installs it"
        )


def twin_of(model: GPT) -> Any:
    """A ``GPT2LMHeadModel`` with the weights of ``model``.

    Raises ``InputError`` where ``transformers`` is not installed.
    """
    require()
    from transformers import GPT2Config, GPT2LMHeadModel

    config = model.config
    twin: Any = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocab_size,
            n_positions=config.block_size,
            n_embd=config.n_embd,
            n_layer=config.n_layer,
            n_head=config.n_head,
            activation_function="gelu",
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    twin.load_state_dict(_translated(model))
    return twin.eval()


def writer(
    twin: Any, prompt: list[int], tokens: int, temperature: float
) -> Callable[[], list[int]]:
    """A call that continues ``prompt`` by exactly ``tokens`` sampled ids and returns them."""
    ids = torch.tensor([prompt])
    settings = {
        "attention_mask": torch.ones_like(ids),
        "do_sample": True,
        "temperature": temperature,
        "top_k": 0,
        "top_p": 1.0,
        "use_cache": True,
        "min_new_tokens": tokens,
        "max_new_tokens": tokens,
        "eos_token_id": None,
        "pad_token_id": 0,
    }

    def write() -> list[int]:
        with torch.inference_mode():
            written: list[int] = twin.generate(ids, **settings)[0, len(prompt) :].tolist()
        return written

    return write


def _translated(model: GPT) -> dict[str, Tensor]:
    """The state dict of the twin. Its matrices are stored ``[in, out]``."""
    ours = {name: tensor.detach() for name, tensor in model.named_parameters()}
    theirs = {
        "transformer.wte.weight": ours["tokens.weight"],
        "transformer.wpe.weight": ours["positions.weight"],
        "transformer.ln_f.weight": ours["ln.weight"],
        "transformer.ln_f.bias": ours["ln.bias"],
        "lm_head.weight": ours["tokens.weight"],
    }
    for layer in range(model.config.n_layer):
        for their, our in _OF_BLOCK.items():
            for kind in ("weight", "bias"):
                tensor = ours[f"blocks.{layer}.{our}.{kind}"]
                turned = tensor.t() if tensor.dim() == 2 else tensor
                theirs[f"transformer.h.{layer}.{their}.{kind}"] = turned
    return theirs


@torch.inference_mode()
def largest_difference(model: GPT, twin: Any) -> float:
    """By how much any logit of the two differs, over a few random ids."""
    length = min(48, model.config.block_size)
    random = torch.Generator().manual_seed(0)
    ids = torch.randint(model.config.vocab_size, (2, length), generator=random)
    return float((model(ids) - twin(ids).logits).abs().max())
