"""Flink SQL text to trees and back. Knows nothing of connectors, catalogs or Spark."""

from flinkddl.dialect.script import ParsedStatement, Script, parse_script

__all__ = ["ParsedStatement", "Script", "parse_script"]
