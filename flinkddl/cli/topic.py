"""``flinkddl topic create|list|describe|produce|consume|delete``: a first look at topics, and a first record in one."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flinkddl.cli.common import (
    OK,
    WRONG_USAGE,
    add_variables_argument,
    assignment,
    count,
    ddl_catalog,
    millis,
    no_table,
)
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping

    from flinkddl.catalog.model import Table
    from flinkddl.runtime.kafka.admin import KafkaAdmin
    from flinkddl.runtime.kafka.payloads import Payloads
    from flinkddl.runtime.kafka.rows import Line

PAUSE_SECONDS = 0.3
SERVERS = "KAFKA_SERVERS"
"""The variable by which the scripts of ``init`` and of samples/ name their brokers."""
TOMBSTONE = "<tombstone>"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (_, help, configure_action) in ACTIONS.items():
        action = actions.add_parser(name, help=help, description=help)
        where = action.add_argument_group("where")
        where.add_argument(
            "--bootstrap", "--bootstrap-server", metavar="HOST:PORT",
            help=f"default: the variable {SERVERS} (-D or the environment), then the development broker",
        )  # fmt: skip
        where.add_argument("--ddl", metavar="FILE", help="a script whose table says servers and login")
        where.add_argument("--table", metavar="T", help="that table; its topic and formats are taken")
        add_variables_argument(action)
        configure_action(action)


def run(args: argparse.Namespace) -> int:
    """Carry out the action; 3 where the cluster does not do it."""
    if bool(args.table) != bool(args.ddl):
        print("--table T and --ddl FILE go together", file=sys.stderr)
        return WRONG_USAGE
    try:
        return ACTIONS[args.action][0](args, _Place.of(args))
    except FlinkDdlError as error:
        raise error if args.table else _own_words(error) from error


def _own_words(error: FlinkDdlError) -> FlinkDdlError:
    """Return an error about a cluster that no table names, with what is to be looked at here."""
    help = f"check --bootstrap, or the variable {SERVERS}; `flinkddl broker start` starts a broker on this machine"
    return FlinkDdlError([replace(d, help=help) if d.code == "FD811" else d for d in error.diagnostics])


class _Place:
    """Where the topic is: client properties (never printed), its name, and the table if one was named."""

    def __init__(self, properties: Mapping[str, str], topic: str | None, table: Table | None, payloads: Payloads):
        self.properties, self._topic, self.table, self.payloads = properties, topic, table, payloads

    @property
    def topic(self) -> str:
        """The one topic. Raises FD845 where nothing names it."""
        if not self._topic:
            raise FlinkDdlError.of("FD845", "which topic?", help="name it, or give --table T --ddl FILE")
        return self._topic

    @staticmethod
    def of(args: argparse.Namespace) -> _Place:
        """Return what the arguments say. Raises FD845 for a table without a topic, FD805 for no broker."""
        from flinkddl.runtime.kafka.payloads import Payloads, raw_reader

        name = getattr(args, "topic", None)
        if args.ddl:
            return _Place._of_table(args, name)
        named = args.bootstrap or dict(args.variables).get(SERVERS) or os.environ.get(SERVERS)
        properties = {"bootstrap.servers": named or _development_broker()}
        return _Place(properties, name, None, Payloads(raw_reader, raw_reader))

    @staticmethod
    def _of_table(args: argparse.Namespace, name: str | None) -> _Place:
        from flinkddl.catalog.model import Table
        from flinkddl.runtime.kafka.payloads import kafka_table

        catalog = ddl_catalog(args)
        table = catalog.find(tuple(args.table.split(".")))
        if not isinstance(table, Table):
            raise no_table(args.table, catalog)
        found = kafka_table(table, catalog.settings)
        servers = {"bootstrap.servers": args.bootstrap} if args.bootstrap else {}
        topic = name or (found.topics[0] if len(found.topics) == 1 else None)
        return _Place({**found.properties, **servers}, topic, table, found.payloads)

    def admin(self) -> KafkaAdmin:
        """Open an admin client."""
        from flinkddl.runtime.kafka.admin import KafkaAdmin

        return KafkaAdmin(self.properties)


def _development_broker() -> str:
    from flinkddl.runtime.broker import daemon

    if (state := daemon.status()) is None:
        help = f"start one: `flinkddl broker start`, or say --bootstrap HOST:PORT, or set {SERVERS}"
        raise FlinkDdlError.of("FD805", "no development broker runs", help=help)
    return state.bootstrap


# ---- topics ------------------------------------------------------------------------------------------------------


def _with_topic(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="its name (with --table: the table's)")


def _with_shape(parser: argparse.ArgumentParser) -> None:
    _with_topic(parser)
    parser.add_argument("--partitions", type=int, default=1, metavar="N", help="default 1")
    parser.add_argument(
        "--config", action="append", default=[], metavar="KEY=VALUE", type=assignment,
        help="a topic setting, such as cleanup.policy=compact",
    )  # fmt: skip


def _create(args: argparse.Namespace, place: _Place) -> int:
    with place.admin() as admin:
        if place.topic in admin.topics():
            print(f"the topic '{place.topic}' is there already")
            return OK
        admin.create_topic(place.topic, args.partitions, dict(args.config))
    print(f"created the topic '{place.topic}' with {count(args.partitions, 'partition')}")
    return OK


def _list(_: argparse.Namespace, place: _Place) -> int:
    with place.admin() as admin:
        print("".join(f"{name}\n" for name in admin.topics() if not name.startswith("__")), end="")
    return OK


def _describe(_: argparse.Namespace, place: _Place) -> int:
    with place.admin() as admin:
        begins, ends = (read([place.topic])[place.topic] for read in (admin.begin_offsets, admin.end_offsets))
        settings = admin.topic_settings(place.topic)
    held = sum(ends[p] - begins[p] for p in ends)
    print(f"topic {place.topic}: {count(len(ends), 'partition')}, at most {count(held, 'record')}")
    for p in sorted(ends):
        print(f"  partition {p}: offsets {begins[p]} to {ends[p]}")
    for name, value in sorted(settings.items()):
        print(f"  {name} = {value}")
    return OK


def _with_yes(parser: argparse.ArgumentParser) -> None:
    _with_topic(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _delete(args: argparse.Namespace, place: _Place) -> int:
    if not args.yes:
        if not sys.stdin.isatty():
            print("its records are gone then: say --yes", file=sys.stderr)
            return WRONG_USAGE
        if input(f"delete the topic '{place.topic}' and its records? [y/N] ").strip().lower() not in ("y", "yes"):
            return OK
    with place.admin() as admin:
        admin.delete_topic(place.topic)
    print(f"deleted the topic '{place.topic}'")
    return OK


# ---- records -----------------------------------------------------------------------------------------------------


def _with_lines(parser: argparse.ArgumentParser) -> None:
    _with_topic(parser)
    parser.add_argument("--key", metavar="SEP", help="what parts a line's key from its value, such as : or \\t")
    parser.add_argument("--null", metavar="TEXT", help="a value that is this text is a tombstone")
    parser.add_argument("--delete", action="store_true", help="with --table: each row's key gets a tombstone")
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME=VALUE", type=assignment, help="of each record"
    )


def _produce(args: argparse.Namespace, place: _Place) -> int:
    from flinkddl.runtime.kafka.rows import Line, Producer

    record = _records(args, place)
    headers = [(name, value.encode()) for name, value in args.header]
    with place.admin() as admin:  # a wrong address is said before anything is typed
        admin.topics()
    if sys.stdin.isatty():
        print("a line is a record; Ctrl-D ends", file=sys.stderr)
    producer = Producer(place.properties)
    try:
        with producer:
            for number, line in enumerate(sys.stdin, 1):
                if text := line.rstrip("\r\n"):
                    producer.send(place.topic, *record(Line(text, number)), headers)
    except FlinkDdlError as error:
        raise _go_on(error) from error
    finally:  # what stands before a wrong line is written
        print(f"wrote {count(producer.written, 'record')} to '{place.topic}'", file=sys.stderr)
    return OK


def _go_on(error: FlinkDdlError) -> FlinkDdlError:
    """Return the error of a wrong line with how the rest is written."""
    (d,) = error.diagnostics
    line = d.span.position[0] if d.span is not None else 1
    if d.code != "FD868" or line == 1:
        return error
    lines = count(line - 1, "line")
    so = f"what stands before it in your input is written ({lines}): mend it, and give the input again without those"
    return FlinkDdlError([replace(d, help=f"{d.help}; {so}" if d.help else so)])


def _records(args: argparse.Namespace, place: _Place) -> Callable[[Line], tuple[bytes | None, bytes | None]]:
    """Return how a line becomes key and value."""
    if place.table is not None:
        from flinkddl.runtime.kafka.rows import row_writer

        writer = row_writer(place.table)
        return lambda line: writer.record(line, delete=args.delete)
    separator = args.key.encode().decode("unicode_escape") if args.key else None

    def split(line: Line) -> tuple[bytes | None, bytes | None]:
        key, parted, value = line.text.partition(separator) if separator else ("", "", line.text)
        if separator and not parted:
            raise line.wrong(f"the line has no key: '{args.key}' is not in it", f"write KEY{args.key}VALUE")
        return key.encode() if parted else None, None if value == args.null else value.encode()

    return split


def _with_reading(parser: argparse.ArgumentParser) -> None:
    _with_topic(parser)
    parser.add_argument(
        "--from", dest="start", default="beginning", metavar="PLACE",
        help="beginning (default), end, or a time such as 2026-01-02T03:04:05Z",
    )  # fmt: skip
    parser.add_argument("--follow", action="store_true", help="go on with what comes; Ctrl-C ends")
    parser.add_argument("--limit", type=int, metavar="N", help="end after so many records")
    parser.add_argument("--output", choices=("text", "values", "json"), default="text", help="how records are printed")


def _consume(args: argparse.Namespace, place: _Place) -> int:
    from flinkddl.runtime.kafka.reader import TopicReader

    start = _start(args.start)
    with TopicReader(place.properties, [place.topic], start) as reader:
        try:
            _print_records(args, place.payloads, reader.new_records)
        except KeyboardInterrupt:
            if not args.follow:
                raise
    return OK


def _start(text: str) -> int | None:
    """Return the time (epoch milliseconds) to begin at: 0 for the beginning, None for the end. Raises FD868."""
    if text in ("beginning", "end"):
        return 0 if text == "beginning" else None
    try:
        return millis(text)
    except ValueError:
        raise FlinkDdlError.of("FD868", f"--from {text}: neither beginning, end nor a time") from None


def _print_records(args: argparse.Namespace, payloads: Payloads, read: Callable[[], Iterator[Any]]) -> None:
    left = args.limit
    while True:
        for r in read():
            if left is not None and left <= 0:
                return
            print(_PRINTED[args.output](r, payloads), flush=args.follow)
            left = None if left is None else left - 1
        if not args.follow or (left is not None and left <= 0):
            return
        time.sleep(PAUSE_SECONDS)


def _shown(value: Any) -> str:
    from flinkddl.runtime.kafka.payloads import text

    return value if isinstance(value, str) else text(value)


def _when(r: Any) -> str:
    return datetime.fromtimestamp(r.timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"


def _line(r: Any, payloads: Payloads) -> str:
    key = "-" if r.key is None else _shown(payloads.read_key(r.key))
    value = TOMBSTONE if r.value is None else _shown(payloads.read_value(r.value))
    headers = "".join(f"  [{k}={_shown(_as_text(v))}]" for k, v in r.headers or ())
    return f"{r.partition}:{r.offset}  {_when(r)}  {key}  {value}{headers}"


def _as_text(value: bytes | None) -> Any:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value


def _json(r: Any, payloads: Payloads) -> str:
    from flinkddl.runtime.kafka.payloads import plain

    found = {"topic": r.topic, "partition": r.partition, "offset": r.offset, "timestamp": r.timestamp}
    found |= {"key": plain(payloads.read_key(r.key)), "value": plain(payloads.read_value(r.value))}
    found["headers"] = [[k, plain(_as_text(v))] for k, v in r.headers or ()]
    return json.dumps(found, ensure_ascii=False)


_PRINTED: Mapping[str, Callable[[Any, Payloads], str]] = {
    "text": _line,
    "values": lambda r, p: TOMBSTONE if r.value is None else _shown(p.read_value(r.value)),
    "json": _json,
}

# name -> (what does it, its help, what declares its arguments)
ACTIONS: Mapping[str, tuple[Callable[..., int], str, Callable[[argparse.ArgumentParser], None]]] = {
    "create": (_create, "make a topic", _with_shape),
    "list": (_list, "print the topics' names", lambda _: None),
    "describe": (_describe, "print a topic's partitions, offsets and settings", _with_topic),
    "produce": (_produce, "write lines from stdin as records", _with_lines),
    "consume": (_consume, "print a topic's records (committed ones)", _with_reading),
    "delete": (_delete, "delete a topic and its records", _with_yes),
}
