"""The builder, from trees to nodes: one recursion, whose rules by type of tree the other files of this folder put in.

A rule that needs a query, a table or an expression below its own asks the builder or the scope for it; so the files
do not import each other for that. ``builder.py`` imports them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.diagnostics import did_you_mean
from flinkddl.plan import make
from flinkddl.plan.builder.names import Names, Place, Placed, Relation
from flinkddl.plan.builder.placeholders import SubqueryRef, has
from flinkddl.plan.expressions import resolve_expression
from flinkddl.plan.rex import InputRef, OuterRef, Rex, transform
from flinkddl.plan.rules import Rule, Rules
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flinkddl.catalog.model import Function
    from flinkddl.diagnostics import FlinkDdlError
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.scope import Session

QUERIES = Rules["Node"]()
"""``rule(build, tree)``: the plan of a query."""
TABLES = Rules[Relation]()
"""``rule(build, tree)``: one table of a FROM clause, as it stands alone."""
JOINED = Rules[Relation]()
"""``rule(build, tree, place)``: a FROM clause with one more table, which may read those before it."""
FUNCTIONS: dict[str, tuple[tuple[str, ...], Callable[..., Node]]] = {}
"""``rule(build, tree)``: the plan of ``TABLE(NAME(TABLE t, ..))``, by name, with the names of its parameters."""
CALLS = Rules["Rex | None"]()
"""``rule(scope, tree)``: an expression whose value depends on the query around it, or None for an ordinary one."""


def table_function(name: str, *parameters: str) -> Callable[[Rule], Rule]:
    """Return the decorator that puts a function in as the rule of a table function over a table."""

    def register(rule: Rule) -> Rule:
        assert name not in FUNCTIONS, f"there is a rule for {name}"
        FUNCTIONS[name] = (parameters, rule)
        return rule

    return register


@dataclass(frozen=True, eq=False)
class Builder(Placed):
    """What the trees of one query may refer to, and the way to their plans.

    ``outer`` is the scope around a subquery, ``ctes`` are the WITH queries in sight: each gives its plan, made once.
    """

    context: Context
    outer: NameScope | None = None
    ctes: Mapping[str, Callable[[], Node]] = field(default_factory=dict)

    @property
    def apart(self) -> Builder:
        """The builder of trees that see no query around them."""
        return Builder(self.context)

    def query(self, tree: exp.Expression) -> Node:
        """Build the plan of a query: SELECT, set operation, VALUES, in parentheses or not."""
        build = self._seeing(tree.args.get("with_"))
        rule = QUERIES.of(tree)
        if rule is None:
            raise self.error("FD465", f"a {tree.key} is no query", tree)
        return rule(build, tree)

    def _seeing(self, with_: exp.Expression | None) -> Builder:
        if with_ is None:
            return self
        if with_.args.get("recursive"):
            help = "neither Flink nor Spark streams iterate"
            raise self.error("FD512", "WITH RECURSIVE cannot be planned", with_.expressions[0], help)
        build = self
        for cte in with_.expressions:
            plan = cache(partial(replace(build, outer=None)._cte, cte))
            build = replace(build, ctes={**build.ctes, cte.alias: plan})
        return build

    def _cte(self, tree: exp.Expression) -> Node:
        return self._renamed(self.query(tree.this), tree.args["alias"])

    def relation(self, tree: exp.Expression) -> Relation:
        """Build one table of a FROM clause. Raises FlinkDdlError for what is unknown or cannot stand there."""
        rule = TABLES.of(tree)
        if rule is None:
            raise self.error("FD465", "this cannot stand in FROM", tree)
        relation = rule(self, tree)
        for join in tree.args.get("joins") or ():
            relation = self.join(relation, join)
        return relation

    def join(self, left: Relation, tree: exp.Join) -> Relation:
        """Add one JOIN (or comma) to a FROM clause."""
        rule = JOINED.of(tree.this)
        assert rule is not None, "joins.py has one for every tree"
        return rule(self, tree.this, Place(left, tree))

    def on(self, tree: exp.Expression | None, both: Relation) -> Rex:
        """Resolve the condition behind a join's ON; without one it is TRUE."""
        if tree is None:
            return make.TRUE
        condition = self.scope(both, "ON").condition(tree)
        if has(condition, SubqueryRef):
            help = "put it into WHERE or a joined subquery"
            raise self.error("FD515", "a subquery in a join condition is not supported", tree, help)
        return condition

    def named(self, plan: Node, tree: exp.Expression, name: str | None = None) -> Relation:
        """Give a plan its name in FROM: the alias, with column names if the alias has any."""
        return Relation.of(self._renamed(plan, tree.args.get("alias")), tree.alias or name or None)

    def _renamed(self, node: Node, alias: exp.Expression | None) -> Node:
        """Return the node under an alias's list of columns; their number must fit."""
        columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        if not columns:
            return node
        if len(columns) != len(node.fields):
            names = ", ".join(f"'{f.name}'" for f in node.fields)
            message = f"{len(columns)} column aliases for {len(node.fields)} columns ({names})"
            raise self.error("FD466", message, alias, "name every column or none")
        return make.rename(node, [c.name for c in columns])

    def scope(self, relation: Relation, clause: str = "SELECT") -> NameScope:
        """Return the scope in which a clause over ``relation`` is resolved."""
        return NameScope(self.context, relation, self, clause)


@dataclass
class NameScope(Names):
    """The expression resolver's view of one clause of one SELECT (``plan.scope.Scope``).

    What the query itself does not know may belong to the query around it: a correlated reference. ``clause`` names the
    clause in messages; ``aggregates`` and ``overs`` say whether such calls may stand here; ``aliases`` are select items
    that ORDER BY may name; ``grouped`` is False where an aggregate may see no rows (no GROUP BY, or an empty grouping
    set).
    """

    builder: Builder
    clause: str = "SELECT"
    aggregates: bool = False
    overs: bool = False
    aliases: dict[str, Rex] = field(default_factory=dict)
    windows: dict[str, exp.Expression] = field(default_factory=dict)
    grouped: bool = True

    @property
    def session(self) -> Session:
        """The session's settings."""
        return self.context.session

    def function(self, name: str) -> Function | None:
        """The user's function of that name."""
        return self.context.catalog.function(name)

    def misplaced(self, node: exp.Expression, what: str) -> FlinkDdlError:
        """Return the error for an aggregate, window or grouping function where this clause takes none."""
        if self.clause == "an aggregate's argument":
            return self.error("FD456", f"{what}s cannot be nested", node, "compute the inner one in a subquery")
        helps = {
            "WHERE": "filter on aggregates with HAVING, on window functions with QUALIFY",
            "GROUP BY": "group in an outer query",
        }
        return self.error("FD455", f"{what} is not allowed in {self.clause}", node, helps.get(self.clause))

    def query(self, tree: exp.Expression) -> Node:
        """Build the plan of a subquery that stands in this clause; it may refer to what the clause sees."""
        return replace(self.builder, outer=self).query(tree)

    def value(self, tree: exp.Expression) -> Rex:
        """Resolve an expression."""
        return resolve_expression(tree, self)

    def typed(self, tree: exp.Expression) -> Rex:
        """Resolve an expression that has a type: a bare NULL is refused, as in Flink."""
        rex = resolve_expression(tree, self)
        if rex.type.root is Root.NULL:
            raise self.error("FD468", "a bare NULL has no type", tree, "write CAST(NULL AS type)")
        return rex

    def condition(self, tree: exp.Expression) -> Rex:
        """Resolve an expression that must be a BOOLEAN."""
        rex = resolve_expression(tree, self)
        if rex.type.root not in (Root.BOOLEAN, Root.NULL):
            message = f"{self.clause} needs a condition, this is {rex.type.summary}"
            raise self.error("FD457", message, tree, None if self.clause == "ON" else "compare it with something")
        return rex

    def special(self, node: exp.Expression) -> Rex | None:
        """See ``plan.scope.Scope.special``."""
        match node:
            case exp.Column():
                return self.column(node)
            case exp.Identifier():
                return self.path((node.name,), node)
            case _:
                rule = CALLS.of(node)
                return None if rule is None else rule(self, node)

    def column(self, node: exp.Column) -> Rex:
        """Resolve a column reference of one to four parts; raises FlinkDdlError."""
        return self.path(tuple(p.name for p in node.parts), node)

    def path(self, parts: tuple[str, ...], node: exp.Expression) -> Rex:
        """Resolve a dotted path, here or further outwards."""
        if len(parts) == 1 and parts[0] in self.aliases:
            return self.aliases[parts[0]]
        for depth, scope in enumerate(self.chain()):
            found = scope.find(parts, node)
            if found is not None:
                return found if depth == 0 else _outwards(found, depth)
        raise self._unknown(parts, node)

    def _unknown(self, parts: tuple[str, ...], node: exp.Expression) -> FlinkDdlError:
        known = sorted({n for s in self.chain() for e in s.relation.entries for n in e.names})
        if len(parts) == 1:
            message = f"column '{parts[0]}' not found in any table"
            help = self._nested_help(parts[0]) or did_you_mean(parts[0], known) or _among(known)
            return self.error("FD450", message, node, help)
        tables = [e.alias for s in self.chain() for e in s.relation.entries if e.alias]
        message = f"'{parts[0]}' is neither a table of this query nor a column"
        help = self._nested_help(parts[0]) or did_you_mean(parts[0], [*tables, *known])
        return self.error("FD450", message, node, help or (f"tables here: {', '.join(tables)}" if tables else None))

    def _nested_help(self, name: str) -> str | None:
        """Say where a name stands that is a field of a ROW column."""
        if "." in name:  # `r.a` in one pair of backticks
            known = any(e.find(name.partition(".")[0]) for s in self.chain() for e in s.relation.entries)
            return f"write {name} without backticks, or with a pair around each name" if known else None
        path = next(filter(None, (s.inside(name) for s in self.chain())), None)
        return f"'{name}' is a field of '{path.rpartition('.')[0]}': write {path}" if path else None

    def chain(self) -> Iterator[NameScope]:
        """Yield this scope and those around it."""
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.builder.outer

    def within(self, clause: str, *, aggregates: bool = False, overs: bool = False) -> NameScope:
        """Return the scope of another clause of the same SELECT."""
        return replace(self, clause=clause, aggregates=aggregates, overs=overs)


_LISTED = 12


def _among(columns: list[str]) -> str | None:
    """Return what there is, where no name is like the one that was asked for."""
    return f"columns here: {', '.join(columns)}" if 0 < len(columns) <= _LISTED else None


def _outwards(value: Rex, depth: int) -> Rex:
    def change(r: Rex) -> Rex | None:
        return OuterRef(r.type, depth, r.index, r.span) if isinstance(r, InputRef) else None

    return transform(value, change)
