"""What several subcommands share: reading scripts, variables, output of diagnostics, exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import About, Diagnostic, FlinkDdlError, SourceText
from flinkddl.diagnostics.kinds import NO_UTF8
from flinkddl.diagnostics.render import render_json, render_sarif, render_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from flinkddl.api import Catalog
    from flinkddl.catalog.state import Catalog as CatalogState
    from flinkddl.runtime.session.sessions import SparkOptions
    from flinkddl.script.compile import Compiled

    Rewrite = Callable[[SourceText], tuple[str, Sequence[Diagnostic]]]

PACKAGED_JARS = "FLINKDDL_PACKAGED_JARS"
"""The folder with the jars of a packaged job's Java functions: its ``main.py`` sets it."""
OK, WRONG_SQL, WRONG_USAGE, OUTSIDE_FAILED = 0, 1, 2, 3
_RENDER = {"text": render_text, "json": render_json, "sarif": render_sarif}


def add_script_arguments(parser: argparse.ArgumentParser, many: bool = False) -> None:
    """Add the script argument(s) and ``-D name=value``."""
    if many:
        _add_scripts(parser)
    else:
        parser.add_argument("script", metavar="FILE", help="a .sql file, or - for stdin")
    add_variables_argument(parser)


def _add_scripts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scripts", nargs="+", metavar="FILE", help="a .sql file, a folder of them, or - for stdin")


def add_before_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``-i FILE``."""
    parser.add_argument(
        "-i", "--init", dest="before", action="append", default=[], metavar="FILE",
        help="carry out a script before each one, or those of a folder: the CREATE TABLEs that jobs have in common",
    )  # fmt: skip


def sources_before(args: argparse.Namespace) -> list[SourceText]:
    """Return the scripts of ``-i``. Raises FlinkDdlError: FD801 for one that cannot be read, FD675 with a job in it."""
    from flinkddl.script.compile import Start, compile_script

    sources = [read_source(path) for path in find_scripts(getattr(args, "before", ()))]
    if sources:
        compiled = compile_script(sources[-1], start_catalog(args), dict(args.variables), sources[:-1])
        message = "a script that is given with -i starts a job, which would be started with each of the others"
        help = "move it into a script of its own"
        jobs = [Diagnostic("FD675", message, a.span, help) for a in compiled.actions if isinstance(a, Start)]
        if jobs:
            raise FlinkDdlError(jobs)
    return sources


def add_variables_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``-D name=value`` and what else changes how a script is taken."""
    parser.add_argument(
        "-D", dest="variables", action="append", default=[], metavar="NAME=VALUE", type=assignment,
        help="value of a ${NAME} in the script (the environment is the fallback)",
    )  # fmt: skip
    parser.add_argument(
        "--udf", dest="udfs", action="append", default=[], metavar="NAME=TARGET", type=assignment,
        help="a function for a name, in place of what the script declares: Python's as MODULE:FUNCTION, Java's as"
        " com.acme.Class, or 'com.acme.Class RETURNS type' where the class does not tell its type",
    )  # fmt: skip
    parser.add_argument(
        "--allow-python", action="append", default=[], metavar="MODULE[,..]", type=_modules,
        help="a module that the script's Python functions may come from: it is imported, with all that it does then",
    )  # fmt: skip
    parser.add_argument(
        "--allow-jar", action="append", default=[], metavar="FILE.jar[,..]", type=_listed,
        help="a jar, or a folder of jars, that the script's Java functions may come from: their classes are run",
    )  # fmt: skip
    parser.add_argument(
        "--jars", action=_Jars, metavar="DIR|FILE.jar[,..]",
        help="folder with Spark's jars, instead of downloading them; or jars of Java functions, as ADD JAR adds them",
    )  # fmt: skip
    parser.set_defaults(function_jars=[])
    parser.add_argument(
        "--strict", action="store_true", help="refuse what Flink 2.3 refuses, also where its older documents show it"
    )


def start_catalog(args: argparse.Namespace) -> CatalogState:
    """Return the catalog that a script starts with: empty, but for what the arguments give, allow and refuse."""
    from flinkddl.catalog.settings import STRICT
    from flinkddl.catalog.state import Catalog as CatalogState

    if files := [file for given in getattr(args, "py_files", ()) for file in given]:
        from flinkddl.runtime.session.sessions import make_importable

        make_importable(files)
    modules = [module for given in args.allow_python for module in given]
    begin = CatalogState(packaged_jars=os.environ.get(PACKAGED_JARS, "")).starting(STRICT if args.strict else {})
    begin = begin.with_functions(dict(args.udfs)).allowing_python(modules)
    allowed = [jar for given in args.allow_jar for jar in given]
    return begin.allowing_jars([*allowed, *([args.jars] if args.jars else ())]).with_jars(args.function_jars)


def compiled_script(args: argparse.Namespace, source: SourceText | None = None) -> Compiled:
    """Compile the script of the arguments. Raises FlinkDdlError with all that is found where it has errors."""
    from flinkddl.script.compile import compile_script

    source = source or read_source(args.script)
    compiled = compile_script(source, start_catalog(args), dict(args.variables), sources_before(args))
    if compiled.has_errors:
        raise FlinkDdlError(compiled.diagnostics)
    return compiled


def ddl_catalog(args: argparse.Namespace) -> CatalogState:
    """Return what the script of ``--ddl`` declares, nothing without one; this process logs in as it has SET."""
    from flinkddl.runtime.kafka.kerberos_start import take_settings

    catalog = compiled_script(args, read_source(args.ddl) if args.ddl else SourceText("", "")).catalog
    take_settings(catalog.settings)
    return catalog


def add_rewrite_arguments(parser: argparse.ArgumentParser, printed: str) -> None:
    """Add the scripts, ``--write`` instead of printing what ``printed`` says, and ``--check``."""
    _add_scripts(parser)
    parser.add_argument("--write", action="store_true", help=f"rewrite the files instead of printing {printed}")
    parser.add_argument("--check", action="store_true", help="only say which files would change; exit 1 if any")


def rewrite_each(args: argparse.Namespace, rewrite: Rewrite, done: str, shown: Callable[[str, str, str], str]) -> int:
    """Rewrite each script as its arguments say, and return the exit code.

    What is written is told as "``done`` FILE"; what is printed is ``shown(path, old, new)``, standard input's own new
    text where ``--write`` is given.
    """
    code = OK
    for path in find_scripts(args.scripts):
        try:
            source = read_source(path)
            text, diagnostics = rewrite(source)
        except FlinkDdlError as error:
            print_diagnostics(error.diagnostics)
            code = max(code, exit_code(error))
            continue
        print_diagnostics(diagnostics)
        changed = text != source.text
        if any(d.severity == "error" for d in diagnostics) or (args.check and changed):
            code = max(code, WRONG_SQL)
        if args.check:
            print(f"would change {path}\n" * changed, end="")
        elif not args.write:
            print(shown(path, source.text, text), end="")
        elif path == "-":
            print(text, end="")
        elif changed:
            Path(path).write_bytes(text.encode("utf-8"))
            print(f"{done} {path}")
    return code


def no_table(name: str, catalog: CatalogState, more: str = "") -> FlinkDdlError:
    """Return FD845 for a name that is no table of the script of ``--ddl``."""
    known = ", ".join(catalog.names()) or "none"
    return FlinkDdlError.of("FD845", f"'{name}' is no table of the script (tables: {known}){more}")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


class _Jars(argparse.Action):
    """``--jars``: a folder has Spark's, into ``jars``; files are those of functions, into ``function_jars``."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        given = _listed(values)
        files = [f for f in given if f.endswith(".jar")]
        folders = [f for f in given if f not in files]
        if len(folders) > 1:
            raise argparse.ArgumentError(self, f"one folder can have Spark's jars, not {' and '.join(folders)}")
        namespace.function_jars = [*namespace.function_jars, *files]
        namespace.jars = folders[0] if folders else namespace.jars


def _modules(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(part.isidentifier() for name in names for part in name.split(".")):
        raise argparse.ArgumentTypeError(f"'{text}' names no Python modules")
    return names


def py_files(text: str) -> tuple[str, ...]:
    """Take FILE[,..] apart, as the type of ``--py-files``."""
    from flinkddl.runtime.session.sessions import ENDINGS

    files = tuple(name.strip() for name in text.split(","))
    for file in files:
        if not file.endswith(ENDINGS) or not Path(file).is_file():
            raise argparse.ArgumentTypeError(f"'{file}' is no file that ends in {', '.join(ENDINGS)}")
    return files


def assignment(text: str) -> tuple[str, str]:
    """Take NAME=VALUE apart, as an argument's type."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is no NAME=VALUE")
    return name, value


def millis(text: str) -> int:
    """Return epoch milliseconds of a time in ISO 8601, which is UTC where it names no zone. Raises ValueError."""
    found = datetime.fromisoformat(text)
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def add_output_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--output text|json|sarif``."""
    parser.add_argument("--output", choices=sorted(_RENDER), default="text", help="how findings are printed")


def add_spark_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says where Spark runs and where a job keeps its state."""
    parser.add_argument("--checkpoint", metavar="DIR", help="keep state and offsets here, and resume from it")
    parser.add_argument("--fresh", action="store_true", help="set an old checkpoint aside and start anew")
    parser.add_argument(
        "--allow-dropped-state",
        action="store_true",
        help="remove the state of queries and operators that the script no longer has",
    )
    parser.add_argument(
        "--continue-job", action="append", default=[], metavar="[NEW=]OLD",
        help="a job that ran under the name OLD so far goes on with its state; of several jobs, the one named NEW",
    )  # fmt: skip
    parser.add_argument(
        "--from-first-offset", action="append", default=[], metavar="TOPIC",
        help="where this topic was deleted and created again: read it from its first offset, or write on into it, with"
        " the state kept",
    )  # fmt: skip
    parser.add_argument("--master", help="where Spark runs, such as local[4] or spark://host:7077")
    parser.add_argument("--remote", metavar="URL", help="a Spark Connect server, such as sc://host:15002")
    parser.add_argument(
        "--py-files", action="append", default=[], metavar="FILE[,..]", type=py_files,
        help="Python modules that the workers get: .py, .zip or .egg",
    )  # fmt: skip
    parser.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", type=assignment, help="a Spark setting"
    )


def spark_options(args: argparse.Namespace) -> SparkOptions:
    """Return how the arguments want Spark to be started."""
    from flinkddl.runtime.session.sessions import SparkOptions

    conf, files = dict(args.conf), tuple(file for given in args.py_files for file in given)
    return SparkOptions(master=args.master, remote=args.remote, jars=args.jars, py_files=files, conf=conf)


def open_catalog(args: argparse.Namespace) -> Catalog:
    """Return a catalog over the Spark that the arguments name; it is not started yet."""
    from flinkddl.api import Catalog

    catalog = Catalog(options=spark_options(args), views=False)  # nobody could use them
    catalog.state = start_catalog(args)
    return catalog


def run_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the RunOptions fields that the arguments give."""
    own = {"fresh": args.fresh, "allow_dropped": args.allow_dropped_state, "from_first": tuple(args.from_first_offset)}
    own |= {"continue_job": tuple(args.continue_job)}
    return {**own, **({"checkpoint": args.checkpoint} if args.checkpoint else {})}


def read_source(path: str) -> SourceText:
    """Read a script. Raises FlinkDdlError FD801 when the file cannot be read or is no UTF-8."""
    try:
        if path == "-":
            return SourceText("<stdin>", sys.stdin.read())
        return SourceText(path, Path(path).read_bytes().decode("utf-8"))
    except OSError as e:
        raise FlinkDdlError.of("FD801", f"cannot read '{path}': {e.strerror}", about=About(path)) from e
    except UnicodeDecodeError as e:
        message, about = f"'{path}' is no UTF-8 text (byte {e.start})", About(path, NO_UTF8)
        raise FlinkDdlError.of("FD801", message, help="save it as UTF-8", about=about) from e


def find_scripts(paths: Iterable[str]) -> list[str]:
    """Expand folders to the .sql files below them, sorted; other paths stay."""
    out: list[str] = []
    for path in paths:
        folder = Path(path)
        out += sorted(str(p) for p in folder.rglob("*.sql")) if folder.is_dir() else [path]
    return out


def print_diagnostics(diagnostics: Iterable[Diagnostic], output: str = "text") -> None:
    """Print findings: text goes to stderr, JSON and SARIF to stdout."""
    found = tuple(diagnostics)
    if output == "text":
        if found:
            print(_RENDER[output](found), file=sys.stderr)
    else:
        print(_RENDER[output](found))


def exit_code(error: FlinkDdlError) -> int:
    """Return 3 when every error is of the outside world (FD8xx, but for a wrong line of input), otherwise 1."""
    outside = all(d.code.startswith("FD8") and d.code != "FD868" for d in error.diagnostics)
    return OUTSIDE_FAILED if outside else WRONG_SQL


def count(n: int, word: str, plural: str = "") -> str:
    """Return ``1 error``, ``2 errors``; ``plural`` where that is not the word with an s."""
    return f"{n} {word if n == 1 else plural or word + 's'}"


def size_text(n: int) -> str:
    """Return a number of bytes as people read it."""
    return f"{n / 1e6:,.1f} MB" if n >= 1e6 else f"{n / 1e3:,.1f} kB"


def positive(text: str) -> int:
    """Take a number from 1, as an argument's type."""
    import argparse

    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1")
    return int(text)
