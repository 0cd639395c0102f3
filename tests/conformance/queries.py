"""Areas ``queries`` (streaming, at least three micro-batches) and ``queries-batch``: SQL over real Kafka topics.

A case passes when its setup, its query (final table, column types, append or updating) and its INSERT (last value per
key of the sink topic) all come out as recorded, or are refused where Flink refused. A few recorded answers are mistakes
of Flink: there the right answer is asked for (``corrected``), and the runner counts them apart.
"""

from __future__ import annotations

import json
import os
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from tests.conformance.corrected import REASON, RIGHT
from tests.conformance.outcome import Outcome
from tests.conformance.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.product import Product

GOLDENS = Path(__file__).parents[1] / "data" / "goldens" / "queries"
# observed.md: Flink 2 refuses what Flink 1 accepted unless this is off; ours is the other way round
STRICT = "SET 'flinkddl.strict' = 'true'"  # refuse whatever Flink 2.3 refuses
MODES = {"queries": ("SET 'execution.runtime-mode' = 'streaming'",), "queries-batch": ()}
# FLINKDDL_STATE=keyed asks for state by key
STATE = tuple(f"SET 'flinkddl.execution.state' = '{s}'" for s in (os.environ.get("FLINKDDL_STATE"),) if s)
# the most records a batch that still make three micro-batches of every case with three records
PACE = "SET 'flinkddl.execution.max-offsets-per-trigger' = '{0}'"


def cases(folder: Path, only: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the recorded cases of a folder whose id is, or begins with, one of ``only``."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            if not only or case["id"].startswith(only):
                yield case


def run(area: str, data: Path | None, only: tuple[str, ...], jobs: int) -> Iterator[Outcome]:
    """Run every case of an area on one Spark session and one broker, one after the other."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from tests.conformance.product import Product

    with ExitStack() as stack:
        broker = stack.enter_context(Broker(BrokerOptions(heap="500m")))
        topics = stack.enter_context(Topics(broker.bootstrap))
        product = stack.enter_context(Product())
        for case in cases(data or GOLDENS, only):
            yield Case(case, area, topics, product).outcome()


class Case:
    """One recorded case on its way through the product."""

    def __init__(self, case: dict[str, Any], area: str, topics: Topics, product: Product) -> None:
        self.case, self.area, self.topics, self.product = case, area, topics, product
        self.names = {name: topics.holding(records) for name, records in case["inputs"].items()}
        self.differences: list[tuple[str, Any, Any]] = []
        self.refusals: list[str] = []

    def outcome(self) -> Outcome:
        """Run the case and say how it ended."""
        if "query" in self.case:
            self._expecting(self.case.get("error"), "query", self._query)
        if "sink_statement" in self.case:
            self._expecting(self.case.get("sink_error"), "sink", self._sink)
        if not self.differences and not self.refusals:
            return Outcome(self.case["id"], "passed", reason=REASON if self.case["id"] in RIGHT else "")
        expected = "; ".join(f"{w}: {json.dumps(e, ensure_ascii=False)}" for w, e, _ in self.differences)
        got = "; ".join(f"{w}: {json.dumps(g, ensure_ascii=False)}" for w, _, g in self.differences)
        status = "failed" if self.differences else "refused"
        return Outcome(
            self.case["id"], status, expected or "an answer", "; ".join([*self.refusals, *filter(None, [got])])
        )

    def _expecting(self, error: list[str] | None, what: str, attempt: Any) -> None:
        """Run one part; an error of ours is a refusal, right only where Flink has an error as well."""
        try:
            attempt(error is not None)
        except FlinkDdlError as refused:
            first = str(refused).splitlines()[0][:300]
            if error is None and refused.diagnostics[0].code[:3] in ("FD8", "FD9"):
                self.differences.append((what, "an answer", first))  # the job was planned, then it failed
            elif error is None:
                self.refusals.append(f"{what}: {first}")
        except Exception as failure:  # noqa: BLE001  # whatever the engine throws is an answer to be compared
            if error is None:
                lines = [line for line in str(failure).splitlines() if line.strip()]
                self.differences.append((what, "an answer", f"{type(failure).__name__}: {' '.join(lines)[:400]}"))
        else:
            if error is not None:
                self.differences.append((what, f"error {error[1][:200]}", "an answer"))

    def _session(self) -> Any:
        catalog = self.product.catalog()
        for sql in (STRICT, *MODES[self.area], *STATE, *self._pace(), *self.case["setup"]):
            self.product.execute(catalog, self._text(sql))
        return catalog

    def _pace(self) -> tuple[str, ...]:
        if self.area != "queries":
            return ()
        most = max((len(records) for records in self.case["inputs"].values()), default=0)
        return (PACE.format(max(1, (most - 1) // 2)),)

    def _text(self, sql: str) -> str:
        for name, topic in self.names.items():
            sql = sql.replace(f"{{topic:{name}}}", topic)
        return sql.replace("{servers}", self.topics.bootstrap)

    def _query(self, refused: bool) -> None:
        answer = self.product.query(self._session(), self._text(self.case["query"]))
        if refused:
            return
        self._compare("columns", self.case["columns"], answer.columns)
        final = [list(row) for row in RIGHT.get(self.case["id"], self.case["final"])]
        self._compare("final", sorted(final, key=as_json), sorted(answer.rows, key=as_json))
        if "plan" in self.case:
            updating = self.case["plan"][0][1] != "I" or self.case["id"] in RIGHT
            self._compare("changelog", "updating" if updating else "append", answer.changelog)

    def _sink(self, refused: bool) -> None:
        outputs = {n: f"out-{uuid.uuid4().hex[:10]}" for n in ("OUT", "OUTA", "OUTB") if f"{{topic:{n}}}" in self._ddl}
        for topic in outputs.values():
            self.topics.create(topic, 1)
        self.names |= outputs
        catalog = self._session()
        for sql in (*self.case["sink_ddl"], self.case["sink_statement"]):
            self.product.execute(catalog, self._text(sql))
        if refused:
            return
        found = {name: last_values(self.topics.records(topic)) for name, topic in outputs.items()}
        got = found["OUT"] if set(found) == {"OUT"} else found
        self._compare("sink", self.case["sink_final"], got)

    @property
    def _ddl(self) -> str:
        return " ".join(self.case["sink_ddl"])

    def _compare(self, what: str, expected: Any, got: Any) -> None:
        if expected != got:
            self.differences.append((what, *_apart(expected, got)))


def as_json(value: Any) -> str:
    """Return the text by which the recorder sorted rows."""
    return json.dumps(value, ensure_ascii=False)


def _apart(expected: Any, got: Any) -> tuple[Any, Any]:
    """Leave out of two lists what they have in common."""
    if not (isinstance(expected, list) and isinstance(got, list)):
        return expected, got
    rest, missing = list(got), []
    for row in expected:
        if row in rest:
            rest.remove(row)
        else:
            missing.append(row)
    return missing, rest


def last_values(records: list[tuple[str | None, str | None]]) -> list[list[str | None]]:
    """Return the last value per key without tombstones; records without key all stay. Sorted as the recorder did."""
    keyed: dict[str, str | None] = {}
    rows: list[list[str | None]] = []
    for key, value in records:
        if key is None:
            rows.append([None, value])
        else:
            keyed[key] = value
    rows += [[key, value] for key, value in keyed.items() if value is not None]
    return sorted(rows, key=as_json)
