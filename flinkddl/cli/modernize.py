"""``flinkddl modernize``: scripts of Flink 1.9 and 1.10 in today's words, as a diff or in place."""

from __future__ import annotations

import sys
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, WRONG_SQL, exit_code, find_scripts, print_diagnostics, read_source
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scripts", nargs="+", metavar="FILE", help="a .sql file, a folder of them, or - for stdin")
    parser.add_argument("--write", action="store_true", help="rewrite the files instead of printing a diff")
    parser.add_argument("--check", action="store_true", help="only say which files would change; exit 1 if any")


def run(args: argparse.Namespace) -> int:
    """Rewrite each script, and say what has no equivalent."""
    from flinkddl.script.modernize import modernize

    code = OK
    for path in find_scripts(args.scripts):
        try:
            source = read_source(path)
            modern = modernize(source)
        except FlinkDdlError as error:
            print_diagnostics(error.diagnostics)
            code = max(code, exit_code(error))
            continue
        print_diagnostics(modern.diagnostics)
        changed = modern.text != source.text
        if any(d.severity == "error" for d in modern.diagnostics) or (args.check and changed):
            code = max(code, WRONG_SQL)
        if args.check:
            print(f"would change {path}\n" * changed, end="")
        elif args.write:
            _write(path, modern.text, changed)
        else:
            print(diff(path, source.text, modern.text), end="")
    return code


def _write(path: str, text: str, changed: bool) -> None:
    if path == "-":
        sys.stdout.write(text)
    elif changed:
        Path(path).write_bytes(text.encode("utf-8"))
        print(f"modernized {path}")


def diff(path: str, old: str, new: str) -> str:
    """Return what has changed as a unified diff that ``patch -p1`` takes, empty where nothing has."""
    name = "script.sql" if path == "-" else path.lstrip("/")
    lines = unified_diff(old.splitlines(True), new.splitlines(True), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
