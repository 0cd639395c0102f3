"""partitions.jsonl: which partition Flink's sink gives each record; the bytes and the partition compared with ours.

A record without key bytes goes where the producer's batch goes (sticky, chosen by chance), so that of such records only
the bytes count, or with ``spread`` the partitions that all of them use together. A key has one partition in every case.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.conformance.formats import Difference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conformance.formats import Case

Record = dict[str, Any]
# micro-batches of a dozen: within one a key's insert and its delete leave nothing to write
_STEPS = ("SET 'execution.runtime-mode' = 'streaming'", "SET 'flinkddl.execution.max-offsets-per-trigger' = '12'")


def place(case: Case) -> None:
    """Run one case; raises Difference, or what the product raises."""
    expected, found = case.data["records"], written(case, case.world.product)
    if "spread" in case.data:
        told = sorted({r["partition"] for r in found})
        if told != case.data["spread"] or len(found) != case.data["count"]:
            raise Difference((case.data["spread"], case.data["count"]), (told, len(found)))
    elif "'upsert-kafka'" in case.data["ddl"]:
        _compare(_places(expected), _places(found))
        _compare(_last(expected), _last(found))
    else:
        _compare(_counted(expected, case.data), _counted(found, case.data))


def written(case: Case, product: Any) -> list[Record]:
    """Run the statements of a case and return the records of its topic. ``product`` is ours, or a Flink."""
    data, topics = case.data, case.world.topics
    for table in data.get("setup", ()):
        topics.fill(table["ddl"], table["records"])
    (name,) = topics.fill(data["ddl"], [], data["partitions"])
    steps = _STEPS if any(table["records"] for table in data.get("setup", ())) else ()
    session = case.session(*steps) if product is case.world.product else product.session(case)
    for sql in (*(s["ddl"] for s in data.get("setup", ())), data["ddl"], data["insert"]):
        product.execute(session, sql)
    return [{k: r[k] for k in ("partition", "key", "value")} for r in topics.read(name)]


def _compare(expected: Any, found: Any) -> None:
    if expected != found:
        raise Difference(expected, found)


def _counted(records: Iterable[Record], data: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    fixed = "'fixed'" in data["ddl"]
    return Counter((r["key"], r["value"], r["partition"] if fixed or r["key"] is not None else None) for r in records)


def _places(records: Iterable[Record]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for r in records:
        found.setdefault(r["key"], set()).add(r["partition"])
    return found


def _last(records: Iterable[Record]) -> dict[str, str | None]:
    return {r["key"]: r["value"] for r in records}
