import json
import re
from pathlib import Path

import pytest

import flinkddl
from flinkddl.diagnostics import Bag, Diagnostic, FlinkDdlError, SourceText, Span, did_you_mean, each, joined
from flinkddl.diagnostics.codes import all_codes, page, title
from flinkddl.diagnostics.render import render_json, render_sarif, render_text


def test_text_has_place_line_caret_and_help() -> None:
    source = SourceText("job.sql", "SELECT 1;\n  'topc' = 'orders',\n")
    start = source.text.index("'topc'")
    bag = Bag()
    bag.error(
        "FD101", "unknown option 'topc'", Span(source, start, start + 6), did_you_mean("topc", ["topic", "format"])
    )
    assert render_text(bag).splitlines() == [
        "job.sql:2:3: error FD101: unknown option 'topc'",
        "    2 |   'topc' = 'orders',",
        "      |   ^^^^^^ did you mean 'topic'?",
    ]


def many(count: int) -> list[Diagnostic]:
    source = SourceText("job.sql", "SELECT nope FROM t;\n" * count)
    return [Diagnostic("FD450", "no column 'nope'", Span(source, 20 * i + 7, 20 * i + 11)) for i in range(count)]


def test_equal_mistakes_are_printed_once_with_their_number_and_places() -> None:
    other = Diagnostic("FD450", "no column 'none'", Span(SourceText("job.sql", "none"), 0, 4))
    assert render_text([*many(3000)[:1], other, *many(3000)[1:]]).splitlines() == [
        "job.sql:1:8: error FD450: no column 'nope'",
        "    1 | SELECT nope FROM t;",
        "      |        ^^^^",
        f"   = the same 2999 more times at {', '.join(f'{i}:8' for i in range(2, 12))}, ...",
        "job.sql:1:1: error FD450: no column 'none'",
        "    1 | none",
        "      | ^^^^",
    ]
    assert render_text(many(2)).splitlines()[-1] == "   = the same once more at 2:8"
    assert str(FlinkDdlError(many(3))) == "job.sql:1:8: error FD450: no column 'nope' [2 more times]"


def test_equal_mistakes_are_one_object_in_json() -> None:
    once, several = json.loads(render_json(many(1))), json.loads(render_json(many(3)))
    assert "count" not in once[0]
    assert [(d["line"], d["count"], [p["line"] for p in d["places"]]) for d in several] == [(1, 3, [2, 3])]
    assert len(json.loads(render_sarif(many(3)))["runs"][0]["results"]) == 3


@pytest.mark.parametrize(
    ("place", "shown", "caret"),
    [
        (0, "x, x, x, ", 0),
        (9000, "... ", 64),
        (17997, "... ", 4 + 237),
    ],
)
def test_of_a_line_that_a_program_wrote_the_part_around_the_mistake_is_quoted(
    place: int, shown: str, caret: int
) -> None:
    text = "x, " * 6000
    source = SourceText("job.sql", text)
    _, line, below = render_text([Diagnostic("FD450", "no", Span(source, place, place + 1))]).splitlines()
    assert line.startswith("    1 | " + shown)
    assert len(line) < 260
    assert below.index("^") == 8 + caret
    assert line[below.index("^")] == "x"


def test_errors_come_out_sorted_by_place() -> None:
    source = SourceText("a.sql", "abc")
    bag = Bag()
    bag.error("FD101", "second", Span(source, 2, 3))
    bag.error("FD101", "first", Span(source, 0, 1))
    with pytest.raises(FlinkDdlError) as raised:
        bag.raise_if_errors()
    assert [d.message for d in raised.value.diagnostics] == ["first", "second"]


@pytest.mark.parametrize("code", all_codes())
def test_each_page_names_its_code_and_has_a_title(code: str) -> None:
    assert page(code).startswith(f"# {code}: ")
    assert title(code)


def test_every_code_in_use_has_a_page():
    package = Path(flinkddl.__file__).parent
    texts = (p.read_text(encoding="utf-8") for p in package.rglob("*.py"))
    used = {code for text in texts for code in re.findall(r"\"(FD[0-9]{3})\"", text)}
    assert used - set(all_codes()) == set()


def failing(code: str):
    def job() -> None:
        raise FlinkDdlError.of(code, "wrong")

    return job


def test_each_gives_all_results_or_all_findings():
    assert each([lambda: 1, lambda: 2]) == [1, 2]
    with pytest.raises(FlinkDdlError) as raised:
        each([failing("FD400"), lambda: 2, failing("FD450"), failing("FD400")])
    assert [d.code for d in raised.value.diagnostics] == ["FD400", "FD450"]


def test_joined_adds_the_findings_of_other_jobs():
    error = FlinkDdlError.of("FD452", "unknown")
    assert joined(error, [lambda: 1]).diagnostics == error.diagnostics
    assert [d.code for d in joined(error, [failing("FD400")]).diagnostics] == ["FD452", "FD400"]
