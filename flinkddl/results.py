"""What statements give: a Job that runs, a Result with rows, a job or a query. ``flinkddl.api`` makes them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from flinkddl.script.compile import Action, Start
from flinkddl.spark.frames import frame_of_query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.catalog.settings import Settings
    from flinkddl.catalog.state import Catalog as CatalogState
    from flinkddl.diagnostics import FlinkDdlError
    from flinkddl.plan.nodes import Field
    from flinkddl.runtime.bridge import Bridge
    from flinkddl.runtime.job.reporting.progress import Progress
    from flinkddl.runtime.job.running import RunningJob
    from flinkddl.runtime.job.topics.flow import Flow
    from flinkddl.runtime.job.writers import Rows


class Job:
    """A running INSERT, statement set or SELECT; all methods may be called from any thread."""

    def __init__(self, running: RunningJob, id: str = "0", *, is_query: bool = False) -> None:
        self._running = running
        self.id, self.is_query = id, is_query
        self.started = datetime.now(UTC)

    @property
    def name(self) -> str:
        """The job's name: ``pipeline.name``, or ``insert-into_`` and the sink's path."""
        return self._running.job.name

    @property
    def status(self) -> str:
        """``starting``, ``running``, ``finished``, ``stopped`` or ``failed``."""
        return self._running.status

    @property
    def is_over_query(self) -> bool:
        """Whether this was a SELECT that has come to its end."""
        return self.is_query and self.status in ("finished", "stopped")

    @property
    def error(self) -> FlinkDdlError | None:
        """Why the job failed, or None."""
        return self._running.error

    @property
    def checkpoint(self) -> str | None:
        """The folder that keeps the job's state beyond this run, or None."""
        return self._running.options.checkpoint

    @property
    def lag(self) -> dict[str, int]:
        """Records not yet read, per topic, as of the last finished batch; the slowest sink counts."""
        return self._running.lag

    @property
    def lost(self) -> dict[str, int]:
        """Records per topic that were deleted before this run could read them."""
        return self._running.lost

    @property
    def waiting(self) -> str:
        """What the job waits for: a Kafka cluster that is away, a restart; nothing where all its queries run."""
        return self._running.waiting

    @property
    def restarting(self) -> bool:
        """Whether a query of the job has failed and is to be started again."""
        return self._running.restarting

    @property
    def restarts(self) -> int:
        """How often a query of the job was started again after a failure."""
        return self._running.restarts

    @property
    def last_failure(self) -> str:
        """Why a query failed last, in one line, also where the job went on; nothing where none has."""
        return self._running.last_failure

    @property
    def failures(self) -> dict[tuple[str, str], int]:
        """How many failures of queries there were, by write and code."""
        return self._running.failures

    @property
    def progress(self) -> tuple[Progress, ...]:
        """The last finished batch of each sink."""
        return self._running.progress

    def explain(self) -> str:
        """Return the plan of each sink with what its nodes have read, gave and keep: since the run began until now."""
        from dataclasses import asdict

        from flinkddl.runtime.job.reporting.figures import figure_lines, figures, plan_nodes

        out, totals = [], self._running.totals
        for p in self.progress:
            found = figures(plan_nodes(self._running.job, p.write), totals[p.write], p.state_by_node)
            out.append(
                "\n".join((f"== {p.table or p.write}, batch {p.batch} ==", *figure_lines(list(map(asdict, found)))))
            )
        return "\n\n".join(out) or "no batch has finished yet"

    def open_windows(self) -> list[str]:
        """Return a line for each sink that windows have kept rows from until now, with the watermark."""
        from flinkddl.runtime.job.reporting.figures import open_windows

        return open_windows(self._running.job, self.progress)

    @property
    def flows(self) -> tuple[Flow, ...]:
        """What goes through each sink of a real-time job while its batch runs: rates, lag, latency."""
        return self._running.flows

    def stop(self, *, drain: bool = False, whole: bool = False) -> None:
        """End the job after its running batch; ``drain`` first closes every window, as STOP JOB ... WITH DRAIN.

        ``whole`` leaves no batch half written, for ``savepoint``.
        """
        self._running.stop(drain=drain, whole=whole)

    def savepoint(self, target: str) -> str:
        """Make a savepoint in the folder ``target`` and return its path; the job may run, or have been stopped.

        Raises FlinkDdlError (FD822, FD859).
        """
        return self._running.savepoint(target).path

    def await_input(self, timeout: float | None = None) -> bool:
        """Wait (seconds) until the job has taken all that its topics hold now, and return whether that came in time."""
        return self._running.await_input(timeout)

    def request_stop(self, *, now: bool = False, whole: bool = False) -> None:
        """Ask the job to end after its running batch, or ``now``, and return at once; safe in a signal handler."""
        self._running.request_stop(now=now, whole=whole)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait (seconds) for the end and return whether it came. Raises FlinkDdlError when the job failed."""
        return self._running.await_termination(timeout)

    def __repr__(self) -> str:
        return f"<Job {self.name}: {self.status}>"

    def _ipython_display_(self) -> None:
        _notebook().show_job(self)


class Owner(Protocol):
    """What a result needs of the catalog that it came from."""

    state: CatalogState

    @property
    def spark(self) -> SparkSession:
        """The session."""
        ...

    @property
    def bridge(self) -> Bridge:
        """What hands frames over to Spark."""
        ...

    def start(self, action: Start, **run: Any) -> Job:
        """Start a job."""
        ...


def _notebook() -> Any:
    """Return what shows results in a notebook: it lies above this module, so an entry point names it.

    Raises NotImplementedError where the package is not installed; a front end prints the ``repr`` then.
    """
    points = tuple(entry_points(group="flinkddl.displays", name="notebook"))
    if not points:
        raise NotImplementedError
    return points[0].load()


class _Table:
    """The table that changes leave."""

    def __init__(self) -> None:
        self._net: Counter[str] = Counter()
        self._seen: dict[str, tuple[Any, ...]] = {}

    def __call__(self, rows: Rows) -> None:
        for change in rows.changes:
            name = repr(change.row)
            self._seen[name] = change.row
            self._net[name] += 1 if change.kind in ("+I", "+U") else -1

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return [self._seen[name] for name, count in self._net.items() for _ in range(count)]


@dataclass(repr=False)
class Result:
    """What one statement gave: rows that are known (SHOW, EXPLAIN), a job (INSERT), or a query to be run (SELECT)."""

    action: Action
    columns: tuple[str, ...] = ()
    rows: Sequence[tuple[Any, ...]] = ()
    job: Job | None = None
    fields: tuple[Field, ...] = ()
    _owner: Owner | None = field(default=None, repr=False)
    _state: CatalogState | None = field(default=None, repr=False)

    @property
    def is_query(self) -> bool:
        """Whether this is a SELECT, which runs when its rows are asked for."""
        return isinstance(self.action, Start) and self.action.is_query

    @property
    def streaming(self) -> bool:
        """Whether the query runs until it is stopped; otherwise it ends with its bounded sources."""
        return self._start().job.streaming

    @property
    def settings(self) -> Settings:
        """What the session has SET."""
        return self._catalog.state.settings

    @property
    def changelog(self) -> str:
        """``append`` when a query's or INSERT's changes are inserts only, else ``updating``."""
        start = self._start()
        return "append" if all(p.plan.input.append for p in start.job.plan) else "updating"

    @property
    def dataframe(self) -> DataFrame:
        """The SELECT as a DataFrame: batch where its sources end, else streaming; updating ones with ``_row_kind``.

        It belongs to a session of its own, which has the settings that a streaming query over it needs.
        """
        (sink,) = self._start().sinks
        frame = frame_of_query(sink.input, sink.fields, self._state or self._catalog.state, "query")
        return self._catalog.bridge.open(self._catalog.spark, frame)

    def collect(self) -> list[tuple[Any, ...]]:
        """Run the SELECT to its end and return the table that its changes leave, in no particular order.

        An unbounded query never ends: use ``changes`` with a callback, or bound its sources.
        """
        taken = _Table()
        self.changes(taken).await_termination()
        return taken.rows

    def changes(self, on_rows: Callable[[Rows], None]) -> Job:
        """Start the SELECT and hand every batch of changes (with Flink's row kinds) to a function."""
        return self._catalog.start(self._start(), on_rows=on_rows)

    def show(self, limit: int = 20, seconds: float = 60.0) -> None:
        """Print the rows: known ones, or the table that a SELECT gives.

        An unbounded SELECT is run until it has read what its topics hold now, at most ``seconds`` long, then ended; a
        line says so. In a notebook leave the result itself as the cell's last line: it goes on while you watch.
        """
        from rich.console import Console
        from rich.table import Table

        console, note = Console(), ""
        if not self.is_query:
            rows = list(self.rows)
        elif self._ends():
            rows = self.collect()
        else:
            console.print(f"unbounded: reading what is there now, at most {seconds:g} s ...")
            rows, done = self._so_far(seconds)
            note = "as of now; the query has no end" if done else f"as of {seconds:g} s; there is more to read"
        table = Table(*([f.name for f in self.fields] if self.is_query else self.columns), caption=note or None)
        for row in rows[:limit]:
            table.add_row(*("<NULL>" if v is None else str(v) for v in row))
        console.print(table)
        if len(rows) > limit:
            console.print(f"the first {limit:,} of {len(rows):,} rows")

    def _ends(self) -> bool:
        """Whether the query comes to its end by itself."""
        return not self.streaming or self._start().job.trigger[0] == "availableNow"

    def _so_far(self, seconds: float) -> tuple[list[tuple[Any, ...]], bool]:
        """Return the table after what is there now, and whether all of that was read in time."""
        taken = _Table()
        job = self.changes(taken)
        done = job.await_input(seconds)
        job.stop()
        return taken.rows, done

    def __repr__(self) -> str:
        if self.job is not None:
            return f"<Result: {self.job!r}>"
        if not self.is_query:
            return f"<Result: {len(self.rows):,} row{'' if len(self.rows) == 1 else 's'} of {', '.join(self.columns)}>"
        kind = "a SELECT without end" if not self._ends() else "a SELECT"
        return f"<Result: {kind} of {', '.join(f'{f.name} {f.type}' for f in self.fields)}>"

    def _ipython_display_(self) -> None:
        _notebook().show_result(self)

    def _repr_html_(self) -> str:
        """Return known rows, or what this is, for front ends that do not call ``_ipython_display_``."""
        return str(_notebook().result_html(self))

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the statement's job, if it has one."""
        return True if self.job is None else self.job.await_termination(timeout)

    def _start(self) -> Start:
        if not isinstance(self.action, Start):
            raise TypeError("this statement runs no query")
        return self.action

    @property
    def _catalog(self) -> Owner:
        assert self._owner is not None
        return self._owner
