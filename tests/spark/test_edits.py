"""Edits of a script over a checkpoint: which are kept, and which are refused with both texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.plan.stateforms import NARROWS, NEWER
from flinkddl.runtime.job.supervising.begun import fitting, formed
from flinkddl.runtime.storage.checkpoint import job_folder, open_checkpoint, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.edits import Edit, compare, renumbered
from flinkddl.spark.fingerprint import state_of
from flinkddl.spark.job import GroupBy, SparkJob
from flinkddl.spark.meaning import meanings
from flinkddl.spark.stream import kinds, ranking

if TYPE_CHECKING:
    from pathlib import Path

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

UPSERTS = """
CREATE TABLE p (id INT, k STRING, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 'p', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json');
""".replace("{KAFKA}", KAFKA)
WIDE = """
CREATE TABLE q (id INT, k STRING, v INT, x INT, r ROW<a INT, c INT>, PRIMARY KEY (id) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 'q', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json');
""".replace("{KAFKA}", KAFKA)
S2 = f"""
CREATE TABLE s2 (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 's2', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json');
"""
BY_K = UPSERTS + "INSERT INTO s SELECT k, SUM(v) FROM p GROUP BY k;"
BY_K_ABOVE = UPSERTS + "INSERT INTO s SELECT k, SUM(v) FROM p WHERE k <> 'a' GROUP BY k;"
PAIRS = UPSERTS + "INSERT INTO b SELECT p.k, v + w FROM p JOIN u ON p.k = u.k WHERE p.k <> 'a';"
TWO = UPSERTS + "INSERT INTO b SELECT x.k, x.v FROM p AS x JOIN u ON x.k = u.k WHERE v > 1;"
BEST = UPSERTS + (
    "INSERT INTO b SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM p) WHERE n <= 3;"
)
LATEST = UPSERTS + (
    "INSERT INTO b SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY PROCTIME() DESC) AS n FROM p)"
    " WHERE n = 1;"
)
OUTER = UPSERTS + "INSERT INTO b SELECT p.k, w FROM p LEFT JOIN u ON p.k = u.k WHERE p.v > 1;"
SUMMED = UPSERTS + (
    "CREATE VIEW y AS SELECT k, SUM(v) AS v FROM p GROUP BY k; INSERT INTO b SELECT k, MAX(v) FROM y GROUP BY k;"
)
# filters that the planner brings below operators whose rows change, and columns that nobody reads
FITTED: dict[str, tuple[str, str, str]] = {
    "a group's key": (BY_K, "GROUP BY k", "GROUP BY k HAVING k <> 'b'"),
    "a group's key, as WHERE": (BY_K, "FROM p ", "FROM p WHERE k LIKE 'b%' "),
    "one condition more": (BY_K_ABOVE, "<> 'a'", "<> 'a' AND k <> 'b'"),
    "a key of two aggregates": (SUMMED, "GROUP BY k;", "GROUP BY k HAVING k <> 'b';"),
    "a partition": (BEST, "n <= 3", "n <= 3 AND k <> 'b'"),
    "a partition and a result": (BEST, "n <= 3", "n <= 3 AND k <> 'b' AND v > 7"),
    "a key of newest rows": (
        LATEST,
        "n = 1",
        "n = 1 AND k <> 'b'",
    ),
    "one side of a join": (TWO, " WHERE v > 1", " WHERE v < 9 AND v > 1"),
    "the kept side of an outer join": (OUTER, " WHERE p.v > 1", " WHERE p.v > 1 AND p.k <> 'b'"),
    "both sides": (PAIRS, "WHERE p.k <> 'a'", "WHERE p.k <> 'a' AND u.w > 3 AND p.v < 9"),
    "an unread column": (BY_K, "v INT, PRIMARY", "v INT, more STRING, PRIMARY"),
    "an unread column before others": (BY_K, "(id INT, k", "(id INT, more STRING, k"),
    "an unread column of a join's side": (TWO, "w INT, PRIMARY", "w INT, more STRING, PRIMARY"),
    "a column that is not read any more": (WIDE + "INSERT INTO b SELECT k, v + x FROM q;", "v + x", "v"),
    "a field of a row that is not read any more": (WIDE + "INSERT INTO b SELECT k, v + r.a FROM q;", "v + r.a", "v"),
    "a row of which less is read": (WIDE + "INSERT INTO b SELECT k, r.a + r.c FROM q;", "r.a + r.c", "r.c"),
    "an unread column and a filter": (
        SUMS,
        "w INT, PRIMARY KEY (k) NOT ENFORCED",
        "w INT, more STRING, PRIMARY KEY (k) NOT ENFORCED",
    ),
}
UNFIT: dict[str, tuple[str, str, str, str]] = {
    "no key": (BY_K, "FROM p ", "FROM p WHERE v > 5 ", "the filter '(v > 5)' below 'Aggregate(by=[k], SUM(v))' is new"),
    "a condition less": (BY_K_ABOVE, " WHERE k <> 'a'", "", "is gone: rows that it left out would be taken back"),
    "another condition": (
        BY_K_ABOVE, "<> 'a'", "<> 'b'", "the filter '(k <> 'a')' below 'Aggregate(by=[k], SUM(v))' is now",
    ),
    "a key of the lower aggregate alone": (
        SUMMED.replace("k, MAX(v) FROM y GROUP BY k", "'all', MAX(v) FROM y"),
        "FROM p ", "FROM p WHERE k <> 'b' ", "below 'Aggregate(by=[k], SUM(v))' is new",
    ),
    "a column that the join lacks": (PAIRS, "WHERE p.k", "WHERE p.id > 3 AND p.k", "the filter '(id > 3)' below"),
    "what a row is padded with": (OUTER, "WHERE p.v > 1", "WHERE p.v > 1 AND w > 3", "is now 'Join(inner"),
    "a column that was not read": (
        WIDE + "INSERT INTO b SELECT k, v FROM q;", "SELECT k, v", "SELECT k, v + x",
        "without (x), which is read now",
    ),
    "a field of a row that was not read": (
        WIDE + "INSERT INTO b SELECT k, r.a FROM q;", "r.a", "r.a + r.c", "without (r.c), which is read now",
    ),
    "a filter of a column that was not read": (
        WIDE + "INSERT INTO b SELECT k, v FROM q;", "FROM q", "FROM q WHERE x > 3", "without (x), which is read now",
    ),
    "columns in another order": (BY_K, "(id INT, k STRING, v INT,", "(id INT, v INT, k STRING,", "and has (id INT NOT"),
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


FIRST_TWO = "(SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM o) WHERE n <= 2)"
JOINED = "(SELECT o.k, v, w FROM o JOIN u ON o.k = u.k)"
UNORDERED = (
    f"INSERT INTO s SELECT k, LAST_VALUE(v) FROM {FIRST_TWO} GROUP BY k;",
    f"INSERT INTO s SELECT k, LAST_VALUE(v) FROM {JOINED} GROUP BY k;",
    f"INSERT INTO s SELECT k, v FROM {FIRST_TWO};",
    f"INSERT INTO b SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM {FIRST_TWO})"
    " WHERE n <= 1;",
    "INSERT INTO s SELECT k, LAST_VALUE(v) FROM (SELECT k, v FROM o UNION ALL SELECT k, w FROM u) GROUP BY k;",
)


@pytest.mark.parametrize("form", [*FORMS, "chain"])
@pytest.mark.parametrize("text", UNORDERED)
def test_rows_without_an_order_lie_in_the_same_state(monkeypatch: pytest.MonkeyPatch, text: str, form: str) -> None:
    """Once they all had the same one."""
    made = said(job(TABLES + NAMED + text, form))
    for module in (kinds, ranking):
        monkeypatch.setattr(module, "UNTOLD", "0L")
    earlier = said(job(TABLES + NAMED + text, form))
    assert made == earlier
    assert made[0]["operators"]


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


def refitted(before: str, old: str, new: str, form: str) -> tuple[SparkJob, SparkJob, Edit]:
    """Return the edited job, what it goes on as, and what is said of that."""
    text = TABLES + NAMED + before
    assert old in text
    told = said(job(text, form))
    made = job(text.replace(old, new), form)
    found = fitting(made, {"meaning": told})
    return made, found, compare(told, said(found))


@pytest.mark.parametrize("form", [*FORMS, "chain"])
@pytest.mark.parametrize("case", FITTED)
def test_a_plan_is_brought_to_what_its_state_is_of(case: str, form: str) -> None:
    made, found, edit = refitted(*FITTED[case], form)
    assert not edit.refused, edit.words
    assert edit.kept
    assert found.queries() == made.queries()
    before = job(TABLES + NAMED + FITTED[case][0], form)
    assert state(found) == state(before)
    again = fitting(made, {"meaning": said(found)})  # and the next start is over what this one has noted
    assert again.fingerprint == found.fingerprint


@pytest.mark.parametrize("form", [*FORMS, "chain"])
def test_the_type_of_a_column_that_nobody_reads_may_change(form: str) -> None:
    """The start over the old state does not read it at all, the one after that checks it as any other."""
    query = WIDE + "INSERT INTO s SELECT k, SUM(v) FROM q GROUP BY k;"
    made, found, edit = refitted(query, "x INT", "x STRING", form)
    assert not edit.refused, edit.words
    assert state(found) == state(made)
    assert fitting(made, {"meaning": said(found)}) is made
    assert not compare(said(found), said(made)).refused


EARLIER = {
    "as it was": (WIDE + "INSERT INTO s SELECT k, SUM(v) FROM q GROUP BY k;", "SUM(v)", "SUM(v)"),
    "a column more": (WIDE + "INSERT INTO b SELECT k, v FROM q;", "SELECT k, v", "SELECT k, v + x + r.c"),
    "a column less": (WIDE + "INSERT INTO b SELECT k, v + x FROM q;", "v + x", "v"),
    "an unread column of the table": (
        WIDE + "INSERT INTO s SELECT k, SUM(v) FROM q GROUP BY k;",
        "x INT",
        "x INT, more STRING",
    ),
    "joined with itself": (WIDE + "INSERT INTO b SELECT m.k, n.v FROM q AS m JOIN q AS n ON m.v = n.x;", "b:9", "c:9"),
}


@pytest.mark.parametrize("form", [*FORMS, "chain"])
@pytest.mark.parametrize("case", EARLIER)
def test_whole_rows_that_an_earlier_version_kept_go_on(case: str, form: str, tmp_path: Path) -> None:
    text, old, new = EARLIER[case]
    made = job(TABLES + NAMED + text, form)
    assert made.apart is not None
    before = made.apart(NEWER - {NARROWS})
    assert state(before) != state(made)
    open_checkpoint(before, str(tmp_path))
    stored = stored_plan(LOCAL, job_folder(str(tmp_path), made))
    assert stored is not None
    edited = job((TABLES + NAMED + text).replace(old, new), form)
    found = fitting(formed(edited, stored, lambda: ""), stored)
    assert not compare(stored["meaning"], said(found)).refused
    assert state(found) == state(before)
    assert not (found.newer & {NARROWS})


def test_an_insert_less_leaves_the_rows_that_others_kept_with_it() -> None:
    first, second = (
        f"INSERT INTO {sink} SELECT k, SUM({column}) FROM q GROUP BY k;" for sink, column in (("s", "v"), ("s2", "x"))
    )
    both, one = (
        job(TABLES + NAMED + WIDE + S2 + BOTH.format(first + second), "keyed"),
        job(TABLES + NAMED + WIDE + S2 + first, "keyed"),
    )
    assert len(both.runs) == 1
    told = said(both)
    found = fitting(one, {"meaning": told})
    edit = compare(told, said(found))
    assert not edit.refused, edit.words
    assert edit.kept
    assert edit.dropped


def state(made: SparkJob) -> list[str]:
    return [state_of(step) for step in made.steps if isinstance(step, GroupBy)]


@pytest.mark.parametrize("form", [*FORMS, "chain"])
@pytest.mark.parametrize("case", UNFIT)
def test_what_does_not_fit_is_refused_with_the_filter(case: str, form: str) -> None:
    before, old, new, words = UNFIT[case]
    made, found, edit = refitted(before, old, new, form)
    assert found is made
    assert edit.refused
    assert words in edit.words, edit.words


MATERIALIZED = (
    "SET 'table.exec.sink.upsert-materialize' = 'AUTO'; " + UPSERTS + "INSERT INTO s SELECT k, v FROM p WHERE v > 5;"
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("v >= 5", "the filter '(v > 5)' below 'Sink(the rows of each primary key, to know which one stands)' is now"),
        ("v > 5 AND k <> 'a'", "the filter '(k <> 'a')' below 'Sink(the rows"),
        ("TRUE", "'(v > 5)' below 'Sink(the rows of each primary key, to know which one stands)' is gone"),
    ],
)
def test_a_filter_below_a_sink_that_keeps_rows_is_as_below_any_state(after: str, words: str, form: str) -> None:
    """What did not pass is not in the sink's state: it would be taken back without having been put."""
    _, found, edit = refitted(MATERIALIZED, "v > 5", after, form)
    assert words in edit.words, edit.words
    told = said(job(TABLES + NAMED + MATERIALIZED, form))
    assert not compare(told, told).refused
    assert not compare(
        told,
        said(
            job(
                TABLES
                + NAMED
                + MATERIALIZED.replace("'topic' = 'p'", "'topic' = 'p', 'properties.max.poll.records' = '9'"),
                form,
            )
        ),
    ).refused
    assert found is not None


def test_an_earlier_version_did_not_say_what_is_below_such_a_sink() -> None:
    told = said(job(TABLES + NAMED + MATERIALIZED))
    (query,) = told
    sink, filter_, scan = query["tree"]
    assert filter_[2].startswith("Filter(")
    earlier = {k: v for k, v in query.items() if k != "held"} | {"tree": [sink, [0, *scan[1:]]]}
    assert "does not say which filter stands below 'Sink(" in compare([earlier], told).words


@pytest.mark.parametrize("form", FORMS)
def test_a_filter_that_an_earlier_version_noted_is_found_again(form: str) -> None:
    """It had a digest of all of a filter: over it a new filter is lifted, a changed one is refused."""
    told = said(job(TABLES + NAMED + BY_K_ABOVE, form))
    earlier = [{**q, "tree": [line[:3] for line in q["tree"]]} for q in told]
    assert not compare(earlier, told).refused
    more = job(TABLES + NAMED + BY_K_ABOVE.replace("v) FROM", "v) + 1 FROM"), form)
    assert not compare(earlier, said(fitting(more, {"meaning": earlier}))).refused
    other = job(TABLES + NAMED + BY_K_ABOVE.replace("'a'", "'c'"), form)
    assert fitting(other, {"meaning": earlier}) is other
    assert "is now" in compare(earlier, said(other)).words


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
