"""User functions for the tests."""

from flinkddl.functions.user import udf


@udf("VARCHAR(10)", ["STRING", "INT"])
def repeat(text, times):
    return None if text is None or times is None else text * times


@udf("ARRAY<ROW<word STRING, size INT>>", ["STRING"])
def words(text):
    return [(w, len(w)) for w in text.split()]


def annotated(a: int, b: float | None) -> str | None:
    return None if b is None else f"{a}:{b}"


def bare(a):
    return a
