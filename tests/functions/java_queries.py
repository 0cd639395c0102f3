"""Queries that call the Java functions under ``tests/jvm/udf``, each run in batch and as a stream, here and in Flink.

Each gives ``g`` and ``v``, both STRING. ``latest`` takes rows back: a key's row is replaced by a newer one, or deleted.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.functions.java_calls import ANSWERS, FUNCTIONS, ROWS

RECORDED = Path(__file__).parent.parent / "data" / "java_queries.json"

COM = {
    f"c_{name.lower()}": f"com.acme.{file}${name}"
    for file, names in (
        ("Aggregates", ("WeightedAvg", "CountDistinct", "Collect", "Total", "MaxOf", "Everything", "Count")),
        ("Scalars", ("Greet", "CountChar", "Plus", "Asked")),
    )
    for name in names
}
ALL = FUNCTIONS | COM | {"count_char": "com.github.nexmark.flink.udf.CountChar"}
"""The functions of all three jars."""
JARS = ("acme", "com", "nexmark")
OWN = {"j_own": "acme.Scalars$Own RETURNS STRING"}
"""What Flink learns from ``getTypeInference``, the user tells us."""

_OPS = "+++++++++-+++++-++++++++"
_G, _S = "abab", ("x y", None, "pear", "x", "long text", "banana")
_KEYS = (1, 2, 3, 4, 5, 1, 2, 6, 7, 3, 8, 1, 4, 9, 5, 2, 2, 6, 10, 7, 3, 8, 9, 7)
EVENTS = [
    {
        "n": n,
        "k": k,
        "g": _G[k % 4],
        "s": _S[n * 5 % 6],
        "b": None if n % 7 == 0 else n * 3 % 10,
        "w": None if n % 11 == 3 else n % 4 + 1,
        "x": n / 4,
        "op": op,
        "ts": f"2024-01-01 00:{n:02d}:00",
    }
    for n, (k, op) in enumerate(zip(_KEYS, _OPS, strict=True))
]
LINES = [json.dumps(event) for event in EVENTS]

DECLARED = (
    "CREATE TABLE events (n INT, k INT, g STRING, s STRING, b BIGINT, w INT, x DOUBLE, op STRING, ts TIMESTAMP(3),"
    " pt AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ({options})",
    "CREATE TEMPORARY VIEW latest AS SELECT * FROM (SELECT n, k, g, s, b, w, x, op, ROW_NUMBER() OVER (PARTITION BY k"
    " ORDER BY ts DESC) AS r FROM events) AS ranked WHERE r = 1 AND op = '+'",
    ROWS,
    "CREATE TEMPORARY VIEW calls AS SELECT given.* FROM events JOIN given ON events.n = given.i",
)

_AGGREGATES = {
    "j_weightedavg": "b, w",
    "j_average": "x",
    "j_distinct": "s",
    "c_weightedavg": "COALESCE(b, 5), COALESCE(w, 1)",
    "c_countdistinct": "s",
    "c_count": "",
    "c_collect": "COALESCE(s, 'none')",
}
"""Those that take rows back, and their arguments."""
_COMING = {
    "j_longest": "s",
    "c_total": "CAST(x AS DECIMAL(10, 2))",
    "c_maxof": "x",
    "c_everything": "COALESCE(s, '-'), n",
    "j_trace": "s",
}
"""Those whose rows only come, and ``j_trace``, which tells their order."""
_FRAMES = {
    "all rows": "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "three rows": "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    "all before": "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "five minutes": "RANGE BETWEEN INTERVAL '5' MINUTE PRECEDING AND CURRENT ROW",
}


def _grouped() -> dict[str, str]:
    found = {}
    for name, args in (_AGGREGATES | _COMING).items():
        tables = ("events", "latest") if name in _AGGREGATES else ("events",)
        for table in tables:
            value = f"CAST({name}({args}) AS STRING)"
            if name == "c_collect" and table == "latest":
                value = f"CAST(CARDINALITY({name}({args})) AS STRING)"  # in which order they are is left open
            found[f"{name} of {table}"] = f"SELECT g, {value} AS v FROM {table} GROUP BY g"
    of = "FROM {} GROUP BY g"
    found["distinct of events"] = f"SELECT g, CAST(j_average(DISTINCT x) AS STRING) AS v {of.format('events')}"
    found["distinct of latest"] = f"SELECT g, CAST(j_weightedavg(DISTINCT b, w) AS STRING) AS v {of.format('latest')}"
    found["distinct and others"] = (
        "SELECT g, CAST(j_distinct(DISTINCT s) AS STRING) || ' ' || CAST(c_count() AS STRING) || ' ' ||"
        f" CAST(COUNT(DISTINCT w) AS STRING) AS v {of.format('events')}"
    )
    found["filter"] = f"SELECT g, CAST(j_weightedavg(b, w) FILTER (WHERE n > 4) AS STRING) AS v {of.format('latest')}"
    found["window"] = (
        "SELECT g || CAST(window_start AS STRING) AS g, CAST(j_weightedavg(b, w) AS STRING) || j_longest(s) AS v FROM"
        " TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' MINUTE)) GROUP BY g, window_start, window_end"
    )
    return found


def _over() -> dict[str, str]:
    found = {}
    for name, frame in _FRAMES.items():
        call = "j_trace(s)" if "UNBOUNDED" in frame else "j_weightedavg(b, w)"
        value = f"CAST({call} OVER (PARTITION BY g ORDER BY ts {frame}) AS STRING)"
        found[f"over {name}"] = f"SELECT CAST(n AS STRING) AS g, {value} AS v FROM events"
    over = f"OVER (PARTITION BY g ORDER BY ts {_FRAMES['three rows']})"
    found["over distinct"] = (
        f"SELECT CAST(n AS STRING) AS g, CAST(j_distinct(DISTINCT s) {over} AS STRING) AS v FROM events"
    )
    return found


def _listed(texts: list[str]) -> str:
    return f"CAST(ARRAY[{', '.join(f'CAST({t} AS STRING)' for t in texts)}] AS STRING)"


def _called() -> dict[str, str]:
    """Return one query with all scalar calls of ``java_calls``, and one for each call of a table function."""
    entries = json.loads(ANSWERS.read_text(encoding="utf-8"))
    scalars, tables = entries[: entries.index(None)], entries[entries.index(None) + 1 :]
    taken = [e["call"] for e in scalars if "rows" in e and not e["call"].startswith(tuple(_AGGREGATES | _COMING))]
    taken += ["j_own(d)", "c_greet(s)", "c_plus(n, i)", "c_plus(b, b)"]
    taken += ["count_char(s, 'b')", "c_countchar(s, 'c')"]
    found = {"j_later": "SELECT CAST(i AS STRING) AS g, j_later(n) AS v FROM calls"}
    found["c_asked"] = "SELECT CAST(i AS STRING) AS g, c_asked(n) AS v FROM calls"
    found |= {"scalars": f"SELECT CAST(i AS STRING) AS g, {_listed(taken)} AS v FROM calls"}
    for e in (e for e in tables if "rows" in e):
        names = [f"c{n}" for n in range(len(e["columns"]) - 1)]
        joined = f"calls LEFT JOIN LATERAL TABLE({e['call']}) AS t ({', '.join(names)}) ON TRUE"
        found[f"table {e['call']}"] = f"SELECT CAST(i AS STRING) AS g, {_listed(names)} AS v FROM {joined}"
    return found


QUERIES = _called() | _grouped() | _over()


def named(names: list[str]) -> str:
    """Return all these queries in one, each row with its query's name before it."""
    return " UNION ALL ".join(
        f"SELECT '{name.replace(chr(39), chr(39) * 2)}' AS q, g, v FROM ({QUERIES[name]})" for name in names
    )
