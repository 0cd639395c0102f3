"""``flinkddl package SCRIPT --out DIR``: what a cluster needs to run a script, in one folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.cli.common import (
    OK,
    OUTSIDE_FAILED,
    WRONG_USAGE,
    add_script_arguments,
    compiled_script,
    print_diagnostics,
    py_files,
    read_source,
)

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_script_arguments(parser)
    parser.add_argument("--out", required=True, metavar="DIR", help="a new folder, or an empty one")
    parser.add_argument(
        "--checkpoint", metavar="DIR", help="what `run --checkpoint` gets: a folder that all machines see"
    )
    parser.add_argument("--image", default="", help="name of the container image in the Kubernetes manifests")
    parser.add_argument(
        "--py-files", action="append", default=[], metavar="FILE[,..]", type=py_files,
        help="Python modules that go into the package: .py, .zip or .egg",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Write the package; a folder that holds something is left as it is."""
    from flinkddl.deploy.package import Request, write_package

    folder = Path(args.out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        print(f"'{folder}' is not empty: nothing is written", file=sys.stderr)
        return WRONG_USAGE
    source = read_source(args.script)
    compiled = compiled_script(args, source)
    print_diagnostics(compiled.diagnostics)
    files = tuple(file for given in args.py_files for file in given)
    modules = [module for given in args.allow_python for module in given]
    modules += [of.partition(":")[0] for _, of in args.udfs if ":" in of]
    request = Request(
        source,
        compiled,
        dict(args.variables),
        _arguments(args),
        tuple(modules),
        files,
        jars=args.jars,
        image=args.image,
    )
    try:
        names = write_package(request, folder)
    except OSError as error:
        print(f"'{folder}' cannot be written: {error.strerror}", file=sys.stderr)
        return OUTSIDE_FAILED
    print(f"{folder}: {', '.join(names)}. README.md says how to run it.")
    return OK


def _arguments(args: argparse.Namespace) -> tuple[str, ...]:
    given = [
        *(("--checkpoint", args.checkpoint) if args.checkpoint else ()),
        *(("--strict",) if args.strict else ()),
        *(part for jar in args.function_jars for part in ("--jars", Path(jar).name)),
        *(part for names in args.allow_python for part in ("--allow-python", ",".join(names))),
        *(part for name, of in args.udfs for part in ("--udf", f"{name}={of}")),
    ]
    return tuple(given)
