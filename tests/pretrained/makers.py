"""Real models of other makers, small and random, written by the libraries that write them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

needs_extra = pytest.mark.skipif(
    not all(map(find_spec, ("transformers", "gguf", "accelerate"))),
    reason="needs the optional extra: pip install -e '.[chat]'",
)

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_start|>x")
"""Special tokens; one begins with another."""
THINK = "<think>"
"""An added token that is not special, as reasoning models have them."""
END = {
    "__type": "AddedToken",
    "content": "<|im_end|>",
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": True,
}
"""The longer of the two forms in which settings write a token."""
TEXT = (
    "The quick brown fox jumps over the lazy dog. A lighthouse keeper wrote, in 1893: "
    "春眠不觉晓，处处闻啼鸟。 Naïve café? It's 3 o'clock!\n"
) * 20
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] | trim }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SHAPE = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,
}


def byte_tokenizer() -> Any:
    """Byte-level BPE, as Llama 3, Qwen2, GPT-2 and SmolLM2 have it."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        [TEXT],
        trainers.BpeTrainer(
            vocab_size=360,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=list(CONTROL),
            show_progress=False,
        ),
    )
    tokenizer.add_tokens([AddedToken(THINK, normalized=False), AddedToken("    ")])
    return tokenizer


def piece_tokenizer() -> Any:
    """The sentencepiece kind, as Llama 2 and Mistral have it: ▁ for a space, bytes for what
    the vocabulary lacks, and a start token that the tokenizer itself puts in front."""
    from tokenizers import Tokenizer, decoders, models, normalizers, processors

    words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    words += ["▁", *"abcdefghijklmnopqrstuvwxyzT.,!</s>春眠"]
    merges = [("▁", "t"), ("▁t", "h"), ("▁th", "e"), ("o", "x"), ("f", "ox"), ("▁", "fox")]
    words += ["".join(pair) for pair in merges]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(
        models.BPE(vocabulary, merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    return tokenizer


def library_model(kind: str, vocab_size: int, *, seed: int = 0, **changes: Any) -> Any:
    """A random model of ``transformers``: llama, qwen2 or gpt2."""
    import torch
    import transformers

    torch.manual_seed(seed)
    if kind == "gpt2":
        config: Any = transformers.GPT2Config(
            vocab_size=vocab_size,
            n_positions=64,
            n_embd=48,
            n_layer=3,
            n_head=6,
            initializer_range=0.3,
            bos_token_id=None,
            eos_token_id=None,
        )
        return transformers.GPT2LMHeadModel(config).eval()
    name = {"llama": "Llama", "qwen2": "Qwen2"}[kind]
    ids = {"bos_token_id": None, "eos_token_id": None}
    config = getattr(transformers, f"{name}Config")(
        vocab_size=vocab_size, **{**SHAPE, **ids, **changes}
    )
    model = getattr(transformers, f"{name}ForCausalLM")(config).eval()
    with torch.no_grad():  # biases begin at 0, where nobody would miss them
        for parameter_name, parameter in model.named_parameters():
            if parameter_name.endswith("bias"):
                parameter.normal_()
    return model


def write_tokenizer(folder: Path, tokenizer: Any, template: str | None = TEMPLATE) -> None:
    """``tokenizer`` and its settings, as they lie beside a model."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings: dict[str, Any] = {"bos_token": "<|im_start|>", "eos_token": END}
    if template is not None:
        settings["chat_template"] = template
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def write_folder(folder: Path, kind: str = "llama", **changes: Any) -> Any:
    """A whole model in ``folder``; the library's model that was written."""
    tokenizer = byte_tokenizer()
    # a few more rows than tokens, as published models have
    model = library_model(kind, tokenizer.get_vocab_size() + 5, **changes)
    model.save_pretrained(folder)
    write_tokenizer(folder, tokenizer)
    return model


def write_gguf(path: Path, *, end_of_turn: int | None = None) -> tuple[Any, Any]:
    """A Llama in one GGUF file; the library's model and tokenizer that were written."""
    import gguf
    import torch

    tokenizer = byte_tokenizer()
    # conversion adds no rows, and knows no added tokens but those of the vocabulary
    size = tokenizer.get_vocab_size()
    model = library_model("llama", size, tie_word_embeddings=True)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_license("mit")
    writer.add_context_length(SHAPE["max_position_embeddings"])
    writer.add_embedding_length(SHAPE["hidden_size"])
    writer.add_block_count(SHAPE["num_hidden_layers"])
    writer.add_feed_forward_length(SHAPE["intermediate_size"])
    writer.add_head_count(SHAPE["num_attention_heads"])
    writer.add_head_count_kv(SHAPE["num_key_value_heads"])
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(model.config.rms_norm_eps)
    writer.add_vocab_size(size)
    document = json.loads(tokenizer.to_str())
    words = sorted(tokenizer.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1])
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([word for word, _ in words])
    writer.add_token_types([3 if word in CONTROL else 1 for word, _ in words])
    writer.add_token_merges([" ".join(pair) for pair in document["model"]["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(0)
    if end_of_turn is not None:
        writer.add_eot_token_id(end_of_turn)
    writer.add_chat_template(TEMPLATE)
    for name, tensor in model.state_dict().items():
        if name != "lm_head.weight":
            writer.add_tensor(_gguf_name(name), _gguf_rows(name, tensor).to(torch.float32).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model, tokenizer


_GGUF_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "model.layers": "blk",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def _gguf_name(name: str) -> str:
    for theirs, ours in _GGUF_NAMES.items():
        name = name.replace(theirs, ours)
    return name


def _gguf_rows(name: str, tensor: Any) -> Any:
    """GGUF keeps the two values that a rotary position turns together side by side."""
    heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}
    for part, count in heads.items():
        if part in name:
            halves = tensor.view(SHAPE[count], 2, -1, tensor.shape[1])
            return halves.transpose(1, 2).reshape(tensor.shape).contiguous()
    return tensor
