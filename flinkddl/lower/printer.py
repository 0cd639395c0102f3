"""SparkJob as a PySpark program: what ``compile`` prints is what the interpreter does, call by call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping  # singledispatch reads the annotations at run time
from dataclasses import asdict, fields, replace
from functools import singledispatch
from textwrap import indent
from typing import TYPE_CHECKING

from flinkddl.catalog.settings import NOTHING_SET, Settings
from flinkddl.deep import balanced, deep
from flinkddl.diagnostics.secrets import SPARK_OPTIONS_REGEX, SPARK_REGEX
from flinkddl.formats.registry import SECRET_SETTING
from flinkddl.lower import job as J
from flinkddl.lower import pytext
from flinkddl.lower.environment import look_up, settle, settle_settings
from flinkddl.lower.folders import folder_inside, folder_name
from flinkddl.lower.kerberos import krb5_conf, start_conf
from flinkddl.lower.partitions import NAMED_SOURCES, SUBSCRIPTION, apart, source_name
from flinkddl.lower.pytext import comment
from flinkddl.lower.pytext import literal as _text
from flinkddl.options.masking import holds_secret, mask
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_WIDTH = 110
_LINKS = 32  # Python compiles a chain of calls by recursion
_OFFSETS = "__import__('flinkddl.runtime.kafka.offsets', fromlist=[''])"


@deep
def print_pyspark(jobs: Iterable[J.SparkJob], views: str = "", config: Settings = NOTHING_SET) -> str:
    """Return a program that runs the jobs one after the other; secrets become environment look-ups.

    ``views`` is the text of ``lower.print_views``: the tables that the jobs read, as temp views of the session;
    ``config`` is what the script has SET.
    The program needs pyspark, the jars of ``flinkddl jars`` (or a folder of them in ``FLINKDDL_JARS``) and nothing else
    of flinkddl, except where partitions or positions must be asked of the broker or a writer of the runtime is used.
    """
    jobs = tuple(_apart(jobs))
    program = prologue(config) + views + "\n\n".join(_print_job(job, variables(job)) for job in jobs) + _EPILOGUE
    return settle(program)


PROLOGUE = '''\
"""Printed by `flinkddl compile`."""

import json
import os
import sys
import tempfile
from glob import glob
from pathlib import Path

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

if "FLINKDDL_JARS" in os.environ:
    jars = sorted(glob(os.path.join(os.environ["FLINKDDL_JARS"], "*.jar")))
else:
    from flinkddl.runtime.machine.jars import spark_jars

    jars = [str(path) for path in spark_jars()]

root = (
    SparkSession.builder.appName("flinkddl")
    .config("spark.jars", ",".join(jars))
    .config("spark.driver.extraClassPath", os.pathsep.join(jars))
    .config("spark.sql.catalog.flinkddl", "flinkddl.Functions")
    .config("spark.sql.variable.substitute", "false")
    .config("spark.flinkddl.secret.key", os.urandom(32).hex())
    .config("spark.redaction.regex", REDACTION)
    .config("spark.sql.redaction.options.regex", OPTIONS_REDACTION)
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
work = os.environ.get("CHECKPOINT_DIR") or tempfile.mkdtemp()  # state and offsets; a folder that stays resumes


def union(branch, places):
    """Unite the branches of one table: each partition has a watermark of its own, the least holds.

    Only `flinkddl run` watches for partitions that fall idle or are new.
    """
    first, *rest = (branch(tag, place) for tag, place in places)
    for other in rest:
        first = first.union(other)
    return first


def stream_of(frame, folder):
    """Write a batch DataFrame down, once, and read it as a stream that ends."""
    if not os.path.isdir(folder):
        frame.write.parquet(folder)
    return frame.sparkSession.readStream.schema(frame.schema).parquet(folder)


def finish(start, ends):
    """Run a job's queries to their end; one far-future row in each control folder closes the last windows."""
    for query in start():
        query.awaitTermination()
    for folder, rowtime in ends:
        Path(folder, "end.json").write_text(json.dumps({rowtime: "2200-01-01T00:00:00.000Z"}))
    for query in start() if ends else ():
        query.awaitTermination()


'''.replace("OPTIONS_REDACTION", _text(SPARK_OPTIONS_REGEX)).replace("REDACTION", _text(SPARK_REGEX))

_EPILOGUE = "\n"


def prologue(config: Settings) -> str:
    """Return what a program begins with: imports, and Spark started with what the session's Kerberos needs."""
    more = "".join(f"    .config({_text(k)}, {_text(v)})\n" for k, v in start_conf(config).items())
    path = krb5_conf(config)
    named = f'os.environ["KRB5_CONFIG"] = {_text(path)}\n' if path else ""
    text = PROLOGUE.replace("    .getOrCreate()\n", f"{more}    .getOrCreate()\n")
    return text.replace(
        "\nfrom pyspark.sql import SparkSession\n", f"{named}\nfrom pyspark.sql import SparkSession\n", 1
    )


_OWN_NAMES = frozenset(
    {"spark", "root", "query", "jars", "os", "sys", "glob", "expr", "json", "tempfile", "Path", "work"}
    | {
        "finish",
        "start",
        "ends",
        "union",
        "tag",
        "place",
        "stream_of",
        "register",
        "sorted",
        "SparkSession",
        "seal",
        "secret",
    }
)


def _apart(jobs: Iterable[J.SparkJob]) -> Iterator[J.SparkJob]:
    """Give the second job that writes into a table a name, and so a checkpoint, of its own for that write."""
    seen: Counter[str] = Counter()
    for job in jobs:
        seen.update(w.name for w in job.writes)
        again = [replace(w, name=f"{w.name}-{n}") if (n := seen[w.name]) > 1 else w for w in job.writes]
        yield replace(job, writes=tuple(again)) if again != list(job.writes) else job


def variables(job: J.SparkJob) -> dict[str, str]:
    """Map step names to Python names: distinct, no keywords, none of the program's own."""
    return pytext.variables((s.name for s in job.steps), _OWN_NAMES)


def _print_job(job: J.SparkJob, names: Mapping[str, str]) -> str:
    return f"{comment(f'---- {job.name}')}\n" + print_steps(job, names) + _print_writes(job, names)


def print_steps(job: J.SparkJob, names: Mapping[str, str]) -> str:
    """Return the lines that open a session for a job and make its DataFrames; ``names`` are ``variables(job)``."""
    parts = ["spark = root.newSession()"]
    parts += [f"spark.conf.set({_text(k)}, {_setting(k, v)})" for k, v in sorted(job.settings.items())]
    for name, target in sorted(job.udfs.items()):
        parts.append(f"from flinkddl.runtime.udf import register\n\nregister(spark, {_text(name)}, {_text(target)})")
    steps = {s.name: s for s in job.steps}
    chains = {mark.name: (read, J.below(mark, steps)) for read, mark in apart(job)}
    inside = {s.name for _, chain in chains.values() for s in chain}
    named = NAMED_SOURCES in job.settings
    for step in job.steps:
        if step.name in chains:
            parts.append(_print_branches(*chains[step.name], names, named))
        elif step.name not in inside:
            parts.append(_assignment(step, names, f'"{source_name(step.name)}"' if named else ""))
    return "\n".join(parts)


def _assignment(step: J.Step, names: Mapping[str, str], source: str = "", load: str = ".load()") -> str:
    """Return ``name = ...``; ``source`` is the text of a streaming source's name, where sources have names."""
    note = f"{comment(step.note)}\n" if step.note else ""
    text = _print_read(step, source, load) if isinstance(step, J.Read) else _print_step(step, names)
    return f"{note}{names[step.name]} = {text}"


def _print_branches(read: J.Read, chain: Sequence[J.Step], names: Mapping[str, str], named: bool) -> str:
    """Return a function over one partition, and the union over all: only the broker knows how many there are."""
    rest = replace(read, options={k: v for k, v in read.options.items() if k not in SUBSCRIPTION}, start={}, stop={})
    lines = []
    for step in chain:
        source = f'"{source_name(step.name)}_" + tag' if named else ""
        if step is read:
            lines.append(_assignment(rest, names, source, ".options(**place).load()"))
        else:
            lines.append(_assignment(step, names, source))
    name = names[chain[-1].name]
    body = indent("\n".join(lines), "    ")
    places = f"{_OFFSETS}.branches({_dict(read.options)}, {dict(read.start)!r}, {dict(read.stop)!r})"
    return f"\n\ndef {name}_of(tag, place):\n{body}\n    return {name}\n\n\n{name} = union({name}_of, {places})"


def _print_writes(job: J.SparkJob, names: Mapping[str, str]) -> str:
    writes = [_print_write(job, write, names) for write in job.writes]
    if not job.streaming:
        return "\n" + "\n".join(writes)
    body = ",\n".join(indent(w, "        ") for w in writes)
    ends = ", ".join(f"({_folder(s.name)}, {_text(s.options['rowtime'])})" for s in _controls(job))
    return f"\n\n\ndef start():\n    return [\n{body},\n    ]\n\n\nfinish(start, [{ends}])"


def _controls(job: J.SparkJob) -> list[J.Read]:
    return [s for s in job.steps if isinstance(s, J.Read) and s.format == "flinkddl.control"]


def _folder(step: str) -> str:
    return f"os.path.join(work, {_text('control-' + folder_inside(step))})"


@singledispatch
def _print_step(step: J.Step, names: Mapping[str, str]) -> str:
    raise TypeError(type(step).__name__)


def _print_read(step: J.Read, source: str, load: str) -> str:
    stream = f"spark.readStream.name({source})" if source else "spark.readStream"
    if step.format == "flinkddl.control":
        folder = _folder(step.name)
        opened = f"os.makedirs({folder}, exist_ok=True) or {stream}"
        return _chain(f"({opened})", [f".schema({_text(step.schema or '')})", f".json({folder})"])
    if step.format == J.FRAME:
        return _own_frame(step)
    if step.streaming and step.format in J.WRITTEN:
        return f"stream_of({_finished(step, load)}, os.path.join(work, {_text('frame-' + folder_inside(step.name))}))"
    calls = [f".format({_text(step.opened)})"]
    if step.schema is not None:
        calls.append(f".schema({_text(step.schema)})")
    if step.fixed and step.format == "kafka" and any(k in step.options for k in SUBSCRIPTION):
        # only the broker knows which partitions there are when the program starts
        calls.append(f".options(**{_OFFSETS}.assigned({_dict(step.options)}))")
    else:
        calls += [f".option({_text(k)}, {_value(k, v)})" for k, v in sorted(step.options.items())]
    if (step.start or step.stop) and step.format != J.KAFKA_SOURCE:
        calls.append(f".options(**{_positions(step)})")
    return _chain(stream if step.streaming else "spark.read", [*calls, load])


def _finished(step: J.Read, load: str) -> str:
    if step.format == J.ROWS:
        return f"spark.sql({_text(step.options['query'])})"
    return _print_read(replace(step, streaming=False), "", load)


def _own_frame(step: J.Read) -> str:
    """Return the place of the user's own DataFrame: a temp view that the caller makes before this line."""
    name = step.options["frame"]
    table = f"root.table({_text(quote(name))})"
    if step.options["written"] != "true":
        return f"{table}  # yours: df.createOrReplaceTempView({_text(quote(name))}) before this line"
    place = f"os.path.join(work, {_text('frame-' + folder_inside(step.name))})"
    return f"stream_of({table}, {place})  # yours: df.createOrReplaceTempView({_text(quote(name))}) before this line"


def _positions(step: J.Read) -> str:
    simple = {"earliest-offset": "earliest", "latest-offset": "latest"}
    start, stop = step.start.get("mode", ""), step.stop.get("mode", "unbounded")
    if start in simple and (stop == "unbounded" or (stop == "latest-offset" and not step.streaming)):
        ends = {} if step.streaming else {"endingOffsets": "latest"}
        return repr({"startingOffsets": simple[start]} | ends)
    return (
        f"{_OFFSETS}.spark_options({_dict(step.options)}, {dict(step.start)!r}, {dict(step.stop)!r}, {step.streaming})"
    )


@_print_step.register
def _(step: J.Rows, names: Mapping[str, str]) -> str:
    return f"spark.sql({_text(step.query)})"


@_print_step.register
def _(step: J.Select, names: Mapping[str, str]) -> str:
    return _chain(names[step.input], [f".selectExpr({_list(select_texts(step))})"])


@_print_step.register
def _(step: J.Where, names: Mapping[str, str]) -> str:
    return _chain(names[step.input], [f".where({_text(step.condition)})"])


@_print_step.register
def _(step: J.WithWatermark, names: Mapping[str, str]) -> str:
    return _chain(names[step.input], [f".withWatermark({_text(step.column)}, {_text(step.delay)})"])


@_print_step.register
def _(step: J.Coalesce, names: Mapping[str, str]) -> str:
    return _chain(names[step.input], [f".coalesce({step.tasks})"])


@_print_step.register
def _(step: J.WithMetadata, names: Mapping[str, str]) -> str:
    calls = [f".withMetadata({_text(c)}, {json.dumps(m)})" for c, m in step.columns.items()]
    return _chain(names[step.input], calls)


@_print_step.register
def _(step: J.GroupBy, names: Mapping[str, str]) -> str:
    keys, aggs = _aliased(step.keys), _aliased(step.aggs)
    made = [f".agg({aggs})"] if step.aggs else ['.agg(expr("count(1)").alias("__count"))', '.drop("__count")']
    return _chain(names[step.input], [f".groupBy({keys})", *made])


@_print_step.register
def _(step: J.DropDuplicates, names: Mapping[str, str]) -> str:
    return _chain(names[step.input], [f".dropDuplicates([{_list(step.columns)}])"])


@_print_step.register
def _(step: J.OrderBy, names: Mapping[str, str]) -> str:
    keys = (f"expr({_text(sql)}).{direction}()" for sql, direction in step.sorts)
    return _chain(names[step.input], [f".orderBy({', '.join(keys)})"])


@_print_step.register
def _(step: J.Limit, names: Mapping[str, str]) -> str:
    calls = [f".offset({step.offset})"] if step.offset else []
    return _chain(names[step.input], calls + ([f".limit({step.fetch})"] if step.fetch is not None else []))


@_print_step.register
def _(step: J.JoinStep, names: Mapping[str, str]) -> str:
    left, right = names[step.left], names[step.right]
    if step.how == "cross":
        return f"{left}.crossJoin({right})"
    return _chain(left, [f".join({right}, expr({_text(step.on)}), {_text(step.how)})"])


@_print_step.register
def _(step: J.UnionAll, names: Mapping[str, str]) -> str:
    first, *rest = (names[p] for p in step.parts)
    if len(rest) < _LINKS:
        return _chain(first, [f".union({p})" for p in rest])
    return balanced([first, *rest], lambda a, b: f"{a}.union({b})")


def select_texts(step: J.Select) -> tuple[str, ...]:
    """Return the arguments of ``selectExpr`` for a Select step."""
    texts = [sql if sql == quote(name) else f"{sql} AS {quote(name)}" for name, sql in step.columns]
    if step.generator is not None:
        sql, as_names = step.generator
        texts.append(f"{sql} AS ({', '.join(map(quote, as_names))})")
    return tuple(texts)


def _print_write(job: J.SparkJob, write: J.Write, names: Mapping[str, str]) -> str:
    source = names[write.input]
    if write.on_driver:
        writers, kinds = (f"__import__('flinkddl.{m}', fromlist=[''])" for m in ("runtime.job.writers", "lower.job"))
        call = f"{writers}.start_write(spark, {source}, {kinds}.Write(**{_fields(write)}))"
        return f"*{call}" if job.streaming else call
    sink = [f".format({_text(write.format)})"]
    options = [f".option({_text(k)}, {_value(k, v)})" for k, v in sorted(write.options.items())]
    if write.writer:
        tasks, told = (
            "__import__('flinkddl.runtime.job.tasks', fromlist=[''])",
            f"{_text(write.writer)}, {_dict(write.options)}",
        )
        if not job.streaming:
            return f"{tasks}.by_tasks({source}, {told})"
        sink, options = [f".foreachBatch({tasks}.batches({source}, {told}))"], []
    if write.partitions:
        dynamic = [] if job.streaming else ['.option("partitionOverwriteMode", "dynamic")']
        options += [*dynamic, f".partitionBy({', '.join(map(_text, write.partitions))})"]
    if not job.streaming:
        mode = "overwrite" if write.overwrite else "append"
        return _chain(source, [".write", *sink, *options, f'.mode("{mode}")', ".save()"])
    trigger, value = job.trigger
    argument = value.capitalize() if value in ("true", "false") else _text(value)
    calls = [".writeStream", *sink, *options, f".outputMode({_text(write.mode)})"]
    location = f"os.path.join(work, {_text(folder_name(write.name))})"
    calls += [f'.option("checkpointLocation", {location})', f".queryName({_text(write.name)})"]
    return _chain(source, [*calls, f".trigger({trigger}={argument})", ".start()"])


def _fields(write: J.Write) -> str:
    return repr({f.name: getattr(write, f.name) for f in fields(write)} | {"options": dict(write.options)})


def _aliased(columns: tuple[J.Named, ...]) -> str:
    items = [f"expr({_text(sql)}).alias({_text(name)})" for name, sql in columns]
    one = ", ".join(items)
    return one if len(one) < _WIDTH - 20 else "\n        " + ",\n        ".join(items) + ",\n    "


def _list(texts: Iterable[str]) -> str:
    items = [_text(t) for t in texts]
    one = ", ".join(items)
    return one if len(one) < _WIDTH - 20 else "\n        " + ",\n        ".join(items) + ",\n    "


def _chain(start: str, calls: list[str]) -> str:
    one = start + "".join(calls)
    if len(one) <= _WIDTH and "\n" not in one:
        return one
    return "(\n    " + "\n    ".join([start, *calls]) + "\n)"


def _value(key: str, value: str) -> str:
    return look_up(key, value) if holds_secret(key, value) else _text(value)


def _setting(key: str, value: str) -> str:
    return f"secret({_value(key, value)})" if key.startswith(SECRET_SETTING) else _value(key, value)


def _dict(options: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_text(k)}: {_value(k, v)}" for k, v in sorted(options.items())) + "}"


@deep
def print_json(jobs: Iterable[J.SparkJob]) -> str:
    """Return the jobs as JSON: steps with their kind, writes, settings; secrets masked."""
    return settle_settings(json.dumps([_plain(_job(job)) for job in jobs], ensure_ascii=False, indent=2))


def _job(job: J.SparkJob) -> dict[str, object]:
    plain = {f.name: getattr(job, f.name) for f in fields(job) if f.name not in ("identity", "queries", "plan")}
    return plain | {
        "steps": _steps(job),
        "writes": [asdict(w) for w in job.writes],
        "restart": None if job.restart is None else asdict(job.restart),
        "fingerprint": job.fingerprint,
    }


def _steps(job: J.SparkJob) -> list[dict[str, object]]:
    return [{"kind": type(s).__name__.removesuffix("Step")} | asdict(s) for s in job.steps]


def _plain(value: object, key: str = "") -> object:
    match value:
        case Mapping():
            return {str(k): _plain(v, str(k)) for k, v in value.items()}
        case list() | tuple():
            return [_plain(v) for v in value]
        case str():
            return mask(key, value)
        case _:
            return value
