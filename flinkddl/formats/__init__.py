"""Formats: how bytes become columns and back, as Spark expressions."""

from flinkddl.formats.base import Message, Wanted, decoder, encoder, metadata_types
from flinkddl.formats.spec import WEIGHT, DecodeSpec, EncodeSpec

__all__ = ["WEIGHT", "DecodeSpec", "EncodeSpec", "Message", "Wanted", "decoder", "encoder", "metadata_types"]
