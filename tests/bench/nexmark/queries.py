"""Nexmark's queries: their scripts, and what of their results can be compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.catalog.state import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.script.compile import compile_script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOPIC = "nexmark"
_SCRIPTS = Path(__file__).with_name("sql")


@dataclass(frozen=True)
class Query:
    """A query, whose script is ``sql/<name>.sql``.

    ``steady``: the columns that have one value only where events with equal order keys come in any order, as they do
    from several partitions; () for all columns. ``clocked``: its windows are of processing time, and what has come out
    of them when the topic ends is another each time. ``flink``: why Flink does not run it.
    """

    name: str
    steady: tuple[str, ...] = ()
    clocked: bool = False
    flink: str = ""

    @property
    def script(self) -> str:
        return (_SCRIPTS / f"{self.name}.sql").read_text(encoding="utf-8")

    @property
    def updates(self) -> bool:
        """Whether its sink is an upsert topic."""
        return "'upsert-kafka'" in self.script

    def refusal(self, variables: Mapping[str, str], jars: Sequence[str] = ()) -> str:
        """Return the codes with which we refuse it, '' where we run it; ``jars`` have its functions."""
        before, catalog = SourceText("source.sql", source()), Catalog().with_jars(jars)
        found = compile_script(SourceText(f"{self.name}.sql", self.script), catalog, variables, [before]).diagnostics
        return ", ".join(sorted({d.code for d in found if d.severity == "error"}))


_ALL = (
    *(Query(f"q{n}") for n in range(6)),
    Query("q6", flink="Flink too: column 'rownum' not found in any table"),
    *(Query(f"q{n}") for n in (7, 8)),
    Query("q9", steady=("id", "price", "bid_dateTime")),
    *(Query(f"q{n}") for n in (10, 11)),
    Query("q12", clocked=True),
    Query("q13"),
    *(Query(f"q{n}") for n in (14, 15, 16, 17)),
    Query("q18", steady=("auction", "bidder", "dateTime")),
    Query("q19", steady=("auction", "rank_number", "price")),
    *(Query(f"q{n}") for n in (20, 21, 22, 23)),
)
QUERIES = {query.name: query for query in _ALL}


def source() -> str:
    """Return the script of the topic's table and of the views on it."""
    return (_SCRIPTS / "source.sql").read_text(encoding="utf-8")


def statements(script: str, variables: Mapping[str, str]) -> list[str]:
    """Return a script's statements, variables replaced, as Flink takes them one by one."""
    text = re.sub(r"\$\{(\w+)\}", lambda m: variables[m[1]], script)
    return [s.span.source.text[s.span.start : s.span.end] for s in parse_script(SourceText("script", text)).statements]
