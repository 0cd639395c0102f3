"""Ending the queries of a job: between two batches where that can be waited for, else at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql.streaming.query import StreamingQuery

POLL_SECONDS = 0.02
STOP_SECONDS = 60.0
STOP_TIMEOUT = "spark.sql.streaming.stopTimeout"
QUIET_SECONDS = 1.0  # a wait that is shorter needs no words


def end_between_batches(
    queries: Mapping[str, StreamingQuery], cut: Callable[[], bool], say: Callable[[str], None]
) -> None:
    """Stop each query when its running batch is over, until ``cut`` says so, or for STOP_SECONDS.

    What is left then is ``end_now``'s: a batch that is cut off is written again by the next run.
    """
    first = {name: query.lastProgress for name, query in queries.items()}
    began, told = time.monotonic(), False
    open_queries = dict(queries)
    while open_queries and not cut() and time.monotonic() < began + STOP_SECONDS:
        for name, query in list(open_queries.items()):
            batch_over = _batch_of(query.lastProgress) != _batch_of(first[name])
            if not query.isActive or not query.status["isTriggerActive"] or batch_over:
                query.stop()
                del open_queries[name]
        if open_queries and not told and time.monotonic() > began + QUIET_SECONDS:
            say(f"stopping after the running batch, within {STOP_SECONDS:.0f} s; a second signal cuts it off")
            told = True
        time.sleep(POLL_SECONDS)


def end_now(queries: Mapping[str, StreamingQuery]) -> list[str]:
    """Stop all queries, within a batch or not; return those that did not end within Spark's ``stopTimeout``.

    Kafka's clients are not interrupted while they wait for a cluster: such a query ends when they give up.
    """
    return [name for name, query in queries.items() if query.isActive and not _stopped(query)]


def _stopped(query: StreamingQuery) -> bool:
    try:
        query.stop()
    except Exception as error:
        if STOP_TIMEOUT not in str(error):
            raise
        return False
    return True


def _batch_of(progress: Any) -> int | None:
    return None if progress is None else int(progress["batchId"])
