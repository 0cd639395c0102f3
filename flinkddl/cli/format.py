"""``flinkddl format``: scripts in canonical layout, comments kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, WRONG_SQL, exit_code, find_scripts, print_diagnostics, read_source
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scripts", nargs="+", metavar="FILE", help="a .sql file, a folder of them, or - for stdin")
    parser.add_argument("--write", action="store_true", help="rewrite the files instead of printing them")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="write back-ticks around reserved words, and what else Flink 2.3 wants (FD477)",
    )
    parser.add_argument("--check", action="store_true", help="only say which files would change; exit 1 if any")


def run(args: argparse.Namespace) -> int:
    """Format each script."""
    from flinkddl.dialect.format import format_script

    code = OK
    for path in find_scripts(args.scripts):
        try:
            source = read_source(path)
            text = format_script(source.text, path, args.fix)
        except FlinkDdlError as error:
            print_diagnostics(error.diagnostics)
            code = max(code, exit_code(error))
            continue
        changed = text != source.text
        if args.check and changed:
            print(f"would change {path}")
            code = max(code, WRONG_SQL)
        elif args.write and path != "-" and changed:
            Path(path).write_text(text, encoding="utf-8")
            print(f"formatted {path}")
        elif not (args.check or (args.write and path != "-")):
            print(text, end="" if text.endswith("\n") else "\n")
    return code
