"""The catalog inside Spark's own session: tables and views as temp views, DataFrames of the user's own as tables.

A frame is built in a session of ours, where the settings are those that our expressions are written for, and handed
over as a global temp view: Spark keeps the analysed plan, so what the user's session has set no longer matters. Over
Spark Connect that is the only way from one session to another.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from flinkddl.catalog.model import Table
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.formats.registry import SECRET_SETTING
from flinkddl.runtime.job.steps import build_frames
from flinkddl.runtime.job.topics.sources import Sources
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import client_properties, stop_condition, stop_offsets
from flinkddl.runtime.session.connect import close_session, is_connect
from flinkddl.runtime.session.extras import add_extras
from flinkddl.runtime.session.java_jars import ship_java
from flinkddl.runtime.session.sessions import extend_session, job_session, set_settings
from flinkddl.runtime.udf import refuse_foreign, register
from flinkddl.spark import job as J
from flinkddl.spark.frames import frame_of
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.catalog.model import ObjectPath
    from flinkddl.catalog.state import Catalog, CatalogObject
    from flinkddl.spark.frames import Frame, Mode

NOT_READABLE = ("FD204", "FD651")
"""What is said of a table that is only written: no reason for a note."""


@dataclass
class Made:
    """A temp view of ours: the object it shows, its lowered frame, the global temp view that holds its plan."""

    source: CatalogObject
    frame: Frame
    store: str


@dataclass
class Bridge:
    """Keeps the temp views of one catalog in step with it. ``notice`` takes a line for the user."""

    notice: Callable[[str], None]
    frames: dict[str, str] = field(default_factory=dict)
    _made: dict[str, Made] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)
    _tables: dict[tuple[ObjectPath, Mode | None], tuple[Frame, str]] = field(default_factory=dict)
    _at: Catalog | None = None
    _child: SparkSession | None = None
    _children: list[SparkSession] = field(default_factory=list)
    _stores: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._id = uuid.uuid4().hex[:8]
        self._numbers = count(1)
        self._spool = f"{tempfile.gettempdir()}/flinkddl-frames-{self._id}"

    # ---- tables and views to Spark -----------------------------------------------------------------------------

    def view_of(self, name: str) -> Made | None:
        """Return the temp view of a name, if we have made one."""
        return self._made.get(name)

    def reason(self, name: str) -> str | None:
        """Return why there is no temp view of a name, or None."""
        return self._reasons.get(name)

    def sync(self, spark: SparkSession, catalog: Catalog) -> None:
        """Bring the session's temp views to what the catalog holds now. No source is asked for anything."""
        if catalog is self._at:
            return
        wanted = dict(view_names(catalog))
        same = self._at is not None and _surroundings(self._at) == _surroundings(catalog)
        for name in [n for n in self._made if n not in wanted]:
            self._drop(spark, name)
        self._reasons = {n: why for n, why in self._reasons.items() if n in wanted}
        for name, item in wanted.items():
            made = self._made.get(name)
            if not (same and made is not None and isinstance(item, Table) and made.source is item):
                self._bring(spark, catalog, name, item)
        self._at = catalog

    def _bring(self, spark: SparkSession, catalog: Catalog, name: str, item: CatalogObject) -> None:
        made = self._made.get(name)
        try:
            frame = frame_of(catalog, item.path)
            if made is not None and made.frame == frame:
                made.source = item
                return
            self._make(spark, name, item, frame)
        except FlinkDdlError as error:
            self._drop(spark, name)
            first = error.diagnostics[0]
            self._refused(name, first.message, quiet=first.code in NOT_READABLE)

    def _make(self, spark: SparkSession, name: str, item: CatalogObject, frame: Frame) -> None:
        if name in self._made:
            self._drop(spark, name)
        if (other := self._in_the_way(spark, name)) is not None:
            self._refused(name, other)
            return
        store = self._store(spark, frame)
        spark.table(store).createOrReplaceTempView(quote(name))
        self._made[name] = Made(item, frame, store)
        self._reasons.pop(name, None)

    def _in_the_way(self, spark: SparkSession, name: str) -> str | None:
        lower = name.lower()
        twin = next((n for n in self._made if n.lower() == lower), None)
        if twin is not None and spark.conf.get("spark.sql.caseSensitive", "false") != "true":
            return f"this session does not tell it from '{twin}'"
        return "the session has a table or temp view of that name already" if _exists(spark, name) else None

    def _refused(self, name: str, why: str, *, quiet: bool = False) -> None:
        if self._reasons.get(name) != why and not quiet:
            self.notice(f"no temp view '{name}': {why}; catalog.table('{name}') says more")
        self._reasons[name] = why

    def _drop(self, spark: SparkSession, name: str) -> None:
        """Take a temp view of ours away, unless the user has put one of their own in its place."""
        made = self._made.pop(name, None)
        if made is None:
            return
        if _shows(spark, name, made.store):
            spark.sql(f"DROP VIEW IF EXISTS {quote(name)}")
        self._forget(spark, made.store)

    def table(self, spark: SparkSession, catalog: Catalog, path: ObjectPath, mode: Mode | None) -> DataFrame:
        """Return a table or view as a DataFrame of the user's session. Raises FlinkDdlError where it cannot be read."""
        frame = frame_of(catalog, path, mode)
        known = self._tables.get((path, mode))
        if known is None or known[0] != frame:
            known = self._tables[path, mode] = (frame, self._store(spark, frame))
        return spark.table(known[1])

    def open(self, spark: SparkSession, frame: Frame) -> DataFrame:
        """Return a frame in a session of its own, with all the settings that a streaming query over it needs."""
        child = job_session(spark, frame.job.settings)
        self._children.append(child)
        return self._build(child, frame)

    # ---- DataFrames to Flink SQL -------------------------------------------------------------------------------

    def take(self, spark: SparkSession, name: str, frame: DataFrame) -> None:
        """Keep a DataFrame under a name, for ``flinkddl.frame`` reads of any session."""
        store = self._name()
        frame.createOrReplaceGlobalTempView(store)
        self.frames[name] = self._keep(spark, store)

    # ---- the end -----------------------------------------------------------------------------------------------

    def close(self, spark: SparkSession) -> None:
        """Take everything of ours out of the session."""
        for name in list(self._made):
            self._drop(spark, name)
        for store in list(self._stores):
            self._forget(spark, store)
        self._tables.clear()
        self._at = self._child = None
        while self._children:
            child = self._children.pop()
            if is_connect(child):  # in this process sessions go by themselves
                close_session(child)
        shutil.rmtree(self._spool, ignore_errors=True)

    # ---- how a frame gets there --------------------------------------------------------------------------------

    def _store(self, spark: SparkSession, frame: Frame) -> str:
        """Build a frame and return the global temp view that holds it."""
        if self._child is None:
            extend_session(spark)
            self._child = job_session(spark, {})
            self._children.append(self._child)
        settings = frame.job.settings
        set_settings(self._child, settings, spark)
        # a kernel looks a secret up when it runs
        set_settings(spark, {k: v for k, v in settings.items() if k.startswith(SECRET_SETTING)}, spark)
        if is_connect(spark):  # in this process a jar is there for all sessions
            add_extras(spark, frame.job.extras)
        store = self._name()
        self._build(self._child, frame).createOrReplaceGlobalTempView(store)
        return self._keep(spark, store)

    def _build(self, child: SparkSession, frame: Frame) -> DataFrame:
        refuse_foreign(frame.job)
        for name, target in frame.job.udfs.items():
            register(child, name, target)
        add_extras(child, frame.job.extras)
        ship_java(child, frame.job.jars)
        sources = Sources(frame.job, None, frames=self.frames, spool=self._spool)
        built: Any = build_frames(child, frame.job, lambda session, step: _stopped(sources.open(session, step), step))
        made: DataFrame = built[frame.step]
        return made

    def _name(self) -> str:
        return f"flinkddl_{self._id}_{next(self._numbers)}"

    def _keep(self, spark: SparkSession, store: str) -> str:
        database = spark.conf.get("spark.sql.globalTempDatabase", "global_temp") or "global_temp"
        full = f"{quote(database)}.{quote(store)}"
        self._stores.append(full)
        return full

    def _forget(self, spark: SparkSession, store: str) -> None:
        self._stores.remove(store)
        spark.catalog.dropGlobalTempView(store.rpartition(".")[2].strip("`"))


def view_names(catalog: Catalog) -> Iterator[tuple[str, CatalogObject]]:
    """Yield every table and view with the name of its temp view: plain in the current database, else with its own."""
    for c, entry in catalog.catalogs.items():
        for d in entry.databases:
            for item in catalog.objects_in(c, d):
                yield view_name(catalog, item.path), item


def view_name(catalog: Catalog, path: ObjectPath) -> str:
    """Return the name of an object's temp view."""
    if path.catalog != catalog.current_catalog:
        return str(path)
    return path.name if path.database == catalog.current_database else f"{path.database}.{path.name}"


def _surroundings(catalog: Catalog) -> tuple[object, ...]:
    """Return what a table's frame depends on beside the table."""
    return (catalog.settings, catalog.system_functions, catalog.temporary_functions)


def _exists(spark: SparkSession, name: str) -> bool:
    return bool(spark.catalog.tableExists(quote(name)))


def _shows(spark: SparkSession, name: str, store: str) -> bool:
    """Return whether a temp view still shows what we have put there."""
    return _exists(spark, name) and bool(spark.table(quote(name)).sameSemantics(spark.table(store)))


def _stopped(frame: DataFrame, step: J.Read) -> DataFrame:
    """Stop a stream over a bounded table where its end is now. Raises FD811 when the cluster is not reached."""
    if step.format != J.KAFKA_SOURCE or not step.streaming or step.stop.get("mode", "unbounded") == "unbounded":
        return frame
    with KafkaAdmin(client_properties(step.options)) as admin:
        stops = stop_offsets(step.options, step.stop, admin)
    return frame if stops is None else frame.where(stop_condition(stops))
