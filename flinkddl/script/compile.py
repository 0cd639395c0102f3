"""A script folded into actions: what each statement asks to be done, once everything before it is known.

All mistakes of the script are collected before anything is started. No Spark here: ``check``, ``explain`` and
``compile`` end with this module's values; ``run`` and notebooks hand them to the runtime.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from flinkddl.catalog.apply import HANDLERS, apply
from flinkddl.catalog.context import parts
from flinkddl.catalog.model import Table
from flinkddl.catalog.state import Catalog
from flinkddl.deep import deep
from flinkddl.diagnostics import Bag, Diagnostic, FlinkDdlError, SourceText, Span, strictly
from flinkddl.dialect import nodes
from flinkddl.dialect.script import parse_script
from flinkddl.plan.builder.hooks import added, context_of, hooks
from flinkddl.plan.builder.planner import plan_insert, plan_query, unknown_functions
from flinkddl.plan.nodes import Sink
from flinkddl.script import planfile
from flinkddl.script.lost import Lost, without_unknown
from flinkddl.script.mistaken import wrong_options
from flinkddl.spark.assemble import lower_job
from flinkddl.spark.folders import shared_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sqlglot import exp

    from flinkddl.dialect import ParsedStatement
    from flinkddl.plan.context import Context
    from flinkddl.spark.job import SparkJob


@dataclass(frozen=True)
class Action:
    """What one statement asks for; ``span`` is the statement."""

    span: Span


@dataclass(frozen=True)
class Done(Action):
    """The catalog or the session changed; nothing else to do."""

    text: str = "Execute statement succeeded."


@dataclass(frozen=True)
class Answer(Action):
    """Rows known without running anything (SHOW, DESCRIBE, EXPLAIN, SET); ``of``: the job that EXPLAIN tells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    of: Start | None = None


@dataclass(frozen=True)
class Start(Action):
    """A job: an INSERT, a statement set (several sinks), or a SELECT (one sink without a table).

    ``script_jobs`` are the names of all jobs of its script.
    """

    job: SparkJob
    sinks: tuple[Sink, ...]
    is_query: bool = False
    script_jobs: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(frozen=True)
class WritePlan(Action):
    """COMPILE PLAN: a file to be written."""

    path: Path
    text: str


@dataclass(frozen=True)
class Command(Action):
    """A statement for the running program itself: SHOW JOBS, STOP JOB, QUIT, ...."""

    tree: exp.Expression


@dataclass
class Compiled:
    """The script's actions, the catalog after it, and everything there is to say about it.

    ``states`` are the catalogs after each action: an action is carried out with the settings that hold at its place.
    ``whole`` is whether every statement could be read.
    """

    catalog: Catalog
    actions: list[Action] = field(default_factory=list)
    states: list[Catalog] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    statements: int = 0
    whole: bool = True

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(d.severity == "error" for d in self.diagnostics)

    @property
    def starts(self) -> list[Start]:
        """What starts a job, and what EXPLAIN tells of one."""
        told = (action.of if isinstance(action, Answer) else action for action in self.actions)
        return [action for action in told if isinstance(action, Start)]

    @property
    def jobs(self) -> list[SparkJob]:
        """The jobs that the script starts."""
        return [action.job for action in self.actions if isinstance(action, Start)]


@deep
def compile_script(
    source: SourceText,
    catalog: Catalog | None = None,
    variables: Mapping[str, str] | None = None,
    before: Sequence[SourceText] = (),
) -> Compiled:
    """Parse, fold, plan and lower a whole script; never raises for a mistake in it.

    ``before`` are texts that are carried out before it and are part of the same script: what is lost in one is not
    missed in the next. ``statements`` counts those of the script itself.
    """
    out, lost = Compiled(catalog or Catalog()), Lost()
    for text in (*before, source):
        script = parse_script(text, variables)
        out.diagnostics += script.diagnostics
        lost.add(script.unread)
        out.whole &= script.whole
        for statement in script.statements:
            _fold(out, statement, lost)
        out.statements = len(script.statements)
    out.diagnostics = list(lost.told(out.diagnostics))
    starts = [(a, s) for a, s in zip(out.actions, out.states, strict=True) if isinstance(a, Start)]
    out.diagnostics += shared_folders((a.job, a.sinks, s.settings.table_dml_sync) for a, s in starts)
    names = frozenset(a.job.name for a, _ in starts)
    out.actions = [replace(a, script_jobs=names) if isinstance(a, Start) else a for a in out.actions]
    order = {text.name: i for i, text in enumerate((*before, source))}
    out.diagnostics.sort(key=lambda d: (order.get(d.span.source.name, -1), d.span.start, d.span.end) if d.span else ())
    return out


def _fold(out: Compiled, statement: ParsedStatement, lost: Lost) -> None:
    tree, span, bag = statement.tree, statement.span, Bag()
    strict = out.catalog.settings.flinkddl_strict
    try:
        action = _action(out, tree, span, bag)
        if action is not None:
            out.actions.append(action)
            out.states.append(out.catalog)
    except FlinkDdlError as error:
        bag.extend(error.diagnostics)
    if bag.has_errors:
        _tell_hidden(out, tree, span, bag)
    told = strictly([*statement.taken, *bag], strict)
    for d in (d if d.span else replace(d, span=span) for d in lost.causes(told, out.catalog)):
        if d not in out.diagnostics:  # a table that two statements use is told of once
            out.diagnostics.append(d)
    if bag.has_errors:
        out.catalog = lost.after(out.catalog, tree, bag)


def _tell_hidden(out: Compiled, tree: exp.Expression, span: Span, bag: Bag) -> None:
    """Add the unknown functions of a statement whose planning ended before it came to them, as at a missing table."""
    told = {d.span for d in bag}
    for error in unknown_functions(tree, context_of(out.catalog, span.source)):
        bag.extend(d for d in error.diagnostics if d.span not in told)


def _action(out: Compiled, tree: exp.Expression, span: Span, bag: Bag) -> Action | None:
    handler = _ACTIONS.get(type(tree))
    if handler is not None:
        return handler(out, tree, span, bag)
    if type(tree) in HANDLERS:
        return _apply(out, tree, span, bag)
    if isinstance(tree, nodes.Statement):
        return Command(span, tree)
    return _select(out, tree, span, bag)


# ---- DDL and session -----------------------------------------------------------------------------------------------


def _apply(out: Compiled, tree: exp.Expression, span: Span, bag: Bag) -> Action | None:
    if isinstance(tree, nodes.Set) and tree.args.get("this") is None:
        from flinkddl.catalog import show

        rows = show.settings_rows(out.catalog)
        return Answer(span, rows.columns, rows.rows)
    before = out.catalog
    out.catalog, found = apply(before, tree, span.source, hooks(span.source))
    bag.extend(found)
    if bag.has_errors:
        if isinstance(tree, nodes.CreateTable):
            bag.extend(_hidden(before, tree, span.source))
        return None
    if isinstance(tree, nodes.CreateTable | nodes.CreateView):
        path = before.path(parts(tree.this))
        out.catalog = without_unknown(out.catalog, path)
        added(before, out.catalog, path)
    if isinstance(tree, nodes.CreateTable) and tree.args.get("expression") is not None:
        insert = nodes.Insert(this=tree.this.copy(), expression=tree.args["expression"].copy())
        return _insert(out, insert, span, bag)
    return Done(span)


def _hidden(catalog: Catalog, tree: exp.Expression, source: SourceText) -> list[Diagnostic]:
    """Return what is wrong with the options of a table of which nothing else is wrong but its watermark."""
    whole = tree.copy()
    kept = [e for e in whole.args.get("elements") or () if not isinstance(e, nodes.Watermark)]
    if len(kept) == len(tree.args.get("elements") or ()):
        return []
    whole.set("elements", kept)
    after, _ = apply(catalog, whole, source, hooks(source))
    table = None if after is catalog else after.find(parts(tree.this))
    return wrong_options(table) if isinstance(table, Table) else []


# ---- queries -------------------------------------------------------------------------------------------------------


def _context(catalog: Catalog, source: SourceText, bag: Bag) -> Context:
    context = context_of(catalog, source)
    context.bag = bag
    return context


def _insert(out: Compiled, tree: exp.Expression, span: Span, bag: Bag) -> Action:
    sink = plan_insert(cast("nodes.Insert", tree), _context(out.catalog, span.source, bag))
    return _start(out, (sink,), span, bag)


def _set(out: Compiled, tree: exp.Expression, span: Span, bag: Bag) -> Action | None:
    sinks = []
    for insert in tree.expressions:
        try:
            sinks.append(plan_insert(insert, _context(out.catalog, span.source, bag)))
        except FlinkDdlError as error:
            bag.extend(error.diagnostics)
    return None if bag.has_errors else _start(out, tuple(sinks), span, bag)


def _compile_plan(out: Compiled, tree: exp.Expression, span: Span, bag: Bag) -> Action | None:
    """COMPILE [AND EXECUTE] PLAN: the job is planned here, the file written when the script runs."""
    name, path = tree.this.name, planfile.location(tree.this.name, span)
    execute = bool(tree.args.get("execute"))
    start = _action(out, tree.args["expression"], span, bag)
    exists = path in _plans(out) or path.exists()
    if exists and execute:
        return _execute_plan(out, tree, span, bag)
    if exists and tree.args.get("exists"):
        return Done(span)
    if exists and not out.catalog.settings.table_plan_force_recompile:
        help = "write IF NOT EXISTS, or SET 'table.plan.force-recompile' = 'true'"
        raise FlinkDdlError.of("FD321", f"the plan '{name}' exists already", span, help)
    plan = WritePlan(span, path, planfile.write(out.catalog, tree.args["expression"]))
    if start is None or not execute:
        return plan if start is not None else None
    out.actions.append(plan)
    out.states.append(out.catalog)
    return start


def _plans(out: Compiled) -> dict[Path, str]:
    """The plans that this script has written when it gets here."""
    return {a.path: a.text for a in out.actions if isinstance(a, WritePlan)}


def _execute_plan(out: Compiled, tree: exp.Expression, span: Span, bag: Bag) -> Action | None:
    path = planfile.location(tree.this.name, span)
    text = _plans(out).get(path) or planfile.read(path, span)
    found = compile_script(planfile.as_script(str(path), text, span))
    bag.extend(found.diagnostics)
    starts = [a for a in found.actions if isinstance(a, Start)]
    return replace(starts[-1], span=span) if starts and not found.has_errors else None


def _select(out: Compiled, tree: exp.Expression, span: Span, bag: Bag) -> Action:
    query = tree.this if isinstance(tree, nodes.ExecuteQuery) else tree
    planned = plan_query(query, _context(out.catalog, span.source, bag))
    sink = Sink(input=planned.node, table=None, fields=planned.columns, span=span)
    return _start(out, (sink,), span, bag, is_query=True)


def _start(out: Compiled, sinks: tuple[Sink, ...], span: Span, bag: Bag, is_query: bool = False) -> Start:
    name = out.catalog.settings.pipeline_name or _job_name(sinks)
    zone = _context(out.catalog, span.source, bag).session.zone
    return Start(span, lower_job(name, sinks, out.catalog.settings, zone, bag), sinks, is_query)


def _job_name(sinks: tuple[Sink, ...]) -> str:
    tables = [s.table.path for s in sinks if s.table is not None]
    return f"insert-into_{'_'.join(map(str, tables))}" if tables else "collect"


# ---- answers -------------------------------------------------------------------------------------------------------


def _show(out: Compiled, tree: exp.Expression, span: Span, bag: Bag) -> Action | None:
    if tree.args.get("what") == "JOBS" or tree.args.get("kind") == "JOB":
        return Command(span, tree)
    from flinkddl.catalog import show

    rows = show.answer(out.catalog, tree, span.source, hooks(span.source))
    return Answer(span, rows.columns, rows.rows)


def _explain(out: Compiled, tree: exp.Expression, span: Span, bag: Bag) -> Action | None:
    from flinkddl.show.explain import explain

    scratch = Compiled(out.catalog)  # so that an explained CREATE TABLE AS leaves no table behind
    inner = _action(scratch, tree.this, span, bag)
    if not isinstance(inner, Start):
        raise FlinkDdlError.of("FD655", "only queries, INSERTs and statement sets have a plan", span)
    return Answer(span, ("result",), ((explain(inner.job),),), inner)


_ACTIONS: dict[type, Callable[[Compiled, Any, Span, Bag], Action | None]] = {
    nodes.Insert: _insert,
    nodes.StatementSet: _set,
    nodes.ExecuteQuery: _select,
    nodes.Show: _show,
    nodes.Describe: _show,
    nodes.Explain: _explain,
    nodes.CompilePlan: _compile_plan,
    nodes.ExecutePlan: _execute_plan,
}
