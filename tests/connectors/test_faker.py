"""Datafaker's expressions, judged without Java; what is judged right is evaluated in tests/e2e/test_faker.py."""

from __future__ import annotations

import json

import pytest

from flinkddl.connectors.faker.expressions import RENAMED, modern, table, uses_clock, wrong
from tests.support.faker_table import TABLE, version

RIGHT = [
    "",
    "plain } text",
    "#{}",
    "#{Name.firstName} #{Name.last_name}",
    "#{superhero.power}",
    "#{harry_potter.characters}",
    "#{HarryPotter.character}",
    "#{dr_who.the_doctors}",
    "#{name.title.job}",
    "#{number.numberBetween '0','10000000000'}",
    "#{Number.randomDouble '2','1','150'}",
    "#{date.past '15','5','SECONDS'}",
    "#{date.past '15','TimeUnit.SECONDS'}",
    "#{time.future '15','5','SECONDS'}",
    "#{Options.option 'a','b','c')}",
    "#{regexify '(a|b}){1}'}",
    "#{numerify '##-##'}",
    "#{Internet.UUID}",
    "#{date.birthday '1','100'}",
]
WRONG = [
    ("#{Name.firstName", "'#{' is never closed", "write #{"),
    ("#{Name.firstName} #{regexify 'a{1}", "'#{' is never closed; a quote", ""),
    ("#{Nam.firstName}", "no provider 'Nam'", "did you mean 'Name'?"),
    ("#{Name.frstName}", "has no 'frstName'", "did you mean 'firstName'?"),
    ("#{harry_potter.charcters}", "has no 'charcters'", "did you mean 'characters'?"),
    ("#{regexfy 'a'}", "no 'regexfy'", "did you mean 'regexify'?"),
    ("#{superhero}", "'superhero' names no value", "#{Superhero."),
    ("#{date.past '15','SECOND'}", "does not take ('15', 'SECOND')", "TimeUnit: NANOSECONDS"),
    ("#{date.past}", "does not take ()", "(int, TimeUnit)"),
    ("#{number.numberBetween 'a','b'}", "does not take ('a', 'b')", "(int, int)"),
    ("#{time.between 'x','y'}", "does not take", "(LocalTime, LocalTime)"),
    ("#{internet.userAgent}", "no value", "write #{Internet.userAgent}"),
    ("#{name.title}", "no value", "write #{Name.title}"),
]


@pytest.mark.parametrize("expression", RIGHT)
def test_right(expression: str) -> None:
    assert wrong(expression) is None


@pytest.mark.parametrize(("expression", "message", "help"), WRONG, ids=[w[0] for w in WRONG])
def test_wrong(expression: str, message: str, help: str) -> None:
    found = wrong(expression)
    assert found is not None
    assert message in found.message
    assert help in (found.help or "")


def test_names_of_java_faker_are_put_right() -> None:
    assert modern("a #{Internet.userAgentAny} #{Name.firstName}") == (
        "a #{Internet.userAgent} #{Name.firstName}",
        ("Internet.userAgentAny",),
    )
    assert all(wrong(f"#{{{new}}}") is None for new in RENAMED.values())
    assert all(wrong(f"#{{{old}}}") is not None for old in RENAMED)


def test_the_clock_is_seen() -> None:
    assert uses_clock("x #{Date.past '1','DAYS'}")
    assert uses_clock("#{time_and_date.birthday}")
    assert not uses_clock("#{Name.firstName} date.past")


def test_the_table_is_of_the_datafaker_that_runs() -> None:
    assert json.loads(TABLE.read_text())["version"] == version()
    assert len(table().providers) > 200
