"""Calls of the Java functions under ``tests/jvm/udf/acme``, whose types and values Flink's are (``record_java.py``)."""

from __future__ import annotations

import re
from pathlib import Path

ANSWERS = Path(__file__).parent.parent / "data" / "java_calls.json"
SOURCES = Path(__file__).parent.parent / "jvm" / "udf" / "acme" / "acme"

FUNCTIONS = {
    f"j_{name.lower()}": f"acme.{file}${name}"
    for file in ("Scalars", "Tables", "Aggregates")
    for name in re.findall(
        r"^    public static class (\w+) extends", (SOURCES / f"{file}.java").read_text(encoding="utf-8"), re.MULTILINE
    )
}
"""Each class of a function, under its name in small letters behind ``j_``: some are names of Flink's functions."""

ROWS = """
CREATE TEMPORARY VIEW given AS SELECT * FROM (VALUES
  (1, CAST(2 AS BIGINT), 'ab c', CAST(1.5 AS DECIMAL(10, 2)), TIMESTAMP '2024-01-02 03:04:05.123', DATE '2024-01-02',
   TIME '03:04:05', ARRAY[1, 2], MAP['a', 1], ROW(1, 'x'), TRUE, CAST(1.5 AS DOUBLE), x'0102', CAST(1 AS TINYINT),
   CAST(2 AS SMALLINT), CAST(1.5 AS FLOAT), 7, ROW(1.0E0, 2.0E0), ROW(3, 'Bob', CAST(1.25 AS DECIMAL(5, 2)))),
  (CAST(NULL AS INT), CAST(NULL AS BIGINT), CAST(NULL AS STRING), CAST(NULL AS DECIMAL(10, 2)),
   CAST(NULL AS TIMESTAMP(3)), CAST(NULL AS DATE), CAST(NULL AS TIME), CAST(NULL AS ARRAY<INT>),
   CAST(NULL AS MAP<STRING, INT>), CAST(NULL AS ROW<a INT, b STRING>), CAST(NULL AS BOOLEAN), CAST(NULL AS DOUBLE),
   CAST(NULL AS BYTES), CAST(NULL AS TINYINT), CAST(NULL AS SMALLINT), CAST(NULL AS FLOAT), 8,
   CAST(NULL AS ROW<a DOUBLE NOT NULL, b DOUBLE NOT NULL>),
   CAST(NULL AS ROW<a INT NOT NULL, b STRING, c DECIMAL(5, 2)>))
) AS t (n, b, s, d, ts, dt, tm, arr, m, r, f, x, bin, tiny, small, fl, i, point, person)
"""

SCALARS = """
upper(s) | upper('a') | upper(CAST(s AS CHAR(3))) | upper(CAST(s AS VARCHAR(2)))
upper(NULL) | upper(n) | upper(s, s)
upper() | add(1, 2) | add(i, i) | add(n, n) | add(b, b) | add(x, x) | add(i, CAST(2 AS BIGINT)) | add(tiny, small)
add(fl, 1) | add(d, d) | add(1.5, 2) | add(CAST(1 AS SMALLINT), i) | add('1', '2') | add(NULL, NULL) | add(TRUE, 1)
boxed(n) | boxed(tiny) | boxed(b) | boxed(NULL) | boxed(i) | small(tiny, small) | small(fl) | small(f) | small(x)
concat('a', 'b') | concat(s) | concat() | concat(s, n) | sum('x', 1, 2, n) | sum('x') | sum(s, b) | sum('x', tiny)
ints(1, 2, 3) | ints() | ints(n) | ints(CAST(1 AS TINYINT), i) | price(d) | price(1) | price(x) | price(NULL)
price(CAST(1.239 AS DECIMAL(12, 3))) | untyped(d) | any(n) | any(s) | any(d) | any(dt) | any(i, i) | any(f)
hinted(1, n) | hinted(s, 'y') | hinted(tiny, i) | hinted(b, b) | hinted('a', 'b', 'c') | hinted(i)
times(dt, n) | times(ts) | times(dt, 1) | clock(tm) | times(CAST(ts AS TIMESTAMP_LTZ(3))) | sqltimes(ts) | sqltimes(dt)
times(CAST(ts AS TIMESTAMP(9)))
words(s) | words('') | lists(arr) | lists(ARRAY[1, 2], 1) | lists(arr, 1) | lists(ARRAY[CAST(1 AS TINYINT)]) | maps(s)
maps(m, 'a') | maps(m, 'b') | bytes(bin) | bytes(s) | makerow(n, s) | takerow(r)
takerow(ROW(n, s)) | takerow(ROW(s, n))
takerowdata(r) | takerowdata(ROW(5, 'z')) | pojo('Bob', n) | pojo(person) | pojo(pojo('Al', 2))
pojo(point) | pojo(r, 1)
pojo(ROW('l', 1), 1) | generic(b) | generic(n) | generic(s) | named('x', 1) | named(s, n) | named('x') | named(n)
named(a => 'x', b => 2) | named(b => 2, a => 'x') | named(a => 'x')
dice() | opened(n) | notnullhint(i) | notnullhint(n) | notnullhint(1) | wide(n) | noeval(n) | hidden(s)
noconstructor(s)
nested(s) | nested(MAP['a', ARRAY[1]], f) | digits(s) | static(s, 2) | static(s, n) | chars('a')
intervals(INTERVAL '1' MINUTE) | intervals(INTERVAL '2' MONTH, 1) | intervals(INTERVAL '1:02' HOUR TO MINUTE)
objectresult(n) | samemethod(n, s) | samemethod(b, s) | samemethod(x, s) | samemethod(x) | samemethod(n)
samemethod(1, 'a', 'b')
split(s) | weightedavg(b, n) | distinct(s) | longest(s) | longest(n)
weightedavg(n, n) | weightedavg(b) | average(x) | average(n) | average(s)
"""

TABLES = """
split(s) | split(n) | splitrow(s) | splitrow(s, 'b') | splitrow() | splitrowdata(s) | splitpojo(s) | range(3) | range(i)
range(n) | range(1, n) | permethod(s) | permethod(b) | permethod(n) | global(s, n) | global(s) | global(n) | nothing()
eachlong(b, 2) | eachlong(n, 2) | upper(s) | weightedavg(b, n)
"""


def listed(text: str) -> list[str]:
    """Return the calls of a table above, each function by its name in ``FUNCTIONS``."""
    named = re.sub(r"\b([a-z]\w*)\(", r"j_\1(", text)
    return [call.strip() for line in named.strip().splitlines() for call in line.split("|")]


SCALAR_CALLS = listed(SCALARS)
TABLE_CALLS = listed(TABLES)


def scalar_query(call: str) -> str:
    """Return a query over the rows above that has a call's values as text."""
    return f"SELECT CAST({call} AS STRING) AS v FROM given"


def table_query(call: str) -> str:
    """Return a query with the rows that a table function makes of each row above."""
    return f"SELECT given.i, t.* FROM given LEFT JOIN LATERAL TABLE({call}) AS t ON TRUE"
