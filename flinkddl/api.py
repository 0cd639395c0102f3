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
import threading
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from flinkddl.catalog.model import Table
from flinkddl.catalog.settings import STRICT
from flinkddl.catalog.state import Catalog as CatalogState
from flinkddl.diagnostics import Diagnostic, FlinkDdlError, SourceText, Span
from flinkddl.diagnostics.render import render_text
from flinkddl.diagnostics.secrets import is_secret
from flinkddl.perform import Front, perform
from flinkddl.results import Job, Result
from flinkddl.script.compile import Action, Answer, Command, Compiled, Done, Start, WritePlan, compile_script
from flinkddl.script.planfile import store
from flinkddl.script.views import views_of_jobs
from flinkddl.show.explain import explain
from flinkddl.show.printer import print_pyspark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from flinkddl.runtime.bridge import Bridge
    from flinkddl.runtime.job.running import RunOptions
    from flinkddl.runtime.session.sessions import SparkOptions
    from flinkddl.runtime.tables import TableInfo
    from flinkddl.spark.frames import Mode

__all__ = ["Catalog", "Diagnostic", "FlinkDdlError", "Job", "Result"]


class UserCode(TypedDict, total=False):
    """What a session may run that is not flinkddl's: keywords of ``Catalog``, which says what each is."""

    allow_python: Iterable[str]
    allow_jars: Iterable[str]
    jars: Iterable[str]
    udfs: Mapping[str, str] | None


class Catalog:
    """A Flink session: catalogs, tables, settings and jobs, over one SparkSession that starts when it is needed.

    ``spark`` is a session of your own (a Spark Connect session too); without it one is built from ``options``.
    ``strict`` refuses whatever Flink 2.3 refuses, also where its older documents show it (as SET 'flinkddl.strict').
    Tables and views are temp views of that session (``views=False``: they are not); ``notice`` takes the warnings of
    what is executed and a line about a view that could not be made, and writes to stderr by default. ``allow_python``
    names the modules that Python functions of a script may come from; they are imported when a job with such a
    function starts. ``allow_jars`` names the jars, or folders of jars, that its Java functions may come from, ``jars``
    adds jars as ADD JAR does, and allows them; ``udfs`` are functions as ``--udf`` gives them, name to target.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        options: SparkOptions | None = None,
        *,
        views: bool = True,
        strict: bool = False,
        notice: Callable[[str], None] | None = None,
        **code: Unpack[UserCode],
    ) -> None:
        begin = CatalogState().starting(STRICT if strict else {}).with_functions(code.get("udfs") or {})
        given = (code.get("allow_python", ()), code.get("allow_jars", ()), code.get("jars", ()))
        modules, allowed, added = map(_names, given)
        self.state = begin.allowing_python(modules).allowing_jars(allowed).with_jars(added)
        self._views = views
        self._notice = notice
        self.jobs: list[Job] = []
        self._spark = spark
        self._own = spark is None
        self._options = options
        self._adopted = False
        self._starting = threading.RLock()  # forks in threads of their own may be the first to ask for Spark

    def __repr__(self) -> str:
        return f"<flinkddl.Catalog: {len(self.tables())} tables and views, {len(self.jobs)} jobs>"

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
        compiled = self._compiled(sql, variables, name)
        if warned := [d for d in compiled.diagnostics if d.severity == "warning"]:
            self._say(render_text(warned))
        return self.perform(compiled, run)

    def perform(self, compiled: Compiled, run: Mapping[str, Any] | None = None) -> list[Result]:
        """Carry out a compiled script: jobs are started in order; with ``table.dml-sync`` each is awaited."""
        front = _Results(self, run or {})
        perform(self, compiled, front)
        return front.results

    def check(self, sql: str, *, variables: Mapping[str, str] | None = None, name: str = "<sql>") -> list[Diagnostic]:
        """Return everything there is to say about a script; nothing is started and nothing changes."""
        return compile_script(SourceText(name, sql), self.state, variables).diagnostics

    def explain(self, sql: str, *, variables: Mapping[str, str] | None = None, name: str = "<sql>") -> str:
        """Return the plans of a script's queries and INSERTs."""
        compiled = self._compiled(sql, variables, name)
        return "\n\n".join(explain(a.job) for a in _starts(compiled))

    def compile(self, sql: str, *, variables: Mapping[str, str] | None = None, name: str = "<sql>") -> str:
        """Return the script's jobs as a PySpark program."""
        compiled = self._compiled(sql, variables, name)
        return print_pyspark(
            (a.job.in_batches for a in _starts(compiled)), views_of_jobs(compiled), compiled.catalog.settings
        )

    def _compiled(self, sql: str, variables: Mapping[str, str] | None, name: str) -> Compiled:
        compiled = compile_script(SourceText(name, sql), self.state, variables)
        if compiled.has_errors:
            raise FlinkDdlError(compiled.diagnostics)
        return compiled

    def perform_one(self, action: Action, **run: Any) -> Result:
        """Carry out one action of a compiled script. ``run`` are fields of RunOptions for its job."""
        match action:
            case Answer():
                return Result(action, action.columns, action.rows, _owner=self)
            case Start() if action.is_query:
                return Result(action, fields=action.sinks[0].fields, _owner=self, _state=self.state)
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
                every = self.state.settings.sql_client_verbose
                return Result(action, _JOB_COLUMNS, [_job_row(j) for j in self.jobs if every or not j.is_over_query])
            case nodes.Describe():
                columns = _described(self._job(action))
                return Result(action, tuple(columns), [tuple(columns.values())])
            case nodes.StopJob():
                return self._stop_job(action)
            case _:
                return Result(action)

    def _stop_job(self, action: Command) -> Result:
        """STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]; where no folder for savepoints is set, the checkpoint is it."""
        job = self._job(action)
        kept, drain = action.tree.args.get("savepoint"), bool(action.tree.args.get("drain"))
        if kept and drain:
            help = "leave WITH DRAIN out to go on later, or WITH SAVEPOINT to end the job with its last windows"
            message = "a job that is drained has closed all its windows: nothing could go on from its savepoint"
            raise FlinkDdlError.of("FD859", message, action.span, help=help)
        if kept and job.checkpoint is None:
            help = "SET 'execution.checkpointing.dir' before the job is started, or stop it without SAVEPOINT"
            raise FlinkDdlError.of("FD841", f"job '{job.id}' keeps no state beyond its run", action.span, help=help)
        job.stop(drain=drain, whole=bool(kept))
        target = self.state.settings.execution_checkpointing_savepoint_dir
        if kept and target:
            return Result(action, ("savepoint path",), ((job.savepoint(target),),))
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
        from flinkddl.runtime.kafka.kerberos_start import joined, take_settings
        from flinkddl.runtime.session.sessions import SparkOptions, adopt_session, build_session

        with self._starting:
            if self._spark is None:
                take_settings(self.state.settings)
                options = self._options or SparkOptions()
                self._spark = build_session(replace(options, conf=joined(options.conf, self.state.settings)))
                self._adopted = True
                self.show_views()
            elif not self._adopted:
                self._spark = adopt_session(self._spark)
                self._adopted = True
            return self._spark

    def start(self, action: Start, **run: Any) -> Job:
        """Start a job. ``run`` are fields of RunOptions; the checkpoint folder defaults to what the script has SET."""
        from flinkddl.runtime.job.running import RunningJob
        from flinkddl.runtime.kafka.kerberos_start import check_session
        from flinkddl.runtime.kafka.sink_needs import naming_tables

        self.preflight(action, run.get("checkpoint"))
        self.reach(action)
        check_session(self.spark, self.state.settings)
        action = self.fitted(action, **run)
        with naming_tables([action.job], self._option_place):
            running = RunningJob(self.spark, action.job, self._run_options(action, run)).start()
        job = Job(running, str(len(self.jobs) + 1), is_query=action.is_query)
        self.jobs.append(job)
        return job

    def fitted(self, action: Start, **run: Any) -> Start:
        """Return a job of mode 'auto' in the mode in which it is to start; starts Spark. ``run`` as for ``start``."""
        from flinkddl.runtime.job.supervising.fitting import fitted

        if action.job.choice is None:
            return action
        return replace(action, job=fitted(self.spark, action.job, self._run_options(action, run)))

    def preflight(self, action: Start, given: str | None = None) -> None:
        """Raise FD822 for a checkpoint folder that cannot be written, as far as that is known before Spark is started.

        ``given`` as for ``checkpoint_folder``. Raises also what is said of Python functions that are not allowed, FD850
        and FD851 for a Kerberos login that cannot be made.
        """
        from flinkddl.runtime.kafka.kerberos_start import log_in
        from flinkddl.runtime.session.sessions import SparkOptions
        from flinkddl.runtime.storage.file_systems import check_before
        from flinkddl.runtime.udf import refuse_foreign

        refuse_foreign(action.job, action.span)
        log_in(action.job, self.state.settings)
        options = self._options or SparkOptions()
        folder = self.checkpoint_folder(action, given)
        if self._spark is None and options.remote is None and action.job.streaming and folder is not None:
            check_before(folder, options.conf)

    def reach(self, action: Start) -> None:
        """Raise FD811 to FD814 for a Kafka cluster of a job that is not there, before Spark takes its time to start."""
        from flinkddl.runtime.kafka.sink_needs import reach

        if self._spark is None:
            reach(action.job, self._option_place)

    def _option_place(self, table: str, option: str) -> Span | None:
        """Return where a table gives an option, else where it is declared."""
        found = self.state.find(tuple(table.split(".")))
        if not isinstance(found, Table):
            return None
        given = found.options.get(option)
        if given is None:
            return found.span
        return (given.key_span if is_secret(option) else given.value_span) or found.span

    def _run_options(self, action: Start, run: Mapping[str, Any]) -> RunOptions:
        from flinkddl.runtime.job.running import RunOptions

        own: dict[str, Any] = {
            "checkpoint": self.checkpoint_folder(action, run.get("checkpoint")),
            "frames": dict(self.bridge.frames),
        }
        own |= {"savepoint": self.state.settings.execution_state_recovery_path, "script": _script(action)}
        ended = {job.name for job in self.jobs if job.status == "finished"}
        own["continue_job"] = _names(run.get("continue_job", ()))
        _check_names(action, own["continue_job"])
        return RunOptions(**{**run, **own, "script_jobs": ended | action.script_jobs})

    def checkpoint_folder(self, action: Start, given: str | None = None) -> str | None:
        """Return where a job keeps its checkpoint: below ``given``, else what the script has SET, else nowhere."""
        from flinkddl.runtime.storage.checkpoint import job_folder

        root = given or self.state.settings.execution_checkpointing_dir
        return job_folder(root, action.job) if root else None

    def fork(self) -> Catalog:
        """Return a catalog of its own (tables, settings) over the same Spark session."""
        other = Catalog(views=False)
        other.join(self)
        other.state = self.state
        return other

    def join(self, other: Catalog) -> None:
        """Take the Spark session of another catalog, which starts it where need be and stops it."""
        self._spark, self._own, self._adopted = other.spark, False, True

    def stop(self) -> None:
        """Stop all jobs, take our temp views away, and stop the Spark session when it was built here."""
        for job in self.jobs:
            with contextlib.suppress(FlinkDdlError):
                job.stop()
        if self._adopted and self._spark is not None and not self._own:
            self.bridge.close(self._spark)
        if self._own and self._spark is not None:
            from flinkddl.runtime.session.errors import end_session

            end_session(self._spark)
            self._spark = None

    # ---- Spark's own session ---------------------------------------------------------------------------------------

    @cached_property
    def bridge(self) -> Bridge:
        """What keeps Spark's temp views in step with the catalog, and the DataFrames that it was given."""
        from flinkddl.runtime.bridge import Bridge

        return Bridge(self._say)

    def _say(self, text: str) -> None:
        from flinkddl.runtime.job.run_options import to_stderr

        (self._notice or to_stderr)(text)

    def show_views(self) -> None:
        """Bring Spark's temp views in step; where no session runs they come with it."""
        if self._views and self._spark is not None:
            self.bridge.sync(self.spark, self.state)

    def table(self, name: str, mode: Mode | None = None) -> DataFrame:
        """Return a table or view as a DataFrame of your session: ``mode`` "batch", "streaming", or what is SET.

        Batch is what the topic holds when the frame is read; streaming of what is updated are its changes, with
        ``_row_kind``. Raises FlinkDdlError for an unknown table and with what keeps one from being read.
        """
        from flinkddl.runtime.kafka.kerberos_start import check_session, take_settings
        from flinkddl.runtime.tables import find

        take_settings(self.state.settings)
        check_session(self.spark, self.state.settings)
        return self.bridge.table(self.spark, self.state, find(self.state, name), mode)

    def tables(self) -> tuple[TableInfo, ...]:
        """Return every table and view of the catalog, with the temp view that shows it."""
        from flinkddl.runtime.tables import table_infos

        return table_infos(self.state, self.bridge)

    def schema(self, name: str) -> StructType:
        """Return the columns of a table or view as Spark's types; starts nothing. Raises FlinkDdlError as ``table``."""
        from flinkddl.runtime.tables import schema_of

        return schema_of(self.state, name)

    def create_view(
        self,
        name: str,
        df: DataFrame,
        watermark: str | None = None,
        primary_key: str | Sequence[str] = (),
        changelog: str | None = None,
    ) -> None:
        """Make a DataFrame a temporary table for Flink SQL, in place of an older one of that name.

        ``watermark``: such as ``ts - INTERVAL '5' SECOND``; ``primary_key``: columns that the rows are known to be
        unique by; ``changelog``: the column that holds the row kind ('+I', '-U', '+U', '-D'), which is no column then.
        Raises FD665 for a column without a Flink type and for names that are no columns.
        """
        from flinkddl.runtime.tables import declare

        keys = (primary_key,) if isinstance(primary_key, str) else tuple(primary_key)
        self.state = declare(self.state, name, df, watermark, keys, changelog)
        self.bridge.take(self.spark, name, df)
        self.show_views()

    def write(self, df: DataFrame, table: str, **run: Any) -> Job:
        """Write a DataFrame into a table, its columns by name, and return the job, as INSERT INTO does.

        A column ``_row_kind`` that the table does not have says what change each row is. ``run`` are fields of
        RunOptions. Raises FD666 for columns that the table lacks or wants, and what an INSERT would say.
        """
        from flinkddl.runtime.tables import written

        start, source = written(self.state, df, table)
        self.bridge.take(self.spark, source, df)
        return self.start(start, **run)

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Results(Front):
    """What ``execute_all`` returns: one result a statement."""

    def __init__(self, catalog: Catalog, run: Mapping[str, Any]) -> None:
        self.catalog, self.run, self.checkpoint = catalog, run, run.get("checkpoint")
        self.results: list[Result] = []

    def carry_out(self, action: Action) -> Job | None:
        self.results.append(self.catalog.perform_one(action, **self.run))
        return self.results[-1].job


def _script(action: Start) -> tuple[str, str]:
    """Return where the script of an action is, and the SHA-256 of its text."""
    from hashlib import sha256

    source = action.span.source
    return source.name, sha256(source.text.encode(errors="surrogatepass")).hexdigest()


_JOB_COLUMNS = ("job id", "job name", "status", "start time")


def _job_row(job: Job) -> tuple[str, ...]:
    started = job.started.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return (job.id, job.name, job.status.upper(), started)


def _described(job: Job) -> dict[str, str]:
    """Return what DESCRIBE JOB says: what Flink does, then what is known of lag and failures."""
    from flinkddl.runtime.job.reporting.progress import progress_line

    found = dict(zip(_JOB_COLUMNS, _job_row(job), strict=True))
    if job.lag:  # nobody knows what a topic holds whose cluster does not answer
        found["records behind"] = ", ".join(
            f"{t} {'?' if job.waiting else f'{n:,}'}" for t, n in sorted(job.lag.items())
        )
    elif job.status == "running" and not job.progress:
        found["records behind"] = "not known before the first batch has ended"
    if job.progress:
        found["last batch"] = "; ".join(progress_line(p) for p in job.progress)
    if job.last_failure:
        found["last failure"] = job.last_failure
    return found


def _starts(compiled: Compiled) -> Iterable[Start]:
    return (a for a in compiled.actions if isinstance(a, Start))


def _names(given: Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _check_names(action: Start, given: Sequence[str]) -> None:
    """Raise FD529 where ``continue_job`` has a name for a job that is not there, or that another job has."""
    from flinkddl.runtime.job.run_options import continued

    jobs = sorted(action.script_jobs | {action.job.name})
    for text in given:
        before = {name for name, _ in (continued(text, job) for job in jobs)} - {""}
        if not before:
            message = f"'{text}' names no job of this script to go on from the state of another"
            help = f"its jobs: {', '.join(map(repr, jobs))}; where all of it is the old name, write '={text}'"
            raise FlinkDdlError.of("FD529", message, action.span, help=help)
        if taken := sorted(before & {*jobs} - {action.job.name}):
            message = f"job '{action.job.name}' cannot go on from the state of '{taken[0]}', a job of the same script"
            raise FlinkDdlError.of("FD529", message, action.span, help="name a job that the script no longer has")


def _nowhere(name: str, sql: str) -> Any:
    return Span(SourceText(name, sql), 0, 0)
