"""Area ``views``: the tables of decode.jsonl as DataFrames, whose rows are those of ``SELECT *``.

Each case's tables are filled and declared as in area ``formats``. A batch frame must hold what the SELECT leaves, in
the same order where the table only grows, and fail where it fails; a streaming frame must give the same rows, and of a
CDC format Flink's own row kinds.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from flinkddl.spark.context import ROW_KIND
from tests.conformance.decoding import net, read
from tests.conformance.formats import Difference
from tests.support.javatext import java_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conformance.formats import Case

_STREAMING = "SET 'execution.runtime-mode' = 'streaming'"


def run(area: str, data: Path | None, only: tuple[str, ...], jobs: int, **given: Any) -> Any:
    """Run the cases; see ``formats.run``."""
    from tests.conformance import formats

    return formats.run(area, data, only, jobs, **given, attempts={"decode": compare})


def compare(case: Case) -> None:
    """Run one case; raises Difference, or what both raise."""
    data, topics = case.data, case.world.topics
    names = topics.fill(data["ddl"], data["records"], data.get("partitions", 1))
    catalog = case.session(_STREAMING)
    case.world.product.execute(catalog, data["ddl"])
    try:
        for info in catalog.tables():
            _one(catalog, info.name, data, lambda name=info.name: _commit(topics, names, data, name))
    finally:
        catalog.bridge.close(catalog.spark)


def _commit(topics: Any, names: list[str], data: dict[str, Any], table: str) -> None:
    """Set the group where the case has it: a SELECT and a frame's query move it on, as Flink's checkpoints do."""
    own = [f"g-{name}" for name in names[:1]]  # none where the topic is not to be there
    for group in (*own, f"KafkaSource-default_catalog.default_database.{table}"):
        topics.forget(group)
    if data.get("committed"):
        topics.commit(f"g-{names[0]}", {names[0]: {int(p): o for p, o in data["committed"].items()}})


def _one(catalog: Any, name: str, data: dict[str, Any], commit: Callable[[], None]) -> None:
    commit()
    try:
        _, expected, _ = read(catalog, f"SELECT * FROM `{name}`")
    except Exception as refused:
        _fails_too(catalog, name, refused)
        raise
    fields = catalog.execute(f"SELECT * FROM `{name}`").fields
    commit()
    batch = [["+I", *_shown(row, fields)] for row in catalog.table(name, "batch").collect()]
    _same({row: n for row, n in net(expected).items() if n > 0}, net(batch))  # a table holds no row less than none
    if all(row[0] == "+I" for row in expected) and data.get("partitions", 1) == 1:
        _same(expected, batch)
    commit()
    changes = _streamed(catalog, name, fields)
    _same(net(expected), net(changes))
    recorded = data.get("rows", ())
    if (
        "-U" in {row[0] for row in recorded}
        and data["query"] == f"SELECT * FROM {name}"
        and "upsert" not in data["ddl"]
        and not any("cdc-events-duplicate" in setting for setting in data.get("set", ()))  # of a key one a micro-batch
    ):
        _same(_counted(recorded), _counted(changes))


def _streamed(catalog: Any, name: str, fields: Any) -> list[list[Any]]:
    rows: list[list[Any]] = []

    def take(batch: Any, number: int) -> None:
        for row in batch.collect():
            kind = row[ROW_KIND] if ROW_KIND in batch.columns else "+I"
            rows.append([kind, *_shown(row, fields)])

    frame = catalog.table(name, "streaming")
    writer = frame.writeStream.foreachBatch(take).outputMode("update").trigger(availableNow=True)
    writer.start().awaitTermination()
    return rows


def _shown(row: Any, fields: Any) -> list[Any]:
    return [java_text(row[i], f.type) for i, f in enumerate(fields)]


def _fails_too(catalog: Any, name: str, refused: Exception) -> None:
    try:
        rows = catalog.table(name, "batch").collect()
    except Exception:  # noqa: BLE001 - why is for the job's own tests
        return
    raise Difference(f"an error: {refused}", [list(row) for row in rows])


def _counted(rows: Any) -> dict[str, int]:
    return dict(sorted(Counter(json.dumps(row, ensure_ascii=False) for row in rows).items()))


def _same(expected: Any, got: Any) -> None:
    if expected != got:
        raise Difference(expected, got)
