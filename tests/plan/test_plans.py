"""What queries become: the finished plan as text, one case for each thing that is recognised; and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.plan.explain import explain
from flinkddl.plan.nodes import Join, Node, Rank
from tests.plan import golden

if TYPE_CHECKING:
    from flinkddl.catalog.state import Catalog

KAFKA = "'connector' = 'kafka', 'properties.bootstrap.servers' = 'h:1', 'format' = 'json'"
START = "'scan.startup.mode' = 'earliest-offset'"
TABLES = [
    f"""CREATE TABLE a (
        x INT, y STRING, z BIGINT NOT NULL, ts TIMESTAMP(3), r ROW<f INT, g STRING>, tags ARRAY<STRING>,
        WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
    ) WITH ({KAFKA}, 'topic' = 'a', {START})""",
    f"""CREATE TABLE b (x INT, y STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
    WITH ({KAFKA}, 'topic' = 'b', {START})""",
    """CREATE TABLE u (k STRING, v INT, ts TIMESTAMP(3), PRIMARY KEY (k) NOT ENFORCED, WATERMARK FOR ts AS ts)
    WITH ('connector' = 'upsert-kafka', 'topic' = 'u', 'properties.bootstrap.servers' = 'h:1',
          'key.format' = 'json', 'value.format' = 'json')""",
    f"""CREATE TABLE meta (
        id INT, sent TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL, `offset` STRING METADATA VIRTUAL,
        twice AS id * 2
    ) WITH ({KAFKA}, 'topic' = 'm', {START})""",
    f"""CREATE TABLE epochs (id INT, epoch INT METADATA FROM 'leader-epoch' VIRTUAL, later AS epoch + 1)
    WITH ({KAFKA}, 'topic' = 'e', {START})""",
    f"CREATE TABLE many (x INT, `topic` STRING METADATA) WITH ({KAFKA}, 'topic' = 's1;s2')",
    f"CREATE TABLE nameless (x INT) WITH ({KAFKA}, 'topic-pattern' = 's.*')",
    f"CREATE TABLE sink (x INT, y STRING NOT NULL, z BIGINT) WITH ({KAFKA}, 'topic' = 's')",
    f"CREATE TABLE now (x INT, pt AS PROCTIME()) WITH ({KAFKA}, 'topic' = 'n', {START})",
    "CREATE VIEW minutes AS SELECT * FROM TUMBLE(TABLE now, DESCRIPTOR(pt), INTERVAL '1' MINUTE)",
    "CREATE VIEW counted AS SELECT x, window_start, window_end, COUNT(*) AS c FROM minutes "
    "GROUP BY x, window_start, window_end",
    "CREATE VIEW joined AS SELECT a.x, a.ts, b.y FROM a JOIN b ON a.x = b.x",
    "CREATE VIEW latest AS SELECT k, v, ts FROM (SELECT y AS k, x AS v, ts, "
    "ROW_NUMBER() OVER (PARTITION BY y ORDER BY ts DESC) AS rn FROM a) WHERE rn = 1",
]

PLANS = [
    (
        "SELECT window_start, window_end, SUM(c) AS s FROM counted GROUP BY window_start, window_end",
        """
Project(window_start, window_end, EXPR$2 AS s)
  Aggregate(by=[window_start, window_end], SUM(c))
    Project(window_start, window_end, EXPR$3 AS c)
      WindowAggregate(TUMBLE(pt, size=60000ms, proctime), by=[x], COUNT(*), properties=[start, end])
        Scan(now)
""",
    ),
    (
        "SELECT x + 1 AS n FROM a WHERE y = 'q'",
        """
Project((x + 1) AS n)
  Filter((y = 'q'))
    Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT y, COUNT(*) AS c FROM a GROUP BY y HAVING COUNT(*) > 1 AND y <> 'q'",
        """
Project(y, EXPR$1 AS c)
  Filter((EXPR$1 > CAST(1 AS BIGINT)))
    Aggregate(by=[y], COUNT(*))
      Project(y)
        Filter((y <> 'q'))
          Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT a.x, b.y FROM a, b WHERE a.x = b.x AND a.y = 'q'",
        """
Project(x, y)
  Join(inner, (x = x#1))
    Project(x)
      Filter((y = 'q'))
        Scan(a, watermark=(ts - 5000))
    Project(x, y)
      Scan(b, watermark=ts)
""",
    ),
    (
        "SELECT a.x FROM a LEFT JOIN b ON a.x = b.x WHERE b.y = 'q'",
        """
Project(x)
  Join(inner, (x = x#1))
    Project(x)
      Scan(a, watermark=(ts - 5000))
    Project(x)
      Filter((y = 'q'))
        Scan(b, watermark=ts)
""",
    ),
    (
        "SELECT a.x, b.ts FROM a JOIN b ON a.x = b.x AND a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts",
        """
Project(x, ts#1 AS ts)
  IntervalJoin(inner, ((x = x#1) AND (ts >= (ts#1 - 3600000)) AND (ts <= ts#1)), -3600000ms <= ts - ts#1 <= 0ms)
    Project(x, ts)
      Scan(a, watermark=(ts - 5000))
    Project(x, ts)
      Scan(b, watermark=ts)
""",
    ),
    (
        "SELECT a.x FROM a JOIN b ON a.x + 1 = b.x",
        """
Project(x)
  Join(inner, ($f6 = x#1))
    Project(x, (x + 1) AS $f6)
      Scan(a, watermark=(ts - 5000))
    Project(x)
      Scan(b, watermark=ts)
""",
    ),
    (
        "SELECT a.x FROM a JOIN b ON a.y = b.y OR (a.y IS NULL AND b.y IS NULL)",
        """
Project(x)
  Join(inner, (y IS NOT DISTINCT FROM y#1))
    Project(x, y)
      Scan(a, watermark=(ts - 5000))
    Project(y)
      Scan(b, watermark=ts)
""",
    ),
    (
        "SELECT a.x, u.v FROM a JOIN u FOR SYSTEM_TIME AS OF a.ts ON a.y = u.k",
        """
Project(x, v)
  TemporalJoin(inner, (y = k), as of ts)
    Project(x, y, ts)
      Scan(a, watermark=(ts - 5000))
    Scan(u, watermark=ts)
""",
    ),
    (
        "SELECT x FROM a WHERE x IN (SELECT x FROM b WHERE b.y = a.y)",
        """
Project(x)
  Join(semi, ((x = x#1) AND (y#1 = y)))
    Project(x, y)
      Scan(a, watermark=(ts - 5000))
    Project(x, y)
      Scan(b, watermark=ts)
""",
    ),
    (
        "SELECT x FROM a WHERE x NOT IN (SELECT x FROM b)",
        """
Join(anti, (x = x#1), null-aware)
  Project(x)
    Scan(a, watermark=(ts - 5000))
  Project(x)
    Scan(b, watermark=ts)
""",
    ),
    (
        "SELECT x, (SELECT COUNT(*) FROM b WHERE b.x = a.x) AS n FROM a",
        """
Project(x, COALESCE(EXPR$0, 0) AS n)
  Join(left, (x#1 = x))
    Project(x)
      Scan(a, watermark=(ts - 5000))
    Project(EXPR$0, x)
      Aggregate(by=[x], COUNT(*))
        Project(x)
          Scan(b, watermark=ts)
""",
    ),
    (
        "SELECT x, tag FROM a CROSS JOIN UNNEST(tags) AS t (tag)",
        """
Project(x, tag)
  Unnest(tags)
    Project(x, tags)
      Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT window_start, y, SUM(z) AS s FROM TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' MINUTE) WHERE x > 1 "
        "GROUP BY window_start, window_end, y",
        """
Project(window_start, y, EXPR$3 AS s)
  WindowAggregate(TUMBLE(ts, size=60000ms), by=[y], SUM(z), properties=[start, end])
    Project(y, z, ts)
      Filter((x > 1))
        Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT y, COUNT(*) AS c FROM a GROUP BY y, TUMBLE(ts, INTERVAL '1' MINUTE)",
        """
Project(y, EXPR$1 AS c)
  WindowAggregate(TUMBLE(ts, size=60000ms), by=[y], COUNT(*), legacy)
    Project(y, ts)
      Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT x FROM (SELECT x, ROW_NUMBER() OVER (PARTITION BY y ORDER BY z DESC) AS rn FROM a) WHERE rn <= 3",
        """
Project(x)
  Rank(ROW_NUMBER 1..3, by=[y], order=[z DESC])
    Project(x, y, z)
      Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT x, rn FROM (SELECT x, ROW_NUMBER() OVER (PARTITION BY y ORDER BY z DESC) AS rn FROM a) "
        "WHERE rn BETWEEN 2 AND 3",
        """
Project(x, w0$o0 AS rn)
  Rank(ROW_NUMBER 2..3, by=[y], order=[z DESC], with rank)
    Project(x, y, z)
      Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT x FROM (SELECT x, ROW_NUMBER() OVER (PARTITION BY y ORDER BY ts DESC) AS rn FROM a) WHERE rn = 1",
        """
Project(x)
  Deduplicate(last, by=[y], order=ts)
    Project(x, y, ts)
      Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT x, SUM(z) OVER (PARTITION BY y ORDER BY ts) AS s FROM a",
        """
Project(x, w0$o0 AS s)
  Over(by=[y], order=[ts], RANGE UNBOUNDED..0, SUM(z))
    Project(x, y, z, ts)
      Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT x FROM a INTERSECT SELECT x FROM b",
        """
Aggregate(by=[x])
  Join(semi, (x IS NOT DISTINCT FROM x#1))
    Project(x)
      Scan(a, watermark=(ts - 5000))
    Project(x)
      Scan(b, watermark=ts)
""",
    ),
    (
        "SELECT x, y, COUNT(*) AS c FROM a GROUP BY ROLLUP (x, y)",
        """
Project(x, y, EXPR$3 AS c)
  Aggregate(by=[x, y, $e], COUNT(*))
    Expand((x, y), (x), ())
      Project(x, y)
        Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT x FROM a ORDER BY y LIMIT 3",
        """
Project(x)
  Sort(order=[$o0], fetch=3)
    Project(x, y AS $o0)
      Scan(a, watermark=(ts - 5000))
""",
    ),
    (
        "SELECT x FROM a WHERE FALSE",
        """
Project(x)
  Values(0 rows)
""",
    ),
    (
        "SELECT DISTINCT y, COUNT(*) AS c FROM a GROUP BY y",
        """
Project(y, EXPR$1 AS c)
  Aggregate(by=[y], COUNT(*))
    Project(y)
      Scan(a, watermark=(ts - 5000))
""",
    ),
]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    answer, catalog = golden.run(TABLES)
    assert answer.error is None
    return catalog


def _plan(sql: str, catalog: Catalog) -> golden.Answer:
    answer, _ = golden.run([sql], catalog)
    return answer


@pytest.mark.parametrize(("sql", "expected"), PLANS, ids=lambda v: v if v.startswith("SELECT") else "")
def test_plan(sql: str, expected: str, catalog: Catalog) -> None:
    answer = _plan(sql, catalog)
    assert answer.error is None
    assert answer.query is not None
    assert explain(answer.query).replace("default_catalog.default_database.", "") == expected.strip()


NAMES = [
    ("SELECT a.x, b.x, 1, z + 1 FROM a JOIN b ON a.x = b.x", ["x", "x0", "EXPR$2", "EXPR$3"]),
    ("SELECT a.r.f, r.g, a.r FROM a", ["f", "g", "r"]),
    ("SELECT a.r.* FROM a", ["f", "g"]),
    ("SELECT * FROM b JOIN u ON b.y = u.k", ["x", "y", "ts", "k", "v", "ts0"]),
    ("SELECT * FROM a JOIN b USING (x, y)", ["x", "y", "z", "ts", "r", "tags", "ts0"]),
    ("SELECT q.n FROM b AS q (n, m, t)", ["n"]),
    ("VALUES (1, 'a'), (2, 'bcd')", ["EXPR$0", "EXPR$1"]),
    ("WITH t (n) AS (SELECT x FROM a) SELECT n, n AS n FROM t", ["n", "n0"]),
    ("SELECT default_catalog.default_database.a.x, `a`.`y` FROM a", ["x", "y"]),
    ("SELECT twice, `offset` FROM meta", ["twice", "offset"]),
    ("SELECT id, later FROM epochs", ["id", "later"]),
]


@pytest.mark.parametrize(("sql", "names"), NAMES, ids=lambda v: v if isinstance(v, str) else "")
def test_output_names(sql: str, names: list[str], catalog: Catalog) -> None:
    answer = _plan(sql, catalog)
    assert answer.error is None
    assert [n for n, _ in answer.columns] == names


TABLE = "; table: [x: INT, y: STRING, z: BIGINT]"

REFUSED = [
    # Flink 2.3: "Processing time Window TopN (Deduplication, Join) is not supported yet"
    *(
        (
            f"SELECT x FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {by} DESC) AS r FROM {rows}) "
            "WHERE r <= 1",
            "FD507",
            "window over a column with a WATERMARK",
        )
        for rows, keys, by in (
            ("minutes", "window_start, window_end", "x"),
            ("counted", "window_start, window_end", "c"),
            ("minutes", "window_start, window_end, x", "pt"),
        )
    ),
    *(
        (
            f"SELECT l.x FROM {rows} l JOIN minutes r ON l.x = r.x AND l.window_start = r.window_start "
            "AND l.window_end = r.window_end",
            "FD507",
            "window over columns with a WATERMARK",
        )
        for rows in ("minutes", "counted")
    ),
    ("SELECT X FROM a", "FD450", "did you mean 'x'?"),
    ("SELECT r.h FROM a", "FD450", None),
    ("SELECT x FROM a, b", "FD451", "qualify it: a.x or b.x"),
    ("SELECT * FROM (SELECT a.x, b.x FROM a JOIN b ON a.y = b.y)", "FD451", "rename one of them"),
    ("INSERT INTO nameless SELECT x FROM a", "FD247", "add a column `topic` STRING METADATA, or give one topic"),
    ("INSERT INTO many (x) SELECT x FROM a", "FD247", "add 'topic' to the column list"),
    ("SELECT * FROM aa", "FD452", None),
    ("SELECT * FROM latst", "FD452", "did you mean 'latest'?"),
    ("SELECT * FROM a, a", "FD453", None),
    ("SELECT y, COUNT(*) FROM a GROUP BY x", "FD454", None),
    ("SELECT x AS n FROM a GROUP BY n", "FD450", None),
    ("SELECT y FROM a GROUP BY 1", "FD454", None),
    ("SELECT x FROM a WHERE COUNT(*) > 1", "FD455", None),
    ("SELECT x FROM a QUALIFY x > 1", "FD455", None),
    ("SELECT SUM(COUNT(*)) FROM a GROUP BY x", "FD456", None),
    ("SELECT x FROM a WHERE x", "FD457", None),
    ("SELECT x, y FROM a UNION ALL SELECT x FROM b", "FD458", None),
    ("SELECT x FROM a UNION ALL SELECT y FROM b", "FD459", None),
    ("SELECT x FROM a ORDER BY 2 LIMIT 1", "FD460", None),
    ("SELECT DISTINCT x FROM a ORDER BY y LIMIT 1", "FD461", None),
    ("SELECT 1 WHERE TRUE", "FD462", None),
    ("VALUES (1, 2), (3)", "FD463", None),
    ("SELECT x FROM a WHERE x IN (SELECT x, y FROM b)", "FD464", None),
    ("SELECT * FROM b AS q (n)", "FD466", None),
    ("SELECT NULL FROM a", "FD468", None),
    ("INSERT INTO sink SELECT x, y FROM a", "FD480", None),
    (
        "INSERT INTO sink SELECT x y, z FROM a",
        "FD480",
        f"query: [y: INT, z: BIGINT]{TABLE}; is a comma missing before 'y'?",
    ),
    ("INSERT INTO sink SELECT x y FROM a", "FD480", f"query: [y: INT]{TABLE}"),
    (
        "INSERT INTO sink SELECT x AS n, y, z, x FROM a",
        "FD480",
        f"query: [n: INT, y: STRING, z: BIGINT, x: INT]{TABLE}",
    ),
    ("INSERT INTO sink SELECT y, y, z FROM a", "FD481", None),
    ("INSERT INTO sink (x, q) SELECT x, y FROM a", "FD482", None),
    ("INSERT INTO sink (x) SELECT x FROM a", "FD483", None),
    ("INSERT INTO sink PARTITION (x = 1) SELECT y, z FROM a", "FD484", None),
    ("INSERT INTO latest SELECT k, v, ts FROM u", "FD486", None),
    ("SELECT * FROM TUMBLE(TABLE a, DESCRIPTOR(ts), 5)", "FD500", None),
    ("SELECT * FROM SESSION(TABLE a PARTITION BY x + 1, DESCRIPTOR(ts), INTERVAL '1' MINUTE)", "FD500", None),
    ("SELECT * FROM SESSION(TABLE a PARTITION BY CAST(y AS INT), DESCRIPTOR(ts), INTERVAL '1' MINUTE)", "FD500", None),
    ("SELECT * FROM SESSION(TABLE a PARTITION BY 1, DESCRIPTOR(ts), INTERVAL '1' MINUTE)", "FD500", None),
    ("SELECT * FROM SESSION(TABLE a PARTITION BY y ORDER BY ts, DESCRIPTOR(ts), INTERVAL '1' MINUTE)", "FD500", None),
    ("SELECT * FROM TUMBLE(TABLE a, DESCRIPTOR(tss), INTERVAL '1' MINUTE)", "FD450", "did you mean 'ts'?"),
    (
        "SELECT * FROM SESSION(TABLE a PARTITION BY tag, DESCRIPTOR(ts), INTERVAL '1' MINUTE)",
        "FD450",
        "did you mean 'tags'?",
    ),
    ("SELECT * FROM TUMBLE(TABLE joined, DESCRIPTOR(ts), INTERVAL '1' HOUR)", "FD501", None),
    ("SELECT * FROM CUMULATE(TABLE a, DESCRIPTOR(ts), INTERVAL '2' HOUR, INTERVAL '5' HOUR)", "FD502", None),
    ("SELECT * FROM TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' MONTH)", "FD502", None),
    ("SELECT TUMBLE_END(ts, INTERVAL '2' HOUR) FROM a GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)", "FD503", None),
    ("SELECT SUM(x) OVER (ORDER BY ts DESC) FROM a", "FD504", None),
    ("SELECT SUM(x) OVER (ORDER BY x ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM a", "FD504", None),
    ("SELECT SUM(x) OVER (ORDER BY ts), SUM(x) OVER (PARTITION BY y ORDER BY ts) FROM a", "FD505", None),
    ("SELECT x FROM (SELECT x, ROW_NUMBER() OVER (ORDER BY z) AS n FROM a) WHERE n > 2", "FD506", None),
    ("SELECT x FROM (SELECT x, RANK() OVER (ORDER BY z) AS n FROM a) WHERE n < 3", "FD507", None),
    ("SELECT x FROM a ORDER BY x", "FD508", None),
    ("SELECT * FROM a JOIN u FOR SYSTEM_TIME AS OF a.ts ON a.x = u.v", "FD509", None),
    ("SELECT * FROM a RIGHT JOIN u FOR SYSTEM_TIME AS OF a.ts ON a.y = u.k", "FD509", None),
    ("SELECT (SELECT SUM(b.x) FROM b WHERE b.x < a.x) FROM a", "FD515", None),
    ("SELECT * FROM a, UNNEST(y) AS t (e)", "FD516", None),
    ("SELECT a.x FROM a JOIN UNNEST(tags) AS t (e) ON 1", "FD457", None),
    (
        "SELECT a.x FROM a JOIN UNNEST(tags) AS t (e) ON e IN (SELECT y FROM b)",
        "FD515",
        "put it into WHERE or a joined subquery",
    ),
    ("SELECT a.x FROM a LEFT JOIN LATERAL (SELECT y FROM b WHERE b.x = a.x) AS q ON a.x", "FD457", None),
    ("SELECT x, GROUPING(y) FROM a GROUP BY x", "FD454", None),
    ("SELECT x, GROUPING(x, y) FROM a GROUP BY x", "FD454", None),
    ("SELECT GROUPING(y) FROM a", "FD454", None),
    ("SELECT x, a.* AS n FROM a", "FD403", "leave the alias out"),
    ("SELECT * FROM a, LATERAL TABLE (f(x)) AS t (e)", "FD517", None),
    ("SELECT * FROM latest /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */", "FD518", None),
    ("SELECT /*+ STATE_TTL('c' = '1d') */ a.x FROM a JOIN b ON a.x = b.x", "FD518", None),
]


@pytest.mark.parametrize(("sql", "code", "help_"), REFUSED, ids=[f"{c}-{s}" for s, c, _ in REFUSED])
def test_refused(sql: str, code: str, help_: str | None, catalog: Catalog) -> None:
    error = _plan(sql, catalog).error
    assert error is not None
    assert error.code == code
    assert error.span is not None
    assert help_ is None or error.help == help_


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ("a INT, b AS a + 1, c AS b * 2", "FD470"),
        ("ts STRING, WATERMARK FOR ts AS ts", "FD"),
        ("ts TIMESTAMP, WATERMARK FOR ts AS ts", "FD"),
        ("ts TIMESTAMP(3), WATERMARK FOR ts AS CAST(ts AS STRING)", "FD471"),
        ("id INT, PRIMARY KEY (idd) NOT ENFORCED", "FD"),
    ],
)
def test_table_refused(columns: str, code: str) -> None:
    strict = "SET 'flinkddl.strict' = 'true'"
    answer, _ = golden.run([strict, f"CREATE TABLE t ({columns}) WITH ({KAFKA}, 'topic' = 't')"])
    assert answer.error is not None
    assert answer.error.code.startswith(code)


def test_metadata_columns_are_cast_from_the_connectors_type(catalog: Catalog) -> None:
    plan = _plan("SELECT * FROM meta", catalog).query
    assert plan is not None
    casts = {i: (e.args[0].type.summary, e.type.summary) for i, e in plan.metadata}  # type: ignore[attr-defined]
    assert casts == {1: ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3)"), 2: ("BIGINT", "STRING")}
    assert [i for i, _ in plan.computed] == [3]  # type: ignore[attr-defined]


def test_insert_maps_by_position_and_casts(catalog: Catalog) -> None:
    answer = _plan("INSERT INTO sink (z, y) SELECT x, y FROM a", catalog)
    assert answer.error is None
    text = explain(answer.sinks[0].input)
    assert text.startswith("Project(None AS x, y, CAST(x AS BIGINT) AS z)")


def test_rows_that_name_their_topic_are_taken(catalog: Catalog) -> None:
    for columns in ("", " (`topic`, x)"):
        values = "'s1', 1" if columns else "1, 's1'"
        assert _plan(f"INSERT INTO many{columns} VALUES ({values})", catalog).error is None


def test_state_ttl_hint_reaches_its_join(catalog: Catalog) -> None:
    plan = _plan("SELECT /*+ STATE_TTL('a' = '1d', 'q' = '2h') */ a.x FROM a JOIN b AS q ON a.x = q.x", catalog).query
    assert plan is not None
    join = plan.inputs[0]
    assert isinstance(join, Join)
    assert join.ttl == (86_400_000, 7_200_000)


def test_batch_mode_allows_what_streaming_does_not() -> None:
    bounded = [t.replace(START, START + ", 'scan.bounded.mode' = 'latest-offset'") for t in TABLES[:2]]
    answer, catalog = golden.run(["SET 'execution.runtime-mode' = 'batch'", *bounded])
    assert answer.error is None
    for sql in (
        "SELECT x FROM a ORDER BY x DESC",
        "SELECT SUM(x) OVER (ORDER BY ts DESC), COUNT(*) OVER (PARTITION BY y ORDER BY ts) FROM a",
        "SELECT x FROM (SELECT x, RANK() OVER (PARTITION BY y ORDER BY z) AS n FROM a) WHERE n < 3",
    ):
        assert _plan(sql, catalog).error is None
    ranked = _plan("SELECT x FROM (SELECT x, RANK() OVER (ORDER BY z) AS n FROM a) WHERE n < 3", catalog).query
    assert ranked is not None
    rank = ranked.inputs[0]
    assert isinstance(rank, Rank)
    assert rank.function == "RANK"


def _nodes(node: Node) -> list[Node]:
    return [node, *(n for i in node.inputs for n in _nodes(i))]


def test_grouping_sets_are_copied_below_sessions(catalog: Catalog) -> None:
    """Flink's ExpandWindowTableFunctionTransposeRule: a set without the session's key has sessions of its own."""
    sql = (
        "SELECT window_start, y, COUNT(*) AS c FROM SESSION(TABLE a PARTITION BY y, DESCRIPTOR(ts), INTERVAL '1' "
        "MINUTE) GROUP BY window_start, window_end, CUBE (y)"
    )
    answer = _plan(sql, catalog)
    assert answer.query is not None
    names = [n.name for n in _nodes(answer.query)]
    assert names.index("WindowTableFunction") < names.index("Expand")
