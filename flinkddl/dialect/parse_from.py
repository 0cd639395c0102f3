"""What stands in FROM: ``grammar/from.ebnf``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.diagnostics import Span, suggest
from flinkddl.dialect import hints
from flinkddl.dialect import tokens as t
from flinkddl.dialect.cursor import is_bare_alias
from flinkddl.dialect.nodes import (
    MatchRecognize,
    Node,
    Option,
    OptionsHint,
    QueryHint,
    TableFunction,
    TemporalTable,
    span_of,
)
from flinkddl.dialect.parse_calls import CallParser

if TYPE_CHECKING:
    from flinkddl.dialect.tokens import Token

WINDOWS = frozenset({"TUMBLE", "HOP", "CUMULATE", "SESSION"})
_REFUSED = ("PIVOT", "UNPIVOT", "TABLESAMPLE")
_IN_A_JOIN = ("AS", "JOIN", "CROSS", "LEFT", "INNER", ",", "(")
_SIDES = ("LEFT", "RIGHT", "FULL")


class FromParser(CallParser):
    """Reads tables, joins and table functions."""

    def from_list(self) -> tuple[exp.Expression, list[exp.Join]]:
        """``from``: the first item and all joins; a comma is a join without a kind."""
        first = self.from_item()
        joins: list[exp.Join] = []
        while (join := self._join()) is not None:
            joins.append(join)
        return first, joins

    def _join(self) -> exp.Join | None:
        """``join``."""
        start = self.tok.start
        if self.take(","):
            return self.mark(exp.Join(this=self.from_item()), start)
        args: dict[str, object] = {}
        if self.take("NATURAL"):
            args["method"] = "NATURAL"
        if self.tok.key in _SIDES and self.peek().key in ("JOIN", "OUTER", "SEMI", "ANTI"):
            args["side"] = self.advance().key
            self._outer(args)
        elif self.at("CROSS", "JOIN") or self.at("INNER", "JOIN"):
            args["kind"] = self.advance().key
        elif self.tok.key in ("CROSS", "OUTER") and self.peek().key == "APPLY":
            self.fail("FD116", f"{self.tok.key} APPLY is not possible in Flink SQL", help="write LATERAL TABLE (f(x))")
        elif not self.at("JOIN"):
            return self.fail_expected("JOIN") if args else None
        self.need("JOIN")
        self.loose_alias = None
        node = exp.Join(this=self.from_item(), **args)
        self._condition(node)
        return self.mark(node, start)

    def _outer(self, args: dict[str, object]) -> None:
        if self.take("OUTER"):
            args["kind"] = "OUTER"
        elif self.tok.key in ("SEMI", "ANTI"):
            what = "IN" if self.tok.key == "SEMI" else "NOT IN"
            self.fail("FD116", f"{self.tok.key} JOIN is not possible in Flink SQL", help=f"write WHERE x {what} (...)")

    def _condition(self, node: exp.Join) -> None:
        """``join_condition``."""
        if self.take("ON"):
            node.set("on", self.expression())
        elif self.take("USING"):
            node.set("using", self.names())
        elif node.kind != "CROSS" and node.method != "NATURAL":
            self.fail_expected("ON", "USING")

    # ---- one item ------------------------------------------------------------------------------------------------

    def from_item(self) -> exp.Expression:
        """``from_item`` with what follows it: FOR SYSTEM_TIME AS OF, MATCH_RECOGNIZE, alias."""
        start = self.tok.start
        node = self._from_primary()
        self._no_pivot()
        alias = self._alias()
        if self.at("FOR", "SYSTEM_TIME"):
            node, alias = self._temporal(node, alias, start)
        if self.at("MATCH_RECOGNIZE"):
            if alias is not None:
                node.set("alias", alias)
                self.mark(node, start)
            node = self._match_recognize(node, start)
            alias = self._alias()
        self._no_pivot()
        if alias is not None:
            node.set("alias", alias)
            self.mark(node, start)
        return node

    def _no_pivot(self) -> None:
        if self.tok.key in _REFUSED:
            self.fail("FD116", f"{self.tok.key} is not possible in streaming queries")

    def _alias(self) -> exp.TableAlias | None:
        """``alias``: ``[AS] a [(c, ...)]``."""
        start = self.tok.start
        if self.take("AS"):
            name = self.identifier("an alias")
        elif is_bare_alias(self.tok) and self.tok.key not in ("MATCH_RECOGNIZE", "FOR"):
            self.loose_alias = self.tok
            name = self.identifier("an alias")
        else:
            return None
        columns = self.names() if self.at("(") else []
        return self.mark(exp.TableAlias(this=name, columns=columns), start)

    def _from_primary(self) -> exp.Expression:
        token = self.tok
        match token.key:
            case "(":
                return self._parenthesised(token)
            case "LATERAL":
                return self._lateral()
            case "UNNEST" if self.peek().key == "(":
                return self._unnest()
            case "TABLE":
                self.advance()
                return self._table_keyword(token, lateral=False)
            case "VALUES":
                return self.fail("FD102", "VALUES in FROM stands in parentheses", token, "write FROM (VALUES ...)")
            case _:
                return self._table(token)

    def _table(self, token: Token) -> exp.Expression:
        """``table``: a name with an options hint, or a table function called bare."""
        if token.kind == t.STRING:
            self.fail("FD102", "a table name does not stand in single quotes", help=f"write `{token.value}`")
        if token.key in WINDOWS or (token.kind in (t.WORD, t.NAME) and self.peek().key == "("):
            name: exp.Table = self._function_name()
        else:
            name = self.table_name()
        if self.at("("):
            return self.table_function_rest(name, token.start)
        return self.table_hints(name, token.start)

    def _function_name(self) -> exp.Table:
        token = self.advance()
        this = self.place(exp.Identifier(this=token.value, quoted=token.kind == t.NAME), token)
        return self.place(exp.Table(this=this), token)

    def table_hints(self, table: exp.Table, start: int) -> exp.Table:
        """``table_hints``: ``/*+ OPTIONS(..) */`` after a table name."""
        if self.tok.kind != t.HINT:
            return table
        table.set("hints", [self._options_hint(h) for h in self.hints(self.advance())])
        return self.mark(table, start)

    def _options_hint(self, hint: QueryHint) -> OptionsHint | QueryHint:
        if hint.this != "OPTIONS":
            return hint
        self.pairs_only("OPTIONS", hint.expressions)
        node = OptionsHint(expressions=hint.expressions)
        node._meta = hint._meta
        return node

    def pairs_only(self, name: str, items: list[exp.Expression]) -> None:
        """Fail at a name or a text that stands alone where a hint holds pairs."""
        for item in items:
            if not isinstance(item, Option):
                place = Span(self.source, *(span_of(item) or (0, 0)))
                written = f"{name}({hints.PAIRS[name]})"
                self.fail("FD114", f"{name} takes {hints.PAIRS[name]} pairs", place, f"write {written}")

    def _parenthesised(self, token: Token) -> exp.Expression:
        """``derived_table``: a query, VALUES or a join in parentheses."""
        self.need("(")
        if self.at_query() and not self._is_join_of_tables():
            query = self.query()
            if not self.take(")"):
                self.fail_expected(")", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION")
            if isinstance(query, exp.Values):
                return self.mark(query, token.start)
            return self.mark(exp.Subquery(this=query), token.start)
        first, joins = self.from_list()
        self.need(")")
        if not joins:
            return first
        first.set("joins", joins)
        # The item now holds its joins, so it reaches as far as they do.
        place = dict(first._meta or {})
        place["end"] = (span_of(joins[-1]) or (0, 0))[1] - (0 if isinstance(first, Node) else 1)
        first._meta = place
        return self.mark(exp.Subquery(this=first), token.start)

    def _is_join_of_tables(self) -> bool:
        """Whether ``(TABLE t ...`` goes on as a join and not as a query."""
        if not self.at("TABLE"):
            return False
        ahead = 2
        while self.peek(ahead).key == ".":
            ahead += 2
        return is_bare_alias(self.peek(ahead)) or self.peek(ahead).key in _IN_A_JOIN

    # ---- table functions -----------------------------------------------------------------------------------------

    def table_function_rest(self, name: exp.Table, start: int) -> TableFunction:
        """``table_function``: the name is read, the parenthesis comes next."""
        self.need("(")
        items: list[exp.Expression] = []
        if not self.take(")"):
            items = self.comma_list(self._table_function_argument)
        ident = name.this
        upper = ident.this.upper()
        node = TableFunction(this=upper if upper in WINDOWS else ident.this, expressions=items)
        if name.args.get("db") is not None:
            node.set("path", [p for p in (name.args.get("catalog"), name.args.get("db")) if p is not None])
        return self.mark(node, start)

    def _table_function_argument(self) -> exp.Expression:
        start = self.tok.start
        item = self.argument()
        if isinstance(item, exp.Subquery) and self.tok.key in ("PARTITION", "ORDER"):
            return self.table_argument_rest(item, start)
        return item

    def _table_keyword(self, token: Token, lateral: bool) -> exp.Expression:
        """``table_keyword``: ``TABLE (f(..))`` or ``TABLE t``."""
        if not self.take("("):
            return self.table_hints(self.table_name(), token.start)
        at = self.tok
        if self.at_query():
            node: exp.Expression = self.subquery_rest(at.start)
            return node
        if self.at("TABLE", "("):
            self.advance()
            node = self._table_keyword(at, lateral)
        elif self.peek().key == "(":
            node = self.table_function_rest(self._function_name(), at.start)
        else:
            name = self.table_name()
            node = self.table_function_rest(name, at.start) if self.at("(") else name
        self.need(")")
        if isinstance(node, TableFunction):
            if lateral:
                node.set("lateral", True)
            return self.mark(node, token.start)
        return node

    def _lateral(self) -> exp.Expression:
        """``lateral``: ``LATERAL TABLE (f(x))``, ``LATERAL (query)``, ``LATERAL UNNEST(..)``, ``LATERAL f(x)``."""
        token = self.need("LATERAL")
        if self.take("TABLE"):
            return self._table_keyword(token, lateral=True)
        if self.at("UNNEST"):
            return self.mark(self._unnest(), token.start)
        at = self.tok
        if self.take("("):
            return self.mark(exp.Lateral(this=self.subquery_rest(at.start)), token.start)
        if near := suggest(at.text, ["TABLE"]):
            self.fail(
                "FD102", f"expected TABLE or a query after LATERAL, found '{at.text}'", at, f"did you mean '{near}'?"
            )
        name = self.table_name() if self.peek().key != "(" else self._function_name()
        node = self.table_function_rest(name, at.start)
        node.set("lateral", True)
        return self.mark(node, token.start)

    def _unnest(self) -> exp.Unnest:
        """``unnest``: the ordinality column is the last alias column, kept apart as ``offset``."""
        start = self.need("UNNEST").start
        self.need("(")
        node = exp.Unnest(expressions=self.comma_list(self.expression))
        if self.take("WITH", "ORDINALITY"):
            node.set("offset", True)
        self.mark(node, start)
        alias = self._alias()
        if alias is not None:
            columns = alias.args.get("columns")
            if node.args.get("offset") and columns:
                node.set("offset", columns.pop())
            node.set("alias", alias)
            self.mark(node, start)
        return node

    def _temporal(
        self, node: exp.Expression, before: exp.TableAlias | None, start: int
    ) -> tuple[exp.Expression, exp.TableAlias | None]:
        """``temporal``: FOR SYSTEM_TIME AS OF; the alias may stand before or after it, or be absent."""
        self.need("FOR", "SYSTEM_TIME", "AS", "OF")
        time = self.expression(40 - 1)
        out = self.mark(TemporalTable(this=node, expression=time), start)
        return out, self._alias() or before

    def hints(self, token: Token) -> list[QueryHint]:
        """Read the inside of a hint."""
        raise NotImplementedError

    # ---- MATCH_RECOGNIZE -----------------------------------------------------------------------------------------

    def _match_recognize(self, this: exp.Expression, start: int) -> MatchRecognize:
        """``match_recognize``."""
        self.need("MATCH_RECOGNIZE", "(")
        node = MatchRecognize(this=this)
        if self.take("PARTITION", "BY"):
            node.set("partition_by", self.several(self.expression))
        if self.at("ORDER"):
            node.set("order", self.order())
        if self.take("MEASURES"):
            node.set("measures", self.several(self._measure))
        if self.tok.key in ("ALL", "ONE") and self.peek().key in ("ROW", "ROWS"):
            node.set("rows", self._words_until(("AFTER", "PATTERN")))
        if self.at("AFTER", "MATCH"):
            node.set("after", self._words_until(("PATTERN",)))
        self.need("PATTERN", "(")
        node.set("pattern", self._pattern())
        if self.take("WITHIN"):
            node.set("within", self.expression())
        self.need("DEFINE")
        node.set("define", self.several(self._definition))
        self.need(")")
        return self.mark(node, start)

    def _measure(self) -> exp.Alias:
        """An item of ``measures``."""
        start = self.tok.start
        self.take_one(("FINAL", "RUNNING"))
        value = self.expression()
        self.need("AS")
        return self.mark(exp.Alias(this=value, alias=self.identifier("a name")), start)

    def _definition(self) -> exp.Alias:
        """An item of ``define``."""
        start = self.tok.start
        name = self.identifier("a pattern variable")
        self.need("AS")
        return self.mark(exp.Alias(this=self.expression(), alias=name), start)

    def _words_until(self, stops: tuple[str, ...]) -> str:
        words = []
        while self.tok.key not in stops:
            if self.tok.kind not in (t.WORD, t.NAME):
                self.fail_expected(*stops)
            token = self.advance()
            words.append(token.text if token.kind == t.NAME else _cased(token))
        return " ".join(words)

    def _pattern(self) -> str:
        """``pattern``: its text, without the outer parentheses."""
        depth = 1
        out: list[str] = []
        while True:
            token = self.tok
            if token.kind == t.END or token.key == ";":
                self.fail_expected(")")
            depth += {"(": 1, ")": -1}.get(token.key, 0)
            self.advance()
            if depth == 0:
                break
            glue = token.kind == t.SYMBOL and token.key not in ("(", "|", "{")
            out.append(token.text if glue or not out else f" {token.text}")
        text = "".join(out).replace("( ", "(").replace(" )", ")").replace(" {", "{")
        return text.replace("{ ", "{").replace(", ", ",")


_AFTER_WORDS = frozenset(
    {"AFTER", "MATCH", "SKIP", "PAST", "LAST", "ROW", "TO", "NEXT", "FIRST", "ONE", "ALL", "PER", "ROWS"}
)


def _cased(token: Token) -> str:
    return token.key if token.key in _AFTER_WORDS else token.text
