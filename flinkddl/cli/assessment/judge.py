"""One script judged: what is wrong with it, and, where it runs, what its jobs keep and how fast they are."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import Diagnostic, FlinkDdlError, SourceText
from flinkddl.script.embedded import ENDINGS, Embedded, embedded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from flinkddl.catalog.state import Catalog
    from flinkddl.diagnostics import Span
    from flinkddl.script.compile import Compiled
    from flinkddl.spark.job import SparkJob

RUNS, NOTES, REFUSED = "runs", "runs with notes", "refused"
UNDEFINED = "FD106"
_NOT_LOOKED_INTO = frozenset({"node_modules", "target", "build", "dist", "__pycache__"})


@dataclass(frozen=True)
class Assessment:
    """One script: its findings, its jobs, and the scripts that were carried out before it.

    ``state`` says what its jobs keep, ``latency`` how their rows come out, ``realtime`` what keeps them out of
    real-time mode. ``declares`` are the tables of a script that starts nothing.
    """

    path: str
    findings: tuple[Diagnostic, ...]
    statements: int = 0
    jobs: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    latency: tuple[str, ...] = ()
    realtime: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    declares: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What keeps it out."""
        return tuple(d for d in self.findings if d.severity == "error")

    @property
    def verdict(self) -> str:
        """``runs``, ``runs with notes`` or ``refused``."""
        return REFUSED if self.errors else NOTES if self.findings else RUNS

    @property
    def reasons(self) -> tuple[str, ...]:
        """The codes that make the verdict, each once, in the order of the script."""
        return tuple(dict.fromkeys(d.code for d in self.errors or self.findings))


# ---- files ---------------------------------------------------------------------------------------------------------


def files(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return the files of arguments and how they are named: relative to where one stands, or to what they share."""
    found = list(dict.fromkeys(p for path in paths for p in _below(path)))
    if not found:
        return []
    here, absolute = os.getcwd(), [os.path.abspath(p) for p in found]
    if not all(p.startswith(f"{here}{os.sep}") for p in absolute):
        here = os.path.commonpath([os.path.dirname(p) for p in absolute])
    return [(p, p if p == "-" else os.path.relpath(p, here)) for p in found]


def _below(path: str) -> Iterator[str]:
    if not Path(path).is_dir():
        yield path
        return
    for found in sorted(Path(path).rglob("*")):
        parents = found.relative_to(path).parts[:-1]
        hidden = any(p.startswith(".") or p in _NOT_LOOKED_INTO for p in parents)
        if found.suffix.lower() in ENDINGS and not hidden and found.is_file():
            yield str(found)


def read(path: str, name: str) -> Embedded:
    """Read the SQL of a file. Raises FlinkDdlError FD801."""
    from flinkddl.cli.common import read_source

    return embedded(name, read_source(path).text)


# ---- judging -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judge:
    """What all scripts are judged with: variables, the catalog they begin with, and the scripts of ``-i``."""

    variables: Mapping[str, str]
    catalog: Catalog | None = None
    before: tuple[SourceText, ...] = ()

    def judge(self, name: str, found: Embedded, common: Sequence[SourceText] = ()) -> Assessment:
        """Judge the SQL of one file. A variable without a value is a note: the script runs when it is given one."""
        try:
            compiled, findings = self._compiled(found.texts, (*self.before, *common))
        except FlinkDdlError as error:
            return Assessment(name, error.diagnostics)
        except Exception as error:  # noqa: BLE001 - one script that breaks us must not hide the others
            defect = Diagnostic("FD901", f"flinkddl failed on this script: {error!r}", help="please report it")
            return Assessment(name, (defect,))
        jobs = compiled.jobs
        return Assessment(
            name,
            (*findings, *map(_composed, found.composed)),
            compiled.statements,
            tuple(job.name for job in jobs),
            tuple(dict.fromkeys(text for job in jobs for text in _state(job))),
            tuple(dict.fromkeys(map(_latency, jobs))),
            tuple(dict.fromkeys(why for job in jobs if (why := _no_realtime(job)))),
            tuple(text.name for text in common),
            frozenset() if jobs else _declared(compiled),
        )

    def _compiled(self, texts: Sequence[SourceText], before: Sequence[SourceText]) -> tuple[Compiled, list[Diagnostic]]:
        compiled = self._once(texts, before, self.variables)
        undefined = [d for d in compiled.diagnostics if d.code == UNDEFINED]
        if not undefined:
            return compiled, compiled.diagnostics
        given = {**dict.fromkeys((d.about.name for d in undefined), "1"), **self.variables}
        compiled = self._once(texts, before, given)
        return compiled, [*(replace(d, severity="note") for d in undefined), *compiled.diagnostics]

    def _once(
        self, texts: Sequence[SourceText], before: Sequence[SourceText], variables: Mapping[str, str]
    ) -> Compiled:
        from flinkddl.script.compile import compile_script

        source = texts[-1] if texts else SourceText("", "")
        return compile_script(source, self.catalog, variables, (*before, *texts[:-1]))


def _composed(place: Span) -> Diagnostic:
    message = "this statement is put together by the program while it runs, and not judged"
    return Diagnostic("FD676", message, place, "write it out in a .sql file, with ${name} for what varies", "note")


def _declared(compiled: Compiled) -> frozenset[str]:
    catalogs = compiled.catalog.catalogs
    databases = ((c, d) for c in catalogs for d in catalogs[c].databases)
    return frozenset(str(o.path) for c, d in databases for o in compiled.catalog.objects_in(c, d))


def _state(job: SparkJob) -> Iterator[str]:
    from flinkddl.spark.operators import operators

    if job.streaming:
        yield from (f"{o.here.node.name}: {o.state}" for o in operators(job) if o.state)


def _latency(job: SparkJob) -> str:
    if not job.streaming:
        return "batch"
    kind, every = job.trigger
    if kind == "realTime":
        return "real-time"
    if kind == "availableNow":
        return "reads what is there and ends"
    pause = "" if every.startswith("0 ") else f" every {every}"
    return f"micro-batches{pause}{'' if _no_realtime(job) else ', or real-time mode'}"


def _no_realtime(job: SparkJob) -> str:
    """Return what keeps a job out of real-time mode, "" for one that it takes and one that has an end."""
    from flinkddl.spark.realtime import refusals

    return next(refusals(job), "") if job.streaming and job.trigger[0] == "processingTime" else ""


def assess(path: str, variables: Mapping[str, str], catalog: Catalog | None = None) -> Assessment:
    """Judge one file by itself."""
    try:
        found = read(path, path)
    except FlinkDdlError as error:
        return Assessment(path, error.diagnostics)
    return Judge(variables, catalog).judge(path, found)


# ---- all of them ---------------------------------------------------------------------------------------------------


def assess_all(paths: Iterable[str], judge: Judge) -> list[Assessment]:
    """Judge all files; scripts that only declare tables are carried out before those that miss these tables."""
    sources: dict[str, Embedded] = {}
    first: dict[str, Assessment] = {}
    for path, name in files(paths):
        try:
            sources[name] = read(path, name)
            if not sources[name].texts and not sources[name].composed:
                continue  # no SQL in it
            first[name] = judge.judge(name, sources[name])
        except FlinkDdlError as error:
            first[name] = Assessment(name, error.diagnostics)
    common = {n: a.declares for n, a in first.items() if n.endswith(".sql") and a.declares and not a.errors}
    return [_with_common(a, common, sources, judge) for a in first.values()]


_MISSING = ("FD303", "FD452")


def _with_common(
    found: Assessment, common: Mapping[str, frozenset[str]], sources: Mapping[str, Embedded], judge: Judge
) -> Assessment:
    """Judge a script again with the scripts that declare tables it misses; the one nearest to it goes first."""
    missing = {d.about.name.rpartition(".")[2] for d in found.errors if d.code in _MISSING}
    near = sorted(common, key=lambda n: (-len(os.path.commonpath([n, found.path])), n))
    chosen: list[str] = []
    for name in near:
        given = {path.rpartition(".")[2] for path in common[name]}
        if name != found.path and missing & given:
            chosen.append(name)
            missing -= given
    if not chosen:
        return found
    again = judge.judge(found.path, sources[found.path], [text for n in chosen for text in sources[n].texts])
    return again if len(again.errors) < len(found.errors) else found
