import re
from pathlib import Path

import pytest

import flinkddl
from flinkddl.diagnostics import Bag, FlinkDdlError, SourceText, Span, did_you_mean, each, joined
from flinkddl.diagnostics.codes import all_codes, page, title
from flinkddl.diagnostics.render import render_text


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
