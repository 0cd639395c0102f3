"""SparkJob as a PySpark program: what ``compile`` prints is what the interpreter does, call by call."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from textwrap import indent
from typing import TYPE_CHECKING

from flinkddl.catalog.settings import NOTHING_SET, Settings
from flinkddl.deep import deep
from flinkddl.formats.registry import SECRET_SETTING
from flinkddl.show import pytext
from flinkddl.show.environment import settle
from flinkddl.show.prologue import OWN_NAMES, prologue
from flinkddl.show.pycalls import chain as chained
from flinkddl.show.pycalls import mapping, option_value, written
from flinkddl.show.pytext import comment
from flinkddl.show.pytext import literal as _text
from flinkddl.spark import job as J
from flinkddl.spark.calls import (
    Call,
    Chain,
    Code,
    Session,
    calls_of,
    known_positions,
    query_calls,
    read_calls,
    time_calls,
    trigger_of,
    write_calls,
)
from flinkddl.spark.folders import folder_inside, folder_name
from flinkddl.spark.partitions import NAMED_SOURCES, SUBSCRIPTION, apart, source_name, topic_of
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_OFFSETS = "__import__('flinkddl.runtime.kafka.offsets', fromlist=[''])"
_WRITERS = "__import__('flinkddl.runtime.job.writers', fromlist=[''])"
_JOB = "__import__('flinkddl.spark.job', fromlist=[''])"


@deep
def print_pyspark(jobs: Iterable[J.SparkJob], views: str = "", config: Settings = NOTHING_SET) -> str:
    """Return a program that runs the jobs one after the other; secrets become environment look-ups.

    ``views`` is the text of ``spark.print_views``: the tables that the jobs read, as temp views of the session;
    ``config`` is what the script has SET.
    The program needs pyspark, the jars of ``flinkddl jars`` (or a folder of them in ``FLINKDDL_JARS``) and nothing else
    of flinkddl, except where partitions or positions must be asked of the broker or a writer of the runtime is used.
    """
    jobs = tuple(_apart(jobs))
    program = prologue(config) + views + "\n\n".join(_print_job(job, variables(job)) for job in jobs) + "\n"
    return settle(program)


def _apart(jobs: Iterable[J.SparkJob]) -> Iterator[J.SparkJob]:
    """Give the second job that writes into a table a name, and so a checkpoint, of its own for that write."""
    seen: Counter[str] = Counter()
    for job in jobs:
        queries = (*job.writes, *job.united)
        seen.update(w.name for w in queries)
        names = {w.name: f"{w.name}-{n}" if (n := seen[w.name]) > 1 else w.name for w in queries}
        writes = tuple(replace(w, name=names[w.name]) for w in job.writes)
        united = (replace(w, name=names[w.name], parts=tuple(names[p] for p in w.parts)) for w in job.united)
        yield replace(job, writes=writes, united=tuple(united))


def variables(job: J.SparkJob) -> dict[str, str]:
    """Map step names to Python names: distinct, no keywords, none of the program's own."""
    return pytext.variables((s.name for s in job.steps), OWN_NAMES)


def _print_job(job: J.SparkJob, names: Mapping[str, str]) -> str:
    return f"{comment(f'---- {job.name}')}\n" + print_steps(job, names) + _print_writes(job, names)


def print_steps(job: J.SparkJob, names: Mapping[str, str]) -> str:
    """Return the lines that open a session for a job and make its DataFrames; ``names`` are ``variables(job)``."""
    parts = ["spark = root.newSession()"]
    parts += [f"spark.conf.set({_text(k)}, {_setting(k, v)})" for k, v in sorted(job.settings.items())]
    for name, target in sorted(job.udfs.items()):
        parts.append(f"from flinkddl.runtime.udf import register\n\nregister(spark, {_text(name)}, {_text(target)})")
    if job.extras:
        parts.append(f"from flinkddl.runtime.session.extras import add_extras\n\nadd_extras(spark, {job.extras!r})")
    if job.jars:
        parts.append(_print_jars(job.jars))
    steps = {s.name: s for s in job.steps}
    chains = {mark.name: (read, J.below(mark, steps)) for read, mark in apart(job)}
    inside = {s.name for _, chain in chains.values() for s in chain}
    named = NAMED_SOURCES in job.settings
    for step in job.steps:
        if step.name in chains:
            parts.append(_print_branches(*chains[step.name], names, named))
        elif step.name not in inside:
            made = _print_time(step, steps, names) if isinstance(step, J.WithTime) else _print_step(step, names, named)
            parts.append(_assignment(step, names, made))
    return "\n".join(parts)


def _print_jars(jars: Mapping[str, bool]) -> str:
    """Return the lines that send the jars of Java functions along, behind a look whether the user names them."""
    unnamed = [jar for jar, named in jars.items() if not named]
    lines = []
    if unnamed:
        lines += ["from flinkddl.runtime.udf import refuse_unnamed_jars", f"refuse_unnamed_jars({unnamed!r})"]
    lines += ["from flinkddl.runtime.session.java_jars import ship_java", f"ship_java(spark, {list(jars)!r})"]
    return "\n".join(lines)


def _assignment(step: J.Step, names: Mapping[str, str], text: str) -> str:
    note = f"{comment(step.note)}\n" if step.note else ""
    return f"{note}{names[step.name]} = {text}"


def _print_branches(read: J.Read, chain: Sequence[J.Step], names: Mapping[str, str], named: bool) -> str:
    """Return a function over one partition, and the union over all: only the broker knows how many there are."""
    rest = replace(read, options={k: v for k, v in read.options.items() if k not in SUBSCRIPTION})
    source = Code(f'"{source_name(read.name)}_" + tag') if named else ""
    end = _end(read)
    lines = []
    for step in chain:
        if step is read:
            made = written(_until(read_calls(rest, rest.options, source, Code("place")), "end" if end else ""), names)
        elif isinstance(step, J.Read):
            made = _print_control(step, f'"{source_name(step.name)}_" + tag' if named else "")
        else:
            made = written(calls_of(step), names)
        lines.append(_assignment(step, names, made))
    name = names[chain[-1].name]
    body = indent("\n".join(lines), "    ")
    places = f"{_OFFSETS}.branches({mapping(read.options)}, {dict(read.start)!r}, {dict(read.stop)!r})"
    more = f", end={end}" if end else ""  # asked for once
    return f"\n\ndef {name}_of(tag, place{more}):\n{body}\n    return {name}\n\n\n{name} = union({name}_of, {places})"


def _print_writes(job: J.SparkJob, names: Mapping[str, str]) -> str:
    writes = [_print_write(job, run, names) for run in job.runs]
    if not job.streaming:
        return "\n" + "\n".join(writes)
    body = ",\n".join(indent(w, "        ") for w in writes)
    controls = [s for s in job.steps if isinstance(s, J.Read) and s.format == J.CONTROL]
    ends = ", ".join(f"({_folder(s.name)}, {_text(s.options['rowtime'])})" for s in controls)
    start = f"\n\n\ndef start():\n    return [\n{body},\n    ]"
    return f"{_print_driver_sinks(job, names)}{start}\n\n\nfinish(start, [{ends}])"


def _print_driver_sinks(job: J.SparkJob, names: Mapping[str, str]) -> str:
    """Return the line of what takes rows on the driver: one for both starts, since it remembers what it has seen."""
    sinks = (
        f"    {_text(w.name)}: {_WRITERS}.DriverSink({names[w.input]}, {_write_text(w)}),\n"
        for w in job.writes
        if w.on_driver
    )
    lines = "".join(sinks)
    return f"\ndriver_sinks = {{\n{lines}}}" if lines else ""


def _folder(step: str) -> str:
    return f"os.path.join(work, {_text('control-' + folder_inside(step))})"


def _print_step(step: J.Step, names: Mapping[str, str], named: bool) -> str:
    if not isinstance(step, J.Read):
        return written(calls_of(step), names)
    source = source_name(step.name) if named else ""
    if step.format == J.CONTROL:
        return _print_control(step, _text(source) if source else "")
    if step.format == J.FRAME:
        return _own_frame(step)
    if step.streaming and step.finished:
        finished = replace(step, streaming=False)
        query = Chain(Session(), (Call("sql", (step.options.get("query", ""),)),))
        text = written(query if step.format == J.ROWS else read_calls(finished, step.options), names)
        return f"stream_of({text}, os.path.join(work, {_text('frame-' + folder_inside(step.name))}))"
    return written(_until(read_calls(step, _options(step), source, _positions(step)), _end(step)), names)


def _print_control(step: J.Read, name: str) -> str:
    """Return the lines that read what ends the input, under a name where sources have one (as Python)."""
    folder = _folder(step.name)
    stream = f"spark.readStream.name({name})" if name else "spark.readStream"
    opened = f"os.makedirs({folder}, exist_ok=True) or {stream}"
    return chained(f"({opened})", [f".schema({_text(step.schema or '')})", f".json({folder})"])


def _print_time(step: J.WithTime, steps: Mapping[str, J.Step], names: Mapping[str, str]) -> str:
    """Return the line of a table that tells its time: only the broker knows how many partitions do."""
    if (read := topic_of(step, steps)) is None:
        return written(calls_of(step), names)
    first, last = map(_text, step.parts)
    return written(time_calls(step, Code(f"{first} + {_OFFSETS}.count({mapping(read.options)}) + {last}")), names)


def _options(step: J.Read) -> Mapping[str, str] | Code:
    if step.fixed and step.of_topics and any(k in step.options for k in SUBSCRIPTION):
        # only the broker knows which partitions there are when the program starts
        return Code(f"{_OFFSETS}.assigned({mapping(step.options)})")
    return step.options


def _positions(step: J.Read) -> Mapping[str, str] | Code | None:
    if not step.of_topics or not (step.start or step.stop):
        return None
    known = known_positions(step.start, step.stop, step.streaming)
    where = f"{mapping(step.options)}, {dict(step.start)!r}, {dict(step.stop)!r}, {step.streaming}"
    return known or Code(f"{_OFFSETS}.spark_options({where})")


def _end(step: J.Read) -> str:
    """Return the text of the condition that ends a bounded streaming read of a topic, "" where it has no end."""
    if not step.streaming or not step.of_topics or step.stop.get("mode", "unbounded") == "unbounded":
        return ""
    return f"{_OFFSETS}.until({mapping(step.options)}, {dict(step.stop)!r})"


def _until(opened: Chain, end: str) -> Chain:
    return Chain(opened.start, (*opened.calls, Call("where", (Code(end),)))) if end else opened


def _own_frame(step: J.Read) -> str:
    """Return the place of the user's own DataFrame: a temp view that the caller makes before this line."""
    name = step.options["frame"]
    table = f"root.table({_text(quote(name))})"
    if step.options["written"] == "true":
        table = f"stream_of({table}, os.path.join(work, {_text('frame-' + folder_inside(step.name))}))"
    return f"{table}  # yours: df.createOrReplaceTempView({_text(quote(name))}) before this line"


def _print_write(job: J.SparkJob, write: J.Write, names: Mapping[str, str]) -> str:
    source = names[write.input]
    tasks = "__import__('flinkddl.runtime.job.tasks', fromlist=[''])"
    told = f"{source}, {_text(write.writer)}, {mapping(write.options)}"
    if not job.streaming:
        if write.writer:
            return f"{tasks}.by_tasks({told})"
        if write.on_driver:
            return f"{_WRITERS}.run_write({source}, {_write_text(write)})"
        return written(write_calls(write), names)
    if write.on_driver:
        return f"driver_sinks[{_text(write.name)}].start({trigger_of(job)!r}, {_location(write)})"
    take = Code(f"{tasks}.batches({told})") if write.writer else None
    return written(query_calls(write, trigger_of(job), Code(_location(write)), take), names)


def _location(write: J.Write) -> str:
    return f"os.path.join(work, {_text(folder_name(write.name))})"


def _write_text(write: J.Write) -> str:
    values = {f.name: getattr(write, f.name) for f in fields(write)} | {"options": dict(write.options)}
    return f"{_JOB}.Write(**{values!r})"


def _setting(key: str, value: str) -> str:
    return f"secret({option_value(key, value)})" if key.startswith(SECRET_SETTING) else option_value(key, value)
