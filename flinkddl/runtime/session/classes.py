"""Classes that Kafka's Java clients load by name: looked for on Spark's class path before a job starts.

Kafka's own message for one that is not there comes out of a task, in the middle of a run, or not at all: its admin
client is asked again and again. Which settings name classes: those of type CLASS in ConsumerConfig and ProducerConfig,
and the lists of class names among them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkddl.diagnostics import Diagnostic, FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from flinkddl.spark.job import SparkJob

_BOTH, _READS, _WRITES = ("source", "sink"), ("source",), ("sink",)
KEYS: Mapping[str, tuple[str, ...]] = {
    "interceptor.classes": _WRITES,  # Spark's source takes none (FD223)
    "metric.reporters": _BOTH,
    "partition.assignment.strategy": _READS,
    "partitioner.class": _WRITES,
    "sasl.client.callback.handler.class": _BOTH,
    "sasl.login.callback.handler.class": _BOTH,
    "sasl.login.class": _BOTH,
    "sasl.oauthbearer.jwt.retriever.class": _BOTH,
    "sasl.oauthbearer.jwt.validator.class": _BOTH,
    "security.providers": _BOTH,
    "ssl.engine.factory.class": _BOTH,
}
"""Properties whose value is a class name, or several with commas, and the roles in which a client reads them."""

_PROVIDER = re.compile(r"config\.providers\.[^.]+\.class")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_MODULE = re.compile(r"(?:^|;)\s*([^\s;]+)\s+(?:required|requisite|sufficient|optional)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*", re.ASCII)


def named_classes(properties: Mapping[str, str], role: str) -> Iterator[tuple[str, str]]:
    """Yield (property, class name) for each class that a client with these properties loads, in the role given."""
    for key, value in properties.items():
        if key.endswith("sasl.jaas.config"):
            yield from ((key, name) for name in _MODULE.findall(_QUOTED.sub("", value)))
        elif role in KEYS.get(key, ()) or _PROVIDER.fullmatch(key):
            yield from ((key, name) for name in map(str.strip, value.split(",")) if name)


def check_classes(spark: SparkSession, job: SparkJob) -> None:
    """Raise FD826 with every class that the job's Kafka clients name and Spark has not. Nothing is run.

    Asked by Spark's own ``reflect``, which looks for its class while a query is analysed, where tasks look too.
    """
    found: list[Diagnostic] = []
    known: dict[str, bool] = {}
    for table, key, name in _wanted(job):
        if name not in known:
            known[name] = has_class(spark, name)
        if not known[name]:
            message = f"the class '{name}' of 'properties.{key}' of table '{table}' is not on Spark's class path"
            help = "give its jar with --conf spark.jars=FILE (or spark.jars.packages=GROUP:NAME:VERSION)"
            found.append(Diagnostic("FD826", message, help=help))
    if found:
        raise FlinkDdlError(list(dict.fromkeys(found)))


def _wanted(job: SparkJob) -> Iterator[tuple[str, str, str]]:
    from flinkddl.spark.job import Read

    reads = ((s.table, s.options, "source") for s in job.steps if isinstance(s, Read))
    writes = ((w.table, w.options, "sink") for w in job.writes)
    for table, options, role in (*reads, *writes):
        properties = {k.removeprefix("kafka."): v for k, v in options.items() if k.startswith("kafka.")}
        yield from ((table, key, name) for key, name in named_classes(properties, role))


def has_class(spark: SparkSession, name: str) -> bool:
    """Return whether Spark finds a class, on this machine or on the Connect server."""
    if not _NAME.fullmatch(name):
        return False
    try:
        _ = spark.sql(f"SELECT reflect('{name}', 'noSuchMethod')").columns
    except Exception as error:
        if "UNEXPECTED_CLASS_TYPE" in str(error):
            return False
        if "UNEXPECTED_STATIC_METHOD" not in str(error):
            raise
    return True
