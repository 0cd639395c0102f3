"""The builder, from trees to nodes: one recursion, whose rules by type of tree the other files of this folder put in.

A rule that needs a query, a table or an expression below its own asks the builder or the scope for it; so the files
do not import each other for that. ``builder.py`` imports them all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sqlglot import exp

from flinkddl.diagnostics import did_you_mean
from flinkddl.plan import make
from flinkddl.plan.build.names import Place, Relation
from flinkddl.plan.build.placeholders import SubqueryRef, has
from flinkddl.plan.expressions.resolve import resolve_expression
from flinkddl.plan.rex import InputRef, OuterRef, Rex, field_access, transform
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flinkddl.catalog.model import Function
    from flinkddl.diagnostics import FlinkDdlError, Span
    from flinkddl.plan.build.names import Entry
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.scope import Session

T = TypeVar("T")
Rule = TypeVar("Rule", bound="Callable[..., Any]")


class Rules(Generic[T]):
    """What becomes of a tree, by its type; the nearest type that has a rule decides."""

    def __init__(self) -> None:
        self._rules: dict[type, Callable[..., T]] = {}

    def __call__(self, *types: type) -> Callable[[Rule], Rule]:
        """Return the decorator that puts a function in as the rule of some types."""

        def register(rule: Rule) -> Rule:
            self._rules.update(dict.fromkeys(types, rule))
            return rule

        return register

    def of(self, tree: object) -> Callable[..., T] | None:
        """Return the rule for a tree, or None."""
        return next((self._rules[t] for t in type(tree).__mro__ if t in self._rules), None)


QUERIES = Rules["Node"]()
"""``rule(build, tree)``: the plan of a query."""
TABLES = Rules[Relation]()
"""``rule(build, tree)``: one table of a FROM clause, as it stands alone."""
JOINED = Rules[Relation]()
"""``rule(build, tree, place)``: a FROM clause with one more table, which may read those before it."""
CALLS = Rules["Rex | None"]()
"""``rule(scope, tree)``: an expression whose value depends on the query around it, or None for an ordinary one."""


@dataclass(frozen=True, eq=False)
class Builder:
    """What the trees of one query may refer to, and the way to their plans.

    ``outer`` is the scope around a subquery, ``ctes`` are the WITH queries in sight: each gives its plan, made once.
    """

    context: Context
    outer: NameScope | None = None
    ctes: Mapping[str, Callable[[], Node]] = field(default_factory=dict)

    @property
    def error(self) -> Callable[..., FlinkDdlError]:
        """See ``Context.error``."""
        return self.context.error

    @property
    def span(self) -> Callable[[exp.Expression | None], Span | None]:
        """See ``Context.span``."""
        return self.context.span

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
        return NameScope(self, relation, clause)


@dataclass
class NameScope:
    """The expression resolver's view of one clause of one SELECT: which column a reference means, by Flink's rules.

    Case-sensitive; an alias hides the table's own name; a part that names no table is a column with nested fields
    behind it; what the query itself does not know may belong to the query around it (a correlated reference).

    ``clause`` names it in messages; ``aggregates`` and ``overs`` say whether such calls may stand here;
    ``aliases`` are select items that ORDER BY may name; ``grouped`` is False where an aggregate may see no rows (no
    GROUP BY, or an empty grouping set).
    """

    builder: Builder
    relation: Relation
    clause: str = "SELECT"
    aggregates: bool = False
    overs: bool = False
    aliases: dict[str, Rex] = field(default_factory=dict)
    windows: dict[str, exp.Expression] = field(default_factory=dict)
    grouped: bool = True

    @property
    def session(self) -> Session:
        """The session's settings."""
        return self.builder.context.session

    def span(self, node: exp.Expression) -> Span | None:
        """The node's place in the script."""
        return self.builder.span(node)

    def function(self, name: str) -> Function | None:
        """The user's function of that name."""
        return self.builder.context.catalog.function(name)

    @property
    def error(self) -> Callable[..., FlinkDdlError]:
        """See ``Context.error``."""
        return self.builder.error

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
        span = self.span(node)
        if len(parts) == 1 and parts[0] in self.aliases:
            return self.aliases[parts[0]]
        for depth, scope in enumerate(self.chain()):
            found = scope._local(parts, node, span)
            if found is not None:
                return found if depth == 0 else _outwards(found, depth)
        raise self._unknown(parts, node)

    def _local(self, parts: tuple[str, ...], node: exp.Expression, span: Span | None) -> Rex | None:
        for size in (3, 2, 1):
            if len(parts) > size:
                entry = next((e for e in self.relation.entries if e.called(parts[:size])), None)
                if entry is not None:
                    found = self._in_entry(entry, parts[size], node, span)
                    return None if found is None else self.nested(found, parts[size + 1 :], node)
        found = self._bare(parts[0], node, span)
        return None if found is None else self.nested(found, parts[1:], node)

    def _in_entry(self, entry: Entry, name: str, node: exp.Expression, span: Span | None) -> Rex | None:
        found = entry.find(name)
        if len(found) > 1:
            raise self._ambiguous(name, node)
        if found:
            return self.relation.ref(found[0], span)
        message = f"column '{name}' not found in table '{entry.alias}'"
        raise self.error("FD450", message, node, did_you_mean(name, entry.names))

    def _bare(self, name: str, node: exp.Expression, span: Span | None) -> Rex | None:
        hidden: frozenset[int] = frozenset()
        for merged_name, value, stands_for in self.relation.merged:
            if merged_name == name:
                hidden |= stands_for
                result = value
        found = [i for e in self.relation.entries for i in e.find(name) if i not in hidden]
        if hidden:
            if found:
                raise self._ambiguous(name, node)
            return result
        if len(found) > 1:
            raise self._ambiguous(name, node)
        return self.relation.ref(found[0], span) if found else None

    def nested(self, value: Rex, names: tuple[str, ...], node: exp.Expression) -> Rex:
        """Return a field of a ROW value, or a field of that one and so on."""
        for name in names:
            inner = field_access(value, name, self.span(node)) if value.type.root is Root.ROW else None
            if inner is None:
                known = [f.name for f in value.type.fields]
                message = f"field '{name}' not found in a value of type {value.type.summary}"
                raise self.error("FD450", message, node, did_you_mean(name, known))
            value = inner
        return value

    def _ambiguous(self, name: str, node: exp.Expression) -> FlinkDdlError:
        owners = [e.alias for e in self.relation.entries if e.find(name) and e.alias]
        help_ = f"qualify it: {' or '.join(f'{o}.{name}' for o in owners)}" if len(owners) > 1 else "rename one of them"
        return self.error("FD451", f"column '{name}' is ambiguous", node, help_)

    def _unknown(self, parts: tuple[str, ...], node: exp.Expression) -> FlinkDdlError:
        known = sorted({n for s in self.chain() for e in s.relation.entries for n in e.names})
        if len(parts) == 1:
            message = f"column '{parts[0]}' not found in any table"
            return self.error("FD450", message, node, did_you_mean(parts[0], known))
        tables = [e.alias for s in self.chain() for e in s.relation.entries if e.alias]
        message = f"'{parts[0]}' is neither a table of this query nor a column"
        return self.error("FD450", message, node, did_you_mean(parts[0], [*tables, *known]))

    def chain(self) -> Iterator[NameScope]:
        """Yield this scope and those around it."""
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.builder.outer

    def star(self, qualifier: tuple[str, ...], node: exp.Expression) -> list[tuple[str, Rex]]:
        """Expand ``*``, ``t.*`` or ``row_column.*`` to names and values."""
        if not qualifier:
            return self._all(node)
        entry = next((e for e in self.relation.entries if e.called(qualifier)), None)
        if entry is not None:
            return list(self._entry_star(entry, node))
        value = self._local(qualifier, node, self.span(node))
        if value is not None and value.type.root is Root.ROW:
            return [(f.name, self.nested(value, (f.name,), node)) for f in value.type.fields]
        known = [e.alias for e in self.relation.entries if e.alias]
        name = ".".join(qualifier)
        raise self.error("FD450", f"table '{name}' not found", node, did_you_mean(name, known))

    def _all(self, node: exp.Expression) -> list[tuple[str, Rex]]:
        if not self.relation.entries:
            raise self.error("FD462", "SELECT * needs a FROM clause", node)
        out: list[tuple[str, Rex]] = [(name, value) for name, value, _ in self.relation.merged]
        hidden = frozenset(i for _, _, ids in self.relation.merged for i in ids)
        for entry in self.relation.entries:
            out += [(n, r) for n, r in self._entry_star(entry, node) if r.index not in hidden]
        return out

    def _entry_star(self, entry: Entry, node: exp.Expression) -> list[tuple[str, InputRef]]:
        twice = next((n for n, count in Counter(entry.names).items() if count > 1), None)
        if twice is not None:
            raise self._ambiguous(twice, node)
        return [(n, self.relation.ref(entry.start + i, self.span(node))) for i, n in enumerate(entry.names)]

    def within(self, clause: str, *, aggregates: bool = False, overs: bool = False) -> NameScope:
        """Return the scope of another clause of the same SELECT."""
        return replace(self, clause=clause, aggregates=aggregates, overs=overs)


def _outwards(value: Rex, depth: int) -> Rex:
    def change(r: Rex) -> Rex | None:
        return OuterRef(r.type, depth, r.index, r.span) if isinstance(r, InputRef) else None

    return transform(value, change)
