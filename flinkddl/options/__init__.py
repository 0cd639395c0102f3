"""WITH options: their values, the registry of what exists, and validation."""

from flinkddl.options.resolved import FormatOptions, OptionText, ResolvedOptions
from flinkddl.options.validate import validate

__all__ = ["FormatOptions", "OptionText", "ResolvedOptions", "validate"]
