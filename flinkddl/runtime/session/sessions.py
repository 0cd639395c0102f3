"""A SparkSession for flinkddl jobs: built here or taken as it is, and one child session a job.

Only public PySpark calls are used after start-up, so that a Spark Connect session (``--remote``) does as well.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.diagnostics.secrets import SPARK_OPTIONS_REGEX, SPARK_REGEX, mask_urls
from flinkddl.formats.registry import SECRET_SETTING
from flinkddl.runtime.machine.cache import new_log
from flinkddl.runtime.machine.class_archive import archive_options
from flinkddl.runtime.machine.jars import functions_jar, pyspark_home, spark_jars
from flinkddl.runtime.machine.java import find_java, trimming
from flinkddl.runtime.session.classes import has_class
from flinkddl.runtime.session.connect import KAFKA_JARS, add_jars, await_server, is_connect, new_session
from flinkddl.runtime.session.errors import quiet_py4j
from flinkddl.runtime.session.extras import FOLDER
from flinkddl.spark.sealing import KEY, seal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import SparkSession

REDACTION = "spark.redaction.regex"
DEFAULT_JAVA = "spark.driver.defaultJavaOptions"  # what stands before a user's own "extraJavaOptions"
COLLECTOR = "-XX:+UseParallelGC"
"""Of the JVM that is started here, unless the user names one: a join of two topics of a million rows took 8.5 to 9.0 s
of CPU with it and 10.5 to 13.7 s with G1, which marks again and again in a heap of 2 to 3 GB."""

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

JOB_SETTINGS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.jsonGenerator.ignoreNullFields": "false",
    "spark.sql.chunkBase64String.enabled": "false",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.catalog.flinkddl": "flinkddl.Functions",
    "spark.sql.redaction.options.regex": SPARK_OPTIONS_REGEX,
}
"""What every job's own session is told; a job's settings come on top. See changelog.md, "What Spark must be told"."""

KEPT_SETTINGS: Mapping[str, str] = {
    "spark.sql.streaming.minBatchesToRetain": "20",
    "spark.sql.streaming.stateStore.maintenanceInterval": "30s",
    FOLDER: "",
}
"""What a job's session is told unless the caller has: how much of a checkpoint stays, and where further jars come from.

Spark keeps 100 batches, and of state what came since the snapshot before them; one is made once a maintenance
(60 s). A run goes on from the last batch, and so does a savepoint: the others are of no use. What an older run has kept
is taken away by the next one.
"""

SERVER_SETTINGS: Mapping[str, str] = {"spark.sql.analyzer.maxIterations": "10000"}
"""What a Spark Connect server is told: a plan comes to it as a whole, and takes it a round for each of its steps.

Spark gives up after 100 rounds, which is enough where each step is looked at as it is made, as in a local session.
"""

START_SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.structuredLogging.enabled": "false",
    "spark.sql.streaming.stopTimeout": "60s",
    REDACTION: SPARK_REGEX,
}
"""What a session built here starts with, unless the caller says otherwise."""

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Of the environment: the Java process that started this one is Spark's driver (``PythonRunner`` of spark-submit)."""

LOCAL_FILES: Mapping[str, str] = {
    "spark.hadoop.fs.file.impl": "flinkddl.state.LocalFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "flinkddl.state.LocalFiles$Context",
}
"""Where Spark runs in one process (not ``local-cluster``) with our jar on its class path: no process a file."""

OF_SUBMIT = ("spark.ui.enabled", "spark.driver.memory", "spark.ui.showConsoleProgress")
"""Start settings that are spark-submit's own business."""

_CLASSES = {
    "flinkddl.Functions": "flinkddl's jar",
    "org.apache.spark.sql.kafka010.KafkaSourceProvider": "Spark's Kafka connector",
}

_JARS = "spark.flinkddl.jars"  # of a Connect session: the jars of this machine that its jobs' sessions get

_PY_FILES = "spark.flinkddl.pyFiles"  # ... and the Python modules

MALLOC: Mapping[str, str] = {"MALLOC_ARENA_MAX": "4", "MALLOC_MMAP_THRESHOLD_": "131072"}
"""Of the environment of the JVM that is started here, unless the user says otherwise: how glibc keeps what RocksDB
gives back. It does so in up to eight arenas a core (600 MB in 16 of them, 18 minutes into ``tests.soak.hour``); four is
what Hadoop's scripts give. And it raises by itself the size from which on a piece is given back to the system at once,
up to 32 MB (``mallopt(3)``, "dynamic mmap threshold"): the megabytes of RocksDB's write buffers then stay in the arenas
(106 MB of them free and kept after half an hour). Named, it stays where it starts. Smaller pieces (blocks of RocksDB's
cache) still left 3 to 4 MB more a minute in the arenas for an hour: ``java.trimming`` has glibc give those back too.
"""

_LAUNCH = threading.Lock()
"""Held while a JVM is launched: what it is started with stands in this process's environment."""

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss.SSS}} %p %c: %m%n%ex
logger.kafka.name = org.apache.kafka
logger.kafka.level = error
"""


@dataclass(frozen=True)
class SparkOptions:
    """How to come by a session.

    ``master``: where Spark runs (default ``local[*]``); ``remote``: a Spark Connect address instead; ``jars``: a folder
    of jars instead of downloads; ``py_files``: Python modules for the workers; ``conf``: further Spark settings, which
    win over ours.
    """

    master: str | None = None
    remote: str | None = None
    jars: str | None = None
    py_files: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)


def build_session(options: SparkOptions = SparkOptions()) -> SparkSession:
    """Start (or connect to) Spark and return its session.

    Raises FD801 (no Java), FD802/FD803 (jars), FD810 (Spark does not start, with the log file's name), FD873 (a Spark
    that spark-submit started lacks our jars).
    """
    if SUBMITTED in os.environ and options.remote is None:
        return _submitted(options)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if options.remote is not None:
        return _connect(options.remote, options)
    find_java()
    quiet_py4j()
    from pyspark.sql import SparkSession

    log = new_log("spark")
    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark's JSON copy of each error, on stderr
    builder = SparkSession.builder.appName("flinkddl").master(options.master or "local[*]")
    for key, value in _start_conf(options, log).items():
        builder = builder.config(key, value)
    try:
        with _LAUNCH, _launch_script(log):
            session = builder.getOrCreate()
        ship(session, options.py_files)
    except Exception as error:
        raise FlinkDdlError.of(
            "FD810", f"Spark did not start: {_first_line(error)}", help=f"its log is '{log}'"
        ) from error
    return session


def _submitted(options: SparkOptions) -> SparkSession:
    """Return the session of a program that spark-submit started: master, jars and memory are what it was told."""
    from pyspark.sql import SparkSession

    quiet_py4j()
    logging.getLogger("SQLQueryContextLogger").disabled = True
    builder = SparkSession.builder.master(options.master) if options.master else SparkSession.builder
    start = {key: value for key, value in START_SETTINGS.items() if key not in OF_SUBMIT}
    for key, value in {**start, **JOB_SETTINGS, KEY: os.urandom(32).hex(), **_given(options)}.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
        ship(session, options.py_files)
    except Exception as error:
        raise FlinkDdlError.of("FD810", f"Spark did not start: {_first_line(error)}") from error
    if options.jars:
        adopt_session(session, options.jars)
    if missing := [name for name in _CLASSES if not has_class(session, name)]:
        message = f"spark-submit was started without {' and '.join(_CLASSES[name] for name in missing)}"
        raise FlinkDdlError.of("FD873", message, help="give the jars of the package with --jars, as submit.sh does")
    return session


def _given(options: SparkOptions) -> dict[str, str]:
    """Return the caller's settings; what they redact stands beside what we do."""
    conf = dict(options.conf)
    if REDACTION in conf:
        conf[REDACTION] = f"(?:{conf[REDACTION]})|(?:{SPARK_REGEX})"
    return conf


def _start_conf(options: SparkOptions, log: Path) -> dict[str, str]:
    jars = [str(path) for path in spark_jars(options.jars)]
    log4j = log.with_suffix(".properties")
    log4j.write_text(_LOG4J.format(log=log), encoding="utf-8")
    conf = {**START_SETTINGS, **JOB_SETTINGS, KEY: os.urandom(32).hex(), "spark.jars": ",".join(jars)}
    conf["spark.driver.extraClassPath"] = os.pathsep.join(jars)
    conf |= {FOLDER: os.path.abspath(options.jars)} if options.jars else {}
    if (options.master or "local").startswith("local"):
        conf["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 2))
    if re.fullmatch(r"local(\[[^\]]*\])?", options.master or "local") and functions_jar() is not None:
        conf |= LOCAL_FILES
    conf |= _given(options)
    for key in ("spark.jars", "spark.driver.extraClassPath"):
        separator = "," if key == "spark.jars" else os.pathsep
        conf[key] = separator.join(dict.fromkeys([*jars, *filter(None, options.conf.get(key, "").split(separator))]))
    classes, given = conf["spark.driver.extraClassPath"].split(os.pathsep), _given_to_java(conf)
    binary = find_java()
    java = [f"-Dlog4j2.configurationFile={log4j.as_uri()}", *archive_options(binary, classes, given, os.environ)]
    java += [] if "TrimNativeHeapInterval" in given else trimming(binary)
    java += [] if re.search(r"-XX:\+Use\w+GC\b", given) else [COLLECTOR]
    conf[DEFAULT_JAVA] = " ".join(filter(None, [*java, conf.get(DEFAULT_JAVA)]))
    return conf


def _given_to_java(conf: Mapping[str, str]) -> str:
    """Return what the user tells Java, wherever: two collectors named are none, Java does not start."""
    told = [conf.get(key, "") for key in (DEFAULT_JAVA, "spark.driver.extraJavaOptions")]
    told += [os.environ.get(name, "") for name in ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")]
    home = Path(os.environ.get("SPARK_HOME") or pyspark_home())
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf") / "spark-defaults.conf"
    if defaults.is_file():
        told.append(defaults.read_text(encoding="utf-8", errors="replace"))
    return " ".join(told)


def _connect(address: str, options: SparkOptions) -> SparkSession:
    from pyspark.sql import SparkSession

    try:
        session: SparkSession = SparkSession.builder.remote(address).getOrCreate()
        await_server(session, mask_urls(address), _say)
        for key, value in options.conf.items():
            session.conf.set(key, value)
    except FlinkDdlError:
        raise
    except Exception as error:
        raise FlinkDdlError.of(
            "FD810",
            f"no Spark Connect session at '{mask_urls(address)}': {mask_urls(_first_line(error))}",
            help="check the address (sc://host:15002) and that `pip install 'pyspark[connect]'` was run",
        ) from error
    session.conf.set(_PY_FILES, os.pathsep.join(options.py_files))
    return _noted(session, options.jars)


def _say(text: str) -> None:
    sys.stderr.write(f"flinkddl: {text}\n")


def adopt_session(spark: SparkSession, jars: str | None = None) -> SparkSession:
    """Make a user's own session fit for jobs: jars that its class path does not name are added to it.

    Over Spark Connect each job has a session of its own, which gets them then: they are only noted here. Raises FD810
    when nobody listens where its server should.
    """
    if is_connect(spark):
        await_server(spark, say=_say)
        return _noted(spark, jars)
    _note_folder(spark, jars)
    for path in _missing(spark, jars):
        spark.sql(f"ADD JAR '{path}'")
    return spark


def _noted(spark: SparkSession, jars: str | None) -> SparkSession:
    kept = (str(p) for p in _missing(spark, jars) if not p.name.startswith(KAFKA_JARS))
    spark.conf.set(_JARS, os.pathsep.join(kept))
    _note_folder(spark, jars)
    return spark


def _note_folder(spark: SparkSession, jars: str | None) -> None:
    if jars:
        spark.conf.set(FOLDER, str(Path(jars).absolute()))


def extend_session(spark: SparkSession) -> None:
    """Give the user's own session what plans of ours need where they run: functions, and over Connect jars."""
    if is_connect(spark):
        add_jars(spark, _own_jars(spark))
    spark.conf.set("spark.sql.catalog.flinkddl", JOB_SETTINGS["spark.sql.catalog.flinkddl"])


def _own_jars(spark: SparkSession) -> list[Path]:
    if spark.conf.get(_JARS, None) is None:
        adopt_session(spark)
    return [Path(p) for p in (spark.conf.get(_JARS, "") or "").split(os.pathsep) if p]


def _missing(spark: SparkSession, jars: str | None) -> tuple[Path, ...]:
    present = spark.conf.get("spark.jars", "") or ""
    return tuple(path for path in spark_jars(jars) if path.stem.rpartition("-")[0] not in present)


def job_session(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return a child session with JOB_SETTINGS and the job's own settings; the parent's are untouched."""
    kept_settings = KEPT_SETTINGS
    if is_connect(spark):
        kept_settings = {**KEPT_SETTINGS, **SERVER_SETTINGS}
        child = new_session(spark, _own_jars(spark))
        ship_to_server(child, filter(None, (spark.conf.get(_PY_FILES, "") or "").split(os.pathsep)))
    else:
        child = spark.newSession()
    kept = {name: spark.conf.get(name, None) or value for name, value in kept_settings.items()}
    set_settings(child, {**kept, **JOB_SETTINGS, **settings}, spark)
    return child


# ---- secrets: sealed where the application has a key (spark/sealing.py says why); one that is built here has -------


def set_settings(spark: SparkSession, settings: Mapping[str, str], started: SparkSession) -> None:
    """Set a session's settings, secrets sealed by the key of the application, which ``started`` knows.

    The key is asked for secrets alone, and once: to get it, PySpark fetches every setting of the application.
    """
    secrets = {key for key in settings if key.startswith(SECRET_SETTING)}
    sealing = sealing_key(started) if secrets else None
    for key, value in settings.items():
        spark.conf.set(key, seal(value, sealing) if sealing and key in secrets else value)


def sealing_key(spark: SparkSession) -> str | None:
    """Return the key of a session's application, None where it was started without one.

    A builder sets its settings on a session that is there already too: that is not the application's.
    """
    return spark.conf.get(KEY, None) if is_connect(spark) else spark.sparkContext.getConf().get(KEY)


# ---- Python modules that go along with a job (``--py-files``) ------------------------------------------------------

ENDINGS = (".py", ".zip", ".egg")
"""What Spark takes: one module, or packages in an archive."""


def make_importable(files: Iterable[str]) -> None:
    """Let this process import what the files hold, after everything else: functions are read while planning."""
    for file in files:
        path = Path(file).absolute()
        entry = str(path.parent if path.suffix == ".py" else path)
        if entry not in sys.path:
            sys.path.append(entry)


def ship(spark: SparkSession, files: Iterable[str]) -> None:
    """Send the files to the workers of a session of this machine, for all its jobs."""
    for file in files:
        spark.sparkContext.addPyFile(str(Path(file).absolute()))


def ship_to_server(spark: SparkSession, files: Iterable[str]) -> None:
    """Send the files along with one session of a Spark Connect server."""
    if found := [str(Path(file).absolute()) for file in files]:
        spark.addArtifacts(*found, pyfile=True)


# ---- the launch of the JVM -----------------------------------------------------------------------------------------


@contextmanager
def _launch_script(log: Path) -> Iterator[None]:
    """Let the JVM that is launched ignore SIGTERM, as PySpark lets it ignore SIGINT: Python ends it, after its jobs.

    What it prints goes to its log, to its last word: whoever reads our output through a pipe does not wait for an
    archive of classes that is written after our end. Its memory outside the heap stays level, by what MALLOC says.

    systemd and ``timeout`` send SIGTERM to every process there is, not to Python alone. ``spark-submit`` is a bash
    script, which reads ``BASH_ENV`` first; what a shell ignores is ignored by what it becomes, and by a JVM too. It
    goes when Python does, however that ends: its stdin closes.
    """
    before = os.environ.get("BASH_ENV")
    start = log.with_suffix(".bash")
    lines = ["trap '' TERM", f"exec >>{shlex.quote(str(log))} 2>&1"]
    lines += [f"export {name}=${{{name}:-{value}}}" for name, value in MALLOC.items()]
    lines += [f"export BASH_ENV={shlex.quote(before)}" if before else "unset BASH_ENV"]
    start.write_text("\n".join([*lines, *([f". {shlex.quote(before)}"] if before else []), ""]), encoding="utf-8")
    os.environ["BASH_ENV"] = str(start)
    try:
        yield
    finally:
        start.unlink(missing_ok=True)
        if before is None:
            os.environ.pop("BASH_ENV", None)
        else:
            os.environ["BASH_ENV"] = before


def _first_line(error: Exception) -> str:
    """Return the line that says why: py4j's first one names only the call, the Java exception follows it."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return next((line[2:] for line in lines[:2] if line.startswith(": ")), lines[0])
