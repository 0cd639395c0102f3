"""Java functions of Flink up to the planned call: class files, signatures, statements, what is refused."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.java import typed
from flinkddl.functions.java.call import fit, signature_text
from flinkddl.functions.java.classfile import BadClassFile, read_class
from flinkddl.functions.java.classpath import ClassPath
from flinkddl.functions.java.jtypes import Named, Variable, class_type, field_type, method_type
from flinkddl.functions.java.load import JavaFunction, Refused, load
from flinkddl.functions.java.spec import Accumulator
from flinkddl.functions.user import parse_type
from flinkddl.runtime.machine.jars import resolve_jars
from tests.support.java_udf import needs_javac, udf_jar

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_javac


@pytest.fixture(scope="module")
def jar() -> str:
    return str(udf_jar("acme"))


def loaded(name: str, returns: str | None = None) -> JavaFunction:
    result = None if returns is None else typed.default(parse_type(returns))
    return load(f"acme.{name}", ClassPath((str(udf_jar("acme")),)), result)


# ---- class files -----------------------------------------------------------------------------------------------------


def test_classes_of_flink_itself_are_read() -> None:
    for path in resolve_jars("flink")[:2]:
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.endswith(".class") and not n.startswith("META-INF")]
            for name in names[::7]:
                assert f"{read_class(archive.read(name)).name.replace('.', '/')}.class" == name


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "damaged"), (b"PK\x03\x04", "does not begin"), (b"\xca\xfe\xba\xbe\0\0\0\x3d\0\x03\x63\0\x01", "kind 99")],
)
def test_bytes_that_are_no_class(data: bytes, message: str) -> None:
    with pytest.raises(BadClassFile, match=message):
        read_class(data)


def test_a_class_cut_short(jar: str) -> None:
    with zipfile.ZipFile(jar) as archive:
        data = archive.read("acme/Scalars$Pojo.class")
    for end in range(8, len(data), 31):
        with pytest.raises(BadClassFile):
            read_class(data[:end])


def test_signatures_of_types() -> None:
    assert str(field_type("[Ljava/util/Map<Ljava/lang/String;[I>;")) == "java.util.Map<java.lang.String, int[]>[]"
    assert field_type("TT;", "a.B") == Variable("T", "a.B")
    assert field_type("La/B<TT;>.C<*>;", "x") == Named("a.B$C", field_type("La/B<*>;").args)  # type: ignore[union-attr]
    assert method_type("<R:Ljava/lang/Object;>(TR;I)TT;", "a.B").parameters == (Variable("R", ""), Named("int"))
    assert class_type("<T::Ljava/lang/Comparable<TT;>;A:Ljava/lang/Object;>La/B<TT;>;", "x").parameters == ("T", "A")


# ---- signatures ------------------------------------------------------------------------------------------------------

USER = "STRUCTURED<'acme.Scalars$User', `age` INT NOT NULL, `name` STRING, `score` DECIMAL(5, 2)>"
PAIR = "STRUCTURED<'acme.Scalars$Pair', `left` STRING, `right` INT>"
POINT = "STRUCTURED<'acme.Scalars$Point', `y` DOUBLE NOT NULL, `x` DOUBLE NOT NULL>"
MONEY = "STRUCTURED<'acme.Scalars$Digits$Money', `amount` DECIMAL(10, 1), `currency` STRING>"
SIGNATURES: dict[str, tuple[str, list[str]]] = {
    "Scalars$Add": (
        "scalar",
        [
            "f(a INT NOT NULL, b INT NOT NULL) -> INT NOT NULL as int",
            "f(a DOUBLE, b DOUBLE) -> DOUBLE as java.lang.Double",
            "f(a BIGINT NOT NULL, b BIGINT NOT NULL) -> BIGINT NOT NULL as long",
        ],
    ),
    "Scalars$Sum": ("scalar", ["f(label STRING, values INT...) -> BIGINT NOT NULL as long"]),
    "Scalars$Any": ("scalar", ["f(o <ANY>) -> STRING as java.lang.String"]),
    "Scalars$Lists": (
        "scalar",
        [
            "f(l ARRAY<INT NOT NULL>, n INT NOT NULL) -> ARRAY<INT NOT NULL> as int[]<int>",
            "f(l ARRAY<INT>) -> ARRAY<INT> as java.util.List",
        ],
    ),
    "Scalars$Pojo": (
        "scalar",
        [
            f"f(p {PAIR}, n INT NOT NULL) -> {PAIR} as acme.Scalars$Pair",
            f"f(p {POINT}) -> {POINT} as acme.Scalars$Point<double,double>",
            f"f(name STRING, age INT) -> {USER} as acme.Scalars$User<int,java.lang.String,java.math.BigDecimal>",
            f"f(u {USER}) -> STRING as java.lang.String",
        ],
    ),
    "Scalars$Digits": (
        "scalar",
        [f"f(currency STRING) -> {MONEY} as acme.Scalars$Digits$Money"],
    ),
    "Scalars$Generic": ("scalar", ["f(a BIGINT) -> STRING as java.lang.String"]),
    "Scalars$TakeRowData": (
        "scalar",
        ["f(r ROW<`n` INT, `s` STRING>) -> STRING as org.apache.flink.table.data.StringData"],
    ),
    "Tables$SplitPojo": (
        "table",
        ["f(s STRING) -> STRUCTURED<'acme.Tables$Word', `word` STRING, `n` BIGINT> as acme.Tables$Word"],
    ),
    "Tables$EachLong": ("table", ["f(value BIGINT, times INT NOT NULL) -> BIGINT as java.lang.Long"]),
    "Tables$Later": ("async", ["f(n INT) -> STRING as java.lang.String"]),
    "Aggregates$Top2": ("table_aggregate", ["f(v INT) -> INT as java.lang.Integer"]),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_as_flink_derives_them(name: str) -> None:
    function = loaded(name)
    shown = [f"{signature_text('f', o.signature)} -> {o.output.type} as {o.output.text}" for o in function.overloads]
    assert (function.kind, shown) == SIGNATURES[name]


def test_what_a_class_says_of_itself() -> None:
    assert not loaded("Scalars$Dice").deterministic
    assert loaded("Scalars$Upper").deterministic
    assert loaded("Aggregates$Distinct").retracts
    assert not loaded("Aggregates$Longest").retracts


def test_accumulators() -> None:
    call = fit("f", loaded("Aggregates$Distinct"), [parse_type("STRING")]).call
    views = "org.apache.flink.table.api.dataview"
    assert call.accumulator == Accumulator(
        "ROW<`count` BIGINT NOT NULL, `order` ARRAY<STRING>, `seen` MAP<STRING, INT>>",
        f"acme.Aggregates$DistinctAccum<long,{views}.ListView,{views}.MapView>",
    )
    average = fit("f", loaded("Aggregates$Average"), [parse_type("DOUBLE")]).call
    assert average.accumulator == Accumulator("ROW<`f0` DOUBLE, `f1` BIGINT>", "org.apache.flink.api.java.tuple.Tuple2")
    assert call.descriptor == "(Lacme/Aggregates$DistinctAccum;Ljava/lang/String;)V"
    told = json.loads(call.to_json)
    assert (told["class"], told["kind"], told["jars"]) == ("acme.Aggregates$Distinct", "aggregate", list(call.jars))
    assert told["accumulator"]["type"] == call.accumulator.type


CALLS: list[tuple[str, list[str], str, bool]] = [
    ("Scalars$Add", ["INT NOT NULL", "INT NOT NULL"], "(II)I", False),
    ("Scalars$Add", ["INT", "BIGINT"], "(Ljava/lang/Double;Ljava/lang/Double;)Ljava/lang/Double;", False),
    ("Scalars$Concat", ["STRING", "CHAR(1) NOT NULL"], "([Ljava/lang/String;)Ljava/lang/String;", True),
    ("Scalars$Hinted", ["STRING", "STRING"], "([Ljava/lang/Object;)Ljava/lang/Object;", True),
    ("Scalars$SameMethod", ["BIGINT", "STRING"], "(Ljava/lang/Long;Ljava/lang/String;)Ljava/lang/String;", False),
    ("Scalars$SameMethod", ["DOUBLE"], "(Ljava/lang/Double;[Ljava/lang/String;)Ljava/lang/String;", True),
    ("Tables$Later", ["INT"], "(Ljava/util/concurrent/CompletableFuture;Ljava/lang/Integer;)V", False),
]


@pytest.mark.parametrize(("name", "given", "descriptor", "varargs"), CALLS)
def test_the_method_that_java_calls(name: str, given: list[str], descriptor: str, varargs: bool) -> None:
    call = fit("f", loaded(name), [parse_type(t) for t in given]).call
    assert (call.descriptor, call.varargs) == (descriptor, varargs)
    assert len(call.arguments) == len(call.bridges) == len(given)


def test_a_function_whose_result_the_user_declares() -> None:
    call = fit("f", loaded("Scalars$Own", "STRING"), [parse_type("DECIMAL(5, 2)")]).call
    assert (call.arguments, call.bridges) == (("DECIMAL(5, 2)",), ("java.math.BigDecimal",))
    assert (call.result, call.descriptor) == ("STRING", "(Ljava/lang/Object;)Ljava/lang/String;")
    call = fit("f", loaded("Scalars$Untyped", "DECIMAL(10, 1)"), [parse_type("DECIMAL(5, 2)")]).call
    assert call.result_bridge == "java.math.BigDecimal"
    call = fit("f", loaded("Aggregates$WeightedAvg", "INT"), [parse_type("BIGINT"), parse_type("INT")]).call
    assert call.accumulator is not None
    with pytest.raises(Refused, match=r"it has eval\(java.math.BigDecimal\)"):
        fit("f", loaded("Scalars$Untyped", "INT"), [parse_type("STRING")])


# ---- statements ------------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[str, str]] = {
    "ADD JAR '/no/such.jar'": ("FD320", "there is no such file"),
    "ADD JAR 'https://repo/acme.jar'": ("FD320", "only a file of this machine can be read"),
    "ADD JAR '{here}'": ("FD320", "it is no jar"),
    "REMOVE JAR '/no/such.jar'": ("FD320", "was not added"),
    "CREATE TEMPORARY FUNCTION f AS 'acme.F' USING JAR '/no/such.jar'": ("FD320", "there is no such file"),
    "CREATE FUNCTION f AS 'acme.F' USING JAR '/no/such.jar'; SELECT f(1)": ("FD519", "No such file or directory"),
    "CREATE FUNCTION f AS 'acme.F'; SELECT f(1)": ("FD402", "no jar is named for its class 'acme.F'"),
    "{add}; CREATE FUNCTION f AS 'acme.F'; SELECT f(1)": ("FD520", "'f' is a Java function, and its class 'acme.F'"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars.Upper'; SELECT f('a')": (
        "FD520",
        "a nested class is written 'acme.Scalars$Upper'",
    ),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$NoFunction'; SELECT f(1)": ("FD521", "does not extend from"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$NoEval'; SELECT f(1)": (
        "FD521",
        "does not implement a method named 'eval'",
    ),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$Hidden'; SELECT f('a')": ("FD521", "is not public"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$NoConstructor'; SELECT f('a')": ("FD521", "default constructor"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$Base'; SELECT f('a')": ("FD521", "either abstract or an interface"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$Untyped'; SELECT f(1.5)": ("FD522", "need fixed precision and scale"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$Wide'; SELECT f(1)": ("FD522", "pure 'java.lang.Object' class"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$Raw'; SELECT f('a')": ("FD522", "RAW('java.util.UUID', '...')"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$Own'; SELECT f('a')": ("FD523", "acme.Scalars$Own RETURNS STRING"),
    "{add}; CREATE FUNCTION f AS 'acme.Tables$Split'; SELECT f('a')": ("FD526", "LATERAL TABLE(f(..))"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$Upper'; SELECT * FROM LATERAL TABLE(f('a'))": (
        "FD526",
        "'f' is a scalar function",
    ),
    "{add}; CREATE FUNCTION f AS 'acme.Aggregates$Top2'; SELECT f(1)": ("FD526", "in its Table API alone"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$Add'; SELECT f('a', 'b')": (
        "FD401",
        "expected f(a INT NOT NULL, b INT NOT NULL) or f(a DOUBLE, b DOUBLE) or f(a BIGINT NOT NULL, b BIGINT NOT",
    ),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$Named'; SELECT f(c => 'a')": ("FD401", "it is f(a STRING, b INT)"),
    "{add}; CREATE FUNCTION f AS 'acme.Scalars$Add'; SELECT f(a => 1, b => 2)": ("FD401", "have no names"),
    "{add}; CREATE FUNCTION f AS 'acme.Tables$Split'; SELECT * FROM LATERAL TABLE(f('a')) AS t (a, b)": (
        "FD466",
        "2 column aliases for 1 columns",
    ),
}


@pytest.mark.parametrize("script", REFUSED)
def test_what_is_refused(script: str, jar: str) -> None:
    text = script.replace("{add}", f"ADD JAR '{jar}'").replace("{here}", __file__)
    code, words = REFUSED[script]
    (error,) = [d for d in Catalog().check(text) if d.severity == "error"]
    assert error.code == code
    assert words in f"{error.message} {error.help}"
    assert error.span is not None


def test_jars_are_listed_and_removed(jar: str) -> None:
    catalog = Catalog()
    catalog.execute(f"ADD JAR '{jar}'; ADD JAR '{jar}'")
    assert catalog.execute("SHOW JARS").rows == ((jar,),)
    catalog.execute(f"REMOVE JAR '{jar}'")
    assert catalog.execute("SHOW JARS").rows == ()
    catalog.execute(f"CREATE TEMPORARY FUNCTION f AS 'acme.Scalars$Upper' USING JAR '{jar}'")
    assert catalog.execute("SHOW JARS").rows == ((jar,),)


TYPES = {
    "SELECT f('a', 1) AS v": USER,
    "SELECT f('a', 1).score AS v": "DECIMAL(5, 2)",
    "SELECT v FROM LATERAL TABLE(split('a')) AS t (v)": "STRING",
    "SELECT average(b, n) AS v FROM (VALUES (CAST(1 AS BIGINT), 2)) AS t (b, n)": "BIGINT",
    "SELECT b, average(b, 1) FILTER (WHERE b > 1) AS v FROM (VALUES (CAST(1 AS BIGINT))) AS t (b) GROUP BY b": "BIGINT",
    "SELECT default_catalog.default_database.f('a', 1).name AS v": "STRING",
}


@pytest.mark.parametrize("query", TYPES)
def test_types_of_calls(query: str, jar: str) -> None:
    catalog = Catalog(jars=[jar])
    catalog.execute("CREATE FUNCTION f AS 'acme.Scalars$Pojo'; CREATE FUNCTION split AS 'acme.Tables$Split'")
    catalog.execute(f"CREATE FUNCTION average AS 'acme.Aggregates$WeightedAvg'; CREATE TEMPORARY VIEW w AS {query}")
    described = {row[0]: row[1] for row in catalog.execute("DESCRIBE w").rows}
    assert described["v"] == TYPES[query]


def test_an_aggregate_that_cannot_take_rows_back(jar: str) -> None:
    catalog = Catalog(jars=[jar])
    catalog.execute("CREATE FUNCTION longest AS 'acme.Aggregates$Longest'")
    catalog.execute("CREATE TABLE src (k INT, s STRING) WITH ('connector' = 'datagen')")
    assert not catalog.check("SELECT k, longest(s) FROM src GROUP BY k")
    (error,) = catalog.check("SELECT longest(m) FROM (SELECT k, MAX(s) AS m FROM src GROUP BY k)")
    assert (error.code, "has no method 'retract'" in error.message) == ("FD522", True)


# ---- from the command line -------------------------------------------------------------------------------------------

SCRIPT = """
CREATE TABLE src (k INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
CREATE TABLE snk (v STRING) WITH ('connector' = 'blackhole');
CREATE FUNCTION f AS 'acme.Scalars$Own';
INSERT INTO snk SELECT f(k) FROM src;
"""


def codes(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [d["code"] for d in json.loads(capsys.readouterr().out)]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ([], ["FD402"]),
        (["--jars", "{jar}"], ["FD523"]),
        (["--jars", "{jar}", "--udf", "f=acme.Scalars$Own RETURNS STRING"], []),
        (["--jars", "{jar}", "--udf", "F=acme.Scalars$Own returns TEXT"], ["FD527"]),
        (["--jars", "{jar}", "--udf", "f=acme.Scalars$Opened"], []),
        (["--allow-jar", "{jar}"], ["FD402"]),
    ],
)
def test_arguments(
    arguments: list[str], found: list[str], jar: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.sql"
    path.write_text(SCRIPT)
    main(["check", str(path), "--output", "json", *(a.replace("{jar}", jar) for a in arguments)])
    assert codes(capsys) == found


def test_nothing_of_a_jar_runs_that_the_script_alone_names(jar: str, tmp_path: Path) -> None:
    script = f"ADD JAR '{jar}'; {SCRIPT.replace('Own', 'Opened')}"
    path = tmp_path / "job.sql"
    path.write_text(script)
    assert main(["check", str(path)]) == 0
    assert main(["run", str(path)]) == 1
    with pytest.raises(FlinkDdlError, match="nobody but the script names it") as raised:
        Catalog().execute(script)
    assert raised.value.diagnostics[0].code == "FD524"
    compiled = Catalog(allow_jars=[jar.rpartition("/")[0]])._compiled(script, None, "s")
    assert [job.jars for job in compiled.jobs] == [{jar: True}]


def test_a_printed_program_sends_the_jars_and_looks_whether_they_are_named(jar: str) -> None:
    script = SCRIPT.replace("Own", "Opened")
    text = Catalog().compile(f"ADD JAR '{jar}'; {script}")
    assert f"refuse_unnamed_jars(['{jar}'])" in text
    named = Catalog(jars=[jar]).compile(script)
    assert "refuse_unnamed_jars" not in named
    assert f"ship_java(spark, ['{jar}'])" in named


def test_a_function_that_is_not_deterministic_stays_where_it_is(jar: str) -> None:
    catalog = Catalog(jars=[jar])
    catalog.execute("CREATE FUNCTION dice AS 'acme.Scalars$Dice'; CREATE FUNCTION half AS 'acme.Scalars$Boxed'")
    catalog.execute("CREATE TABLE src (k INT) WITH ('connector' = 'datagen')")
    for name, moved in (("dice()", False), ("half(k)", True)):
        text = catalog.explain(f"SELECT * FROM (SELECT k, {name} AS d FROM src) WHERE d > 3 AND d < 9")
        assert (f"Filter((({name} > 3) AND ({name} < 9)))" in text) is moved, text


def test_a_plan_file_has_the_jars(jar: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    tables = SCRIPT.partition("CREATE FUNCTION f")[0]
    function = f"CREATE FUNCTION f AS 'acme.Scalars$Opened' USING JAR '{jar}'; ADD JAR '{jar}';"
    insert = f"COMPILE PLAN '{plan}' FOR INSERT INTO snk SELECT f(k) FROM src;"
    Catalog().execute(tables + function + insert)
    statements = json.loads(plan.read_text())["statements"]
    assert f"ADD JAR '{jar}'" in statements
    assert any(s.endswith(f"LANGUAGE JAVA USING JAR '{jar}'") for s in statements)
    assert not Catalog().check(f"EXECUTE PLAN '{plan}'")


_ROWS = "OVER (PARTITION BY n ORDER BY p ROWS BETWEEN {} PRECEDING AND CURRENT ROW)"
OVER: list[tuple[str, str, str]] = [
    (f"average(v, n) {_ROWS.format('UNBOUNDED')}", "", ""),
    (f"average(v, n) {_ROWS.format(2)}", "", ""),
    ("average(DISTINCT v, n)", "", ""),
    (f"longest(s) {_ROWS.format('UNBOUNDED')}", "", ""),
    (f"longest(s) {_ROWS.format(2)}", "FD522", ""),  # a stream takes rows back
    (f"sampled(v, n) {_ROWS.format('UNBOUNDED')}", "FD642", ""),
    ("sampled(v, n)", "", ""),
    ("top2(n)", "FD526", "FD526"),
]


@pytest.mark.parametrize(("call", "streaming", "batch"), OVER)
def test_aggregates_over_a_window_or_distinct_values(call: str, streaming: str, batch: str, jar: str) -> None:
    for mode, expected in (("streaming", streaming), ("batch", batch)):
        catalog = Catalog(jars=[jar])
        catalog.execute(f"SET 'execution.runtime-mode' = '{mode}'")
        for name, cls in {"average": "WeightedAvg", "longest": "Longest", "sampled": "Sampled", "top2": "Top2"}.items():
            catalog.execute(f"CREATE FUNCTION {name} AS 'acme.Aggregates${cls}'")
        catalog.execute(
            "CREATE TABLE src (v BIGINT, n INT, s STRING, p AS PROCTIME()) WITH ('connector' = 'datagen',"
            " 'number-of-rows' = '9')"
        )
        assert {d.code for d in catalog.check(f"SELECT {call} FROM src")} == ({expected} if expected else set())


@pytest.mark.parametrize("call", ["named(a => 'x', 2)", "named('x', b => 2)"])
def test_arguments_have_names_all_or_none(call: str, jar: str) -> None:
    catalog = Catalog(jars=[jar])
    catalog.execute("CREATE FUNCTION named AS 'acme.Scalars$Named'")
    (found,) = catalog.check(f"SELECT {call}")
    assert (found.code, "others have none" in found.message) == ("FD401", True)


@pytest.mark.parametrize("path", ["/no/such.jar", "https://repo/acme.jar"])
def test_a_permanent_function_tells_of_its_jar_where_it_is_created(path: str) -> None:
    created = f"CREATE FUNCTION f AS 'acme.F' USING JAR '{path}'"
    (found,) = Catalog().check(created)
    assert (found.code, found.severity) == ("FD320", "warning")
    codes = [(d.code, path in d.message) for d in Catalog().check(f"{created}; SELECT f(1)")]
    assert codes == [("FD320", True), ("FD519", True)]


def test_the_jar_of_a_function_that_is_refused_does_not_join_the_session(jar: str) -> None:
    catalog = Catalog()
    with pytest.raises(FlinkDdlError):
        catalog.execute(f"CREATE TEMPORARY FUNCTION nowhere.here.f AS 'acme.F' USING JAR '{jar}'")
    assert catalog.state.jars == ()


@pytest.mark.parametrize(
    ("given", "taken"),
    [("INT", "Integer"), ("INT NOT NULL", "Integer"), ("BIGINT", "Number"), ("STRING", "Object")],
)
def test_with_returns_the_closest_method_is_called(given: str, taken: str) -> None:
    call = fit("f", loaded("Scalars$Closest", "STRING"), [parse_type(given)]).call
    assert call.descriptor == f"(Ljava/lang/{taken};)Ljava/lang/String;"


def test_jars_of_functions_beside_a_folder_of_spark_s(capsys: pytest.CaptureFixture[str]) -> None:
    import argparse

    from flinkddl.cli.common import add_script_arguments

    parser = argparse.ArgumentParser()
    add_script_arguments(parser)
    args = parser.parse_args(["job.sql", "--jars", "a.jar,/spark", "--jars", "b.jar"])
    assert (args.function_jars, args.jars) == (["a.jar", "b.jar"], "/spark")
    with pytest.raises(SystemExit):
        parser.parse_args(["job.sql", "--jars", "/one,/two"])
    assert "one folder can have Spark's jars, not /one and /two" in capsys.readouterr().err


def test_job_parameters_go_with_the_call(jar: str) -> None:
    catalog = Catalog(jars=[jar])
    catalog.execute("SET 'pipeline.global-job-parameters' = 'prefix:a,other:b'")
    catalog.execute("CREATE FUNCTION opened AS 'acme.Scalars$Opened'")
    text = catalog.compile("SELECT opened(1)").replace("\\", "")
    assert '"parameters":{"prefix":"a","other":"b"}' in text
    catalog.execute("RESET 'pipeline.global-job-parameters'")
    assert '"parameters"' not in catalog.compile("SELECT opened(1)").replace("\\", "")
