"""``flinkddl assess``: which scripts of a folder run, which run with notes, which are refused, and why."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.cli.assessment.judge import REFUSED, Assessment, Judge, assess, assess_all, files
from flinkddl.cli.assessment.page import page
from flinkddl.cli.assessment.report import as_json, text
from flinkddl.cli.common import (
    OK,
    OUTSIDE_FAILED,
    WRONG_USAGE,
    add_before_argument,
    add_script_arguments,
    exit_code,
    sources_before,
    start_catalog,
)
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["Assessment", "assess", "configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_script_arguments(parser, many=True)
    add_before_argument(parser)
    parser.add_argument("--json", metavar="FILE", help="write the whole assessment here as JSON (- for stdout)")
    parser.add_argument("--html", metavar="FILE", help="write the whole assessment here as a page")


def run(args: argparse.Namespace) -> int:
    """Assess every script by itself; the exit code is 1 when one is refused, 3 when those could only not be read."""
    if not files(args.scripts):
        print("no file with SQL is there", file=sys.stderr)
        return WRONG_USAGE
    judge = Judge(dict(args.variables), start_catalog(args), tuple(sources_before(args)))
    found = assess_all(args.scripts, judge)
    if not found:
        print("no SQL is in these files", file=sys.stderr)
        return WRONG_USAGE
    if args.json == "-":
        print(_json(found))
    else:
        print(text(found))
    written = [_write(args.json, _json(found)) if args.json not in (None, "-") else True]
    written.append(_write(args.html, page(found, f"Assessment of {_named(args.scripts)}")) if args.html else True)
    if not all(written):
        return OUTSIDE_FAILED
    refused = [d for a in found if a.verdict == REFUSED for d in a.errors]
    return exit_code(FlinkDdlError(refused)) if refused else OK


def _named(paths: Sequence[str]) -> str:
    """Return the arguments as a heading names them: ``.`` by the name of the folder."""
    return ", ".join(Path(path).resolve().name if path in (".", "./", "..") else path for path in paths)


def _json(found: list[Assessment]) -> str:
    return json.dumps(as_json(found), indent=2, ensure_ascii=False)


def _write(path: str, content: str) -> bool:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    except OSError as error:
        print(f"cannot write '{path}': {error.strerror}", file=sys.stderr)
        return False
    print(f"all findings are in {path}", file=sys.stderr)
    return True
