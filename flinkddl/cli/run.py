"""``flinkddl run``: compile whole scripts, then start their jobs and stay with them until they end."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from flinkddl.cli import common
from flinkddl.cli.common import (
    OK,
    add_before_argument,
    add_output_argument,
    add_script_arguments,
    add_spark_arguments,
    exit_code,
    open_catalog,
    print_diagnostics,
    read_source,
    run_options,
)
from flinkddl.cli.running import Run, Running, report, stopping
from flinkddl.cli.side_by_side import SideBySide
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from flinkddl.script.compile import Compiled


def configure(parser: argparse.ArgumentParser, *, many: bool = True) -> None:
    """Declare the arguments; ``many`` scripts run side by side, each on its own."""
    add_script_arguments(parser, many)
    add_before_argument(parser)
    add_output_argument(parser)
    add_spark_arguments(parser)
    parser.add_argument(
        "--until-read", action="store_true", help="end once all is read that the topics hold when the jobs run"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="how progress is written")
    parser.add_argument(
        "--metrics-port", metavar="[HOST:]PORT", help="serve /metrics (Prometheus) and /health there; 0 takes any port"
    )


def run(args: argparse.Namespace) -> int:
    """Run the scripts; SIGINT and SIGTERM stop their jobs cleanly after their running batch.

    A script that is wrong keeps the others from nothing. The worst exit code counts.
    """
    scripts, wrong = [], []
    for script in dict.fromkeys(args.scripts):
        try:
            scripts.append((script, compiled_script(args, script)))
        except FlinkDdlError as error:
            report(args, error)
            wrong.append((script, exit_code(error)))
    if not scripts:
        return max(code for _, code in wrong)
    return run_compiled(args, scripts, wrong)


def run_compiled(
    args: argparse.Namespace, scripts: Sequence[tuple[str, Compiled]], wrong: Sequence[tuple[str, int]] = ()
) -> int:
    """Run scripts that are compiled already. ``wrong``: those that are not run, with their exit codes."""
    from flinkddl.cli.listed import Listing
    from flinkddl.cli.live import display

    try:
        with ExitStack() as stack:
            listing = stack.enter_context(Listing(_say, until_read=args.until_read))
            for script, compiled in scripts:
                listing.take(script, compiled, args.checkpoint)
            catalog = stack.enter_context(open_catalog(args))
            stops = stack.enter_context(stopping())
            shown = stack.enter_context(
                display(checkpoint=args.checkpoint, log_format=args.log_format, quiet=args.quiet)
            )
            if args.metrics_port:
                from flinkddl.cli.metrics import serve

                shown.notice(f"figures at {stack.enter_context(serve(args.metrics_port, shown.meters))}/metrics")
            run = Run(stops, shown, listing, run_options(args), until_read=args.until_read)
            if len(scripts) + len(wrong) > 1:
                return SideBySide(args, catalog, run).perform(scripts, wrong)
            Running(catalog, run).perform(scripts[0][1])
    except FlinkDdlError as error:
        report(args, error)
        return exit_code(error)
    return OK


def _say(text: str) -> None:
    print(f"flinkddl: {text}", file=sys.stderr)


def compiled_script(args: argparse.Namespace, script: str) -> Compiled:
    """Compile a script as the arguments say. Raises FlinkDdlError with all its mistakes."""
    from flinkddl.runtime.kafka.kerberos_start import log_in
    from flinkddl.runtime.udf import refuse_foreign
    from flinkddl.script.compile import Start

    compiled = common.compiled_script(args, read_source(script))
    for action, state in zip(compiled.actions, compiled.states, strict=True):
        if isinstance(action, Start):  # before Spark is started
            refuse_foreign(action.job, action.span)
            log_in(action.job, state.settings)
    if compiled.diagnostics and args.log_format == "json":
        report(args, FlinkDdlError(compiled.diagnostics))
    else:
        print_diagnostics(compiled.diagnostics)
    return compiled
