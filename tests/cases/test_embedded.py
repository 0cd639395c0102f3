"""SQL inside other files: what is found, that every character keeps its place, and what a program puts together."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.script.embedded import embedded


@dataclass(frozen=True)
class Case:
    """A file, the statements in it as they begin in it (line, column, first words), and lines that are composed."""

    name: str
    text: str
    statements: tuple[tuple[int, int, str], ...] = ()
    composed: tuple[int, ...] = ()


JAVA = '''class Job { // it's
  char c = '"';
  void run() {
    env.executeSql("CREATE TABLE t (\\n" + /* "SELECT 1" */
        "  id INT) " + // the "columns"
        "WITH ('connector' = 'datagen')");
    env.executeSql("""
        INSERT INTO p
        SELECT id FROM t
        """);
    log("Create a table"); log("Select the best one");
    env.sqlQuery("SELECT a FROM " + name);
    env.sqlQuery(prefix + "SELECT b FROM t");
    env.sqlQuery(String.format("SELECT c FROM %s", name));
    env.sqlQuery("SELECT d FROM t WHERE a LIKE '%s'");
  }
}
'''
SCALA = '''val ddl = """CREATE TABLE t (
            |  id INT
            |) WITH ('connector' = 'datagen')""".stripMargin
env.sqlQuery(s"SELECT * FROM $name")
'''
PYTHON = '''# don't
t_env.execute_sql("""
    CREATE TABLE t (id INT)
""")
t_env.execute_sql('SELECT \\'x\\' AS a '
                  'FROM t')
t_env.execute_sql(f"SELECT {x} FROM t")
t_env.execute_sql("SELECT {} FROM t".format(x))
t_env.execute_sql("SELECT %s FROM t" % x)
'''
MARKDOWN = """# Job

```sql
CREATE TABLE t (id INT)
```
SELECT 1 is prose

```python
x = 'SELECT 1 FROM t'
```
  ~~~ flink-sql
  SELECT id FROM t;
  ~~~
"""
YAML = """kind: ConfigMap
data:
  job.sql: |
    CREATE TABLE t (id INT);

    SELECT y FROM t
  text: |
    Create a table
  other: "INSERT INTO t SELECT 1"
  list:
    - SELECT w FROM t
  args: ["-e", "SELECT a\\nFROM t WHERE b = \\u0027c' "]
  single: 'INSERT INTO t SELECT ''x'''
    - >-
      SELECT id FROM tt
"""
NOTEBOOK = (
    '{"cells": [{"cell_type": "markdown", "source": ["# x"]},'
    ' {"cell_type": "code", "source": ["%%flinksql --x\\n", "CREATE TABLE t (id INT);"]},'
    ' {"cell_type": "code", "source": "env.execute_sql(\'SELECT q FROM t\')"}]}'
)
CASES = [
    Case("job.sql", "SELECT 1;\n  USE CATALOG c;", ((1, 1, "SELECT 1"), (2, 3, "USE CATALOG"))),
    Case(
        "Job.java", JAVA, ((4, 21, "CREATE TABLE"), (8, 9, "INSERT INTO"), (15, 19, "SELECT d")), (12, 13, 14)
    ),
    Case("Job.scala", SCALA, ((1, 14, "CREATE TABLE"),), (4,)),
    Case("job.py", PYTHON, ((3, 5, "CREATE TABLE"), (5, 20, "SELECT")), (7, 8, 9)),
    Case("README.md", MARKDOWN, ((4, 1, "CREATE TABLE"), (12, 3, "SELECT id"))),
    Case(
        "cm.yaml", YAML,
        (
            (4, 5, "CREATE TABLE"), (6, 5, "SELECT y"), (9, 11, "INSERT INTO"), (11, 7, "SELECT w"),
            (12, 17, "SELECT a"), (13, 12, "INSERT INTO"), (15, 7, "SELECT id"),
        ),
    ),
    Case("nb.ipynb", NOTEBOOK, ((2, 1, "CREATE TABLE"), (1, 18, "SELECT q"))),
    Case("empty.py", "x = 1\n"),
    Case("broken.ipynb", "{"),
    Case("list.ipynb", "[]"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_statements_have_their_places(case: Case) -> None:
    found = embedded(case.name, case.text)
    scripts = [parse_script(text) for text in found.texts]
    assert [d for s in scripts for d in s.diagnostics] == []
    spans = [statement.span for s in scripts for statement in s.statements]
    words = zip(spans, case.statements, strict=True)
    assert [(*span.position, span.text[: len(want)]) for span, (_, _, want) in words] == list(case.statements)
    assert tuple(place.position[0] for place in found.composed) == case.composed


@pytest.mark.parametrize("case", [c for c in CASES if not c.name.endswith(".ipynb")], ids=lambda case: case.name)
def test_a_text_is_as_long_as_its_file(case: Case) -> None:
    for text in embedded(case.name, case.text).texts:
        assert len(text.text) == len(case.text)
        assert [i for i, c in enumerate(text.text) if c == "\n"] == [i for i, c in enumerate(case.text) if c == "\n"]


def test_cells_are_named_by_their_number() -> None:
    assert [text.name for text in embedded("nb.ipynb", NOTEBOOK).texts] == ["nb.ipynb[2]", "nb.ipynb[3]"]


def test_quotations_in_strings_keep_their_text() -> None:
    text = "env.execute_sql('CREATE TABLE t (a INT) WITH (\\'connector\\' = \\'print\\')')"
    (found,) = embedded("job.py", text).texts
    assert "'connector'  =  'print'" in found.text
    assert parse_script(SourceText("job.py", found.text)).ok
