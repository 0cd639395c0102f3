"""``flinkddl shell``: statements typed, piped or read from a file, carried out one after the other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from flinkddl.cli.common import (
    OK,
    OUTSIDE_FAILED,
    WRONG_SQL,
    add_spark_arguments,
    add_variables_argument,
    open_catalog,
    print_diagnostics,
    read_source,
    run_options,
)
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.perform import await_job

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from flinkddl.cli.shell.engine import Engine


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("-i", "--init", metavar="FILE", help="carry out a script first, then go on as usual")
    parser.add_argument("-f", "--file", metavar="FILE", help="carry out a script and leave")
    add_variables_argument(parser)
    add_spark_arguments(parser)
    parser.add_argument("--history", metavar="FILE", help="where typed statements are kept (~/.flinkddl-history)")


def run(args: argparse.Namespace) -> int:
    """Run the shell: on a terminal with a prompt, otherwise from the file or what is piped in."""
    from flinkddl.cli.shell.engine import Engine, Quit
    from flinkddl.cli.shell.output import Output
    from flinkddl.cli.shell.warmup import SparkStart

    terminal = sys.stdin.isatty() and sys.stdout.isatty() and args.file is None
    out = Output(colour=sys.stdout.isatty())
    with open_catalog(args) as catalog:
        spark = SparkStart(catalog, args.jars, args.remote)
        engine = Engine(catalog, spark, out, run=run_options(args), variables=dict(args.variables))
        try:
            if args.init and not engine.execute_source(read_source(args.init)):
                return _code(engine)
            if args.file:
                engine.execute_source(read_source(args.file))
                _await_jobs(engine)
            elif terminal:
                from flinkddl.cli.shell.prompt import interact

                return interact(engine, args.history)
            else:
                for statement in statements(sys.stdin):
                    engine.execute(statement, "<stdin>")
                _await_jobs(engine)
        except Quit:
            pass
        except FlinkDdlError as error:
            print_diagnostics(error.diagnostics)
            return OUTSIDE_FAILED
    return _code(engine)


def statements(stream: TextIO) -> Iterator[str]:
    """Yield statements of a stream as soon as each is whole."""
    from flinkddl.cli.shell.split import is_client_word, split

    text = ""
    for line in stream:
        text += line
        if ";" not in line and not is_client_word(text):
            continue
        if is_client_word(text):
            yield text.strip()
            text = ""
            continue
        pieces = split(text)
        yield from pieces.statements
        text = "" if pieces.blank else pieces.rest
    if text.strip() and not split(text).blank:
        yield text.strip()


def _await_jobs(engine: Engine) -> None:
    """A script's jobs are waited for, as ``run`` does: they live in this process."""
    for job in engine.catalog.jobs:
        try:
            await_job(job)
        except FlinkDdlError as error:
            engine.out.diagnostics(error.diagnostics)
        except KeyboardInterrupt:
            return


def _code(engine: Engine) -> int:
    failed = engine.out.failed
    if not failed:
        return OK
    return OUTSIDE_FAILED if all(code.startswith("FD8") for code in failed) else WRONG_SQL
