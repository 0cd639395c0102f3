"""``flinkddl format``: scripts in canonical layout, comments kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.cli.common import add_rewrite_arguments, rewrite_each

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_rewrite_arguments(parser, "them")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="write back-ticks around reserved words, and what else Flink 2.3 wants (FD477)",
    )


def run(args: argparse.Namespace) -> int:
    """Format each script."""
    from flinkddl.dialect.format import format_script

    return rewrite_each(
        args,
        lambda source: (format_script(source.text, source.name, args.fix), ()),
        "formatted",
        lambda path, old, new: new if new.endswith("\n") else f"{new}\n",
    )
