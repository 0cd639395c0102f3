"""``flinkddl error CODE``: the page of an error code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flinkddl.diagnostics import did_you_mean
from flinkddl.diagnostics.codes import all_codes, page, title

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as FD212; without it all codes are listed")


def run(args: argparse.Namespace) -> int:
    """Print the page, or the list of codes."""
    if args.code is None:
        for code in all_codes():
            print(f"{code}  {title(code)}")
        return 0
    try:
        print(page(args.code.upper()).rstrip())
    except KeyError:
        hint = did_you_mean(args.code.upper(), all_codes())
        print(f"no error has the code '{args.code}'" + (f"; {hint}" if hint else ""), file=sys.stderr)
        return 2
    return 0
