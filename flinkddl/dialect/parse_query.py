"""Queries: ``grammar/queries.ebnf``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.diagnostics import Span
from flinkddl.dialect import hints
from flinkddl.dialect import tokens as t
from flinkddl.dialect.cursor import MAX_DEPTH, is_bare_alias
from flinkddl.dialect.nodes import Option, QueryHint, SelectHint, span_of
from flinkddl.dialect.parse_from import FromParser
from flinkddl.dialect.words import STRICT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_STARTS = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
_SET_OPERATIONS: dict[str, type[exp.SetOperation]] = {
    "UNION": exp.Union,
    "EXCEPT": exp.Except,
    "INTERSECT": exp.Intersect,
}


class QueryParser(FromParser):
    """Reads queries."""

    def at_query(self) -> bool:
        """Whether a query begins here, perhaps after opening parentheses."""
        ahead = 0
        while self.peek(ahead).key == "(":
            ahead += 1
        key = self.peek(ahead).key
        if key not in _STARTS or (ahead and not self._is_wrapped_query(ahead)):
            return False
        if key == "TABLE":
            return self.peek(ahead + 1).kind in (t.WORD, t.NAME)
        if key == "VALUES":
            return self.peek(ahead + 1).key not in (",", ")", ".")
        return True

    def _is_wrapped_query(self, ahead: int) -> bool:
        """Whether ``((SELECT ..) ...`` is a query and not an expression that begins with a subquery."""
        depth, i = 0, 0
        while True:
            token = self.peek(i)
            if token.kind == t.END or token.key == ";":
                return True
            depth += {"(": 1, ")": -1}.get(token.key, 0)
            i += 1
            if depth == 0:
                break
        after = self.peek(i)
        return after.kind == t.END or after.key in _AFTER_WRAPPED

    def subquery_rest(self, start: int) -> exp.Subquery:
        """Read a query and its closing parenthesis; the opening one is taken."""
        query = self.query()
        if not self.take(")"):
            self.fail_expected(")", *TAIL)
        return self.mark(exp.Subquery(this=query), start)

    def query(self) -> exp.Expression:
        """``query``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("FD117", "this query nests too deeply")
        start = self.tok.start
        with_ = self._with() if self.at("WITH") else None
        node = self._set_operations(0)
        if with_ is not None:
            node.set("with_", with_)
        self._tail(node)
        self.depth -= 1
        return self.mark(node, start)

    def _with(self) -> exp.With:
        """``with``."""
        start = self.need("WITH").start
        if self.at("RECURSIVE"):
            self.fail("FD116", "recursive queries are not possible in Flink SQL", help="remove RECURSIVE")
        return self.mark(exp.With(expressions=self.several(self._cte)), start)

    def _cte(self) -> exp.CTE:
        """``cte``."""
        start = self.tok.start
        name = self.identifier("a name for the query")
        columns = self.names() if self.at("(") else []
        alias = self.mark(exp.TableAlias(this=name, columns=columns), start)
        self.need("AS", "(")
        query = self.query()
        if not self.take(")"):
            self.fail_expected(")", *TAIL)
        self._note_twice(name.name, columns or _names_given(query))
        return self.mark(exp.CTE(this=query, alias=alias), start)

    def _note_twice(self, name: str, columns: Sequence[exp.Expression]) -> None:
        """Note each name that a WITH query gives a second column; those of a star are numbered by Flink."""
        seen: set[str] = set()
        for column in columns:
            if (given := column.alias_or_name) in seen:
                place = Span(self.source, *(span_of(column) or (0, 0)))
                self.take_note(f"query '{name}' has two columns '{given}'", place, "give one of them another name")
            seen.add(given)

    def _set_operations(self, level: int) -> exp.Expression:
        """``body``: INTERSECT binds tighter than UNION and EXCEPT, which go from left to right."""
        start = self.tok.start
        left = self._operand() if level else self._set_operations(1)
        keys = ("INTERSECT",) if level else ("UNION", "EXCEPT")
        while self.tok.key in keys:
            node = _SET_OPERATIONS[self.advance().key]
            distinct = not self.take("ALL")
            if distinct:
                self.take("DISTINCT")
            right = self._operand() if level else self._set_operations(1)
            left = self.mark(node(this=left, expression=right, distinct=distinct), start)
        if self.at("MINUS"):
            self.fail("FD116", "MINUS is not possible in Flink SQL", help="write EXCEPT")
        return left

    def _operand(self) -> exp.Expression:
        """``operand``."""
        start = self.tok.start
        match self.tok.key:
            case "SELECT":
                return self._select()
            case "VALUES":
                return self.values()
            case "TABLE":
                self.advance()
                table = self.table_name()
                source = self.mark(exp.From(this=table), start)
                return self.mark(exp.Select(expressions=[self.mark(exp.Star(), start)], from_=source), start)
            case "(":
                self.advance()
                return self.subquery_rest(start)
            case _:
                return self.fail_expected("SELECT", "VALUES", "WITH", what="a query")

    def _tail(self, node: exp.Expression) -> None:
        """``tail``: ORDER BY, LIMIT, OFFSET, FETCH."""
        if self.at("ORDER"):
            node.set("order", self.order())
        start = self.tok.start
        if self.take("LIMIT") and not self.take("ALL"):
            count = self.expression(40)
            if self.at(","):
                self.fail("FD116", "'LIMIT start, count' is not possible in Flink SQL", help="write LIMIT n OFFSET m")
            node.set("limit", self.mark(exp.Limit(expression=count), start))
        start = self.tok.start
        if self.take("OFFSET"):
            offset = self.expression(40)
            self.take_one(("ROW", "ROWS"))
            node.set("offset", self.mark(exp.Offset(expression=offset), start))
        if self.at("FETCH"):
            node.set("limit", self._fetch())

    def _fetch(self) -> exp.Limit:
        """``fetch``: the same as LIMIT."""
        start = self.need("FETCH").start
        self.need_one(("FIRST", "NEXT"))
        count: exp.Expression = exp.Literal(this="1", is_string=False)
        if self.tok.key not in ("ROW", "ROWS"):
            count = self.expression(40)
        self.need_one(("ROW", "ROWS"))
        self.need("ONLY")
        return self.mark(exp.Limit(expression=count), start)

    def values(self) -> exp.Values:
        """``values``."""
        start = self.need("VALUES").start
        rows = self.several(self._row_value)
        self.list_end = self.index
        return self.mark(exp.Values(expressions=rows), start)

    def _row_value(self) -> exp.Tuple:
        """``row_value``: ``(a, b)``, ``ROW(a, b)`` or a single value."""
        start = self.tok.start
        value = self.expression()
        match value:
            case exp.Tuple():
                return value
            case exp.Paren():
                return self.mark(exp.Tuple(expressions=[value.this]), start)
            case _ if isinstance(value, exp.Anonymous) and value.this == "ROW":
                return self.mark(exp.Tuple(expressions=list(value.expressions)), start)
            case _:
                return self.mark(exp.Tuple(expressions=[value]), start)

    # ---- SELECT --------------------------------------------------------------------------------------------------

    def _select(self) -> exp.Select:
        """``select``."""
        start = self.need("SELECT").start
        node = exp.Select()
        if self.tok.kind == t.HINT:
            node.set("hint", self._hint())
        if self.at("STREAM") and self.peek().key not in (",", "FROM", "AS", ".", ""):
            self.advance()
        at = self.tok.start
        if self.take("DISTINCT"):
            node.set("distinct", self.mark(exp.Distinct(), at))
        else:
            self.take("ALL")
        node.set("expressions", self._select_list())
        if self.at("FROM"):
            at = self.advance().start
            first, joins = self.from_list()
            node.set("from_", self.mark(exp.From(this=first), at))
            if joins:
                node.set("joins", joins)
        for key, read in _CLAUSES.items():
            if self.tok.key == key:
                node.set(*read(self))
        return self.mark(node, start)

    def _select_list(self) -> list[exp.Expression]:
        items = [self.select_item()]
        while self.take(","):
            if self.at("FROM"):
                self.fail("FD102", "a comma before FROM is one too many", self.prev, "remove it")
            items.append(self.select_item())
        self.list_end = self.index
        return items

    def select_item(self) -> exp.Expression:
        """``select_item``."""
        start = self.tok.start
        if self.at("*"):
            return self.place(exp.Star(), self.advance())
        value = self.expression()
        named = self.take("AS")
        if not named and is_bare_alias(self.tok) and self.tok.key not in STRICT:
            self.loose_alias, named = self.tok, True
        if named:
            return self.mark(exp.Alias(this=value, alias=self.identifier("an alias")), start)
        if self.tok.kind == t.DOUBLE_QUOTED:
            self.fail_double_quoted()
        return value

    def _hint(self) -> SelectHint:
        """``select_hint``."""
        token = self.advance()
        return self.place(SelectHint(expressions=self.hints(token)), token)

    def _filter(self, kind: type[exp.Expression]) -> tuple[str, object]:
        """``where``, ``having``, ``qualify``: a word and a condition."""
        word = self.advance()
        return word.key.lower(), self.mark(kind(this=self.expression()), word.start)

    def _group(self) -> tuple[str, object]:
        """``group``."""
        start = self.need("GROUP", "BY").start
        node = exp.Group()
        if self.take("DISTINCT"):
            node.set("all", False)
        else:
            self.take("ALL")
        while True:
            name, item = self._group_item()
            node.append(name, item)
            if not self.take(","):
                return "group", self.mark(node, start)

    def _group_item(self) -> tuple[str, exp.Expression]:
        """``group_item``."""
        start = self.tok.start
        if self.take("GROUPING", "SETS"):
            return "grouping_sets", self.mark(exp.GroupingSets(expressions=self._sets()), start)
        if self.tok.key in ("CUBE", "ROLLUP") and self.peek().key == "(":
            name = self.advance().key
            kind = exp.Cube if name == "CUBE" else exp.Rollup
            return name.lower(), self.mark(kind(expressions=self._sets()), start)
        if self.take("(", ")"):
            return "expressions", self.mark(exp.Tuple(expressions=[]), start)
        return "expressions", self.expression()

    def _sets(self) -> list[exp.Expression]:
        self.need("(")
        return self.comma_list(self._set)

    def _set(self) -> exp.Expression:
        """``grouping_set``: always a tuple when in parentheses."""
        start = self.tok.start
        name, item = self._group_item()
        if name == "expressions" and isinstance(item, exp.Paren):
            return self.mark(exp.Tuple(expressions=[item.this]), start)
        return item

    def _windows(self) -> tuple[str, object]:
        """``named_windows``."""
        self.need("WINDOW")
        return "windows", self.several(self._window)

    def _window(self) -> exp.Window:
        start = self.tok.start
        window = exp.Window(this=self.identifier("a window name"))
        self.need("AS", "(")
        self.window_body(window)
        return self.mark(window, start)

    def order_items(self, argument: bool = False) -> list[exp.Ordered]:
        """``order_by``."""
        self.need("ORDER", "BY")
        if not argument:
            return self.several(self._ordered)
        return self.comma_list(self._ordered) if self.take("(") else [self._ordered()]

    def _ordered(self) -> exp.Ordered:
        """``order_item``: NULLs come first in ascending order unless told."""
        start = self.tok.start
        value = self.expression()
        desc = self.take_one(("ASC", "DESC")) == "DESC"
        nulls_first = not desc
        if self.take("NULLS"):
            nulls_first = self.need_one(("FIRST", "LAST")) == "FIRST"
        return self.mark(exp.Ordered(this=value, desc=desc, nulls_first=nulls_first), start)

    def hints(self, token: t.Token) -> list[QueryHint]:
        """``hints``: the inside of ``/*+ .. */``."""
        inner = type(self)(self.source, token.tokens)
        inner.taken = self.taken
        out: list[QueryHint] = []
        while inner.tok.kind != t.END:
            out.append(inner._one_hint())
            inner.take(",")
        if not out:
            self.fail("FD115", "this hint is empty", token, "remove it")
        return out

    def _one_hint(self) -> QueryHint:
        """``hint``."""
        token = self.tok
        if token.kind not in (t.WORD, t.NAME):
            self.fail_expected(what="the name of a hint")
        self.advance()
        items: list[exp.Expression] = []
        if self.take("(") and not self.take(")"):
            items = self.comma_list(self._hint_argument)
        name = token.text.upper()
        if name == "STATE_TTL":
            self.pairs_only(name, items)
        if wrong := hints.mistake(name, items):
            self.take_note(wrong[0], token, wrong[1])
        return self.mark(QueryHint(this=name, expressions=items), token.start)

    def _hint_argument(self) -> exp.Expression:
        """``hint_argument``."""
        if self.tok.kind == t.STRING:
            return self.option() if self.peek().key == "=" else self.string()
        if self.tok.kind == t.NUMBER:
            return self.primary()
        start = self.tok.start
        name: exp.Expression = self.identifier("a table or a string", after_dot=True)
        if self.at("="):
            # Flink takes a bare word as a key here, and only here.
            self.advance()
            key = exp.Literal(this=name.this, is_string=True)
            key._meta = name._meta
            return self.mark(Option(this=key, expression=self.string("a value")), start)
        return self.dotted(name, start, "a name")


def _names_given(query: exp.Expression) -> list[exp.Expression]:
    """Return the columns of a query whose names it gives itself."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    items = query.expressions if isinstance(query, exp.Select) else []
    return [i for i in items if isinstance(i, exp.Alias | exp.Column | exp.Dot) and not i.is_star]


_AFTER_WRAPPED = frozenset({*_SET_OPERATIONS, *(")", ";", "END", "ON", "ORDER", "LIMIT", "OFFSET", "FETCH")})
TAIL = (
    *("FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT"),
    *("OFFSET", "FETCH", "JOIN", "LEFT", "INNER"),
)
"""What may follow a query's SELECT list."""


_CLAUSES: dict[str, Callable[[QueryParser], tuple[str, object]]] = {
    "WHERE": lambda parser: parser._filter(exp.Where),
    "GROUP": QueryParser._group,
    "HAVING": lambda parser: parser._filter(exp.Having),
    "WINDOW": QueryParser._windows,
    "QUALIFY": lambda parser: parser._filter(exp.Qualify),
}
