"""``flinkddl handover``: run a script from where a Flink job stands, and say what was taken."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from flinkddl.cli import run as run_command
from flinkddl.cli.common import OK, exit_code, millis, open_catalog, print_diagnostics
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.runtime.job.topics.handover import From, Taken
    from flinkddl.script.compile import Compiled
    from flinkddl.spark.job import SparkJob


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments: those of ``run``, and where to start."""
    run_command.configure(parser, many=False)
    parser.add_argument(
        "--group", action="append", default=[], metavar="[TABLE=]NAME",
        help="consumer group whose committed offsets are taken (default: the table's own 'properties.group.id')",
    )  # fmt: skip
    parser.add_argument(
        "--from", dest="moment", type=_moment, metavar="TIME",
        help="start at the records of this time instead: 2024-03-01T10:00:00Z, or epoch milliseconds",
    )  # fmt: skip
    parser.add_argument(
        "--reset", choices=("earliest", "latest", "none"), default="none",
        help="where partitions start of which the group has committed nothing (default none: refuse)",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="say what would be taken and stop")


def _moment(text: str) -> int:
    if text.isdigit():
        return int(text)
    try:
        return millis(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no time such as 2024-03-01T10:00:00Z") from error


def run(args: argparse.Namespace) -> int:
    """Look the offsets up, print them, and run the script from there."""
    try:
        compiled = run_command.compiled_script(args, args.script)
        taken = _take(compiled, args)
        _report(compiled, taken)
    except FlinkDdlError as error:
        print_diagnostics(error.diagnostics, args.output)
        return exit_code(error)
    return OK if args.dry_run else run_command.run_compiled(args, [(args.script, compiled)])


def _where(args: argparse.Namespace) -> From:
    from flinkddl.runtime.job.topics.handover import From

    pairs = (item.rpartition("=") for item in args.group)
    return From({table: group for table, _, group in pairs}, args.moment, args.reset)


def _take(compiled: Compiled, args: argparse.Namespace) -> list[Taken]:
    from flinkddl.api import Catalog
    from flinkddl.runtime.job.topics.handover import take_over
    from flinkddl.script.compile import Start

    taken: list[Taken] = []
    catalog = Catalog()
    catalog.state = compiled.catalog
    for i, action in enumerate(compiled.actions):
        if isinstance(action, Start):
            folder = catalog.checkpoint_folder(action, args.checkpoint)
            if folder and not args.fresh and _is_held(args, action.job, folder):
                message = f"the checkpoint '{folder}' holds positions of '{action.job.name}' already"
                help = "`flinkddl run` goes on from them; --fresh sets them aside"
                raise FlinkDdlError.of("FD846", message, help=help)
            compiled.actions[i], found = take_over(action, _where(args))
            taken += found
    if not taken:
        raise FlinkDdlError.of("FD846", "the script starts no job")
    return taken


def _is_held(args: argparse.Namespace, job: SparkJob, folder: str) -> bool:
    """Whether a checkpoint holds positions of a job; Spark is started where the folder is not this machine's."""
    from flinkddl.runtime.session.sessions import job_session
    from flinkddl.runtime.storage.checkpoint import holds_positions
    from flinkddl.runtime.storage.file_systems import local_path, storage_of

    path = local_path(folder)
    if path is not None and args.remote is None:
        return holds_positions(job, str(path))
    with open_catalog(args) as catalog:
        storage, whole = storage_of(job_session(catalog.spark, {}), folder)
        return holds_positions(job, whole, storage)


def _report(compiled: Compiled, taken: list[Taken]) -> None:
    from flinkddl.runtime.job.topics.handover import as_options, stateful
    from flinkddl.script.compile import Start

    rows = [("table", "topic", "partition", "starts at", "end", "to read", "taken from")]
    rows += [(t.table, t.topic, str(t.partition), str(t.offset), str(t.end), str(t.behind), t.source) for t in taken]
    for line in _aligned(rows):
        print(line)
    for table, text in as_options(taken).items():
        print(f"as SQL, {table}: 'scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = '{text}'")
    kept = stateful(a for a in compiled.actions if isinstance(a, Start))
    if kept:
        print("state does not travel; these operators start empty, so start early enough to fill them:")
        print("\n".join(f"  {line}" for line in kept))


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    numbers = {2, 3, 4, 5}
    for r in rows:
        cells = (c.rjust(w) if i in numbers else c.ljust(w) for i, (c, w) in enumerate(zip(r, widths, strict=True)))
        yield "  ".join(cells).rstrip()
