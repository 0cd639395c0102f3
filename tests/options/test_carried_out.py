"""What is called carried out makes a difference: two values of each option and setting, two different jobs.

An option that nothing acts on is not "mapped": it is ignored with a note, or refused. The job itself is compared, all
that Spark is told, without notes and without the plan that it was made from, which holds all options as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.catalog import settings
from flinkddl.diagnostics import SourceText
from flinkddl.options import registry
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.job import SparkJob

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
Options = Mapping[str, str | None]

# ---- tables ------------------------------------------------------------------------------------------------------

BROKER = {"properties.bootstrap.servers": "b:1"}
TOPIC: Options = {
    "connector": "kafka",
    "topic": "t",
    "scan.startup.mode": "earliest-offset",
    "format": "json",
    **BROKER,
}
KEYED: Options = {"key.format": "json", "key.fields": "k_id"}
BASES: dict[str, Options] = {
    "kafka": TOPIC,
    "upsert-kafka": {
        "connector": "upsert-kafka", "topic": "t", "key.format": "json", "value.format": "json", **BROKER
    },
    "datagen": {"connector": "datagen"},
    "filesystem": {"connector": "filesystem", "path": "/a", "format": "json"},
    "jdbc": {"connector": "jdbc", "url": "jdbc:postgresql://h/d", "table-name": "t"},
    "redis": {"connector": "redis", "host": "h"},
    "faker": {"connector": "faker", "fields.k_id.expression": "1", "fields.name.expression": "#{Name.firstName}"},
    "socket": {"connector": "socket", "hostname": "h", "port": "1", "format": "json"},
    "print": {"connector": "print"},
    "blackhole": {"connector": "blackhole"},
}  # fmt: skip
COLUMNS = "k_id INT, name STRING, price DECIMAL(10, 2), m MAP<STRING, INT>, ts TIMESTAMP(3)"
TIMED = "k_id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
COLUMNS_OF = {
    "upsert-kafka": "k_id INT, name STRING, PRIMARY KEY (k_id) NOT ENFORCED",
    "datagen": "k_id INT, name STRING, ts TIMESTAMP(3)",
    "faker": "k_id INT, name ARRAY<STRING>",
    "socket:format": "k_id INT, name STRING",
    "jdbc": "k_id INT, name STRING, PRIMARY KEY (k_id) NOT ENFORCED",
    "redis": "k_id INT, name STRING, PRIMARY KEY (k_id) NOT ENFORCED",
    "raw": "k_id INT",
    "raw:charset": "name STRING",
    "kafka:topic-pattern": f"{COLUMNS}, topic STRING METADATA",
    "upsert-kafka:topic-pattern": "k_id INT, topic STRING METADATA, PRIMARY KEY (k_id) NOT ENFORCED",
    "kafka:scan.watermark.idle-timeout": TIMED,
    "upsert-kafka:scan.watermark.idle-timeout": f"{TIMED}, PRIMARY KEY (k_id) NOT ENFORCED",
    "avro-confluent:schema": "k_id INT",
    "debezium-avro-confluent:schema": "k_id INT",
    "csv": "k_id INT, name STRING, price DECIMAL(10, 2), a ARRAY<INT>",
}
WINDOWED = (
    "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY window_start, window_end"
)

# ---- values ------------------------------------------------------------------------------------------------------

# Two values of a kind; of an option with choices two of them.
BY_KIND = {
    "string": ("a", "b"), "list": ("a", "b;c"), "int": ("2", "3"), "long": ("2", "3"), "regex": ("a.*", "b.*"),
    "bool": ("true", "false"), "duration": ("1 s", "2 s"), "char": ("|", "!"), "double": ("0.1", "0.2"),
    "any": ("2", "3"), "charset": ("UTF-8", "UTF-16"), "memory": ("1 mb", "2 mb"),
}  # fmt: skip

OFFSETS = ("partition:0,offset:1", "partition:0,offset:2")
RECORD = '{"type":"record","name":"NAME","fields":[{"name":"k_id","type":["null","int"],"default":null}]}'
SHAPES: dict[str, tuple[str | None, str | None]] = {
    "topic-pattern": ("a.*", "b.*"),
    "topic": ("a", "b"),
    "value.format": ("json", "avro"),
    "key.format": ("json", "avro"),
    "key.fields": ("k_id", "k_id;name"),
    "key.fields-prefix": ("", "k_"),
    "value.fields-include": ("ALL", "EXCEPT_KEY"),
    "format": ("json", "avro"),
    "filesystem:format": ("json", "parquet"),
    "socket:format": ("json", "csv"),
    "source.monitor-interval": (None, "1 s"),
    "scan.partition.column": ("k_id", "name"),
    "scan.startup.specific-offsets": OFFSETS,
    "scan.bounded.specific-offsets": OFFSETS,
    "sink.partitioner": ("default", "fixed"),
    "sink.semantic": ("none", "at-least-once"),
    "scan.topic-partition-discovery.interval": ("1 s", "0"),
    "encoding": ("binary", "json"),
    "map-null-key.mode": ("FAIL", "DROP"),
    "timestamp-format.standard": ("SQL", "ISO-8601"),
    "endianness": ("big-endian", "little-endian"),
    "path": ("/a", "/b"),
    "url": ("http://a:1", "http://b:1"),
    "jdbc:url": ("jdbc:postgresql://h/d", "jdbc:postgresql://h/e"),
    "bearer-auth.credentials-source": ("STATIC_TOKEN", None),
    "basic-auth.user-info": ("a:b", "c:d"),
    "schema": (RECORD.replace("NAME", "a"), RECORD.replace("NAME", "b")),
    "driver": ("org.postgresql.Driver", "com.mysql.cj.jdbc.Driver"),
}

# The family's key to write for its pattern.
FAMILIES = {
    r"^properties\.": ("properties.max.poll.records", ("5", "6")),
    r"^fields\..+\.kind$": ("fields.k_id.kind", (None, "sequence")),
    r"^fields\..+\.min$": ("fields.k_id.min", ("2", "3")),
    r"^fields\..+\.max$": ("fields.k_id.max", ("2", "3")),
    r"^fields\..+\.max-past$": ("fields.ts.max-past", ("1 s", "2 s")),
    r"^fields\..+\.length$": ("fields.name.length", ("2", "3")),
    r"^fields\..+\.var-len$": ("fields.name.var-len", ("true", "false")),
    r"^fields\..+\.null-rate$": ("fields.k_id.null-rate", ("0.1", "0.2")),
    r"^fields\..+\.expression$": ("fields.k_id.expression", ("2", "3")),
    r"^fields\..+\.start$": ("fields.k_id.start", ("2", "3")),
    r"^fields\..+\.end$": ("fields.k_id.end", ("12", "13")),
    r"^properties\.(basic\.auth\.user\.info|bearer\.auth\.token)$": ("properties.bearer.auth.token", ("a", "b")),
    r"^[a-z].*": ("compression", ("snappy", "gzip")),
}

# What else an option needs before it counts (by key, or "document:key").
SEQUENCE = {"fields.k_id.kind": "sequence", "fields.k_id.start": "1", "fields.k_id.end": "9"}
SPLIT = {
    "scan.partition.column": "k_id", "scan.partition.num": "2", "scan.partition.lower-bound": "1",
    "scan.partition.upper-bound": "9",
}  # fmt: skip
BESIDE: dict[str, Options] = {
    "topic-pattern": {"topic": None},
    "username": {"password": "p"},
    "password": {"username": "u"},
    "kafka:value.format": {"format": None},
    "kafka:key.format": {"key.fields": "k_id"},
    "kafka:key.fields": KEYED,
    "kafka:key.fields-prefix": {**KEYED, "value.fields-include": "EXCEPT_KEY"},
    "kafka:value.fields-include": KEYED,
    "upsert-kafka:key.fields-prefix": {"value.fields-include": "EXCEPT_KEY"},
    "scan.startup.specific-offsets": {"scan.startup.mode": "specific-offsets"},
    "scan.startup.timestamp-millis": {"scan.startup.mode": "timestamp"},
    "scan.bounded.specific-offsets": {"scan.bounded.mode": "specific-offsets"},
    "scan.bounded.timestamp-millis": {"scan.bounded.mode": "timestamp"},
    "sink.delivery-guarantee": {"sink.transactional-id-prefix": "p"},
    "sink.transactional-id-prefix": {"sink.delivery-guarantee": "exactly-once"},
    "upsert-kafka:sink.buffer-flush.max-rows": {"sink.buffer-flush.interval": "1 s"},
    "upsert-kafka:sink.buffer-flush.interval": {"sink.buffer-flush.max-rows": "9"},
    "fields.k_id.start": SEQUENCE,
    "fields.k_id.end": SEQUENCE,
    "fields.name.var-len": {"fields.name.length": "9"},
    **dict.fromkeys(SPLIT, SPLIT),
    "canal-json:map-null-key.literal": {"map-null-key.mode": "LITERAL"},
    "basic-auth.user-info": {"basic-auth.credentials-source": "USER_INFO"},
    "basic-auth.credentials-source": {"basic-auth.user-info": "a:b"},
    "bearer-auth.token": {"bearer-auth.credentials-source": "STATIC_TOKEN"},
    "bearer-auth.credentials-source": {"bearer-auth.token": "a"},
    "properties.bearer.auth.token": {"bearer-auth.credentials-source": "STATIC_TOKEN"},
    "map-null-key.literal": {"map-null-key.mode": "LITERAL"},
}
# What a value needs, and its partner must not have.
PAIRED: dict[tuple[str, str | None], Options] = {
    ("fields.k_id.kind", "sequence"): {"fields.k_id.start": "1", "fields.k_id.end": "9"},
}
FORMATTED: dict[str, Options] = {
    "avro-confluent": {"avro-confluent.url": "http://r:1"},
    "debezium-avro-confluent": {"debezium-avro-confluent.url": "http://r:1"},
}


# ---- the comparison ----------------------------------------------------------------------------------------------


def shape(value: Any) -> Any:
    """All that a job is, as plain values: without its notes, and what only describes it."""
    if is_dataclass(value) and not isinstance(value, type):
        told = value.told() if isinstance(value, SparkJob) else {f.name: getattr(value, f.name) for f in fields(value)}
        left_out = {"note", "owners", "table"}
        return type(value).__name__, {name: shape(of) for name, of in told.items() if name not in left_out}
    if isinstance(value, Mapping):
        return {k: shape(v) for k, v in value.items()}
    return [shape(v) for v in value] if isinstance(value, (tuple, list)) else value


def outcome(script: str) -> Any:
    """The job of a script; it must be right."""
    compiled = compile_script(SourceText("t.sql", script))
    assert not compiled.has_errors, [d for d in compiled.diagnostics if d.severity == "error"]
    (job,) = [shape(a.job) for a in compiled.actions if isinstance(a, Start)]
    return job


def differences(a: Any, b: Any, path: str = "") -> Iterator[str]:
    """The paths at which two shapes differ."""
    match a, b:
        case (str(), dict() as one), (str(), dict() as two) if a[0] == b[0]:
            yield from differences(one, two, path)
        case dict(), dict():
            for key in sorted(a.keys() | b.keys()):
                yield from differences(a.get(key), b.get(key), f"{path}{key}/")
        case list(), list() if len(a) == len(b):
            for n, (one, two) in enumerate(zip(a, b, strict=True)):
                yield from differences(one, two, f"{path}{n}/")
        case _ if a != b:
            yield path


SECRET = "settings/spark.flinkddl.secret."
PLACES = {
    ("format", "source"): rf"steps/\d+/generator/|{SECRET}",
    ("format", "sink"): rf"steps/\d+/columns/|writes/0/options/parquet\.|{SECRET}",
    ("connector", "source"): r"steps/",
    ("connector", "sink"): r"writes/0/|trigger/|steps/\d+/columns/",
}
"""Where a job may differ by an option: where messages are read or written, in what the connector is told."""
BOUNDS = {"fields.k_id.kind", "source.monitor-interval", "scan.bounded.mode"}
"""Options that make a table a bounded one, and the query a batch."""


def table(name: str, columns: str, options: Options, partitioned: str = "") -> str:
    texts = ", ".join("'{}' = '{}'".format(k, v.replace("'", "''")) for k, v in options.items() if v is not None)
    return f"CREATE TABLE {name} ({columns}){partitioned} WITH ({texts});\n"


@dataclass(frozen=True)
class Case:
    """One option in one role: the key to write, two values, the table around it."""

    kind: str
    key: str
    values: tuple[str | None, str | None]
    role: str
    columns: str
    base: Options
    partitioned: str = ""
    query: str = "SELECT * FROM t;"

    def script(self, value: str | None) -> str:
        made = table(
            "t", self.columns, {**self.base, **PAIRED.get((self.key, value), {}), self.key: value}, self.partitioned
        )
        if self.role == "source":
            return made + self.query
        columns = re.sub(r", PRIMARY KEY.*| METADATA", "", self.columns)
        return table("other", columns, TOPIC) + made + "INSERT INTO t SELECT * FROM other;"


def case(kind: str, document: registry.Document, spec: registry.OptionSpec, role: str) -> Case:
    name = document.name
    key, values = FAMILIES.get(spec.key) or (
        spec.key,
        SHAPES.get(f"{name}:{spec.key}") or SHAPES.get(spec.key) or spec.choices[:2] or BY_KIND[spec.kind],
    )
    beside = {**BESIDE.get(spec.key, {}), **BESIDE.get(key, {}), **BESIDE.get(f"{name}:{spec.key}", {})}
    prefix, base = "", BASES.get(name, TOPIC)
    if kind == "format":
        prefix = f"{name}."
        base = {**(BASES["filesystem"] if name == "parquet" else TOPIC), "format": name, **FORMATTED.get(name, {})}
    columns = COLUMNS_OF.get(f"{name}:{spec.key}") or COLUMNS_OF.get(name) or COLUMNS
    partitioned = " PARTITIONED BY (name)" if spec.key == "partition.default-name" else ""
    query = WINDOWED if spec.key == "scan.watermark.idle-timeout" else "SELECT * FROM t;"
    base = {**base, **{f"{prefix}{k}": v for k, v in beside.items()}}
    return Case(kind, f"{prefix}{key}", values, role, columns, base, partitioned, query)  # type: ignore[arg-type]


def cases() -> Iterator[Any]:
    """Every option that is called mapped, in each role; not "connector", nor what create_view writes for itself."""
    documents = [(kind, getattr(registry, kind)(n)) for kind in ("connector", "format") for n in registry.names(kind)]
    for kind, document in documents:
        for spec in (*document.options.values(), *document.families):
            if (
                document.name == "dataframe"
                or spec.key == "connector"
                or spec.use != "mapped"
                or len(spec.choices) == 1
            ):
                continue
            for role in sorted(spec.roles & document.roles):
                yield pytest.param(case(kind, document, spec, role), id=f"{document.name}-{spec.key}-{role}")


@pytest.mark.parametrize("case", list(cases()))
def test_two_values_of_an_option_are_two_jobs(case: Case) -> None:
    one, two = (outcome(case.script(value)) for value in case.values)
    found = list(differences(one, two))
    assert found, f"'{case.key}' is called mapped, and {case.values} are one job"
    if case.key not in BOUNDS:
        assert [f for f in found if not re.match(PLACES[case.kind, case.role], f)] == []


# ---- settings ----------------------------------------------------------------------------------------------------

KAFKA = ", ".join(f"'{k}' = '{v}'" for k, v in TOPIC.items())
TABLES = f"""
CREATE TABLE s (k INT, v INT, z TIMESTAMP_LTZ(3), ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ({KAFKA});
CREATE TABLE u (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'u',
  'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE w (k INT, n BIGINT NOT NULL, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = 'w', 'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE c (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ({KAFKA.replace("'json'", "'debezium-json'")});
CREATE TABLE g (k INT) WITH ('connector' = 'kafka', 'topic' = 'g', 'properties.bootstrap.servers' = 'b:1',
  'format' = 'json');
CREATE TABLE sasl (k INT) WITH ({KAFKA}, 'properties.security.protocol' = 'SASL_PLAINTEXT');
"""
COUNTED = "INSERT INTO w SELECT k, COUNT(*) FROM u GROUP BY k;"
OVER_S = (
    "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' H)) GROUP BY window_start, window_end;"
)
OVER_S = OVER_S.replace("' H)", "' HOUR)")
LOGIN = "SET 'security.kerberos.login.contexts' = 'KafkaClient'; "
KEYTAB, PRINCIPAL = (f"SET 'security.kerberos.login.{k}' = 'x'; " for k in ("keytab", "principal"))
REALTIME = "SET 'flinkddl.execution.mode' = 'realtime'; "


def restarts(kind: str, values: dict[str, tuple[str, str]]) -> dict[str, tuple[tuple[str, str], str, str]]:
    chosen = f"SET 'restart-strategy.type' = '{kind}'; "
    return {f"restart-strategy.{kind}.{key}": (pair, chosen, "SELECT k FROM s;") for key, pair in values.items()}


# key -> two values, and what is SET before, and the query.
SETTINGS: dict[str, tuple[tuple[str, str], str, str]] = {
    "execution.runtime-mode": (
        ("streaming", "batch"), "", "SELECT k FROM s /*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */;",
    ),
    "table.local-time-zone": (("UTC", "Europe/Berlin"), "", "SELECT CAST(z AS STRING) FROM s;"),
    "table.exec.state.ttl": (("1 h", "2 h"), "", COUNTED),
    "table.exec.source.idle-timeout": (("1 s", "2 s"), "", OVER_S),
    "table.exec.source.cdc-events-duplicate": (("true", "false"), "", "SELECT * FROM c;"),
    "table.exec.mini-batch.enabled": (
        ("true", "false"), "SET 'table.exec.mini-batch.allow-latency' = '5 s'; ", COUNTED
    ),
    "table.exec.mini-batch.allow-latency": (
        ("1 s", "2 s"), "SET 'table.exec.mini-batch.enabled' = 'true'; ", COUNTED
    ),
    "parallelism.default": (("2", "3"), "", COUNTED),
    "table.exec.resource.default-parallelism": (("2", "3"), "", COUNTED),
    "execution.checkpointing.interval": (("6 s", "7 s"), REALTIME, "INSERT INTO g SELECT k FROM s;"),
    "restart-strategy.type": (("none", "fixed-delay"), "", "SELECT k FROM s;"),
    **restarts("fixed-delay", {"attempts": ("2", "3"), "delay": ("1 s", "2 s")}),
    **restarts(
        "failure-rate",
        {"max-failures-per-interval": ("2", "3"), "failure-rate-interval": ("1 s", "2 s"), "delay": ("1 s", "2 s")},
    ),
    **restarts(
        "exponential-delay",
        {
            "initial-backoff": ("1 s", "2 s"), "max-backoff": ("3 s", "4 s"), "backoff-multiplier": ("2", "3"),
            "reset-backoff-threshold": ("1 s", "2 s"), "jitter-factor": ("0.1", "0.2"),
            "attempts-before-reset-backoff": ("2", "3"),
        },
    ),
    "flinkddl.on-data-loss": (("report", "fail"), "", "SELECT k FROM s;"),
    "pipeline.name": (("a", "b"), "", "SELECT k FROM s;"),
    "table.dynamic-table-options.enabled": (("true", "false"), "", "SELECT * FROM s /*+ OPTIONS('topic' = 'x') */;"),
    "table.exec.sink.not-null-enforcer": (("ERROR", "DROP"), "", "INSERT INTO w SELECT k, v FROM u;"),
    "table.exec.sink.upsert-materialize": (
        ("NONE", "AUTO"), "", "INSERT INTO w SELECT v, CAST(k AS BIGINT) FROM u;"
    ),
    "table.exec.sink.require-on-conflict": (
        ("true", "false"), "", "INSERT INTO w SELECT v, COUNT(*) FROM u GROUP BY k, v;"
    ),
    "security.kerberos.login.principal": (("a", "b"), LOGIN + KEYTAB, "SELECT * FROM sasl;"),
    "security.kerberos.login.keytab": (("a", "b"), LOGIN + PRINCIPAL, "SELECT * FROM sasl;"),
    "security.kerberos.login.contexts": (("KafkaClient", "Client"), KEYTAB + PRINCIPAL, "SELECT * FROM sasl;"),
    "security.kerberos.login.use-ticket-cache": (("true", "false"), LOGIN, "SELECT * FROM sasl;"),
    "flinkddl.strict": (("true", "false"), "", "SELECT * FROM g;"),
    "flinkddl.execution.mode": (("micro-batch", "realtime"), "", "INSERT INTO g SELECT k FROM s;"),
    "flinkddl.execution.max-offsets-per-trigger": (("2", "3"), "", "SELECT k FROM s;"),
    "flinkddl.watermark.partitions": (("2", "3"), "", OVER_S),
    "flinkddl.state.ttl.strict": (
        ("true", "false"), "SET 'table.exec.state.ttl' = '1 h'; SET 'flinkddl.execution.state' = 'aggregate'; ",
        "INSERT INTO w SELECT k, COUNT(*) FROM s GROUP BY k;",
    ),
    "flinkddl.join.strategy": (
        ("MULTISET", "BILINEAR"), "", "SELECT u.k, w.n FROM u JOIN w ON u.v = w.n;"
    ),
    "flinkddl.execution.state": (
        ("AGGREGATE", "KEYED"), "", "INSERT INTO w SELECT v, COUNT(*) FROM u GROUP BY k, v;"
    ),
    "table.optimizer.reuse-source-enabled": (
        ("true", "false"), "SET 'flinkddl.execution.state' = 'keyed'; ",
        "SELECT k FROM g UNION ALL SELECT k + 1 FROM g;"
    ),
    "table.optimizer.reuse-sub-plan-enabled": (
        ("true", "false"), "SET 'flinkddl.execution.state' = 'keyed'; ",
        "SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) UNION ALL "
        "SELECT k, n + 1 FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k);"
    ),
}  # fmt: skip

# What no plan holds, and the test that shows it.
SHOWN_BY = {
    "pipeline.global-job-parameters": "tests/functions/test_java.py::test_job_parameters_go_with_the_call",
    "execution.checkpointing.dir": "tests/e2e/test_checkpoints.py::test_another_file_system_knows_the_plan",
    "execution.checkpointing.savepoint-dir": "tests/e2e/test_savepoints.py::test_gone_on_from_elsewhere",
    "execution.state-recovery.path": "tests/e2e/test_savepoints.py::test_gone_on_from_elsewhere",
    "security.kerberos.krb5-conf.path": "tests/e2e/test_kerberos.py::test_the_documents_block_runs_as_it_stands",
    "fs.hdfs.hadoop.security.authentication": "tests/e2e/test_kerberos.py::test_the_documents_block_runs_as_it_stands",
    "flinkddl.jobs.dir": "tests/cli/test_jobs.py::test_a_folder_that_cannot_be_used_keeps_nobody_from_running",
    "table.dml-sync": "tests/cli/shell/test_client_settings.py::test_dml_sync",
    "table.plan.force-recompile": "tests/cli/test_plan_files.py::test_an_existing_plan_is_kept",
    "sql-client.execution.result-mode": "tests/cli/shell/test_client_settings.py::test_result_mode",
    "sql-client.execution.max-table-result.rows": "tests/cli/shell/test_client_settings.py::test_most_rows",
    "sql-client.verbose": "tests/cli/shell/test_client_settings.py::test_verbose",
    "table.display.max-column-width": "tests/cli/shell/test_client_settings.py::test_column_width",
    "sql-client.display.print-time-cost": "tests/cli/shell/test_client_settings.py::test_time_cost",
}


def mapped_settings() -> set[str]:
    return {s.key for s in settings.table().values() if s.use == "mapped" and len(s.choices) != 1}


def test_every_mapped_setting_is_in_one_of_the_tables() -> None:
    assert not SETTINGS.keys() & SHOWN_BY.keys()
    assert mapped_settings() == SETTINGS.keys() | SHOWN_BY.keys()


@pytest.mark.parametrize("key", SETTINGS)
def test_two_values_of_a_setting_are_two_jobs_or_one_is_refused(key: str) -> None:
    values, before, query = SETTINGS[key]
    found = []
    for value in values:
        compiled = compile_script(SourceText("t.sql", f"{TABLES}{before}SET '{key}' = '{value}';\n{query}"))
        codes = sorted(d.code for d in compiled.diagnostics if d.severity == "error")
        found.append((codes, [repr(shape(a.job)) for a in compiled.actions if isinstance(a, Start)]))
    assert found[0] != found[1], f"'{key}' is called mapped, and {values} are one job"
    assert any(not codes for codes, _ in found), found


@pytest.mark.parametrize("place", sorted(set(SHOWN_BY.values())))
def test_what_only_shows_when_it_runs_has_its_test(place: str) -> None:
    file, _, name = place.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
