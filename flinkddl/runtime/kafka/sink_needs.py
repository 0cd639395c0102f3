"""What a job needs of its clusters before it is started: that they are there; a sink's topic, rights, transactions.

Nothing that is asked changes anything: a running job with the same transactional id is not fenced, and no offset is
written. Rules: README "How exactly-once works"; Kafka's table of operations and the rights that each needs.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.dialect.variables import VARIABLE
from flinkddl.runtime.kafka.admin import REFUSES_LOGIN, KafkaAdmin, describe
from flinkddl.runtime.kafka.config import python_client_config
from flinkddl.runtime.kafka.offsets import client_properties, partitions_of
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from flinkddl.diagnostics import Diagnostic, Span
    from flinkddl.spark.job import Write

OLDEST = (0, 10)
"""The oldest brokers that Spark's Kafka clients (3.9) speak to."""
TRANSACTIONS = (0, 11)
_TIMEOUT_REFUSED = "InvalidTransactionTimeout"  # Kafka's error 50, which kafka-python gives as text
TRANSACTION_SECONDS = 30.0
DEFAULT_TIMEOUTS = (3_600_000, 900_000)
"""What KafkaSession.java asks for where a table says nothing, in ms: Flink's default, then the brokers' own limit."""

Told = tuple[str, str | None]
"""What a check has found, and what to do where it is not all well."""


_NAMED = 3  # so many tables of a cluster that does not answer


def reach(job: J.SparkJob, place: Callable[[str, str], Span | None]) -> None:
    """Raise FD811 for a cluster that does not answer, FD813, FD814 where it does not let this client in, FD812 for a
    topic that is to be read and is not there.

    Asked in milliseconds, before Spark takes its seconds to start. ``place`` says where a table gives an option.
    """
    read: dict[frozenset[tuple[str, str]], list[Mapping[str, str]]] = {}
    for use in _uses(job):
        sources = read.setdefault(frozenset(use.properties.items()), [])
        if use.source is not None:
            sources.append(use.source)
    with naming_tables([job], place):
        for properties, sources in read.items():
            with KafkaAdmin(dict(properties)) as admin:
                for source in sources:
                    partitions_of(source, admin)


@contextmanager
def naming_tables(jobs: Sequence[J.SparkJob], place: Callable[[str, str], Span | None]) -> Iterator[None]:
    """Within the body, FD811, FD812 and FD814 say which tables and topics need the cluster. ``place`` as for reach."""
    try:
        yield
    except FlinkDdlError as error:
        told = [_naming(d, jobs, place) for d in error.diagnostics]
        if told == list(error.diagnostics):
            raise
        raise FlinkDdlError(told) from error


def _naming(d: Diagnostic, jobs: Sequence[J.SparkJob], place: Callable[[str, str], Span | None]) -> Diagnostic:
    every = (use for job in jobs for use in _uses(job))
    here = [use for use in every if f"'{use.properties.get('bootstrap.servers')}'" in d.message]
    if d.code == "FD812":
        here = [use for use in here if any(f"the topic '{topic}'" in d.message for topic in use.topics.split(","))]
    uses = {(use.table, f"{use.does} topic '{use.topics}'"): None for use in here}
    if d.code not in ("FD811", "FD812", "FD814") or d.span is not None or not uses:
        return d
    names = [f"table '{table}' {what}" for table, what in uses]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    span = next((found for table, _ in uses if (found := place(table, _option(d))) is not None), None)
    message = f"{d.message}: {', '.join(names[:_NAMED])}{more}"
    help = "; ".join([*_from_outside(span, d.message), *([d.help] if d.help else [])])
    return replace(d, message=message, span=span, help=help or None)


def _option(d: Diagnostic) -> str:
    """Return the option of a table that an error is about."""
    if d.code == "FD812":
        return "topic"
    return "properties.sasl.jaas.config" if REFUSES_LOGIN in d.message else "properties.bootstrap.servers"


def _from_outside(span: Span | None, message: str) -> list[str]:
    """Return which variables of the environment stand at a place, in words; -D and a SET may overrule one."""
    named = dict.fromkeys(found["name"] for found in VARIABLE.finditer(span.text)) if span is not None else ()
    given = {name: os.environ[name] for name in named if name in os.environ}
    return [f"${{{name}}} is the environment's '{value}'" for name, value in given.items() if value in message]


@dataclass(frozen=True)
class _Use:
    """A table of Kafka topics in a job: what it does with which, its client properties, a source's options."""

    table: str
    does: str
    topics: str
    properties: Mapping[str, str] = field(repr=False)
    source: Mapping[str, str] | None = field(default=None, repr=False)


def _uses(job: J.SparkJob) -> Iterator[_Use]:
    for step in job.steps:
        if isinstance(step, J.Read) and step.of_topics:
            yield _Use(step.table, "reads", step.topics, client_properties(step.options), step.options)
    for write in job.writes:
        if write.into_topics:
            yield _Use(write.table, "writes", write.options.get("topic", ""), client_properties(write.options))


def check_version(admin: KafkaAdmin) -> str:
    """Return the version of the brokers, as they tell what they understand. Raises FD861 where it is too old."""
    version = admin.version()
    if version < OLDEST:
        message = f"Kafka at '{admin.servers}' is of version {_text(version)}"
        raise FlinkDdlError.of("FD861", message, help="Spark's Kafka clients speak to brokers from 0.10 on")
    return _text(version)


def sink_checks(write: Write, admin: KafkaAdmin) -> Iterator[tuple[str, Callable[[], Told]]]:
    """Yield what is looked at and how; a check returns what it found and raises FD862 to FD864 or FD867."""
    topic = write.options.get("topic")
    if topic is not None:
        yield "topic", lambda: _topic(write, admin, topic)
    prefix = write.options.get("transactional-id")
    if prefix is not None:
        yield "transactions", lambda: _transactions(write, admin, prefix)
        yield "transactions", lambda: _timeout(write, admin)
        if topic is not None:
            yield "transactions", lambda: _group(write, admin, prefix, topic)


def check_sink(write: Write, admin: KafkaAdmin) -> None:
    """Run the checks of a sink to the first that fails. Raises FD862 to FD864, FD867."""
    for _, check in sink_checks(write, admin):
        check()


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


# ---- the topic -----------------------------------------------------------------------------------------------------


def _topic(write: Write, admin: KafkaAdmin, topic: str) -> Told:
    rights = admin.rights(topic)
    if rights is None:
        if client_properties(write.options).get("allow.auto.create.topics", "true").lower() == "false":
            message = (
                f"the topic '{topic}', which '{write.table}' writes, does not exist, and "
                "'properties.allow.auto.create.topics' = 'false' says that it shall not be made"
            )
            raise FlinkDdlError.of("FD867", message, help="create it, or leave out the property")
        fix = f"create it, or rely on the broker: kafka-topics.sh --create --topic {topic} --bootstrap-server ..."
        return f"{topic}: does not exist; '{write.table}' writes it", fix
    wanted = ["WRITE", "READ"] if "transactional-id" in write.options else ["WRITE"]
    if missing := [right for right in wanted if right not in rights]:
        raise _not_allowed(write, admin, f"{missing[0].lower()} the topic '{topic}'", f"{missing[0]} on that topic")
    return f"{topic}: {len(admin.partitions([topic])[topic])} partitions, written", None


def _not_allowed(write: Write, admin: KafkaAdmin, what: str, grant: str) -> FlinkDdlError:
    message = f"Kafka at '{admin.servers}' does not let the user of table '{write.table}' {what}"
    return FlinkDdlError.of("FD863", message, help=f"grant {grant}")


# ---- transactions --------------------------------------------------------------------------------------------------


def _transactions(write: Write, admin: KafkaAdmin, name: str) -> Told:
    """Ask for the id with a timeout of 0, which a coordinator refuses after the rights and before it changes anything.

    So kafka.server.KafkaApis.handleInitProducerIdRequest and TransactionCoordinator.handleInitProducerId.
    """
    from kafka.errors import KafkaError, KafkaTimeoutError, TransactionalIdAuthorizationFailedError

    if (version := admin.version()) < TRANSACTIONS:
        message = f"'{write.table}' is exactly-once, and Kafka at '{admin.servers}' is of version {_text(version)}"
        raise FlinkDdlError.of("FD864", message, help="transactions came with 0.11; 'at-least-once' needs none")
    try:
        _begin_none(write, name)
    except TransactionalIdAuthorizationFailedError as error:
        grant = f"WRITE on transactional ids that begin with '{name}'"
        raise _not_allowed(write, admin, f"use the transactional id '{name}'", grant) from error
    except KafkaTimeoutError as error:
        message = f"Kafka at '{admin.servers}' has no coordinator for the transactions of table '{write.table}'"
        help_text = (
            "are there as many brokers as 'transaction.state.log.replication.factor' wants? See the broker's log"
        )
        raise FlinkDdlError.of("FD864", message, help=help_text) from error
    except KafkaError as error:
        if _TIMEOUT_REFUSED not in str(error):
            message = f"Kafka at '{admin.servers}' begins no transactions for table '{write.table}': {describe(error)}"
            raise FlinkDdlError.of("FD864", message) from error
    return f"the transactional id '{name}' may be used", None


def _begin_none(write: Write, name: str) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        **python_client_config(client_properties(write.options)),
        transactional_id=name,
        transaction_timeout_ms=0,
        max_block_ms=int(TRANSACTION_SECONDS * 1000),
    )
    try:
        producer.init_transactions()
    finally:
        producer.close(timeout=0)


def _timeout(write: Write, admin: KafkaAdmin) -> Told:
    """Compare ``transaction.timeout.ms`` with the limit of the brokers, where this user may read it."""
    limit = admin.broker_setting("transaction.max.timeout.ms")
    given = client_properties(write.options).get("transaction.timeout.ms")
    if given and not given.strip().isdigit():
        return f"'{given}' is no number of milliseconds: Kafka's producer will say so", None
    asked = [int(given)] if given else DEFAULT_TIMEOUTS
    if limit is None:
        return f"a transaction may take {max(asked)} ms; what the brokers allow is not for this user to read", None
    if fitting := [ms for ms in asked if ms <= int(limit)]:
        return f"a transaction may take {fitting[0]} ms; the brokers allow {limit}", None
    said = f"'properties.transaction.timeout.ms' = '{given}'" if given else f"the default of {min(asked)} ms"
    message = (
        f"{said} of table '{write.table}' is more than Kafka at '{admin.servers}' allows "
        f"(transaction.max.timeout.ms = {limit})"
    )
    raise FlinkDdlError.of("FD862", message, help=f"write 'properties.transaction.timeout.ms' = '{limit}' or less")


def _group(write: Write, admin: KafkaAdmin, name: str, topic: str) -> Told:
    """Commit to a partition that no topic has: the right to the group is looked at first, then that is refused."""
    if not admin.may_commit(f"{name}-check", topic):
        grant = f"READ on groups that begin with '{name}-'"
        raise _not_allowed(write, admin, f"commit for the groups '{name}-...'", grant)
    return f"the groups '{name}-...' may be used", None
