"""The magics ``%%flinksql`` (a cell) and ``%flinksql`` (a line).

The cell is compiled whole, with every mistake at its place, before anything starts. Tables, settings and jobs live in
the notebook's variable ``catalog``: the user's own Catalog, else one over the notebook's ``spark`` (a session of the
user), else one with a session of its own.
"""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from flinkddl.api import Catalog, FlinkDdlError, Job, Result
from flinkddl.catalog.settings import STRICT
from flinkddl.diagnostics import SourceText
from flinkddl.diagnostics.render import render_text
from flinkddl.notebook.views import LIMIT, Watch, show_result
from flinkddl.perform import Front, perform
from flinkddl.script.compile import Action, compile_script

NAME = "catalog"
INPUT_SECONDS = 120.0


class CellError(FlinkDdlError):
    """The mistakes of a cell: shown as the command line shows them, without a Python traceback."""

    def _render_traceback_(self) -> list[str]:
        return [render_text(self.diagnostics)]


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        """Say what is wrong instead of ending the kernel."""
        raise UsageError(f"%%flinksql: {message}")


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the magic's line."""
    parser = _Arguments("%%flinksql", add_help=False)
    parser.add_argument("-D", dest="variables", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--mode", choices=("table", "changelog"), default="table", help="how a SELECT is shown")
    parser.add_argument("--limit", type=int, default=LIMIT, help="rows shown")
    parser.add_argument(
        "--wait", nargs="?", type=float, const=INPUT_SECONDS, metavar="SECONDS",
        help="wait until the jobs of the cell have taken what their topics hold",
    )  # fmt: skip
    parser.add_argument("--strict", action="store_true", help="refuse whatever Flink 2.3 refuses, from here on")
    parser.add_argument("--fresh", action="store_true", help="set an old checkpoint aside and start anew")
    parser.add_argument(
        "--continue-job", action="append", default=[], metavar="[NEW=]OLD",
        help="a job that ran under the name OLD so far goes on with its state; of several jobs, the one named NEW",
    )  # fmt: skip
    parser.add_argument("--stop", action="store_true", help="stop the jobs of the cell after that")
    parser.add_argument(
        "--allow-python", default="", metavar="MODULE[,..]",
        help="modules that Python functions may come from, in this cell and those after it",
    )  # fmt: skip
    parser.add_argument(
        "--allow-jar", default="", metavar="FILE.jar[,..]",
        help="jars that Java functions may come from, in this cell and those after it",
    )  # fmt: skip
    parser.add_argument("-o", dest="out", metavar="VARIABLE", help="put the last result into this variable")
    return parser


@magics_class
class FlinkMagics(Magics):
    """``%%flinksql [-D NAME=VALUE] [--mode table|changelog] [--limit N] [--wait [SECONDS]] [--stop] [-o VARIABLE]``.

    ``--allow-python MODULE[,..]`` names modules that Python functions may come from, ``--allow-jar FILE.jar[,..]`` jars
    that Java functions may come from, ``--strict`` refuses whatever Flink 2.3 refuses: in this cell and those after it.
    """

    @line_cell_magic
    def flinksql(self, line: str, cell: str | None = None) -> None:
        """Run Flink SQL; ``${name}`` takes the notebook's variable of that name."""
        args = arguments().parse_args(shlex.split(line) if cell is not None else [])
        catalog = self.catalog()
        if args.allow_python:
            catalog.state = catalog.state.allowing_python(m.strip() for m in args.allow_python.split(","))
        if args.allow_jar:
            catalog.state = catalog.state.allowing_jars(p.strip() for p in args.allow_jar.split(","))
        if cell is not None and args.strict:
            catalog.state = catalog.state.starting(STRICT)
        compiled = compile_script(SourceText("cell", cell or line), catalog.state, self._variables(args))
        if compiled.has_errors:
            raise CellError(compiled.diagnostics)
        if compiled.diagnostics:
            print(render_text(compiled.diagnostics))  # noqa: T201
        try:
            shown = Cell(catalog, args)
            perform(catalog, compiled, shown)
            shown.wait()
        except FlinkDdlError as error:
            raise CellError(error.diagnostics) from None
        if args.out:
            self.shell.user_ns[args.out] = shown.last

    def catalog(self) -> Catalog:
        """Return the notebook's catalog; it is made at the first use."""
        names = self.shell.user_ns
        found = names.get(NAME)
        if not isinstance(found, Catalog):
            found = names[NAME] = Catalog(_session(names.get("spark")), notice=_say)
        return found

    def _variables(self, args: argparse.Namespace) -> dict[str, str]:
        names = self.shell.user_ns.items()
        own = {k: str(v) for k, v in names if isinstance(v, str | int | float) and not k.startswith("_")}
        return own | dict(item.split("=", 1) for item in args.variables if "=" in item)


class Cell(Front):
    """What is shown below a cell; ``last`` is the last statement's result."""

    def __init__(self, catalog: Catalog, args: argparse.Namespace) -> None:
        self.catalog, self.args = catalog, args
        self.last: Result | None = None
        self._watches: list[Watch] = []

    def carry_out(self, action: Action) -> Job | None:
        """Start or show what the action is."""
        run = {"fresh": self.args.fresh, "continue_job": tuple(self.args.continue_job)}
        self.last = self.catalog.perform_one(action, notice=_say, **run)
        watch = show_result(self.last, self.args.mode, self.args.limit)
        if watch is not None:
            self._watches.append(watch)
        return self.last.job

    def awaited(self, job: Job) -> None:
        """Draw the job's last state."""
        for watch in self._watches:
            if watch.job is job:
                watch.join()

    def wait(self) -> None:
        """Let the cell take what its topics hold and stop its jobs, where its line says so."""
        for watch in self._watches:
            if self.args.wait is not None:
                watch.job.await_input(self.args.wait)
                watch.refresh()
            if self.args.stop:
                watch.job.stop()
                watch.join()


def _say(text: str) -> None:
    print(f"note: {text}")  # noqa: T201 - below the cell; on stderr it would look like a mistake


def _session(found: Any) -> Any:
    """Return a variable's value if it is a Spark session, of either kind."""
    module = type(found).__module__
    return found if type(found).__name__ == "SparkSession" and module.startswith("pyspark.sql") else None
