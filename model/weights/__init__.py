"""Shipped checkpoints: safetensors files, read by ``model.registry``."""
