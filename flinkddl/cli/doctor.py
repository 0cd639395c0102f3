"""``flinkddl doctor [SCRIPT]``: is there all that a job needs? Each line is ok, or says what to do."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from flinkddl.cli.common import (
    OK,
    OUTSIDE_FAILED,
    WRONG_SQL,
    add_spark_arguments,
    add_variables_argument,
    exit_code,
    print_diagnostics,
    read_source,
    spark_options,
    start_catalog,
)
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from flinkddl.catalog.state import Catalog
    from flinkddl.runtime.doctor import Finding, Subject
    from flinkddl.script.compile import Compiled

_COLOURS = {"ok": "32", "warn": "33", "fail": "31;1"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("script", nargs="?", metavar="FILE", help="a script whose servers and topics are looked at")
    add_variables_argument(parser)
    add_spark_arguments(parser)
    parser.add_argument("--no-spark", action="store_true", help="do not start Spark for a try")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="how findings are printed")


def run(args: argparse.Namespace) -> int:
    """Print the findings; exit 3 when one of them fails, 1 when the script is wrong."""
    from flinkddl.runtime.doctor import examine

    try:
        compiled = _compiled(args)
    except FlinkDdlError as error:
        print_diagnostics(error.diagnostics)
        return exit_code(error)
    found: list[Finding] = []
    for finding in examine(_subject(args, compiled), not args.no_spark):
        found.append(finding)
        if args.output == "text":
            _print(finding)
    if args.output == "json":
        fields = ("what", "state", "text", "fix")
        print(json.dumps([{f: getattr(x, f) for f in fields} for x in found], ensure_ascii=False, indent=2))
    wrong = compiled is not None and compiled.has_errors
    failed = sum(f.state == "fail" for f in found)
    if args.output == "text":
        _summary(failed, sum(f.state == "warn" for f in found))
    return OUTSIDE_FAILED if failed else WRONG_SQL if wrong else OK


def _compiled(args: argparse.Namespace) -> Compiled | None:
    """Compile the script: its mistakes are printed, what of it can be read is looked at all the same."""
    from flinkddl.runtime.kafka.kerberos_start import take_settings
    from flinkddl.script.compile import compile_script

    if args.script is None:
        return None
    compiled = compile_script(read_source(args.script), start_catalog(args), variables=dict(args.variables))
    print_diagnostics([d for d in compiled.diagnostics if d.severity == "error"])
    take_settings(compiled.catalog.settings)
    return compiled


def _subject(args: argparse.Namespace, compiled: Compiled | None) -> Subject:
    from dataclasses import replace

    from flinkddl.runtime.doctor import Subject
    from flinkddl.runtime.kafka.kerberos_start import joined
    from flinkddl.script.compile import Start

    spark = spark_options(args)
    if compiled is None:
        return Subject(spark, checkpoint=args.checkpoint)
    settings = compiled.catalog.settings
    spark = replace(spark, conf=joined(spark.conf, settings))
    folder = args.checkpoint or settings.execution_checkpointing_dir
    jobs = [a.job for a in compiled.actions if isinstance(a, Start)]
    return Subject(spark, jobs, list(registries_of(compiled.catalog)), folder)


def registries_of(catalog: Catalog) -> Iterator[dict[str, str]]:
    """Yield the registries that tables name, each address once: ``...avro-confluent.url`` and its login."""
    seen: set[str] = set()
    for entry in catalog.catalogs.values():
        tables = [o for d in entry.databases.values() for o in d.objects.values()]
        for options in (getattr(t, "options", {}) for t in (*tables, *catalog.temporary.values())):
            for key, text in options.items():
                prefix = key.removesuffix("url")
                if key.endswith("avro-confluent.url") and text.value not in seen:
                    seen.add(text.value)
                    yield {k.removeprefix(prefix): v.value for k, v in options.items() if k.startswith(prefix)}


def _print(finding: Finding) -> None:
    word = f"{finding.state:<5}"
    if sys.stdout.isatty():
        word = f"\x1b[{_COLOURS[finding.state]}m{word}\x1b[0m"
    print(f"{word} {finding.what:<11} {finding.text}", flush=True)
    if finding.fix:
        print(f"      {'':<11} -> {finding.fix}", flush=True)


def _summary(failed: int, warned: int) -> None:
    found = f"{failed} failed" if failed else "all is there"
    print(f"\n{found}" + (f", {warned} to look at" if warned else ""))
