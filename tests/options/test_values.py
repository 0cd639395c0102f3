"""Option values: text in, typed value or reason out (kafka-connectors reference 1.1, observed Kafka 12)."""

import pytest

from flinkddl.options.values import parse

GOOD = [
    ("duration", "100000", 100_000),
    ("duration", "5 min", 300_000),
    ("duration", "5min", 300_000),
    ("duration", "1 m", 60_000),
    ("duration", " 5 s ", 5_000),
    ("duration", "1 D", 86_400_000),
    ("duration", "7 micros", 0),
    ("duration", "PT5M", 300_000),
    ("duration", "P1DT1.5S", 86_401_500),
    ("memory", "128MB", 128 << 20),
    ("memory", "64 kb", 64 << 10),
    ("memory", "1024", 1024),
    ("bool", "TRUE", True),
    ("bool", "False", False),
    ("int", "+5", 5),
    ("long", "-1", -1),
    ("double", "0.5", 0.5),
    ("list", "a; b", ("a", "b")),
    ("list", "a;b;", ("a", "b")),
    ("list", "a;;b", ("a", "", "b")),
    ("list", "'a;b';c", ("a;b", "c")),
    ("list", "'it''s';\"x\"", ("it's", "x")),
    ("list", "[a, b]", ("a", "b")),
    ("list", "", ()),
    ("map", "a:1,b:2", {"a": "1", "b": "2"}),
    ("char", "\\t", "\t"),
    ("char", "\\u0001", "\x01"),
    ("char", "\\\\", "\\"),
    ("string", " x ", " x "),
]
BAD = [
    ("duration", "7 us", "no unit"),
    ("duration", "1 week", "no unit"),
    ("duration", "1.5 s", "no unit"),
    ("duration", "-5 s", "expected a duration"),
    ("duration", "-PT5M", "negative"),
    ("duration", "P", "expected a duration"),
    ("duration", "  ", "empty"),
    ("memory", "5 pb", "no unit"),
    ("memory", "x", "a size"),
    ("bool", "1", "true or false"),
    ("int", "2147483648", "out of range"),
    ("int", "1.0", "whole number"),
    ("int", " 5 ", "whole number"),
    ("long", "9223372036854775808", "out of range"),
    ("double", "x", "a number"),
    ("list", "'a", "not closed"),
    ("map", "a", "key:value"),
]


@pytest.mark.parametrize(("kind", "text", "value"), GOOD)
def test_text_to_value(kind, text, value):
    assert parse(kind, text) == value


@pytest.mark.parametrize(("kind", "text", "why"), BAD)
def test_bad_text(kind, text, why):
    with pytest.raises(ValueError, match=why):
        parse(kind, text)


def test_enum_gives_the_printed_spelling():
    assert parse("enum", "except_key", ("ALL", "EXCEPT_KEY")) == "EXCEPT_KEY"
    with pytest.raises(ValueError, match="ALL, EXCEPT_KEY"):
        parse("enum", "except-key", ("ALL", "EXCEPT_KEY"))
