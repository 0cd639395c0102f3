"""A table of changes that is mentioned several times is read, decoded and normalised once: plans, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.plan.stateforms import BLENDS, NEWER
from flinkddl.runtime.job.supervising.begun import formed
from flinkddl.runtime.storage.checkpoint import job_folder, open_checkpoint, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.explain import explain
from flinkddl.spark.edits import compare
from flinkddl.spark.job import GroupBy, Read
from flinkddl.spark.meaning import meanings

if TYPE_CHECKING:
    from pathlib import Path

    from flinkddl.spark.job import SparkJob

BROKER = "'properties.bootstrap.servers' = 'b:9092'"
COLUMNS = "id BIGINT, v BIGINT, w STRING, rf BIGINT"
TABLES = f"""
SET 'execution.runtime-mode' = 'streaming';
CREATE TABLE item ({COLUMNS}, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'item',
  {BROKER}, 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE bid (auction BIGINT, bidder BIGINT) WITH ('connector' = 'kafka', 'format' = 'json', {BROKER},
  'topic' = 'bid');
CREATE TABLE t (a BIGINT, b BIGINT) WITH ('connector' = 'print');
CREATE TABLE u (a BIGINT, b BIGINT, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'u',
  {BROKER}, 'key.format' = 'json', 'value.format' = 'json');
""" + "".join(
    f"CREATE TABLE {name} ({COLUMNS}) WITH ('connector' = 'kafka', 'format' = '{name}-json', {BROKER}, "
    f"'topic' = '{name}');\n"
    for name in ("debezium", "canal", "maxwell", "ogg")
)
COPIED = f"""SET 'table.exec.source.cdc-events-duplicate' = 'true';
CREATE TABLE copied ({COLUMNS}, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = 'copied',
  {BROKER}, 'format' = 'debezium-json');
"""
QUERIES = {
    "self join": "SELECT a.id, b.v FROM {t} a JOIN {t} b ON a.rf = b.id",
    "by no key": "SELECT a.id, b.v FROM {t} a JOIN {t} b ON a.rf = b.rf",
    "outer": "SELECT a.id, b.v FROM {t} a LEFT JOIN {t} b ON a.rf = b.id",
    "outer, with a condition": "SELECT a.id, b.v FROM {t} a FULL JOIN {t} b ON a.rf = b.id AND a.v > b.v",
    "three": "SELECT a.id, c.v FROM {t} a JOIN {t} b ON a.rf = b.id JOIN {t} c ON b.rf = c.id",
    "over another table": "SELECT a.id, c.v FROM {t} a JOIN bid x ON a.rf = x.auction JOIN {t} c ON x.bidder = c.id",
    "filters": "SELECT a.id, b.v FROM {t} a JOIN {t} b ON a.rf = b.id WHERE a.v > 3 AND b.w < 'x'",
    "a view": "SELECT a.id, b.v FROM (SELECT id, rf FROM {t} WHERE v > 5) a JOIN {t} b ON a.rf = b.id",
    "UNION ALL": "SELECT id, v FROM {t} UNION ALL SELECT rf, v FROM {t}",
    "UNION ALL, filters": "SELECT id, v FROM {t} WHERE v > 3 UNION ALL SELECT rf, v FROM {t} WHERE v < 2",
    "UNION": "SELECT id, v FROM {t} UNION SELECT rf, v FROM {t}",
    "its own aggregate": (
        "SELECT i.id, s.n FROM {t} i JOIN (SELECT v, COUNT(*) AS n FROM {t} WHERE rf > 3 GROUP BY v) s ON i.v = s.v"
    ),
    "two aggregates": (
        "SELECT a.v, b.n FROM (SELECT v, COUNT(*) AS n FROM {t} GROUP BY v) a "
        "JOIN (SELECT rf, COUNT(*) AS n FROM {t} GROUP BY rf) b ON a.v = b.rf"
    ),
    "EXISTS": "SELECT a.id, a.v FROM {t} a WHERE EXISTS (SELECT 1 FROM {t} b WHERE b.rf = a.id AND b.v > 3)",
    "NOT EXISTS": "SELECT a.id, a.v FROM {t} a WHERE NOT EXISTS (SELECT 1 FROM {t} b WHERE b.rf = a.id)",
    "IN": "SELECT id, v FROM {t} WHERE rf IN (SELECT id FROM {t} WHERE v > 3)",
    "a scalar": "SELECT id, v FROM {t} WHERE v = (SELECT MAX(v) FROM {t})",
    "an order that one asks for": (
        "SELECT a.id, b.v FROM {t} a JOIN (SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY rf ORDER BY v) "
        "AS r FROM {t}) WHERE r < 4) b ON a.id = b.rf"
    ),
    "an order, asked for first": (
        "SELECT a.v, b.x FROM (SELECT rf, LAST_VALUE(v) AS x FROM {t} GROUP BY rf) b JOIN {t} a ON a.id = b.rf"
    ),
}


def job(query: str, more: str = "", sink: str = "t") -> SparkJob:
    out = compile_script(SourceText("<t>", f"{TABLES}{more} INSERT INTO {sink} {query};"))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


def kept(made: SparkJob) -> list[str]:
    return [call.kind for s in made.steps if isinstance(s, GroupBy) for call in s.state_calls]


def readings(made: SparkJob, table: str) -> tuple[int, int, int]:
    """How often a table is read and decoded, and how often newest rows of a key are kept."""
    read = [s for s in made.steps if isinstance(s, Read) and s.table.endswith(f".{table}")]
    decoded = [s for s in made.steps if s.name.startswith(f"{table}_value")]
    return len(read), len(decoded), kept(made).count("latest")


@pytest.mark.parametrize("sink", ["t", "u"])
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("table", ["item", "debezium", "copied"])
def test_once(table: str, query: str, sink: str) -> None:
    made = job(QUERIES[query].format(t=table), COPIED if table == "copied" else "", sink)
    assert readings(made, table) == (1, 1, table != "debezium")
    told = explain(made)
    assert "read with the scan above" in told
    assert ("Spark: readStream kafka, transformWithState flinkddl.stage_latest_1" in told) == (table != "debezium")
    assert "equal parts run once" in made.plan[0].how.because


@pytest.mark.parametrize("table", ["canal", "maxwell", "ogg"])
def test_each_format(table: str) -> None:
    made = job(QUERIES["an order that one asks for"].format(t=table))
    assert readings(made, table) == (1, 1, 0)


def test_what_is_not_the_same_each_time_is_kept_as_it_was() -> None:
    """A projection with RAND() over newest rows would take back another value than it gave."""
    made = job(
        "SELECT a.id, b.v FROM (SELECT id, rf, RAND() AS r FROM item) a JOIN item b ON a.rf = b.id WHERE a.r < 2"
    )
    assert readings(made, "item") == (1, 1, 2)


SETTINGS = "SET 'table.optimizer.reuse-source-enabled' = '{}'; SET 'table.optimizer.reuse-sub-plan-enabled' = '{}';"


@pytest.mark.parametrize(
    ("source", "sub_plan", "expected"),
    [
        ("true", "true", {"item": (1, 1, 1), "debezium": (1, 1, 0)}),
        ("false", "true", {"item": (1, 1, 1), "debezium": (2, 2, 0)}),
        ("true", "false", {"item": (2, 2, 2), "debezium": (2, 2, 0)}),
    ],
)
@pytest.mark.parametrize("query", ["self join", "an order that one asks for", "UNION ALL"])
def test_settings_as_in_flink(query: str, source: str, sub_plan: str, expected: dict[str, tuple[int, ...]]) -> None:
    """Asked: the oracle's EXPLAIN of these. ChangelogNormalize is a sub-plan, a table of CDC records a source."""
    for table, counts in expected.items():
        made = job(QUERIES[query].format(t=table), SETTINGS.format(source, sub_plan))
        assert readings(made, table) == counts


OLDER = [
    ("item", "self join", "", (1, 1, 2)),
    ("item", "an order that one asks for", "", (2, 2, 2)),
    ("debezium", "an order, asked for first", "", (2, 2, 0)),
    ("debezium", "self join", SETTINGS.format("false", "true"), (1, 1, 0)),
]
"""Queries that were carried out otherwise once, and how often each was read, decoded, normalised."""


@pytest.mark.parametrize(("table", "query", "more", "counts"), OLDER)
@pytest.mark.parametrize("state", ["auto", "keyed"])
@pytest.mark.parametrize("written", [True, False])
def test_a_checkpoint_goes_on_as_it_was_begun(
    tmp_path: Path, table: str, query: str, more: str, counts: tuple[int, ...], state: str, written: bool
) -> None:
    """``written``: whether the run that began it noted how; earlier versions did not."""
    made = job(QUERIES[query].format(t=table), f"SET 'flinkddl.execution.state' = '{state}';{more}")
    assert made.apart is not None
    assert BLENDS in made.newer
    before = made.apart(NEWER - {BLENDS})
    assert readings(before, table) == counts != readings(made, table)

    def again() -> SparkJob:
        stored = stored_plan(LOCAL, job_folder(str(tmp_path), made))
        assert stored is not None
        return formed(made, stored if written else stored | {"newer": stored["newer"] - {BLENDS}}, lambda: "")

    open_checkpoint(before, str(tmp_path))
    assert again() == before
    assert again().fingerprint == before.fingerprint
    open_checkpoint(again(), str(tmp_path))
    assert again() == before
    if written:
        open_checkpoint(made, str(tmp_path), fresh=True)
        assert again() is made


def test_no_other_job_has_an_older_form() -> None:
    for query in ("SELECT id, v FROM item", "SELECT v, COUNT(*) FROM item GROUP BY v", "SELECT auction, 1 FROM bid"):
        assert BLENDS not in job(query).newer
    assert BLENDS not in job(QUERIES["self join"].format(t="debezium")).newer


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT id, v FROM item UNION ALL {}", "SELECT id, v + rf FROM item UNION ALL {}"),
        ("SELECT id, 1 FROM ({})", "SELECT id, v FROM ({})"),
        (
            "SELECT a.id, b.v FROM item a JOIN item b ON a.id = b.rf",
            "SELECT a.v, b.v FROM item a JOIN item b ON a.id = b.rf",
        ),
    ],
)
def test_a_column_that_was_not_read_is_not_in_the_state(before: str, after: str) -> None:
    """Newest rows are kept with the columns that are read; what meets above them says which, and is refused."""
    two = "SELECT id, v FROM item WHERE v > 3 UNION ALL SELECT rf, 0 FROM item"
    old, new = (job(text.format(two)) for text in (before, after))
    assert compare(meanings(old), meanings(new)).refused
    assert not compare(meanings(old), meanings(old)).refused
