"""The public API: what a notebook and the command line see.

from flinkddl.api import Catalog

catalog = Catalog()
catalog.execute("CREATE TABLE orders (...) WITH (...)")
job = catalog.execute("INSERT INTO totals SELECT ...").job
job.lag, job.progress
job.stop()
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flinkddl.catalog.state import Catalog as CatalogState
from flinkddl.diagnostics import Diagnostic, FlinkDdlError, SourceText
from flinkddl.lower.explain import explain
from flinkddl.lower.planfile import store
from flinkddl.lower.printer import print_pyspark
from flinkddl.lower.script import Action, Answer, Command, Compiled, Done, Start, WritePlan, compile_script
from flinkddl.plan.changelog import sink_mode
from flinkddl.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.plan.nodes import Field
    from flinkddl.runtime.interpreter import RunningJob, RunOptions
    from flinkddl.runtime.progress import Progress
    from flinkddl.runtime.session import SparkOptions
    from flinkddl.runtime.writers import Rows

__all__ = ["Catalog", "Diagnostic", "FlinkDdlError", "Job", "Result"]


class Job:
    """A running INSERT, statement set or SELECT; all methods may be called from any thread."""

    def __init__(self, running: RunningJob, id: str = "0") -> None:
        self._running = running
        self.id = id
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
    def error(self) -> FlinkDdlError | None:
        """Why the job failed, or None."""
        return self._running.error

    @property
    def checkpoint(self) -> str | None:
        """The folder that keeps the job's state beyond this run, or None."""
        return self._running.options.checkpoint

    @property
    def lag(self) -> dict[str, int]:
        """Records not yet read, per topic, as of the last finished batch."""
        return self._running.lag

    @property
    def progress(self) -> tuple[Progress, ...]:
        """The last finished batch of each sink."""
        return self._running.progress

    def stop(self, *, drain: bool = False) -> None:
        """End the job after its running batch; ``drain`` first closes every window, as STOP JOB ... WITH DRAIN."""
        self._running.stop(drain=drain)

    def await_input(self, timeout: float | None = None) -> bool:
        """Wait (seconds) until the job has taken all that its topics hold now, and return whether that came in time."""
        return self._running.await_input(timeout)

    def request_stop(self) -> None:
        """Ask the job to end after its running batch and return at once; safe in a signal handler."""
        self._running.request_stop()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait (seconds) for the end and return whether it came. Raises FlinkDdlError when the job failed."""
        return self._running.await_termination(timeout)

    def __repr__(self) -> str:
        return f"<Job {self.name}: {self.status}>"


@dataclass
class Result:
    """What one statement gave: rows that are known (SHOW, EXPLAIN), a job (INSERT), or a query to be run (SELECT)."""

    action: Action
    columns: tuple[str, ...] = ()
    rows: Sequence[tuple[Any, ...]] = ()
    job: Job | None = None
    fields: tuple[Field, ...] = ()
    _owner: Catalog | None = field(default=None, repr=False)

    @property
    def is_query(self) -> bool:
        """Whether this is a SELECT, which runs when its rows are asked for."""
        return isinstance(self.action, Start) and self.action.is_query

    @property
    def streaming(self) -> bool:
        """Whether the query runs until it is stopped; otherwise it ends with its bounded sources."""
        return self._start().job.streaming

    @property
    def settings(self) -> dict[str, str]:
        """What the session has SET."""
        return dict(self._config)

    @property
    def changelog(self) -> str:
        """``append`` when a query's or INSERT's changes are inserts only, else ``updating``."""
        start = self._start()
        modes = (sink_mode(s, self._config) for s in start.sinks)
        return "append" if all(m.inputs[0].append for m in modes) else "updating"

    @property
    def dataframe(self) -> DataFrame:
        """The SELECT as a DataFrame of the job's own session: batch, or streaming with our reserved columns."""
        from flinkddl.runtime.interpreter import job_frames

        start = self._start()
        return job_frames(self._catalog.spark, start.job)[start.job.writes[0].input]

    def collect(self) -> list[tuple[Any, ...]]:
        """Run the SELECT to its end and return the table that its changes leave, in no particular order.

        An unbounded query never ends: use ``changes`` with a callback, or bound its sources.
        """
        net: Counter[str] = Counter()
        seen: dict[str, tuple[Any, ...]] = {}

        def take(rows: Rows) -> None:
            for change in rows.changes:
                name = repr(change.row)
                seen[name] = change.row
                net[name] += 1 if change.kind in ("+I", "+U") else -1

        self.changes(take).await_termination()
        return [seen[name] for name, count in net.items() for _ in range(count)]

    def changes(self, on_rows: Callable[[Rows], None]) -> Job:
        """Start the SELECT and hand every batch of changes (with Flink's row kinds) to a function."""
        return self._catalog.start(self._start(), on_rows=on_rows)

    def show(self, limit: int = 20) -> None:
        """Print the rows: known ones, or those of a bounded SELECT."""
        from rich.console import Console
        from rich.table import Table

        rows = self.collect() if self.is_query else list(self.rows)
        names = [f.name for f in self.fields] if self.is_query else list(self.columns)
        table = Table(*names)
        for row in rows[:limit]:
            table.add_row(*("<NULL>" if v is None else str(v) for v in row))
        Console().print(table)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the statement's job, if it has one."""
        return True if self.job is None else self.job.await_termination(timeout)

    def _start(self) -> Start:
        if not isinstance(self.action, Start):
            raise TypeError("this statement runs no query")
        return self.action

    @property
    def _catalog(self) -> Catalog:
        assert self._owner is not None
        return self._owner

    @property
    def _config(self) -> Mapping[str, str]:
        return self._catalog.state.settings


class Catalog:
    """A Flink session: catalogs, tables, settings and jobs, over one SparkSession that starts when it is needed.

    ``spark`` is a session of your own (a Spark Connect session too); without it one is built from ``options``.
    """

    def __init__(self, spark: SparkSession | None = None, options: SparkOptions | None = None) -> None:
        self.state = CatalogState()
        self.jobs: list[Job] = []
        self._spark = spark
        self._own = spark is None
        self._options = options
        self._adopted = False

    # ---- statements ------------------------------------------------------------------------------------------------

    def execute(self, sql: str, *, variables: Mapping[str, str] | None = None, name: str = "<sql>") -> Result:
        """Execute a script and return the result of its last statement.

        Raises FlinkDdlError with every mistake of the script before anything is started, or with what the outside
        world refused.
        """
        results = self.execute_all(sql, variables=variables, name=name)
        return results[-1] if results else Result(Done(span=_nowhere(name, sql)))

    def execute_all(
        self,
        sql: str,
        *,
        variables: Mapping[str, str] | None = None,
        name: str = "<sql>",
        run: Mapping[str, Any] | None = None,
    ) -> list[Result]:
        """Execute a script and return one result a statement. ``run`` are RunOptions fields for its jobs."""
        compiled = compile_script(SourceText(name, sql), self.state, variables)
        if compiled.has_errors:
            raise FlinkDdlError(compiled.diagnostics)
        return self.perform(compiled, run)

    def perform(self, compiled: Compiled, run: Mapping[str, Any] | None = None) -> list[Result]:
        """Carry out a compiled script: jobs are started in order; with ``table.dml-sync`` each is awaited."""
        results = []
        for action, self.state in zip(compiled.actions, compiled.states, strict=True):
            result = self._perform(action, run or {})
            results.append(result)
            if result.job is not None and self.state.setting("table.dml-sync"):
                result.job.await_termination()
        return results

    def check(self, sql: str, *, variables: Mapping[str, str] | None = None, name: str = "<sql>") -> list[Diagnostic]:
        """Return everything there is to say about a script; nothing is started and nothing changes."""
        return compile_script(SourceText(name, sql), self.state, variables).diagnostics

    def explain(self, sql: str, *, variables: Mapping[str, str] | None = None, name: str = "<sql>") -> str:
        """Return the plans of a script's queries and INSERTs."""
        compiled = self._compiled(sql, variables, name)
        return "\n\n".join(explain(a.job, a.sinks, compiled.catalog.settings) for a in _starts(compiled))

    def compile(self, sql: str, *, variables: Mapping[str, str] | None = None, name: str = "<sql>") -> str:
        """Return the script's jobs as a PySpark program."""
        return print_pyspark(a.job for a in _starts(self._compiled(sql, variables, name)))

    def _compiled(self, sql: str, variables: Mapping[str, str] | None, name: str) -> Compiled:
        compiled = compile_script(SourceText(name, sql), self.state, variables)
        if compiled.has_errors:
            raise FlinkDdlError(compiled.diagnostics)
        return compiled

    def perform_one(self, action: Action, **run: Any) -> Result:
        """Carry out one action of a compiled script. ``run`` are fields of RunOptions for its job."""
        return self._perform(action, run)

    def _perform(self, action: Action, run: Mapping[str, Any]) -> Result:
        match action:
            case Answer():
                return Result(action, action.columns, action.rows, _owner=self)
            case Start() if action.is_query:
                return Result(action, fields=action.sinks[0].fields, _owner=self)
            case Start():
                return Result(action, job=self.start(action, **run), _owner=self)
            case Command():
                return self._command(action)
            case WritePlan():
                store(action.path, action.text)
                return Result(action, ("result",), (("OK",),), _owner=self)
            case _:
                return Result(action, ("result",), (("OK",),), _owner=self)

    def _command(self, action: Command) -> Result:
        from flinkddl.dialect import nodes

        match action.tree:
            case nodes.Show():
                return Result(action, _JOB_COLUMNS, [_job_row(j) for j in self.jobs])
            case nodes.Describe():
                return Result(action, _JOB_COLUMNS, [_job_row(self._job(action))])
            case nodes.StopJob():
                return self._stop_job(action)
            case _:
                return Result(action)

    def _stop_job(self, action: Command) -> Result:
        """STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]: the checkpoint folder is the savepoint."""
        job = self._job(action)
        kept = action.tree.args.get("savepoint")
        if kept and job.checkpoint is None:
            help = "SET 'execution.checkpointing.dir' before the job is started, or stop it without SAVEPOINT"
            raise FlinkDdlError.of("FD841", f"job '{job.id}' keeps no state beyond its run", action.span, help=help)
        job.stop(drain=bool(action.tree.args.get("drain")))
        if kept:
            return Result(action, ("savepoint path",), ((job.checkpoint,),))
        return Result(action, ("result",), ((f"stopped {job.name}",),))

    def _job(self, action: Command) -> Job:
        wanted = action.tree.this.name
        found = next((j for j in reversed(self.jobs) if wanted in (j.id, j.name)), None)
        if found is None:
            raise FlinkDdlError.of("FD840", f"there is no job '{wanted}'", action.span, help="SHOW JOBS lists them")
        return found

    # ---- running ---------------------------------------------------------------------------------------------------

    @property
    def spark(self) -> SparkSession:
        """The Spark session; built at the first use when none was given."""
        from flinkddl.runtime.session import SparkOptions, adopt_session, build_session

        if self._spark is None:
            self._spark = build_session(self._options or SparkOptions())
            self._adopted = True
        elif not self._adopted:
            self._spark = adopt_session(self._spark)
            self._adopted = True
        return self._spark

    def start(self, action: Start, **run: Any) -> Job:
        """Start a job. ``run`` are fields of RunOptions; the checkpoint folder defaults to what the script has SET."""
        from flinkddl.runtime.interpreter import RunningJob

        running = RunningJob(self.spark, action.job, self._run_options(action, run)).start()
        job = Job(running, str(len(self.jobs) + 1))
        self.jobs.append(job)
        return job

    def _run_options(self, action: Start, run: Mapping[str, Any]) -> RunOptions:
        from flinkddl.runtime.interpreter import RunOptions

        return RunOptions(**{**run, "checkpoint": self.checkpoint_folder(action, run.get("checkpoint"))})

    def checkpoint_folder(self, action: Start, given: str | None = None) -> str | None:
        """Return where a job keeps its checkpoint: below ``given``, else what the script has SET, else nowhere."""
        from flinkddl.runtime.checkpoint import job_folder

        settings = self.state.settings
        root = given or settings.get("execution.checkpointing.dir") or settings.get("state.checkpoints.dir")
        return job_folder(str(root), action.job) if root else None

    def fork(self) -> Catalog:
        """Return a catalog of its own (tables, settings) over the same Spark session."""
        other = Catalog(self.spark)
        other.state, other._own, other._adopted = self.state, False, True
        return other

    def stop(self) -> None:
        """Stop all jobs, and the Spark session when it was built here."""
        for job in self.jobs:
            with contextlib.suppress(FlinkDdlError):
                job.stop()
        if self._own and self._spark is not None:
            self._spark.stop()
            self._spark = None

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_JOB_COLUMNS = ("job id", "job name", "status", "start time")


def _job_row(job: Job) -> tuple[str, ...]:
    started = job.started.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return (job.id, job.name, job.status.upper(), started)


def _starts(compiled: Compiled) -> Iterable[Start]:
    return (a for a in compiled.actions if isinstance(a, Start))


def _nowhere(name: str, sql: str) -> Any:
    from flinkddl.diagnostics import Span

    return Span(SourceText(name, sql), 0, 0)
