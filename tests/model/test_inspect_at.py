"""Looking at a step again shows what the run itself saw."""

import torch

from model.config import Controls, GPTConfig, SamplerConfig
from model.constraints import Acrostic
from model.generate import Generator, Prompt
from model.gpt import GPT
from model.inspect_at import Watched, inspect_at, keep_step
from model.steps import Step
from model.tokenizers import CharTokenizer

TEXT = "春眠不觉晓处闻啼鸟夜来风雨声花落知多少，。"


def tiny():
    tokenizer = CharTokenizer(TEXT)
    torch.manual_seed(5)
    config = GPTConfig(tokenizer.vocab_size, block_size=16, n_layer=2, n_head=2, n_embd=16)
    return GPT(config).eval(), tokenizer


def steps_of(generator):
    return [event for event in generator if isinstance(event, Step)]


def test_a_step_looked_at_again_is_the_step_as_recorded():
    model, tokenizer = tiny()
    controls = Controls(SamplerConfig(temperature=0.9, top_k=9, repetition=1.3), max_tokens=40)
    prompt, form = Prompt("春眠"), Acrostic("春夜花", 5)
    steps = steps_of(Generator(model, tokenizer, prompt, controls, constraint=form))
    tokens = [step.token for step in steps]
    assert len(tokens) > 12
    for index in (0, 3, len(tokens) - 1):  # the last lies past the block
        again = inspect_at(model, tokenizer, prompt, tokens, index, controls, form)
        before = steps[index].inspection
        assert [c.token for c in again.candidates] == [c.token for c in before.candidates]
        assert [c.cut_by for c in again.candidates] == [c.cut_by for c in before.candidates]
        assert abs(again.below - before.below) < 1e-5
        kept = keep_step(model, tokenizer, prompt, tokens, index, constraint=form)
        assert kept.would_choose(controls) == tokens[index]


def test_watching_some_steps_changes_no_token():
    model, tokenizer = tiny()
    controls = Controls(max_tokens=30)
    plain = steps_of(Generator(model, tokenizer, Prompt("春"), controls))
    asked = iter(range(1000))
    watched = steps_of(
        Watched(model, tokenizer, Prompt("春"), controls, wanted=lambda: next(asked) % 3 == 0)
    )
    assert [s.token for s in watched] == [s.token for s in plain]
    assert [s.inspection is not None for s in watched] == [i % 3 == 0 for i in range(len(watched))]


def test_looking_back_and_forth_reads_next_to_nothing_again():
    model, tokenizer = tiny()
    prompt, tokens = Prompt("春眠不觉晓"), tokenizer.encode("处闻啼鸟夜")
    read = []

    class Counting:
        config, new_cache = model.config, model.new_cache

        def __call__(self, ids, cache=None, *, last=False):
            read.append(ids.shape[1])
            return model(ids, cache, last=last)

    kept = None
    for index in (3, 4, 1, 5):
        alone = keep_step(model, tokenizer, prompt, tokens, index)
        held = kept.held if kept else None
        kept = keep_step(Counting(), tokenizer, prompt, tokens, index, held=held)
        assert torch.allclose(kept.logits, alone.logits, atol=1e-5)
    assert read == [1 + 5 + 3, 1, 1, 4]
