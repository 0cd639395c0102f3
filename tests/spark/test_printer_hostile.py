"""Whatever a script calls things, the printed program is the same program: only its literals and variables differ."""

from __future__ import annotations

import ast
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from flinkddl.api import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.script.views import print_views, views_of_jobs
from flinkddl.show import pytext
from flinkddl.show.printer import print_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KAFKA = "'connector' = 'kafka', 'topic' = {topic}, 'properties.bootstrap.servers' = 'b:1', 'format' = 'json'"
SCRIPT = """
SET 'pipeline.name' = {text};
CREATE DATABASE {db};
CREATE FUNCTION {fn} AS 'tests.functions.udfs.annotated' LANGUAGE PYTHON;
CREATE TABLE {t} ({c} STRING COMMENT {text}, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
  COMMENT {text} WITH (KAFKA, 'properties.group.id' = {text}, 'scan.bounded.mode' = 'latest-offset');
CREATE TABLE {db}.{t} ({c} STRING) WITH (KAFKA, 'properties.client.rack' = {text},
  'scan.startup.mode' = 'earliest-offset');
CREATE TABLE {s} ({c} STRING, PRIMARY KEY ({c}) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = {topic},
  'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', 'value.format' = 'json', 'sink.delivery-guarantee' =
  'exactly-once', 'sink.transactional-id-prefix' = {text});
CREATE TABLE {p} ({c} STRING, n BIGINT) WITH ('connector' = 'print', 'print-identifier' = {text});
CREATE TABLE {f} ({c} STRING, part STRING) PARTITIONED BY (part)
  WITH ('connector' = 'filesystem', 'path' = '/tmp/x', 'format' = 'csv', 'csv.field-delimiter' = ';',
  'csv.null-literal' = {text});
CREATE TABLE {d} ({c} STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '3');
CREATE VIEW {v} AS SELECT {fn}(1, 2.0) AS {c}, {text} AS {x} FROM {db}.{t} WHERE {c} <> {text};
INSERT INTO {s} SELECT DISTINCT {c} FROM {v};
INSERT INTO {p} SELECT {c}, COUNT(*) FROM TUMBLE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '5' SECOND)
  GROUP BY {c}, window_start, window_end;
SET 'execution.runtime-mode' = 'batch';
INSERT INTO {f} SELECT {c}, {text} FROM {d} ORDER BY {c} LIMIT 3;
""".replace("KAFKA", KAFKA)
NAMES = ("db", "t", "c", "s", "p", "f", "d", "v", "x")
LINE_ENDS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
EXAMPLES = [
    "x\n__import__('os').system('id')\n#",
    'x"; raise SystemExit #',
    "x'''\nraise SystemExit\n'''",
    '"""\nraise SystemExit\n"""',
    "spark.readStream",
    "x.load()",
    "../../..",
    "`${env:HOME}`",
    "{0}{names}%s%(x)s",
    "\\\n\\",
    "trailing\\",
    "\x00",
    "\ud800",
    "\U0001f600 tä\u00b2\u00aa",
    "\u202e\u2066right to left",
    "ｏｓ",
    "os",
    "union",
    "__import__",
    "lambda",
    "9",
    *(f"x{end}raise SystemExit" for end in LINE_ENDS),
]
TEXTS = st.text(
    st.sampled_from("'\"`\\${}#;()\n\r\u2028\u2029\x85\x0b\x0c\x00aé²_. \u202e😀") | st.characters(), max_size=12
)


def script_of(name: str) -> str:
    def word(role: str) -> str:
        return "`" + f"{role}{name}".replace("`", "``") + "`"

    def text(value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    words = {role: word(role) for role in NAMES}
    # names of functions ignore case and are looked up by their path
    function = "".join(c for c in f"fn{name}" if c not in ".`" and c.upper().lower() == c.lower())
    topic = text(f"n{name}".replace(";", ""))  # a semicolon makes two topics
    return SCRIPT.format(text=text(f"n{name}"), topic=topic, fn=f"`{function}`", **words)


def programs(name: str) -> list[str]:
    # our own `${..}` is replaced before a statement is read; what a variable holds is not looked into again
    script = script_of(name.replace("${", "${DOLLAR}{"))
    compiled = compile_script(SourceText("t.sql", script), variables={"DOLLAR": "$"})
    assert not compiled.has_errors, [d.message for d in compiled.diagnostics]
    starts = [a for a in compiled.actions if isinstance(a, Start)]
    assert len(starts) == 3
    return [print_pyspark((a.job for a in starts), views_of_jobs(compiled)), print_views(compiled.catalog)]


class _Shape(ast.NodeTransformer):
    """Leaves of a program what does not hang on names: texts are gone, variables are numbered as they come."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.number(node.id), node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.number(node.name)
        return self.generic_visit(node)

    def number(self, name: str) -> str:
        return self.names.setdefault(name, f"v{len(self.names)}")


def shape(program: str) -> list[str]:
    """Return the tree of a program, a line a node: what differs is then seen."""
    return ast.dump(_Shape().visit(ast.parse(program)), indent=0).splitlines()


@cache
def harmless() -> list[list[str]]:
    return [shape(p) for p in programs("ame")]


def examples(test):  # type: ignore[no-untyped-def]
    for text in EXAMPLES:
        test = example(name=text)(test)
    return test


@examples
@given(name=TEXTS)
@settings(max_examples=40, deadline=None)
def test_a_name_changes_nothing_but_literals(name: str) -> None:
    assume(not any("\ud800" <= char <= "\udfff" for char in name))  # no text file and no Spark string holds one
    printed = programs(name)
    for program, expected in zip(printed, harmless(), strict=True):
        assert next(((a, b) for a, b in zip_longest(shape(program), expected) if a != b), None) is None
    for program in printed:
        assert all(line.isprintable() for line in program.split("\n"))
        program.encode()
    texts = {n.value for n in ast.walk(ast.parse(printed[0])) if isinstance(n, ast.Constant)}
    assert {f"n{name}", f"default_catalog.default_database.s{name}"} <= texts


@examples
@given(name=TEXTS)
@settings(max_examples=300)
def test_literals_and_comments(name: str) -> None:
    assert ast.literal_eval(pytext.literal(name)) == name
    for text in (pytext.literal(name), pytext.comment(name)):
        assert len(text.splitlines()) == 1
        assert text.isprintable()
    assert ast.parse(pytext.comment(name)).body == []


@given(names=st.lists(TEXTS, unique=True, max_size=6))
@settings(max_examples=200)
def test_variables_are_distinct_and_nobodys(names: list[str]) -> None:
    found = pytext.variables(names, {"os", "start"})
    assert len(set(found.values()) | {f"{v}_of" for v in found.values()}) == 2 * len(names)
    for variable in found.values():
        (statement,) = ast.parse(variable).body
        assert isinstance(statement, ast.Expr)
        assert isinstance(statement.value, ast.Name)
        assert statement.value.id == variable not in {"os", "start"}


@pytest.mark.spark
def test_sparks_own_variables_are_text(spark: SparkSession) -> None:
    text = "${D}{env:HOME}"
    sql = f"CREATE VIEW v AS SELECT '{text}' AS `{text}`; SELECT `{text}`, '{text}' || `{text}` AS b FROM v"
    result = Catalog(spark, views=False).execute(sql, variables={"D": "$"})
    assert result.collect() == [("${env:HOME}", "${env:HOME}" * 2)]
