"""Causal language models of other makers, from local disk, behind the engine's protocols.

Whatever ``transformers`` can load from a folder with safetensors, or from one GGUF file.
No network, no pickle, no code out of a model's folder. Needs the extra ``chat``.
"""
