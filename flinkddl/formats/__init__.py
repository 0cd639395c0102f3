"""Formats: how bytes become columns and back, as Spark expressions."""

from flinkddl.formats.base import decoder, encoder, metadata_types
from flinkddl.formats.spec import WEIGHT, DecodeSpec, EncodeSpec

__all__ = ["WEIGHT", "DecodeSpec", "EncodeSpec", "decoder", "encoder", "metadata_types"]
