"""``flinkddl state DIR [JOB [NODE]]``: what the jobs of a checkpoint keep, operator by operator and entry by entry."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flinkddl.cli.common import OK, assignment, count, positive, size_text
from flinkddl.spark.stateful import KEYED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from flinkddl.runtime.storage.entries import Counts
    from flinkddl.runtime.storage.states import Operator

_COLUMNS = ("operator", "rows", "bytes", "layout", "Spark's operator", "what")
_NUMBERS = frozenset({"rows", "bytes"})
_LONGEST = 100  # characters of a value in a table


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", metavar="DIR", help="what `flinkddl run --checkpoint` was given, or a savepoint")
    parser.add_argument("job", nargs="?", metavar="JOB", help="one job of several, by its name")
    parser.add_argument("node", nargs="?", metavar="NODE", help="print this operator's entries: its name or identity")
    parser.add_argument("--limit", type=positive, default=20, metavar="N", help="at most so many entries (20)")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="how it is printed")
    parser.add_argument("--no-rows", action="store_true", help="list without counting rows: starts no Spark")
    parser.add_argument("--master", default="local[2]", help="where Spark runs (local[2])")
    parser.add_argument("--jars", metavar="DIR", help="folder with the jars, instead of downloading them")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", type=assignment, help="a Spark setting"
    )


def run(args: argparse.Namespace) -> int:
    """List operators, or print the entries of one; nothing is written. Raises FD874, FD859, FD801, FD810."""
    from flinkddl.runtime.storage.savepoints import savepoint_folder
    from flinkddl.runtime.storage.states import operators_of, pick

    found = operators_of(savepoint_folder(args.folder), args.job)
    if args.node is not None:
        return _entries(args, *pick(found, args.node))
    from flinkddl.runtime.storage.entries import Counts, count_entries

    counts = [Counts() for _ in found]
    if found and not args.no_rows:
        with _spark(args) as spark:
            counts = [count_entries(spark, operator) for operator in found]
    if args.format == "json":
        print(json.dumps([_told(o, c) for o, c in zip(found, counts, strict=True)], indent=1, ensure_ascii=False))
    elif not found:
        print(f"no operator in '{args.folder}' keeps state, as of a committed batch")
    else:
        _print_jobs(found, counts)
    return OK


@contextmanager
def _spark(args: argparse.Namespace) -> Iterator[SparkSession]:
    """Start a session of this command's own."""
    from flinkddl.runtime.session.errors import end_session
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    spark = build_session(SparkOptions(master=args.master, jars=args.jars, conf=dict(args.conf)))
    try:
        yield spark
    finally:
        end_session(spark)


# ---- the list ------------------------------------------------------------------------------------------------------


def _told(o: Operator, counts: Counts) -> dict[str, Any]:
    note = o.note
    return {
        "job": o.job,
        "operator": o.name,
        "query": o.query,
        "number": o.number,
        "spark": o.spark,
        "what": note.get("what"),
        "identity": note.get("identity"),
        "node": note.get("node"),
        "function": note.get("function"),
        "nodes": [n | _counted(n, counts) for n in note["nodes"]] if note.get("nodes") else None,
        "batch": o.batch,
        "rows": _rows(o, counts),
        "left": _left(o, counts) or None,
        "layouts": {str(n): versions for n, versions in counts.layouts.items()} or None,
        "entries": dict(counts.parts) or None,
        "bytes": o.bytes,
        "partitions": o.partitions,
        "layout": o.layout,
        "provider": o.settings.get("spark.sql.streaming.stateStore.providerClass"),
    }


def _rows(o: Operator, counts: Counts) -> int | None:
    """Return the groups of state by key, or the rows of all parts; None where nobody counted."""
    if o.spark == KEYED and counts.parts:
        return sum(groups for groups, _ in counts.nodes.values()) - sum(_left(o, counts).values())
    return sum(counts.parts.values()) if counts.parts else None


def _left(o: Operator, counts: Counts) -> dict[int, int]:
    """Return the groups of nodes that are there no more, by number: an earlier version let them lie."""
    known = {n.get("node") for n in o.nodes}
    return {n: groups for n, (groups, _) in counts.nodes.items() if n not in known} if known != {None} else {}


def _counted(node: Mapping[str, Any], counts: Counts) -> dict[str, Any]:
    """Return the groups of a node, the bytes of their keys and values, and their layouts, if anybody counted."""
    groups, size = counts.nodes.get(node["node"], (0, 0))
    layouts = list(counts.layouts.get(node["node"], ()))
    return {"rows": groups, "size": size, "layouts": layouts} if counts.parts else {}


def _print_jobs(found: Sequence[Operator], counts: Sequence[Counts]) -> None:
    for job in dict.fromkeys(o.job for o in found):
        mine = [(o, c) for o, c in zip(found, counts, strict=True) if o.job == job]
        print(f"job {job}, batch {', '.join(str(b) for b in sorted({o.batch for o, _ in mine}))}")
        rows = [dict(zip(_COLUMNS, _row(o, c), strict=True)) for o, c in mine]
        widths = {c: max(len(c), *(len(row[c]) for row in rows)) for c in _COLUMNS}
        for row in [{c: c for c in _COLUMNS}, *rows]:
            cells = (row[c].rjust(widths[c]) if c in _NUMBERS else row[c].ljust(widths[c]) for c in _COLUMNS)
            print("  " + "  ".join(cells).rstrip())


def _row(o: Operator, counts: Counts) -> tuple[str, ...]:
    rows = _rows(o, counts)
    what = ["  ".join(_words(n, counts, several=len(o.nodes) > 1)) for n in o.nodes]
    what += [f"{groups:,} rows of node {n}, which is there no more" for n, groups in _left(o, counts).items()]
    return (o.name, "-" if rows is None else f"{rows:,}", size_text(o.bytes), o.layout, o.spark, "; ".join(what))


def _words(node: Mapping[str, Any], counts: Counts, *, several: bool) -> list[str]:
    words = [text for name in ("what", "identity", "function") if (text := node.get(name))]
    counted = _counted(node, counts) if node.get("node") else {}
    if several and counted:
        words.append(f"{counted['rows']:,} rows, {size_text(counted['size'])}")
    if layouts := counted.get("layouts"):
        words.append(f"layout {' and '.join(map(str, layouts))}")
    return words


# ---- the entries of one operator -----------------------------------------------------------------------------------


def _entries(args: argparse.Namespace, operator: Operator, nodes: Collection[int]) -> int:
    from flinkddl.runtime.storage.entries import first_entries

    with _spark(args) as spark:
        found = first_entries(spark, operator, args.limit, nodes)
    if args.format == "json":
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return OK
    for entry in found:
        print("  ".join(f"{name} {_short(value)}" for name, value in entry.items()))
    more = "; there may be more: --limit" if len(found) == args.limit else ""
    print(f"{count(len(found), 'entry', 'entries')} of {operator.name}{more}", file=sys.stderr)
    return OK


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
