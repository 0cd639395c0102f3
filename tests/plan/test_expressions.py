"""Typing and lowering of expressions, without a JVM: one line a case."""

from __future__ import annotations

import pytest
from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.plan.expressions import is_aggregate, resolve_aggregate, resolve_expression
from flinkddl.plan.rex import InputRef
from flinkddl.plan.scope import Session
from flinkddl.spark.expressions import to_spark

COLUMNS = {
    "i": T.INT,
    "n": T.INT.not_null(),
    "l": T.BIGINT.not_null(),
    "d": T.DECIMAL(10, 2).not_null(),
    "x": T.DOUBLE.not_null(),
    "f": T.FLOAT.not_null(),
    "s": T.STRING,
    "b": T.BOOLEAN.not_null(),
    "ts": T.TIMESTAMP(3),
    "rt": T.TIMESTAMP(3).as_attribute("ROWTIME"),
    "d8": T.DATE.not_null(),
    "ltz": T.TIMESTAMP_LTZ(3),
    "arr": T.ARRAY(T.INT),
    "m": T.MAP(T.STRING, T.INT),
}


class MiniScope:
    """Columns of one table and nothing else."""

    session = Session()

    def special(self, node):
        if isinstance(node, exp.Column):
            if node.name not in COLUMNS:
                raise FlinkDdlError.of("FD450", f"column '{node.name}' not found")
            return InputRef(COLUMNS[node.name], list(COLUMNS).index(node.name))
        return None

    def span(self, node):
        return None

    def function(self, name):
        return None


def parse(text):
    script = parse_script(SourceText("case", f"SELECT {text}"))
    assert script.ok, script.diagnostics
    return script.statements[0].tree.expressions[0]


def resolve(text):
    return resolve_expression(parse(text), MiniScope())


@pytest.mark.parametrize(
    ("text", "type_", "spark"),
    [
        ("1", "INT NOT NULL", "1"),
        ("-2147483648", "INT NOT NULL", "(-2147483648)"),
        ("2147483648", "BIGINT NOT NULL", "2147483648L"),
        ("1.50", "DECIMAL(3, 2) NOT NULL", "CAST('1.50' AS DECIMAL(3,2))"),
        ("0.05", "DECIMAL(3, 2) NOT NULL", "CAST('0.05' AS DECIMAL(3,2))"),
        ("1E3", "DOUBLE NOT NULL", "CAST('1000.0' AS DOUBLE)"),
        ("'it''s \\d'", "CHAR(7) NOT NULL", "'it\\'s \\\\d'"),
        ("i", "INT", "`i`"),
        ("rt", "TIMESTAMP(3)", "`rt`"),
        ("rt IS NULL", "BOOLEAN NOT NULL", "(CAST(`rt` AS TIMESTAMP_NTZ) IS NULL)"),
        ("n + l", "BIGINT NOT NULL", "flinkddl.add_long(CAST(`n` AS BIGINT), `l`)"),
        ("d + d", "DECIMAL(11, 2) NOT NULL", "try_add(`d`, `d`)"),
        ("d / n", "DECIMAL(21, 13) NOT NULL", None),
        ("f + x", "FLOAT NOT NULL", None),
        ("f + d", "DOUBLE NOT NULL", None),
        ("i = 1 AND NOT b", "BOOLEAN", "((`i` = 1) AND (NOT `b`))"),
        ("i BETWEEN 1 AND 2", "BOOLEAN", "((`i` >= 1) AND (`i` <= 2))"),
        ("n IN (1, 2)", "BOOLEAN NOT NULL", "(`n` IN (1, 2))"),
        ("x = x", "BOOLEAN NOT NULL", "((`x` = `x`) AND NOT isnan(`x`))"),
        ("CASE WHEN b THEN 1 ELSE 2.5 END", "DECIMAL(11, 1) NOT NULL", None),
        ("CASE WHEN b THEN 'a' ELSE 'abc' END", "VARCHAR(3) NOT NULL", None),
        ("COALESCE(i, 0)", "INT NOT NULL", "coalesce(`i`, 0)"),
        ("NULLIF(n, 1)", "INT", "nullif(`n`, 1)"),
        ("TIMESTAMP '2024-01-01 10:00:00.5'", "TIMESTAMP(1) NOT NULL", "TIMESTAMP_NTZ '2024-01-01 10:00:00.500000'"),
        ("X'0aff'", "BINARY(2) NOT NULL", "X'0aff'"),
        ("INTERVAL '1' DAY", "INTERVAL SECOND(3) NOT NULL", None),
        ("ts + INTERVAL '1' DAY", "TIMESTAMP(3)", None),
        ("rt - INTERVAL '5' SECOND", "TIMESTAMP(3)", None),
        ("EXTRACT(HOUR FROM ltz)", "BIGINT", "CAST(hour(CAST(`ltz` AS TIMESTAMP_NTZ)) AS BIGINT)"),
        ("FLOOR(ts TO HOUR)", "TIMESTAMP(3)", None),
        ("s LIKE 'a\\_b'", "BOOLEAN", "(`s` LIKE 'a\\\\\\\\_b')"),
        ("UPPER('abc')", "CHAR(3) NOT NULL", "upper('abc')"),
        ("'a' || 'bc'", "CHAR(3) NOT NULL", "concat('a', 'bc')"),
        ("arr[1]", "INT", "get(`arr`, 1 - 1)"),
        ("m['x']", "INT", "try_element_at(`m`, 'x')"),
        ("ROW(n, s)", "ROW<`EXPR$0` INT NOT NULL, `EXPR$1` STRING> NOT NULL", None),
        ("MAP['a', 1]", "MAP<CHAR(1) NOT NULL, INT NOT NULL> NOT NULL", "flinkddl.map_last(array('a'), array(1))"),
        ("CAST(s AS INT)", "INT", "CAST(flinkddl.cast_long(`s`, 32, true) AS INT)"),
        ("TRY_CAST(n AS STRING)", "STRING", "CAST(`n` AS STRING)"),
        ("CAST(d AS DECIMAL(5, 2))", "DECIMAL(5, 2) NOT NULL", "try_cast(`d` AS DECIMAL(5,2))"),
        ("JSON_VALUE(s, '$.a' RETURNING INT)", "INT", None),
        ("JSON_OBJECT('b' VALUE n, 'a' VALUE JSON_ARRAY(1))", "STRING NOT NULL", None),
        ("SUBSTRING(s FROM 2 FOR 3)", "STRING", "substring(`s`, 2, 3)"),
        ("l % n", "INT NOT NULL", "CAST((`l` % `n`) AS INT)"),
        ("n % l", "BIGINT NOT NULL", "CAST((`n` % `l`) AS BIGINT)"),
        ("CASE WHEN b THEN f ELSE x END", "FLOAT NOT NULL", None),
        ("GREATEST(f, x)", "DOUBLE NOT NULL", None),
        ("(ts - ts) DAY", "INTERVAL SECOND(3)", "(`ts` - `ts`)"),
        ("CAST(1.5 AS INTERVAL HOUR)", "INTERVAL SECOND(3) NOT NULL", to_spark(resolve("INTERVAL '90' MINUTE"), [])),
        ("CAST(n AS INTERVAL HOUR)", "INTERVAL SECOND(3) NOT NULL", "(INTERVAL '0.001' SECOND * CAST(`n` AS BIGINT))"),
        ("TIMESTAMPDIFF(HOUR, TIME '01:00:00', TIME '02:00:00')", "INT NOT NULL", None),
        ("PI", "DOUBLE NOT NULL", "pi()"),
        ("ROUND(d, 1)", "DECIMAL(10, 1) NOT NULL", None),
    ],
)
def test_type_and_text(text, type_, spark):
    rex = resolve(text)
    assert str(rex.type) == type_
    if spark is not None:
        assert to_spark(rex, list(COLUMNS)) == spark


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("s = 1", "FD401"),
        ("s + 1", "FD401"),
        ("d8 = ts", "FD401"),
        ("n + NULL", "FD401"),
        ("UPPERCASE(s)", "FD400"),
        ("CASE WHEN b THEN 'a' ELSE 1 END", "FD401"),
        ("99999999999999999999", "FD406"),
        ("COUNT(n)", "FD404"),
        ("E", "FD450"),
        ("1 / 0E0", "FD406"),
        ("m < m", "FD401"),
        ("ARRAY[1][0]", "FD401"),
        ("CAST(d8 AS INT)", "FD405"),
        ("CAST(d AS INTERVAL DAY)", "FD405"),
        ("CAST(n AS INTERVAL DAY TO SECOND)", "FD405"),
        ("CAST('1-2' AS INTERVAL YEAR TO MONTH)", "FD405"),
        ("CAST(3000000000 AS INTERVAL DAY)", "FD406"),
        ("TIMESTAMPDIFF(MONTH, TIME '01:00:00', TIME '02:00:00')", "FD401"),
        ("TIMESTAMPDIFF(SECOND, TIME '01:00:00', ts)", "FD401"),
        ("TIMESTAMPADD(MILLISECOND, 1, d8)", "FD401"),
        ("JSON_VALUE(s, s)", "FD401"),
        ("CURRENT_WATERMARK(ts)", "FD402"),
        ("s LIKE 'a#b' ESCAPE '#'", "FD401"),
    ],
)
def test_refused(text, code):
    with pytest.raises(FlinkDdlError) as e:
        resolve(text)
    assert e.value.diagnostics[0].code == code


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("SUM(n)", "INT NOT NULL"),
        ("SUM(d)", "DECIMAL(38, 2) NOT NULL"),
        ("AVG(d)", "DECIMAL(38, 6) NOT NULL"),
        ("COUNT(*)", "BIGINT NOT NULL"),
        ("MAX(s)", "STRING"),
    ],
)
def test_aggregate_types(text, type_):
    node = parse(text)
    assert is_aggregate(node)
    assert str(resolve_aggregate(node, MiniScope()).type) == type_
