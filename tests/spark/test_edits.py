"""Edits of a script over a checkpoint: which are kept, and which are refused with both texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.edits import Edit, compare, renumbered
from flinkddl.spark.job import GroupBy, SparkJob
from flinkddl.spark.meaning import meanings

KAFKA = "'properties.bootstrap.servers' = 'b:9092'"
TABLES = f"""
CREATE TABLE o (id INT, k STRING, v INT, at TIMESTAMP(3), WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH
  ('connector' = 'kafka', 'topic' = 'o', {KAFKA}, 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE u (k STRING, w INT, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 'u', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE s (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 's', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE b (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
""".replace(" at ", " `at` ")
COUNT = "INSERT INTO s SELECT k, COUNT(DISTINCT v) FROM o WHERE id > 1 GROUP BY k;"
JOIN = "INSERT INTO b SELECT o.k, w FROM o JOIN u ON o.k = u.k WHERE id > 1;"
TOP = (
    "INSERT INTO b SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM o) WHERE n <= 3;"
)
ABOVE = "INSERT INTO b SELECT o.k, w + v FROM o JOIN u ON o.k = u.k WHERE w + v > 1;"
SUMS = "INSERT INTO s SELECT k, SUM(w) FROM u GROUP BY k;"
VIEW = "CREATE VIEW x AS SELECT k, v FROM o WHERE id > 1; INSERT INTO s SELECT k, COUNT(DISTINCT v) FROM x GROUP BY k;"
WINDOW = (
    "INSERT INTO b SELECT k, COUNT(*) FROM TUMBLE(TABLE o, DESCRIPTOR(`at`), INTERVAL '1' MINUTE)"
    " GROUP BY k, window_start, window_end;"
)
BOTH = "EXECUTE STATEMENT SET BEGIN {} END;"
NAMED = "SET 'pipeline.name' = 'daily';"
JSON = "'format' = 'json',"
FORMS = ("aggregate", "keyed")

# what it is called: the script, what is put in its place (in the tables and the query)
KEPT: dict[str, tuple[str, str, str]] = {
    "filter below": (COUNT, "id > 1", "id > 5 AND v < 9"),
    "filter taken away": (COUNT, " WHERE id > 1", ""),
    "filter above": (COUNT, "GROUP BY k", "GROUP BY k HAVING COUNT(DISTINCT v) > 2"),
    "projection above": (COUNT, "COUNT(DISTINCT v)", "2 * COUNT(DISTINCT v)"),
    "lenient": (COUNT, JSON, JSON + " 'json.ignore-parse-errors' = 'true',"),
    "client options": (COUNT, "b:9092", "c:9093"),
    "renamed table": (COUNT.replace("FROM o ", "FROM o AS q "), "CREATE TABLE o ", "CREATE TABLE orders "),
    "view taken out": (COUNT, COUNT, VIEW),
    "renamed view": (VIEW, " x ", " y "),
    "sink's topic": (COUNT, "'topic' = 's'", "'topic' = 's2'"),
    "another sink": (COUNT, "CREATE TABLE s ", "CREATE TABLE t "),
    "watermark delay": (WINDOW, "'5' SECOND", "'9' SECOND"),
    "watermark delay of a count": (COUNT, "'5' SECOND", "'9' SECOND"),
    "unread column": (COUNT, "v INT, `at`", "v INT, more STRING, `at`"),
    "top: filter above": (TOP, "n <= 3", "n <= 3 AND v > 7"),
    "sums: filter above": (SUMS, "GROUP BY k", "GROUP BY k HAVING SUM(w) > 5"),
    "join: filter above": (ABOVE, "w + v > 1", "w + v > 5 AND w < 9 + v"),
    "join: filter above taken away": (ABOVE, " WHERE w + v > 1", ""),
    "another order of equal INSERTs": (BOTH.format(COUNT + JOIN), COUNT + JOIN, JOIN + COUNT),
}
REFUSED: dict[str, tuple[str, str, str, str]] = {
    "another aggregate": (COUNT, "COUNT(DISTINCT v)", "COUNT(DISTINCT id)", "COUNT(DISTINCT v)"),
    "an aggregate more": (COUNT, "n BIGINT, PRIMARY", "n BIGINT, m BIGINT, PRIMARY", "is now"),
    "swapped columns": (
        "INSERT INTO s SELECT k, SUM(v) - MIN(id) FROM o GROUP BY k;", "SUM(v) - MIN(id)", "SUM(id) - MIN(v)", "is now",
    ),
    "another key": (COUNT, "SELECT k, COUNT(DISTINCT v) FROM o WHERE id > 1 GROUP BY k",
                    "SELECT UPPER(k), COUNT(DISTINCT v) FROM o WHERE id > 1 GROUP BY UPPER(k)", "is now"),
    "another type": (COUNT, "v INT", "v BIGINT", "is now"),
    "another topic": (COUNT, "'topic' = 'o'", "'topic' = 'p'", "is now"),
    "another format": (COUNT, JSON, "'format' = 'csv',", "is now"),
    "an operator more": (COUNT, "FROM o", "FROM (SELECT DISTINCT id, k, v FROM o) AS o", "is new): Spark"),
    "an operator less": (JOIN, "o JOIN u ON o.k = u.k WHERE", "(SELECT id, k, v AS w FROM o) AS o WHERE", "is gone)"),
    "another join": (JOIN, "o JOIN u", "o LEFT JOIN u", "is now"),
    "more places": (TOP, "n <= 3", "n <= 4", "is now"),
    "another type of a table of updates": (
        SUMS, "w INT", "w SMALLINT", "had the columns (w INT) and has (w SMALLINT)",
    ),
    "top: filter below": (SUMS, "FROM u", "FROM u WHERE w > 3", ""),
    "join: filter below a sum": (
        "INSERT INTO s SELECT o.k, SUM(w) FROM o JOIN u ON o.k = u.k WHERE w + v > 1 GROUP BY o.k;", "w + v > 1",
        "w + v > 5", "is now",
    ),
    "join: filter of a column that was not read": (ABOVE, "w + v > 1", "w + id > 1", ""),
    "join: filter below a sink that keeps rows": (
        "SET 'table.exec.sink.upsert-materialize' = 'FORCE'; "
        "INSERT INTO s SELECT o.k, w + v FROM o JOIN u ON o.k = u.k WHERE w + v > 1;", "w + v > 1", "w + v > 5",
        "is now",
    ),
    "outer join: filter in its condition": (
        "INSERT INTO b SELECT o.k, w FROM o LEFT JOIN u ON o.k = u.k AND w + v > 1;", "w + v > 1", "w + v > 5",
        "is now",
    ),
    "computed otherwise": (
        "INSERT INTO s SELECT k, SUM(v + 1) FROM o GROUP BY k;", "v + 1", "v + 2", "come about otherwise",
    ),
    "another window": (WINDOW, "'1' MINUTE", "'2' MINUTE", "is now"),
}  # fmt: skip


def job(text: str, form: str = "aggregate") -> SparkJob:
    text = f"SET 'flinkddl.execution.state' = '{form}'; SET 'table.exec.sink.upsert-materialize' = 'NONE';" + text
    out = compile_script(SourceText("<t>", text))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


def said(made: SparkJob) -> Any:
    return json.loads(json.dumps(meanings(made)))


def edited(before: str, old: str, new: str, form: str) -> tuple[SparkJob, Edit]:
    text = TABLES + NAMED + before
    assert old in text
    after = text.replace(old, new)
    if old.startswith("CREATE TABLE"):
        a, b = old.split()[2], new.split()[2]
        after = after.replace(f"FROM {a} ", f"FROM {b} ").replace(f"INTO {a} ", f"INTO {b} ")
    if "m BIGINT" in new:
        after = after.replace("COUNT(DISTINCT v)", "COUNT(DISTINCT v), MAX(v)")
    made = job(after, form)
    return made, compare(said(job(text, form)), said(made))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", KEPT)
def test_state_is_kept(case: str, form: str) -> None:
    _, found = edited(*KEPT[case], form)
    assert not found.refused, found.words
    assert not found.dropped
    assert not found.new
    assert found.kept


@pytest.mark.parametrize("form", FORMS)
def test_a_join_of_an_earlier_version_goes_on_unedited(form: str) -> None:
    """Its digest was of the whole condition, so a filter above it is refused as it was."""
    text = TABLES + NAMED + ABOVE
    made = said(job(text, form))
    old = [{**q, "tree": [line[:3] for line in q["tree"]]} for q in made]
    assert old != made
    assert not compare(old, made).refused
    assert compare(old, said(job(text.replace("w + v > 1", "w + v > 5"), form))).refused
    assert not compare(made, said(job(text.replace("w + v > 1", "w + v > 5"), form))).refused


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", REFUSED)
def test_state_is_refused_with_both_texts(case: str, form: str) -> None:
    before, old, new, words = REFUSED[case]
    _, found = edited(before, old, new, form)
    assert found.refused or (found.dropped and not found.kept), found.words
    assert words in found.words


def test_a_query_more_is_new_and_one_less_is_dropped() -> None:
    one, both = said(job(TABLES + NAMED + COUNT)), said(job(TABLES + NAMED + BOTH.format(COUNT + JOIN)))
    more, less = compare(one, both), compare(both, one)
    assert (len(more.kept), len(more.new), more.dropped, more.refused) == (1, 1, (), ())
    assert (len(less.kept), less.new, len(less.dropped), less.refused) == (1, (), 1, ())
    assert less.gone == ("default_catalog.default_database.b",)
    assert "COUNT(DISTINCT v)" in more.words


def test_a_node_keeps_its_number() -> None:
    before = job(TABLES + NAMED + BOTH.format(COUNT + TOP), "keyed")
    after = job(
        TABLES + NAMED + BOTH.format("INSERT INTO b SELECT k, COUNT(DISTINCT id) FROM o GROUP BY k;" + COUNT), "keyed"
    )
    assert number(before) == 1
    assert number(after) == 2
    found = compare(said(before), said(after))
    assert number(renumbered(after, found.numbers)) == 1


def number(made: SparkJob) -> int:
    """Return the number of the node that counts ``v``."""
    calls = [c for s in made.steps if isinstance(s, GroupBy) for c in s.state_calls if c.form == "keyed"]
    (found,) = (c.node for c in calls if c.kind == "aggregate" and "`v`" in str(c.args))
    return found


def test_a_moved_sink_keeps_its_folder() -> None:
    _, found = edited(*KEPT["another sink"], "aggregate")
    assert found.folders == {"default_catalog.default_database.t": "default_catalog.default_database.s"}


def test_a_new_query_does_not_get_the_folder_of_another() -> None:
    """The state of ``t`` lies in the folder of ``s``, whose name a new query has."""
    before = [{**q, "write": q["write"] + "2", "folder": q["write"]} for q in said(job(TABLES + COUNT))]
    now = said(job(TABLES + BOTH.format(COUNT + JOIN)))
    found = compare(before, [{**now[0], "write": before[0]["write"]}, {**now[1], "write": now[0]["write"]}])
    assert "give it another name" in found.words


def test_an_exactly_once_topic_is_not_exchanged() -> None:
    once = "'topic' = 's', 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'p',"
    text = (TABLES + COUNT).replace("'topic' = 's',", once)
    assert not compare(said(job(text)), said(job(text.replace("id > 1", "id > 2")))).refused
    found = compare(said(job(text)), said(job(text.replace("'topic' = 's'", "'topic' = 's2'"))))
    assert "remembers what was written" in found.words


def test_a_sink_that_remembers_is_not_exchanged() -> None:
    files = "CREATE TABLE b (k STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '/{}', 'format' = 'json');"
    blackhole = "CREATE TABLE b (k STRING, n BIGINT) WITH ('connector' = 'blackhole');"
    text = TABLES + "INSERT INTO b SELECT k, v FROM o;"
    into = [said(job(text.replace(blackhole, files.format(n)))) for n in "ab"]
    assert not compare(*into).refused  # the path is the folder's own business: it lists its batches
    assert compare(said(job(text)), into[0]).refused


def test_windows_in_a_chain_keep_their_time_as_others_keep_their_watermark() -> None:
    _, found = edited(*KEPT["watermark delay"], "chain")
    assert found.kept
    assert not found.refused
    before, old, new, words = REFUSED["another window"]
    _, found = edited(before, old, new, "chain")
    assert words in " ".join(found.refused)
