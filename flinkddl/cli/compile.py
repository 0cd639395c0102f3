"""``flinkddl compile``: what ``run`` does, as a PySpark program or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, add_before_argument, add_script_arguments, compiled_script, print_diagnostics

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_script_arguments(parser)
    add_before_argument(parser)
    parser.add_argument("--format", choices=("pyspark", "json"), default="pyspark", help="what to print")
    parser.add_argument("--views", action="store_true", help="print only tables and views, as registered temp views")


def run(args: argparse.Namespace) -> int:
    """Print the program."""
    from flinkddl.script.views import print_views, views_of_jobs
    from flinkddl.show.print_json import print_json
    from flinkddl.show.printer import print_pyspark

    compiled = compiled_script(args)
    print_diagnostics(compiled.diagnostics)
    jobs = [job.in_batches for job in compiled.jobs]  # a program asks nobody for cores
    if args.views:
        print(print_views(compiled.catalog), end="")
    else:
        config = compiled.catalog.settings
        print(print_json(jobs) if args.format == "json" else print_pyspark(jobs, views_of_jobs(compiled), config))
    return OK
