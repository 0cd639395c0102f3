"""The ``flinkddl`` command: one table of subcommands, each loaded when it is called.

Exit codes: 0 done, 1 the SQL is wrong, 2 wrong usage, 3 the outside world failed.
"""

from __future__ import annotations

import argparse
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn

from flinkddl.cli.common import exit_code, print_diagnostics
from flinkddl.diagnostics import FlinkDdlError

# name -> (module, one line of help); each module has configure(parser) and run(args) -> exit code, or FlinkDdlError.
COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("flinkddl.cli.check", "parse, validate and plan scripts; nothing is started"),
    "explain": ("flinkddl.cli.explain", "print plans: Flink's changelog modes, our kinds, Spark's operators"),
    "compile": ("flinkddl.cli.compile", "print what run does as a PySpark program or JSON"),
    "run": ("flinkddl.cli.run", "run scripts, each as a job of its own"),
    "jobs": ("flinkddl.cli.jobs", "list, show, stop the jobs of other processes; their logs"),
    "package": ("flinkddl.cli.package", "write what a cluster needs to run a script into a folder"),
    "assess": ("flinkddl.cli.assess", "say which scripts of a folder run, which do not, and why"),
    "shell": ("flinkddl.cli.shell.command", "type statements and see their results change"),
    "verify": ("flinkddl.cli.verify", "compare two topics or tables, while both are written"),
    "handover": ("flinkddl.cli.handover", "start where a Flink job stands: its group's offsets, or a time"),
    "format": ("flinkddl.cli.format", "print scripts in canonical layout, comments kept"),
    "modernize": ("flinkddl.cli.modernize", "rewrite scripts of Flink 1.9 and 1.10 in today's words, as a diff"),
    "savepoint": ("flinkddl.cli.savepoint", "copies of a job's state that a run elsewhere goes on from"),
    "state": ("flinkddl.cli.state", "list what the jobs of a checkpoint keep, and print its entries"),
    "options": ("flinkddl.cli.options", "explain connectors, formats, options and settings"),
    "support": ("flinkddl.cli.support", "print what runs: connectors, formats, queries, statements, functions"),
    "error": ("flinkddl.cli.error", "explain an error code"),
    "doctor": ("flinkddl.cli.doctor", "look whether all is there that a job needs, and say what to do where not"),
    "init": ("flinkddl.cli.init", "write a small project that runs"),
    "topic": ("flinkddl.cli.topic", "create, list, describe, delete topics; write and read their records"),
    "broker": ("flinkddl.cli.broker", "start, stop and look at the development broker"),
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line with every subcommand's name and help; modules stay unloaded."""
    parser = argparse.ArgumentParser(
        prog="flinkddl",
        description="Flink SQL in, native Spark Structured Streaming out.",
        epilog="where to begin: `flinkddl init my_job` writes a small project that runs, and says how;"
        " `flinkddl check job.sql` looks at a script of yours; `flinkddl COMMAND --help`",
    )
    parser.add_argument("--version", action="store_true", help="print flinkddl's version and Spark's")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, help_text) in COMMANDS.items():
        commands.add_parser(name, help=help_text, add_help=False)
    return parser


def _version() -> str:
    """Return our version, PySpark's, and those of Spark's modules that are not PySpark's."""
    from importlib.metadata import version

    from flinkddl import __version__
    from flinkddl.runtime.machine.jars import beside_spark, spark_jars_here

    other = beside_spark(spark_jars_here())
    return f"flinkddl {__version__}, PySpark {version('pyspark')}" + (f"\njars: {other}" if other else "")


def _no_command(argv: list[str]) -> int:
    """Say what there is: all commands where none was given, the nearest one's name where there is none of this one."""
    parser = build_parser()
    if not argv:
        parser.print_help(sys.stderr)
        return 2
    near = [] if argv[0].startswith("-") else get_close_matches(argv[0], COMMANDS, n=1)
    if near:
        parser.error(f"there is no command '{argv[0]}': did you mean '{near[0]}'?")
    parser.parse_args(argv)
    return 2


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code; argparse exits with 2 on wrong usage."""
    argv = sys.argv[1:] if argv is None else argv
    if argv == ["--version"]:
        print(_version())
        return 0
    if not argv or argv[0] not in COMMANDS:
        return _no_command(argv)
    module = import_module(COMMANDS[argv[0]][0])
    parser = argparse.ArgumentParser(prog=f"flinkddl {argv[0]}", description=COMMANDS[argv[0]][1])
    module.configure(parser)
    args = parser.parse_args(argv[1:])
    try:
        return int(module.run(args))
    except FlinkDdlError as error:
        print_diagnostics(error.diagnostics)
        return exit_code(error)


def entry() -> NoReturn:
    """Console entry point: a broken pipe is no error."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
