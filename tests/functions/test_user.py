"""User functions: declarations, typed calls, refusals."""

from __future__ import annotations

import pytest

from flinkddl import sqltypes as T
from flinkddl.catalog.model import Function
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.user import UndeclaredTypes, declared
from flinkddl.plan.expressions import user_call
from flinkddl.plan.expressions.literals import text
from flinkddl.plan.rex import Literal
from flinkddl.spark.expressions import to_spark, user_functions

HERE = "tests.functions.udfs"


def integer(value: int) -> Literal:
    return Literal(T.INT.not_null(), value)


def python(name):
    return Function(name, f"{HERE}.{name}", "PYTHON", named=True)


def test_declared_types():
    found = declared(f"{HERE}.repeat", named=True)
    assert str(found.result) == "VARCHAR(10)"
    assert [str(a) for a in found.arguments] == ["STRING", "INT"]
    assert found.target == f"python:{HERE}.repeat"


def test_annotations_are_types():
    found = declared(f"{HERE}.annotated")
    assert (str(found.result), [str(a) for a in found.arguments]) == ("STRING", ["BIGINT", "DOUBLE"])


@pytest.mark.parametrize("name", [f"{HERE}.bare", f"{HERE}.missing", "no.such.module"])
def test_undeclared(name):
    with pytest.raises(UndeclaredTypes):
        declared(name)


def test_call_casts_arguments_and_names_its_target():
    rex = user_call("annotated", python("annotated"), [integer(1), integer(2)], None)
    assert to_spark(rex, []) == "`udf_annotated`(CAST(1 AS BIGINT), CAST(2 AS DOUBLE))"
    assert user_functions(rex) == {"udf_annotated": f"python:{HERE}.annotated"}


@pytest.mark.parametrize(
    ("function", "args", "code"),
    [
        (python("repeat"), [text("a")], "FD401"),
        (python("repeat"), [integer(1), integer(2)], "FD401"),
        (python("bare"), [integer(1)], "FD402"),
        (Function("j", "com.example.F", "JAVA"), [integer(1)], "FD402"),
    ],
)
def test_refused(function, args, code):
    with pytest.raises(FlinkDdlError) as e:
        user_call(function.name, function, args, None)
    assert e.value.diagnostics[0].code == code
