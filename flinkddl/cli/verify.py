"""``flinkddl verify A B``: whether two topics, or two tables of a script, hold the same, while both are written."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, WRONG_USAGE, add_variables_argument, count, ddl_catalog, no_table

if TYPE_CHECKING:
    import argparse

    from flinkddl.runtime.kafka.payloads import KafkaTable
    from flinkddl.runtime.kafka.reader import Difference, TopicTable

DIFFERENT = 1
PAUSE_SECONDS = 1.0
_FORMATS = ("avro-confluent", "bytes", "csv", "json", "raw")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("a", metavar="A", help="a topic, or with --ddl a table of the script")
    parser.add_argument("b", metavar="B", help="what to compare it with")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="servers of topics")
    parser.add_argument("--ddl", metavar="FILE", help="a script whose tables say topics, formats and logins")
    add_variables_argument(parser)
    parser.add_argument("--key-format", choices=_FORMATS, default="json", help="of topics (default json)")
    parser.add_argument("--value-format", choices=_FORMATS, default="json", help="of topics (default json)")
    parser.add_argument("--registry", metavar="URL", default="", help="schema registry, for avro-confluent")
    parser.add_argument("--by", choices=("key", "row"), help="compare the last value a key, or all rows as they are")
    parser.add_argument("--ignore", metavar="COLUMN", action="append", default=[], help="a column that may differ")
    parser.add_argument(
        "--wait", metavar="SECONDS", type=float, default=0.0, help="go on reading until both are the same (default 0)"
    )
    parser.add_argument("--limit", type=int, default=10, help="differences shown (default 10)")


def run(args: argparse.Namespace) -> int:
    """Compare; 0 when both are the same, 1 when they differ."""
    if not (args.bootstrap or args.ddl):
        print("give --bootstrap for topics, or --ddl for tables of a script", file=sys.stderr)
        return WRONG_USAGE
    a, b = _sides(args)
    return _compare(args, a, b)


def _sides(args: argparse.Namespace) -> tuple[KafkaTable, KafkaTable]:
    from flinkddl.catalog.model import Table
    from flinkddl.runtime.kafka.payloads import kafka_table

    catalog = ddl_catalog(args)

    def side(name: str) -> KafkaTable:
        found = catalog.find(tuple(name.split(".")))
        if isinstance(found, Table):
            return kafka_table(found, catalog.settings)
        if not args.bootstrap:
            raise no_table(name, catalog, ", and no --bootstrap says where topics are")
        return _topic(args, name)

    return side(args.a), side(args.b)


def _topic(args: argparse.Namespace, name: str) -> KafkaTable:
    from flinkddl.runtime.kafka.payloads import BY_NAME, KafkaTable, Payloads

    payloads = Payloads(BY_NAME[args.key_format](args.registry), BY_NAME[args.value_format](args.registry))
    return KafkaTable((name,), {"bootstrap.servers": args.bootstrap}, None, payloads)


def _compare(args: argparse.Namespace, a: KafkaTable, b: KafkaTable) -> int:
    from flinkddl.runtime.kafka.reader import TopicReader, TopicTable, differences

    by_key = {"key": True, "row": False, None: None}[args.by]
    left, right = (TopicTable(t.payloads, t.upsert if by_key is None else by_key) for t in (a, b))
    end = time.monotonic() + args.wait
    with TopicReader(a.properties, a.topics) as reader_a, TopicReader(b.properties, b.topics) as reader_b:
        while True:
            left.take(reader_a.new_records())
            right.take(reader_b.new_records())
            found = differences(left, right, args.ignore)
            if not found or time.monotonic() > end:
                break
            time.sleep(min(PAUSE_SECONDS, max(0.0, end - time.monotonic())))
    _report(args, left, right, found)
    return DIFFERENT if found else OK


def _report(args: argparse.Namespace, a: TopicTable, b: TopicTable, found: list[Difference]) -> None:
    for name, side in ((args.a, a), (args.b, b)):
        held = f"{count(len(side.rows), 'key')}, {count(side.tombstones, 'tombstone')}" if side.by_key else "no keys"
        print(f"{name}: {count(side.records, 'record')}, {held}")
    if not found:
        print("the same")
        return
    missing = sum(d.b is None for d in found), sum(d.a is None for d in found)
    other = len(found) - sum(missing)
    print(
        f"{count(len(found), 'difference')}: "
        f"{missing[0]} only in {args.a}, {missing[1]} only in {args.b}, {other} differ"
    )
    for d in found[: args.limit]:
        print(f"  {d.key}")
        for name, value in ((args.a, d.a), (args.b, d.b)):
            print(f"    {name}: {'not there' if value is None else value}")
    if len(found) > args.limit:
        print(f"  and {len(found) - args.limit} more (--limit)")
