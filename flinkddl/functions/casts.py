"""CAST between Flink types; the rules themselves lie lower, because connectors need them too."""

from flinkddl.typecasts import CastRefused, check_cast

__all__ = ["CastRefused", "check_cast"]
