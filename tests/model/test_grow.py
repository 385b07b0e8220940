"""Growing a model keeps what it knows."""

from __future__ import annotations

import pytest
import torch

from model.config import GPTConfig
from model.errors import InputError
from model.gpt import GPT
from model.grow import deepen


def small() -> GPT:
    torch.manual_seed(3)
    return GPT(GPTConfig(vocab_size=50, block_size=16, n_layer=3, n_head=2, n_embd=32)).eval()


@pytest.mark.parametrize(("layers", "block"), [(3, 16), (4, 16), (6, 32), (7, 40)])
def test_a_grown_model_gives_the_same_logits(layers, block):
    model = small()
    grown = deepen(model, layers, block).eval()
    assert (grown.config.n_layer, grown.config.block_size) == (layers, block)
    ids = torch.randint(0, 50, (4, 16))
    torch.testing.assert_close(grown(ids), model(ids), atol=1e-5, rtol=0)


def test_new_layers_learn():
    grown = deepen(small(), 6, 16)
    ids = torch.randint(0, 50, (4, 16))
    grown(ids).square().mean().backward()
    assert all(block.proj.weight.grad.abs().sum() > 0 for block in grown.blocks)


def test_a_grown_model_drops_what_is_asked_for():
    grown = deepen(small(), 4, 16, dropout=0.5)
    ids = torch.randint(0, 50, (4, 16))
    assert grown.config.dropout == 0.5
    assert not torch.equal(grown.train()(ids), grown(ids))
    assert torch.equal(grown.eval()(ids), grown(ids))


def test_a_model_does_not_shrink():
    with pytest.raises(InputError, match="3 layers and block 16"):
        deepen(small(), 2, 16)
