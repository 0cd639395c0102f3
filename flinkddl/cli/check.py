"""``flinkddl check``: parse, validate and plan scripts; nothing is started."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flinkddl.cli.common import (
    OK,
    add_before_argument,
    add_output_argument,
    add_script_arguments,
    count,
    exit_code,
    find_scripts,
    print_diagnostics,
    read_source,
    sources_before,
    start_catalog,
)
from flinkddl.diagnostics import Diagnostic, FlinkDdlError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_script_arguments(parser, many=True)
    add_before_argument(parser)
    add_output_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Check each script by itself and print what was found, then a summary."""
    from flinkddl.script.compile import compile_script
    from flinkddl.script.unused import unused

    found: list[Diagnostic] = []
    scripts = find_scripts(args.scripts)
    bad = 0
    before = sources_before(args)
    names = {source.name for source in before}
    for path in scripts:
        try:
            compiled = compile_script(read_source(path), start_catalog(args), dict(args.variables), before)
            own = (d for d in unused(compiled) if d.span is None or d.span.source.name not in names)
            diagnostics, statements = [*compiled.diagnostics, *own], compiled.statements
        except FlinkDdlError as error:
            diagnostics, statements = list(error.diagnostics), 0
        errors = [d for d in diagnostics if d.severity == "error"]
        bad += bool(errors)
        if before:  # what is wrong in them is told once
            diagnostics = [d for d in diagnostics if d not in found]
        found += diagnostics
        if args.output == "text":
            print_diagnostics(diagnostics)
            if len(scripts) == 1:
                _summary(path, errors, statements)
    if args.output != "text":
        print_diagnostics(found, args.output)
    elif len(scripts) != 1:
        print(f"{count(len(scripts), 'script')}: {len(scripts) - bad} fine, {bad} with errors", file=sys.stderr)
    errors = [d for d in found if d.severity == "error"]
    return exit_code(FlinkDdlError(errors)) if bad else OK


def _summary(path: str, errors: list[Diagnostic], statements: int) -> None:
    if not errors:
        print(f"{path}: {count(statements, 'statement')}, no errors", file=sys.stderr)
        return
    codes = sorted({d.code for d in errors})
    more = "" if len(codes) == 1 else " (and the others likewise)"
    print(
        f"{count(len(errors), 'error')} in {path} ({count(statements, 'statement')}). "
        f"`flinkddl error {codes[0]}` explains it{more}.",
        file=sys.stderr,
    )
