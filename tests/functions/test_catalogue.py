"""The catalogue as a whole: every row can be read, every row is exercised by a recorded case or named here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from flinkddl import sqltypes as T
from flinkddl.functions.catalogue import AGGREGATES, ALIASES, FUNCTIONS, lookup
from flinkddl.functions.core import Operand, SignatureError, Unavailable
from flinkddl.functions.typing import adjusted_decimal, can_cast_implicitly, common_type, decimal_result


def test_every_row_parses():
    for row in (*FUNCTIONS.values(), *AGGREGATES.values()):
        assert row.alternatives, row.name
        assert row.name == row.name.upper()


GOLDENS = Path(__file__).parents[1] / "data" / "goldens"
# rows without a recorded case -> why
UNRECORDED = {
    **dict.fromkeys(("RAND", "RAND_INTEGER", "UUID"), "random: another value in each row"),
    **dict.fromkeys(
        ("CURRENT_DATE", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_TIMESTAMP", "NOW"), "of the clock"
    ),
    "CURRENT_ROW_TIMESTAMP": "of the clock",
    **dict.fromkeys(
        ("NEGATE", "FLOOR_TO", "CEIL_TO", "MINUS_DATE"), "how the planner names -x, FLOOR(x TO unit), d - d"
    ),
    **dict.fromkeys(("SUM0", "SINGLE_VALUE"), "how the planner names a part of another aggregate, a scalar subquery"),
    **dict.fromkeys(("DEGREES", "MAP_VALUES"), "a gap: nobody has recorded what Flink gives"),
}


def unavailable(row) -> bool:
    try:
        row.operands([Operand(T.TIMESTAMP(3))], {})
    except Unavailable:
        return True
    except SignatureError:
        pass
    return False


def recorded() -> tuple[set[str], str]:
    """The functions of functions.jsonl, and the SQL of all recorded cases."""
    rows = [json.loads(line) for f in sorted(GOLDENS.rglob("*.jsonl")) for line in f.read_text().splitlines()]
    texts = (r[k] for r in rows for k in ("sql", "query") if isinstance(r.get(k), str))
    return {r["function"] for r in rows if "function" in r}, "\n".join(texts).upper()


def test_every_row_has_a_recorded_case_or_a_reason_for_having_none():
    functions, text = recorded()
    left = {
        name
        for name, row in (FUNCTIONS | AGGREGATES).items()
        if name not in functions and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) and not unavailable(row)
    }
    assert left == set(UNRECORDED)


def test_aliases_lead_somewhere():
    assert all(lookup(alias) is not None for alias in ALIASES)
    assert lookup("substr") is FUNCTIONS["SUBSTRING"]
    assert lookup("no_such_function") is None


def test_known_and_unavailable():
    with pytest.raises(Unavailable):
        FUNCTIONS["CURRENT_WATERMARK"].operands([Operand(T.TIMESTAMP(3))], {})
    with pytest.raises(Unavailable):
        FUNCTIONS["BITMAP_OR"].operands([], {})


def test_signature_message_shows_what_fits():
    with pytest.raises(SignatureError, match="UPPER"):
        FUNCTIONS["UPPER"].operands([Operand(T.INT)], {})


@pytest.mark.parametrize(
    ("types", "common"),
    [
        ([T.INT, T.BIGINT.not_null()], "BIGINT"),
        ([T.INT.not_null(), T.DECIMAL(2, 1).not_null()], "DECIMAL(11, 1) NOT NULL"),
        ([T.CHAR(3).not_null(), T.CHAR(3).not_null()], "CHAR(3) NOT NULL"),
        ([T.CHAR(3), T.CHAR(5)], "VARCHAR(5)"),
        ([T.FLOAT, T.DECIMAL(3, 2)], "DOUBLE"),
        ([T.TIMESTAMP(3), T.TIMESTAMP(6)], "TIMESTAMP(6)"),
        ([T.ARRAY(T.INT), T.ARRAY(T.BIGINT)], "ARRAY<BIGINT>"),
        ([T.NULL, T.INT.not_null()], "INT"),
        ([T.STRING, T.INT], None),
        ([T.DATE, T.TIMESTAMP(3)], None),
    ],
)
def test_common_type(types, common):
    found = common_type(types)
    assert (found and str(found)) == common


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        ("+", T.DECIMAL(30, 5), T.DECIMAL(30, 20), "DECIMAL(38, 12)"),
        ("*", T.DECIMAL(20, 10), T.DECIMAL(20, 10), "DECIMAL(38, 17)"),
        ("/", T.DECIMAL(10, 2), T.INT, "DECIMAL(21, 13)"),
        ("/", T.DECIMAL(38, 10), T.DECIMAL(38, 10), "DECIMAL(38, 6)"),
        ("%", T.DECIMAL(5, 2), T.DECIMAL(3, 1), "DECIMAL(4, 2)"),
    ],
)
def test_decimal_arithmetic(operator, left, right, result):
    assert str(decimal_result(operator, left, right)) == result


def test_decimals_keep_whole_digits():
    assert str(adjusted_decimal(50, 20)) == "DECIMAL(38, 8)"


@pytest.mark.parametrize(
    ("source", "target", "fits"),
    [
        *((T.INT, T.BIGINT, True), (T.BIGINT, T.INT, False), (T.CHAR(3), T.STRING, True), (T.INT, T.STRING, False)),
        (T.ROW(("a", T.INT)), T.ROW(("b", T.BIGINT)), True),
        (T.ROW(("a", T.INT)), T.ROW(("a", T.INT), ("b", T.INT)), False),
        (T.ARRAY(T.ROW(("a", T.INT), ("b", T.INT))), T.ARRAY(T.ROW(("a", T.INT))), False),
    ],
)
def test_implicit_casts(source, target, fits):
    assert can_cast_implicitly(source, target) is fits
