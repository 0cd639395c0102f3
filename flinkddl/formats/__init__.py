"""Formats: how bytes become columns and back, as Spark expressions."""

from flinkddl.formats.base import Message, decoder, encoder, metadata_types
from flinkddl.formats.spec import WEIGHT, DecodeSpec, EncodeSpec

__all__ = ["WEIGHT", "DecodeSpec", "EncodeSpec", "Message", "decoder", "encoder", "metadata_types"]
