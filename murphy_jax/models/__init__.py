"""Decoders in Flax NNX and their Hugging Face folders: `models.load(folder)`, `models.save(model, folder)`."""

from murphy_jax.models.config import ModelConfig
from murphy_jax.models.decoder import Decoder
from murphy_jax.models.weights import load, save

__all__ = ["Decoder", "ModelConfig", "load", "save"]
