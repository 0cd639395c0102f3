"""``flinkddl modernize``: scripts of Flink 1.9 and 1.10 in today's words, as a diff or in place."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

from flinkddl.cli.common import add_rewrite_arguments, rewrite_each

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from flinkddl.diagnostics import Diagnostic, SourceText


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_rewrite_arguments(parser, "a diff")


def run(args: argparse.Namespace) -> int:
    """Rewrite each script, and say what has no equivalent."""
    from flinkddl.script.modernize import modernize

    def rewrite(source: SourceText) -> tuple[str, Sequence[Diagnostic]]:
        modern = modernize(source)
        return modern.text, modern.diagnostics

    return rewrite_each(args, rewrite, "modernized", diff)


def diff(path: str, old: str, new: str) -> str:
    """Return what has changed as a unified diff that ``patch -p1`` takes, empty where nothing has."""
    name = "script.sql" if path == "-" else path.lstrip("/")
    lines = unified_diff(old.splitlines(True), new.splitlines(True), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
