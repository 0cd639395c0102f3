"""``flinkddl explain`` in all its forms."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.main import main
from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.dataflow import Flow, as_json, flow_of
from flinkddl.show.explain import explain
from flinkddl.show.pictures import dot, html, svg
from flinkddl.spark.job import GroupBy, Read
from tests.cases.test_jobs import JOBS, compiled

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
KAFKA = "'connector' = 'kafka', 'topic' = '{0}', 'properties.bootstrap.servers' = 'b:1', 'format' = 'json'"
DDL = f"""
CREATE TABLE orders (id INT, item STRING, price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
  WITH ({KAFKA.format("orders")}, 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE rates (item STRING, rate INT, PRIMARY KEY (item) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = 'rates', 'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', 'value.format' = 'json',
  'properties.sasl.jaas.config' = 'x password="hidden";');
CREATE TABLE totals (item STRING, n BIGINT, PRIMARY KEY (item) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = 'totals', 'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE seen (id INT) WITH ('connector' = 'blackhole');
"""
SET = """EXECUTE STATEMENT SET BEGIN
INSERT INTO totals SELECT o.item, COUNT(*) FROM orders AS o JOIN rates AS r ON o.item = r.item GROUP BY o.item;
INSERT INTO seen SELECT id FROM orders WHERE price > 1;
END;"""


def flow(sql: str) -> Flow:
    compiled = compile_script(SourceText("job.sql", DDL + sql))
    start = next(a for a in compiled.actions if isinstance(a, Start))
    return flow_of(start.job)


def states(sql: str) -> dict[str, str]:
    return {o.name: o.state for o in flow(sql).operators}


def test_operators_stand_after_what_they_read_and_a_shared_table_is_one_box() -> None:
    found = flow(SET)
    seen: set[str] = set()
    for o in found.operators:
        assert set(o.reads) <= seen
        seen.add(o.id)
    assert [o.name for o in found.operators].count("Sink") == 2
    scans = [o.detail for o in found.operators if o.name == "Scan"]
    assert [s for s in scans if s.startswith("rates")] == ["rates (upsert-kafka rates)"]


@pytest.mark.parametrize(
    ("sql", "operator", "state"),
    [
        (
            "INSERT INTO totals SELECT item, COUNT(*) FROM orders GROUP BY item;",
            "Aggregate",
            "one row of totals a group",
        ),
        ("SELECT item, COUNT(*) FROM rates GROUP BY item;", "Scan", "the last row of each key"),
        ("SELECT * FROM rates;", "Scan", "the last row of each key"),
        ("SELECT o.id FROM orders AS o JOIN rates AS r ON o.item = r.item;", "Join", "all rows of both sides"),
        (
            "SELECT item, COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
            " GROUP BY item, window_start, window_end;",
            "WindowAggregate",
            "one row of totals a group and window, until the window is over",
        ),
        (
            "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price) AS n FROM orders)"
            " WHERE n <= 3;",
            "Rank",
            "the best rows of each partition",
        ),
        ("SELECT id FROM orders WHERE price > 2;", "Scan", ""),
    ],
)
def test_state(sql: str, operator: str, state: str) -> None:
    assert states(sql)[operator] == state


def test_time_to_live_is_told() -> None:
    sql = "SET 'table.exec.state.ttl' = '1 h';\nINSERT INTO totals SELECT item, COUNT(*) FROM orders GROUP BY item;"
    assert states(sql)["Aggregate"] == "one row of totals a group; idle for 1 h: forgotten"


def test_batch_keeps_nothing() -> None:
    sql = "SET 'execution.runtime-mode' = 'batch';\nSELECT item, COUNT(*) FROM src GROUP BY item;"
    bounded = "CREATE TABLE src (item STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1');"
    assert not any(states(bounded + sql).values())


def test_picture_is_well_formed_and_holds_every_operator() -> None:
    found = flow(SET)
    root = ElementTree.fromstring(svg(found))
    boxes = [e for e in root.iter() if e.tag.endswith("rect")]
    assert len(boxes) == len(found.operators)
    places = {(b.get("x"), b.get("y")) for b in boxes}
    assert len(places) == len(boxes)


def test_graph_names_every_edge() -> None:
    found = flow(SET)
    text = dot([found])
    assert len(re.findall(" -> ", text)) == sum(len(o.reads) for o in found.operators)
    assert text.count("{") == text.count("}")


TWICE = """EXECUTE STATEMENT SET BEGIN
INSERT INTO totals SELECT item, COUNT(*) FROM orders GROUP BY item;
INSERT INTO others SELECT item, COUNT(*) FROM orders GROUP BY item;
END;"""


ONCE = "SET 'flinkddl.execution.state' = 'keyed';\n" + TWICE.replace("COUNT(*)", "COUNT(DISTINCT id)")
"""One query for Spark."""
OTHERS = "CREATE TABLE others WITH ('topic' = 'others') LIKE totals;\n"


@pytest.mark.parametrize(
    ("format", "once", "twice"),
    [
        ("text", "reuse_id=[1]", "read again"),
        ("json", '"reuseId": 1', '"runs": 2'),
        ("dot", "reuse_id=[1]", " (runs 2 times)"),
        ("html", "reuse_id=[1]", " (read 2 times)"),
    ],
)
def test_what_is_there_twice_is_told(
    format: str, once: str, twice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As what runs once, or as what runs twice."""
    script = tmp_path / "job.sql"
    for inserts, there, not_there in ((TWICE, twice, once), (ONCE, once, twice)):
        script.write_text(f"{DDL}{OTHERS}{inserts}", encoding="utf-8")
        assert main(["explain", str(script), "--format", format]) == 0
        told = capsys.readouterr().out
        assert there in told
        assert not_there not in told


@pytest.mark.parametrize("inserts", [TWICE, ONCE])
def test_what_is_there_twice_is_one_box(inserts: str) -> None:
    found = flow(OTHERS + inserts)
    assert [o.name for o in found.operators].count("Aggregate") == 1
    again = next(o for o in found.operators if len([a for a in found.operators if o.id in a.reads]) == 2)
    assert [o.name for o in found.operators if again.id in o.reads] == ["Sink", "Sink"]
    assert (again.reuse, again.runs) == ((None, 2) if inserts == TWICE else (1, 1))
    reads = [o.runs for o in found.operators if o.name == "Scan"]
    assert sum(reads) == sum(isinstance(s, Read) for s in found.steps) == (2 if inserts == TWICE else 1)


@pytest.mark.parametrize("format", ["text", "json", "dot", "html"])
def test_command(format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "job.sql"
    script.write_text(DDL + SET, encoding="utf-8")
    assert main(["explain", str(script), "--format", format]) == 0
    printed = capsys.readouterr().out
    assert "hidden" not in printed
    assert "Aggregate" in printed
    if format == "json":
        assert json.loads(printed)[0]["operators"][-1]["changelogMode"] == ["NONE"]


def test_the_picture_is_drawn_from_above_in_letters_of_13_px_beside_a_legend() -> None:
    found = flow(SET)
    page = html([found])
    legend = page[: page.index("<svg")]
    for o in found.operators:
        assert f">{o.kind}</i>" in legend
        assert o.name == "Sink" or all(f"<b>{letters}</b>" in legend for letters in o.mode.words.split(","))
    drawing = ElementTree.fromstring(svg(found))
    assert (drawing.get("font-size"), drawing.get("width")) == ("13", "1198")  # three boxes beside each other, unscaled
    assert "svg {" not in page
    tops = {o.id: y for o, y in zip(found.operators, _tops(drawing), strict=True)}
    assert all(tops[r] < tops[o.id] for o in found.operators for r in o.reads)


@pytest.mark.parametrize("path", JOBS, ids=lambda p: p.stem)
def test_no_arrow_goes_through_a_box_or_what_is_written_below_one(path: Path) -> None:
    for start in (a for a in compiled(path).actions if isinstance(a, Start)):
        found = flow_of(start.job)
        drawing = ElementTree.fromstring(svg(found))
        boxes = [[int(r.get(k, "")) for k in ("x", "y", "width", "height")] for r in drawing.iter(f"{SVG}rect")]
        ways = [_corners(p.get("d", "")) for p in drawing.iter(f"{SVG}path") if p.get("marker-end")]
        assert len(ways) == sum(len(o.reads) for o in found.operators)
        for (x, y), (x2, y2) in (leg for way in ways for leg in pairwise(way)):
            assert x == x2 or y == y2
            for left, top, width, height in boxes:
                below = 22 if y == y2 else 0
                inside = max(x, x2) > left and min(x, x2) < left + width
                assert not (inside and max(y, y2) > top and min(y, y2) < top + height + below)


def _corners(path: str) -> list[tuple[int, int]]:
    return [(int(x), int(y)) for x, y in re.findall(r"[ML](\d+) (\d+)", path)]


def _tops(drawing: ElementTree.Element) -> list[int]:
    return [int(r.get("y", "")) for r in drawing.iter(f"{SVG}rect")]


def test_command_takes_what_stands_under_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "job.sql"
    script.write_text(DDL + SET, encoding="utf-8")
    assert main(["explain", str(script)]) == 0
    plain = capsys.readouterr().out
    script.write_text(f"{DDL}EXPLAIN {SET.removeprefix('EXECUTE ')}", encoding="utf-8")
    assert main(["explain", str(script)]) == 0
    assert capsys.readouterr().out.split("== Changelog plan ==")[1:] == plain.split("== Changelog plan ==")[1:]


def test_command_says_that_a_script_has_no_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "job.sql"
    script.write_text(DDL, encoding="utf-8")
    assert main(["explain", str(script)]) == 0
    assert "job.sql: no query and no INSERT" in capsys.readouterr().err


def test_command_says_what_is_wrong(tmp_path: Path) -> None:
    script = tmp_path / "job.sql"
    script.write_text("SELECT * FROM nowhere;", encoding="utf-8")
    assert main(["explain", str(script), "--format", "html"]) == 1


def test_names_do_nothing_to_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b]0;x\x07\x9b2J\u202e\rb"
    sql = f"CREATE TABLE `{name}` (a INT) WITH ('connector' = 'print'); INSERT INTO `{name}` SELECT {{}}"
    file = tmp_path / "job.sql"
    for value, command, code in (("1", "explain", 0), ("'x'", "check", 1)):
        file.write_text(sql.format(value), encoding="utf-8", newline="")
        assert main([command, str(file)]) == code
        printed = capsys.readouterr()
        assert "a\u241b]0;x" in printed.out + printed.err
        assert [c for c in printed.out + printed.err if not c.isprintable() and c != "\n"] == []


def test_rows_that_leave_the_jvm_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "job.sql"
    redis = "'connector' = 'redis', 'host' = 'h', 'password' = 'hidden'"
    sink = f"CREATE TABLE r (id INT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ({redis});"
    script.write_text(f"{DDL}{sink} INSERT INTO r SELECT id, COUNT(*) FROM orders GROUP BY id;", encoding="utf-8")
    assert main(["explain", str(script)]) == 0
    printed = capsys.readouterr().out
    assert "redis, through Spark's Python workers, update mode (" in printed
    assert "hidden" not in printed


def test_operators_by_key_are_shown_with_their_nodes() -> None:
    counts = "SELECT item, id, COUNT(*) AS n FROM orders GROUP BY item, id"
    most = f"SELECT item, MAX(n) AS m FROM ({counts}) GROUP BY item"
    query = f"SELECT c.item, c.n FROM ({counts}) c JOIN ({most}) t ON c.item = t.item AND c.n >= t.m"
    found = flow(f"SET 'flinkddl.execution.state' = 'keyed';\nINSERT INTO totals {query};")
    ids = {o.id: o.name for o in found.operators}
    stages = [
        (s["name"], s["depth"], [ids[n["node"]] for n in s["nodes"]], [(e["from"], ids[e["to"]]) for e in s["passes"]])
        for s in as_json(found)["stages"]
    ]
    counted = found.stages[0].nodes[0][0]
    assert stages[:3] == [
        ("aggregate", 1, ["Aggregate"], []),
        ("stage", 2, ["Aggregate"], [(counted, "Join")]),
        ("inner_join", 3, ["Join"], []),
    ]
    assert [s.reads for s in found.stages[1:3]] == [("aggregate",), ("stage",)]
    text = dot([found])
    assert f"by key in 'stage', passed by rows of {counted} for " in text.replace("\\l", " ")
    assert "by key in 'inner_join'" in text
    whole = f"SET 'flinkddl.execution.state' = 'aggregate';\nINSERT INTO totals {query};"
    assert "by key" not in dot([flow(whole)])
    assert "Stages" not in dot([flow(whole)]) + html([flow(whole)]) + explain(flow(whole).of)


STAGES = {
    "67_all_kinds": [
        "1 'normalise': n26 latest of n26 people",
        "2 'stage': n6 latest of n1 orders; n11 aggregate of n1 orders; n16 aggregate of n1 orders; n28 inner"
        " of n1 orders, n26 people; n31 leftif of n1 orders, n26 people; n34 left of n1 orders, n26 people; "
        "n39 aggregate of n1 orders; n45 semi of n1 orders, n26 people; n47 anti of n1 orders, n26 people; "
        "n50 top of n1 orders; n53 top of n1 orders; n55 over of n1 orders; passed by rows of n26 people for "
        "n41",
        "3 'stage_2': n13 aggregate of n11; n19 aggregate of n16; n36 aggregate of n34; n41 full of n26 "
        "people, n39; passed by rows of n6, n28, n31, n45, n47, n50, n53, n55 for n57 and n16 for n21",
        "4 'stage_3': n21 inner of n16, n19; passed by rows of n6, n13, n28, n31, n36, n41, n45, n47, n50, "
        "n53, n55 for n57",
        "5 'stage_4': n23 aggregate of n21; passed by rows of n6, n13, n28, n31, n36, n41, n45, n47, n50, "
        "n53, n55 for n57",
        "6 'materialise': n59 aggregate of n6, n3, n13, n23, n28, n31, n36, n41, n45, n47, n50, n53, n55",
    ],
    "68_windows_in_a_chain": [
        "1 'stage': n4 window of n1 orders; n14 session of n12 clicks; n16 window of n12 clicks; "
        "n22 intervalinner of n1 orders, n12 clicks; event time comes in",
        "2 'stage_2': n7 windowtop of n4; n10 window of n4; n18 windowinner of n4, n16; passed by rows of n4, n14, n22 "
        "for n26; event time comes in",
    ],
}
"""Of queries with all kinds the list of stages: depth, name, nodes with what they keep and whose rows they get."""
EDGES = {
    "67_all_kinds": {
        ("stage", "n26", "people", "n45", "(city = 'Rome')", ("id",)),
        ("stage", "n1", "orders", "n31", "", ("id", "person", "price")),
        ("stage", "n1", "orders", "n11", "", ("product", "person", "price", "(price > 10)")),
        ("stage_4", "n21", "", "n23", "", ("CHAR_LENGTH(product)", "(n#1 - n)")),
        ("stage_3", "n16", "", "n21", "", ("product", "EXPR$1")),
        ("normalise", "n26", "people", "n26", "", ("id", "city", "budget")),
    },
    "68_windows_in_a_chain": {
        ("stage", "n1", "orders", "n4", "(price > 10)", ("product", "at")),
        ("stage", "n12", "clicks", "n22", "", ("person", "at")),
        ("stage_2", "n4", "", "n10", "", ("product", "EXPR$4", "window_time")),
        ("stage_2", "n22", "", "n26", "", (
            "CAST(CAST('clicked before' AS VARCHAR(20)) AS STRING)", "product", "CAST(price AS BIGINT)",
        )),
    },
}  # fmt: skip
"""Some of the edges: the operator, from, its table, to, filter and columns."""


def of_job(name: str) -> Flow:
    path = next(p for p in JOBS if p.stem == name)
    return flow_of(next(a for a in compiled(path).actions if isinstance(a, Start)).job)


@pytest.mark.parametrize("name", STAGES)
def test_stages_are_listed_alike_in_each_form(name: str) -> None:
    found, lines = of_job(name), STAGES[name]
    text = explain(found.of)
    assert text.split("== Stages ==\n")[1].split("\n\n")[0].split("\n") == lines
    assert re.findall("<li>(.*)</li>", html([found])) == [escape(line) for line in lines]
    drawn = dot([found]).replace("\\l   ", " ")
    assert '[shape=plaintext, style="", label="Stages\\l' + "".join(f"{line}\\l" for line in lines) in drawn
    stages = as_json(found)["stages"]
    assert [f"{s['depth']} '{s['name']}': " for s in stages] == [line[: line.index(": ") + 2] for line in lines]
    assert [bool(s["passes"]) for s in stages] == ["passed by" in line for line in lines]
    assert [s["eventTime"] for s in stages] == ["event time" in line for line in lines]
    edges = {
        (s["name"], e["from"], e["table"], e["to"], e["filter"], tuple(e["columns"]))
        for s in stages
        for e in (*s["edges"], *s["passes"])
    }
    assert edges >= EDGES[name]


@pytest.mark.parametrize("name", STAGES)
def test_each_operator_of_a_query_with_all_kinds_is_in_its_text_and_its_picture(name: str) -> None:
    found = of_job(name)
    text, page = explain(found.of), html([found])
    boxes = ["".join(g.itertext()) for g in ElementTree.fromstring(svg(found)).iter(f"{SVG}g")]
    assert len(boxes) == len(found.operators)
    for o, box in zip(found.operators, boxes, strict=True):
        assert f"\n{o.id} {o.here.node.describe()}\n" in "\n".join(map(str.strip, text.split("\n")))
        assert f"{o.id} {o.name}" in box
        assert f">{o.id} {o.name}" in page
        assert o.state == "" or o.identity == "" or o.identity in box
        for stage in found.stages_with(o.id) if o.state else ():
            assert f"'{stage.name}'" in box.replace("by key in", "")


def test_what_nobody_reads_does_not_come_to_a_stage() -> None:
    found = flow("INSERT INTO totals SELECT CAST(rate AS STRING), COUNT(*) FROM rates GROUP BY rate;")
    ((edge,), *_) = [s["edges"] for s in as_json(found)["stages"]]
    assert (edge["table"], edge["columns"]) == ("rates", ["item", "rate"])


def test_operators_between_are_told_with_an_edge() -> None:
    tags = f"CREATE TABLE tagged (id INT, tags ARRAY<STRING>, x INT) WITH ({KAFKA.format('tagged')});"
    query = (
        "SELECT t, COUNT(DISTINCT id) FROM tagged CROSS JOIN UNNEST(tags) AS u (t) WHERE x > 1 AND t <> 'a' GROUP BY t"
    )
    ((edge,),) = [s["edges"] for s in as_json(flow(f"{tags} INSERT INTO totals {query};"))["stages"]]
    (through,) = edge["through"]
    assert through.startswith("Unnest(")
    assert "x > 1" in edge["filter"]
    assert "t <> 'a'" in edge["filter"]


@pytest.mark.parametrize("name", STAGES)
def test_each_node_has_a_number_of_its_own(name: str) -> None:
    """A sink's operator too, which comes after the stages are made."""
    steps = of_job(name).of.steps
    numbers = [call.node for s in steps if isinstance(s, GroupBy) for call in s.state_calls if call.form == "keyed"]
    assert len(numbers) > 5
    assert len({*numbers}) == len(numbers)
