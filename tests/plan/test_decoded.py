"""Which fields of a scan are decoded: what a query reads, and what is read in any case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from flinkddl.catalog.state import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.plan.stateforms import NARROWS, NEWER
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.explain import explain
from flinkddl.spark import job as J
from flinkddl.spark.frames import frame_of

if TYPE_CHECKING:
    from flinkddl.spark.job import SparkJob

TABLES = """
CREATE TABLE s (id BIGINT, a STRING, r ROW<b INT, c ROW<d STRING, e INT>>, x DOUBLE, ts TIMESTAMP(3), y AS r.b + 1,
  p TIMESTAMP_LTZ(3) METADATA FROM 'timestamp') WITH ({kafka}, 'topic' = 's', 'format' = 'json');
CREATE TABLE w (id BIGINT, a STRING, t STRING, ts AS TO_TIMESTAMP(t), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
  WITH ({kafka}, 'topic' = 'w', 'format' = 'csv');
CREATE TABLE u (id BIGINT, a STRING, z STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'properties.bootstrap.servers' = 'h:9092', 'topic' = 'u', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE c (id BIGINT, a STRING, z STRING, PRIMARY KEY (id) NOT ENFORCED)
  WITH ({kafka}, 'topic' = 'c', 'format' = 'debezium-json');
CREATE TABLE p (id BIGINT, k STRING, v BIGINT, r ROW<b INT, c ROW<d STRING, e INT>>, z STRING, w AS v + 1,
  m AS CAST(v % 2 AS STRING), l STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = 'p', 'properties.bootstrap.servers' = 'h:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE j (id BIGINT, a STRING, z STRING) WITH ({kafka}, 'topic' = 'j', 'format' = 'avro',
  'avro.encoding' = 'json');
CREATE TABLE f (id BIGINT, a STRING, z STRING) WITH ('connector' = 'filesystem', 'path' = '/tmp/f', 'format' = 'json');
CREATE TABLE k (id BIGINT, a STRING, z STRING) WITH ({kafka}, 'topic' = 'k', 'key.format' = 'json',
  'key.fields' = 'id', 'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY');
""".replace("{kafka}", "'connector' = 'kafka', 'properties.bootstrap.servers' = 'h:9092'")


def job_of(query: str) -> SparkJob:
    compiled = compile_script(SourceText("<t>", f"{TABLES}{query};"), Catalog())
    assert not [d for d in compiled.diagnostics if d.severity == "error"]
    (job,) = [a.job for a in compiled.actions if isinstance(a, Start)]
    return job


def told(query: str) -> list[str]:
    return [s.note for s in job_of(query).steps if isinstance(s, J.Select) and s.note.startswith("decodes")]


def into(columns: str, query: str, key: str = "") -> str:
    primary = f", PRIMARY KEY ({key}) NOT ENFORCED" if key else ""
    options = (
        "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"
        if key
        else ("'connector' = 'kafka', 'format' = 'json'")
    )
    where = f"{options}, 'topic' = 'o', 'properties.bootstrap.servers' = 'h:9092'"
    return f"CREATE TABLE o ({columns}{primary}) WITH ({where}); INSERT INTO o {query}"


READ = [
    ("a STRING", "SELECT a FROM s", "", ["decodes: a of 5"]),
    ("a STRING", "SELECT a FROM s WHERE x > 1 AND id < 3", "", ["decodes: id, a, x of 5"]),
    ("d STRING, b INT", "SELECT r.c.d, r.b FROM s", "", ["decodes: r.b, r.c.d of 5"]),
    ("d STRING", "SELECT q.d FROM (SELECT r.c AS q, a FROM s) WHERE q.e > 1", "", ["decodes: r.c.d, r.c.e of 5"]),
    ("d STRING", "SELECT r.c.d FROM s WHERE r IS NULL", "", ["decodes: r of 5"]),
    ("y INT", "SELECT y FROM s", "", ["decodes: r.b of 5"]),
    ("p TIMESTAMP_LTZ(3)", "SELECT p FROM s", "", ["decodes: nothing of 5"]),
    ("n BIGINT", "SELECT COUNT(*) FROM s GROUP BY id", "n", ["decodes: id of 5"]),
    ("a STRING, n BIGINT", "SELECT a, COUNT(r.c.d) FROM s GROUP BY a", "a", ["decodes: a, r.c.d of 5"]),
    ("a STRING", "SELECT a FROM w", "", ["decodes: a, t of 3"]),
    ("id BIGINT, a STRING", "SELECT id, a FROM u", "id", ["decodes: id, a of 3"]),
    ("a STRING, b STRING", "SELECT s.a, u.a FROM s JOIN u ON s.id = u.id", "a",
     ["decodes: id, a of 5", "decodes: id, a of 3"]),
    ("a STRING, b STRING", "SELECT x.a, y.z FROM c x, c y WHERE x.a = y.a", "a", []),  # once, for both
    ("a STRING", "SELECT a FROM k", "", ["decodes: a of 2"]),
    ("a STRING", "SELECT a FROM f", "", ["decodes: a of 3"]),
    ("a STRING", "SELECT a FROM s UNION ALL SELECT a FROM w", "", ["decodes: a of 5", "decodes: a, t of 3"]),
    # the key is lost: it is read all the same, and what else is
    ("a STRING, n BIGINT", "SELECT a, COUNT(*) FROM u GROUP BY a", "a", ["decodes: id, a of 3"]),
    ("a STRING", "SELECT a FROM u WHERE z > 'b'", "a", []),
    ("a STRING", "SELECT a FROM u WHERE a > 'b'", "a", ["decodes: id, a of 3"]),
    ("k STRING, n BIGINT", "SELECT k, SUM(v) FROM p GROUP BY k", "k", ["decodes: id, k, v of 6"]),
    ("k STRING, n BIGINT", "SELECT r.c.d, SUM(v) FROM p WHERE r.b > 2 GROUP BY r.c.d", "k",
     ["decodes: id, v, r.b, r.c.d of 6"]),
    ("k STRING, n BIGINT", "SELECT m, MAX(w) FROM p GROUP BY m", "k", ["decodes: id, v of 6"]),
    ("a STRING, k STRING", "SELECT s.a, p.k FROM s JOIN p ON s.id = p.v", "a",
     ["decodes: id, a of 5", "decodes: id, k, v of 6"]),
    ("k STRING, n BIGINT", "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM p) "
     "WHERE n = 1", "k", ["decodes: id, k, v of 6"]),
    ("k STRING, v BIGINT", "SELECT x.k, y.v FROM p x JOIN p y ON x.k = y.k WHERE x.r.b > 1", "k",
     ["decodes: id, k, v, r.b of 6"]),
    ("a STRING, n BIGINT", "SELECT a, COUNT(*) FROM c GROUP BY a", "a", ["decodes: id, a of 3"]),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "query", "key", "expected"), READ)
def test_what_is_read_is_decoded(columns: str, query: str, key: str, expected: list[str]) -> None:
    assert told(into(columns, query, key)) == expected


WHOLE = [
    ("id BIGINT, a STRING, z STRING", "SELECT * FROM f", ""),
    ("a STRING", "SELECT a FROM j", ""),
]


@pytest.mark.parametrize(("columns", "query", "key"), WHOLE)
def test_all_of_a_table_is_decoded(columns: str, query: str, key: str) -> None:
    assert told(into(columns, query, key)) == []


DUPLICATES = "SET 'table.exec.source.cdc-events-duplicate' = 'true';"
P = "SELECT r.c.d, SUM(v) FROM p WHERE r.b > 2 GROUP BY r.c.d"
KEPT = {
    "SELECT a, COUNT(*) FROM u GROUP BY a": ["named_struct('c0', `id`, 'c1', `a`)"],
    "SELECT m, MAX(w) FROM p GROUP BY m": ["named_struct('c0', `id`, 'c1', `w`, 'c2', `m`)"],
    P: [
        "named_struct('c0', `id`, 'c1', `v`, 'c2', IF(`r` IS NULL, NULL, named_struct('b', `r`.`b`, 'c', "
        "IF(`r`.`c` IS NULL, NULL, named_struct('d', `r`.`c`.`d`)))))"
    ],
    "SELECT x.k, y.v FROM p x JOIN p y ON x.k = y.k": ["named_struct('c0', `id`, 'c1', `k`, 'c2', `v`)"],
    "SELECT k, 1 FROM p WHERE z > 'b'": ["named_struct('c0', `id`, 'c1', `k`, 'c2', `z`)"],
}
"""What is kept of the newest rows of a table's keys."""


def newest(job: SparkJob) -> list[str]:
    calls = [call for s in job.steps if isinstance(s, J.GroupBy) for call in s.state_calls if call.kind == "latest"]
    return [call.args[1].partition(", 'r', ")[2][:-1] for call in calls]


@pytest.mark.parametrize("form", ["auto", "keyed", "chain", "aggregate"])
@pytest.mark.parametrize("query", KEPT)
def test_what_is_read_is_kept(query: str, form: str) -> None:
    job = job_of(f"SET 'flinkddl.execution.state' = '{form}'; {into('k STRING, n BIGINT', query, 'k')}")
    apart = {"named_struct('c0', `id`, 'c1', `k`)"} if form == "aggregate" and "JOIN" in query else set[str]()
    assert set(newest(job)) == {*KEPT[query], *apart}
    assert NARROWS in job.newer


def test_so_it_is_of_a_cdc_table_whose_changes_may_come_twice() -> None:
    job = job_of(f"{DUPLICATES} {into('a STRING, n BIGINT', 'SELECT a, COUNT(*) FROM c GROUP BY a', 'a')}")
    assert newest(job) == ["named_struct('c0', `id`, 'c1', `a`)"]
    assert [s.note for s in job.steps if s.note.startswith("decodes")] == ["decodes: id, a of 3"]


@pytest.mark.parametrize("query", KEPT)
def test_an_earlier_version_kept_whole_rows(query: str) -> None:
    job = job_of(into("k STRING, n BIGINT", query, "k"))
    assert job.apart is not None
    before = job.apart(NEWER - {NARROWS})
    columns = "`id`, 'c1', `a`, 'c2', `z`" if " u " in query else "`id`, 'c1', `k`, 'c2', `v`, 'c3', `r`, 'c4', `z`"
    assert all(f"named_struct('c0', {columns}" in text for text in newest(before))
    assert before.newer == job.newer - {NARROWS}
    assert before.kept == {}


def test_a_job_that_reads_all_of_a_row_is_as_it_was() -> None:
    query = "SELECT a, COUNT(z) FROM u GROUP BY a"
    assert NARROWS not in job_of(into("a STRING, n BIGINT", query, "a")).newer


FRAMES = [
    ("SELECT id, a FROM u", "streaming", ["decodes: id, a of 3"]),
    ("SELECT a FROM u", "streaming", []),  # nobody knows how its checkpoint was begun
    ("SELECT id, a FROM u", "batch", []),  # folded: a change of z makes a row younger
    ("SELECT id, a FROM c", "batch", []),
    ("SELECT a FROM s", "batch", ["decodes: a of 5"]),
]


@pytest.mark.parametrize(("query", "mode", "expected"), FRAMES)
def test_so_it_is_in_a_frame(query: str, mode: Literal["batch", "streaming"], expected: list[str]) -> None:
    compiled = compile_script(SourceText("<t>", f"{TABLES}CREATE VIEW v AS {query};"), Catalog())
    frame = frame_of(compiled.catalog, compiled.catalog.path(("v",)), mode)
    assert [s.note for s in frame.job.steps if s.note.startswith("decodes")] == expected


def test_explain_says_it() -> None:
    assert "   -- decodes: r.b, r.c.d of 5\n" in explain(job_of(into("d STRING, b INT", "SELECT r.c.d, r.b FROM s")))


def test_what_is_decoded_is_no_part_of_what_a_checkpoint_must_match() -> None:
    query = "SELECT a, SUM(x) FROM s WHERE {} GROUP BY a"
    jobs = [job_of(into("a STRING, n DOUBLE", query.format(c), "a")) for c in ("x > 1", "r.c.e > 1")]
    states = [[text for kind, text in job.identity() if kind == "state"] for job in jobs]
    rows = [[s.generator for s in job.steps if isinstance(s, J.Select) and s.generator] for job in jobs]
    assert states[0] == states[1] != []
    assert rows[0][0] != rows[1][0]
