"""Places in source texts, diagnostics as data, and their rendering. Knows nothing of SQL."""

from flinkddl.diagnostics.report import (
    NOTHING,
    TAKEN,
    About,
    Bag,
    Diagnostic,
    FlinkDdlError,
    Related,
    chain,
    did_you_mean,
    each,
    joined,
    strictly,
    suggest,
    taken,
)
from flinkddl.diagnostics.source import SourceText, Span

__all__ = [
    "NOTHING",
    "TAKEN",
    "About",
    "Bag",
    "Diagnostic",
    "FlinkDdlError",
    "Related",
    "SourceText",
    "Span",
    "chain",
    "did_you_mean",
    "each",
    "joined",
    "strictly",
    "suggest",
    "taken",
]
