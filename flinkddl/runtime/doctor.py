"""Checks of what a job needs from the machine and the network, each with what to do where it fails."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.diagnostics.secrets import mask_urls, scrub, secrets_in
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import client_properties, topics_of
from flinkddl.runtime.kafka.sink_needs import check_version, naming_tables, sink_checks
from flinkddl.runtime.storage.checkpoint import Checkpoint
from flinkddl.runtime.storage.file_systems import try_folder
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from flinkddl.runtime.kafka.sink_needs import Told
    from flinkddl.runtime.session.sessions import SparkOptions

State = Literal["ok", "warn", "fail"]
LOW_DISK_BYTES = 1 << 30
FUTURE_SECONDS = 60
REGISTRY_SECONDS = 5


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, how it is, and what to do where it is not well."""

    what: str
    state: State
    text: str
    fix: str | None = None


@dataclass(frozen=True)
class Subject:
    """What is examined: how Spark is started, the jobs of a script, its registries, and where state shall be kept."""

    spark: SparkOptions
    jobs: Sequence[J.SparkJob] = ()
    registries: Sequence[Mapping[str, str]] = ()
    checkpoint: str | None = None


def examine(subject: Subject, start_spark: bool = True) -> Iterator[Finding]:
    """Yield the findings one after the other, as soon as each is known."""
    yield _python()
    java = _attempt("java", _java)
    yield java
    jars = _attempt("jars", lambda: _jars(subject))
    yield jars
    if start_spark and "fail" not in (java.state, jars.state):
        yield _attempt("spark", lambda: _spark(subject))
    for servers in _clusters(subject.jobs):
        yield from _kafka(servers, subject.jobs)
    for registry in subject.registries:
        yield _registry(registry)
    yield from _checkpoint(subject)
    yield _attempt("cache", _cache)
    yield _attempt("disk", _disk)
    yield _clock()


def _attempt(what: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except FlinkDdlError as error:
        return _failed(what, error)
    except OSError as error:
        return Finding(what, "fail", error.strerror or str(error), "look at the rights and the space of its folder")


def _failed(what: str, error: FlinkDdlError) -> Finding:
    first = error.diagnostics[0]
    return Finding(what, "fail", f"{first.code}: {first.message}", first.help)


# ---- this machine --------------------------------------------------------------------------------------------------


def _python() -> Finding:
    from importlib.metadata import version

    spark = version("pyspark")
    text = f"Python {sys.version.split()[0]}, PySpark {spark}"
    if not spark.startswith("4.3."):
        return Finding("python", "fail", text, "pip install 'pyspark>=4.3,<4.4'")
    return Finding("python", "ok", text)


def _java() -> Finding:
    from flinkddl.runtime.machine.java import find_java, java_major

    path = find_java()
    return Finding("java", "ok", f"Java {java_major(path)} at {path}")


def _jars(subject: Subject) -> Finding:
    from flinkddl.runtime.machine.jars import beside_spark, functions_jar, spark_jars

    jars = spark_jars(subject.spark.jars)
    if functions_jar() is None:
        return Finding("jars", "fail", "flinkddl-functions.jar is missing", "reinstall flinkddl, or run `make jar`")
    other = beside_spark(jars)
    said = f"; {other}: taken where there is none of Spark's version, and tested with it" if other else ""
    return Finding("jars", "ok", f"{len(jars)} jars in {jars[0].parent}{said}")


def _spark(subject: Subject) -> Finding:
    from flinkddl.runtime.session.sessions import build_session

    began = time.monotonic()
    session = build_session(subject.spark)
    try:
        session.sql("SELECT flinkddl.decode(X'61', 'UTF-8')").collect()
        session.read.format(J.KAFKA).options(**{"kafka.bootstrap.servers": "none:1", "subscribe": "none"}).load()
    except Exception as error:  # noqa: BLE001 - whatever Spark says is the finding
        from flinkddl.runtime.session.errors import full_text, reason

        return Finding("spark", "fail", reason(full_text(error)), "are other Spark jars on the class path?")
    finally:
        session.stop()
    return Finding("spark", "ok", f"Spark {session.version} started in {time.monotonic() - began:.0f} s")


def _cache() -> Finding:
    """Where jars and logs go; found unwritable first by jars and Spark, where these need it."""
    from flinkddl.runtime.machine.cache import cache_dir, check_writable

    return Finding("cache", "ok", f"{check_writable(cache_dir('logs')).parent} is writable")


def _disk() -> Finding:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB free in {folder}"
    if free < LOW_DISK_BYTES:
        return Finding("disk", "warn", text, "state and shuffles go there: make room, or point TMPDIR elsewhere")
    return Finding("disk", "ok", text)


def _clock() -> Finding:
    now = datetime.now(UTC)
    text = f"{now:%Y-%m-%d %H:%M:%S} UTC; zone of this machine {'/'.join(time.tzname)}"
    if now.year < 2024:
        return Finding("clock", "fail", text, "set the clock: watermarks and TLS depend on it")
    return Finding("clock", "ok", text)


# ---- Kafka ---------------------------------------------------------------------------------------------------------


def _reads(jobs: Sequence[J.SparkJob]) -> Iterator[J.Read]:
    return (s for job in jobs for s in job.steps if isinstance(s, J.Read) and "kafka.bootstrap.servers" in s.options)


def _writes(jobs: Sequence[J.SparkJob]) -> Iterator[J.Write]:
    return (w for job in jobs for w in job.writes if "kafka.bootstrap.servers" in w.options)


def _clusters(jobs: Sequence[J.SparkJob]) -> list[dict[str, str]]:
    """Return the client properties of each cluster, once."""
    options = [*(step.options for step in _reads(jobs)), *(write.options for write in _writes(jobs))]
    found = {json.dumps(p, sort_keys=True): p for p in map(client_properties, options)}
    by_server = {p["bootstrap.servers"]: p for p in reversed(list(found.values()))}
    return list(by_server.values())[::-1]


def _kafka(properties: dict[str, str], jobs: Sequence[J.SparkJob]) -> Iterator[Finding]:
    servers = properties["bootstrap.servers"]
    try:
        with naming_tables(jobs, lambda table, option: None), KafkaAdmin(properties) as admin:
            version = check_version(admin)
            yield Finding("kafka", "ok", f"{servers} answers, Kafka {version}, {len(admin.topics())} topics")
            seen: set[str] = set()
            for step in _reads(jobs):
                if step.options["kafka.bootstrap.servers"] == servers:
                    yield from _source(step, admin, seen)
            for write in _writes(jobs):
                if write.options["kafka.bootstrap.servers"] == servers:
                    yield from _sink(write, admin, seen)
    except FlinkDdlError as error:
        yield _failed("kafka", error)


def _source(step: J.Read, admin: KafkaAdmin, seen: set[str]) -> Iterator[Finding]:
    topics = [t for t in topics_of(step.options, admin) if t not in seen]
    if not topics and "subscribePattern" in step.options:
        text = f"no topic matches '{step.options['subscribePattern']}', which '{step.table}' reads"
        yield Finding("topic", "warn", text, "check 'topic-pattern', or create a topic")
    for topic in topics:
        seen.add(topic)
        try:
            ends, begins = admin.end_offsets([topic])[topic], admin.begin_offsets([topic])[topic]
            records = sum(ends[p] - begins[p] for p in ends)
            yield Finding("topic", "ok", f"{topic}: {len(ends)} partitions, about {records:,} records")
            yield from _from_the_future(topic, admin, ends)
        except FlinkDdlError as error:
            yield _failed("topic", error)


def _from_the_future(topic: str, admin: KafkaAdmin, ends: Mapping[int, int]) -> Iterator[Finding]:
    """Records ahead of this machine's clock: one of the clocks is wrong, and watermarks follow the records."""
    later = admin.offsets_at([topic], int((time.time() + FUTURE_SECONDS) * 1000))[topic]
    ahead = sum(ends[p] - later.get(p, ends[p]) for p in ends)
    if ahead > 0:
        text = f"{topic}: {ahead:,} records are more than a minute ahead of this machine's clock"
        yield Finding("clock", "warn", text, "set the clock (NTP), or look at the timestamps that producers write")


def _sink(write: J.Write, admin: KafkaAdmin, seen: set[str]) -> Iterator[Finding]:
    for what, check in sink_checks(write, admin):
        topic = write.options.get("topic", "")
        if what == "topic" and topic in seen and "transactional-id" not in write.options:
            continue  # read or written by another table, and told already
        seen.add(topic)
        yield _attempt(what, partial(_told, what, check))


def _told(what: str, check: Callable[[], Told]) -> Finding:
    text, fix = check()
    return Finding(what, "warn" if fix else "ok", text, fix)


# ---- registry and checkpoint ---------------------------------------------------------------------------------------


def _registry(options: Mapping[str, str]) -> Finding:
    """Ask a schema registry for its subjects; ``url`` and perhaps ``basic-auth.user-info`` are given."""
    import base64
    from urllib.error import HTTPError, URLError
    from urllib.parse import unquote, urlsplit
    from urllib.request import Request, urlopen

    parts = urlsplit(options["url"].split(",")[0].strip().rstrip("/"))
    user, at, host = parts.netloc.rpartition("@")
    url = parts._replace(netloc=host).geturl()
    request = Request(f"{url}/subjects")
    if login := options.get("basic-auth.user-info", unquote(user) if at else ""):
        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
    elif token := options.get("bearer-auth.token"):
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urlopen(request, timeout=REGISTRY_SECONDS) as answer:
            subjects = json.load(answer)
    except HTTPError as error:
        fix = "check 'basic-auth.user-info'" if error.code in (401, 403) else "is that a schema registry?"
        return Finding("registry", "fail", f"{mask_urls(url)} answers {error.code} {error.reason}", fix)
    except (URLError, OSError, ValueError) as error:
        why = getattr(error, "reason", error)
        return Finding(
            "registry",
            "fail",
            f"{mask_urls(url)}: {scrub(str(why), secrets_in(options))}",
            "check the url option of the format, and the network",
        )
    return Finding("registry", "ok", f"{mask_urls(url)} answers, {len(subjects)} subjects")


def _checkpoint(subject: Subject) -> Iterator[Finding]:
    if subject.checkpoint is None:
        if any(job.streaming for job in subject.jobs):
            fix = "SET 'execution.checkpointing.dir' = '...', or run with --checkpoint DIR"
            yield Finding("checkpoint", "warn", "none is set: a run starts anew each time", fix)
        return
    folder = Checkpoint(subject.checkpoint, temporary=False).local
    if folder is None:
        text = f"{subject.checkpoint} is not a local folder: Spark opens it with its own file systems, not tried here"
        yield Finding("checkpoint", "ok", text)
        return
    try:
        yield _writable(folder)
    except OSError as error:
        yield Finding("checkpoint", "fail", f"{folder}: {error.strerror}", "make it writable for this user")


def _writable(folder: Path) -> Finding:
    """Write and remove a file where the state will lie, or in the nearest folder above that is there."""
    there = try_folder(folder)
    free = shutil.disk_usage(there).free
    new = "" if folder.exists() else " (will be made)"
    text = f"{folder}{new}, {free / 1e9:.1f} GB free"
    if free < LOW_DISK_BYTES:
        return Finding("checkpoint", "warn", text, "make room: state grows with its keys")
    return Finding("checkpoint", "ok", text)
