"""Function calls: ``grammar/calls.ebnf``. Special syntax is a table from name to method; all else is generic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.dialect import tokens as t
from flinkddl.dialect.nodes import Call, Descriptor, JsonCall, NamedArgument, TableArgument
from flinkddl.dialect.parse_expressions import ExpressionParser
from flinkddl.dialect.words import EXTRACT_UNITS, UNITS

if TYPE_CHECKING:
    from collections.abc import Callable


class CallParser(ExpressionParser):
    """Reads function calls with everything that may follow them."""

    def call(self, parts: list[exp.Identifier], start: int) -> exp.Expression:
        """``call``: the name is read, the parenthesis comes next."""
        name = parts[-1].this.upper() if not parts[-1].args["quoted"] else parts[-1].this
        special = _SPECIAL.get(name) if len(parts) == 1 and not parts[-1].args["quoted"] else None
        self.need("(")
        if special is not None:
            node = special(self, name, start)
        else:
            node = Call(this=name.upper(), expressions=self._arguments(name))
            if len(parts) > 1:
                node.set("path", parts[:-1])
        self.mark(node, start)
        return self._after_call(node, start)

    # ---- arguments -----------------------------------------------------------------------------------------------

    def _arguments(self, name: str) -> list[exp.Expression]:
        """``arguments``, the closing parenthesis included."""
        if self.take(")"):
            return []
        if self.at("*") and self.peek().key == ")":
            star = self.place(exp.Star(), self.advance())
            self.need(")")
            return [star]
        start = self.tok.start
        distinct = self.take("DISTINCT")
        if not distinct and self.at("ALL") and self.peek().key not in (",", ")"):
            self.advance()
        items = self.several(self.argument)
        self._nulls_inside(items)
        if distinct:
            items = [self.mark(exp.Distinct(expressions=items), start)]
        if self.at("ORDER"):
            at = (items[-1]._meta or {}).get("start", self.tok.start)
            items[-1] = self.mark(exp.Order(this=items[-1], expressions=self.order_items()), at)
        if not self.take(")"):
            self.fail_expected(",", ")")
        return items

    def _nulls_inside(self, items: list[exp.Expression]) -> None:
        """``nulls_inside``: ``ARRAY_AGG(x IGNORE NULLS)``: kept on the last argument."""
        for word, kind in (("IGNORE", exp.IgnoreNulls), ("RESPECT", exp.RespectNulls)):
            if self.at(word, "NULLS"):
                self.need(word, "NULLS")
                node = kind(this=items[-1])
                node._meta = items[-1]._meta
                items[-1] = node

    def argument(self) -> exp.Expression:
        """``argument``: an expression, ``name => x``, ``TABLE t ...``, ``DESCRIPTOR(..)`` or a query."""
        if self.peek().key == "=>" and self.tok.kind in (t.WORD, t.NAME):
            start = self.tok.start
            name = self.identifier("the name of an argument", after_dot=True)
            self.need("=>")
            return self.mark(NamedArgument(this=name, expression=self.argument()), start)
        if self.at("TABLE"):
            return self.table_argument()
        if self.at("DESCRIPTOR", "("):
            return self.descriptor()
        if self.at("MODEL") and self.peek().kind in (t.WORD, t.NAME):
            start = self.advance().start
            return self.mark(Call(this="MODEL", expressions=[self.table_name("a model")]), start)
        if self.at_query():
            start = self.tok.start
            return self.mark(exp.Subquery(this=self.query()), start)
        return self.expression()

    def descriptor(self) -> Descriptor:
        """``descriptor``."""
        start = self.need("DESCRIPTOR").start
        self.need("(")
        return self.mark(Descriptor(expressions=self.comma_list(self.nested)), start)

    def table_argument(self) -> TableArgument:
        """``table_argument``: ``TABLE t`` or a query in parentheses, with PARTITION BY and ORDER BY."""
        start = self.need("TABLE").start
        at = self.tok.start
        this: exp.Expression
        if self.take("("):
            this = self.subquery_rest(at) if self.at_query() else self._table_in_parentheses()
        else:
            this = self.table_name()
            if self.at("("):
                this = self.table_function_rest(this, at)
        return self.table_argument_rest(this, start)

    def _table_in_parentheses(self) -> exp.Expression:
        table = self.table_name()
        self.need(")")
        return table

    def table_argument_rest(self, this: exp.Expression, start: int) -> TableArgument:
        """Read PARTITION BY and ORDER BY after the data of a table argument."""
        node = TableArgument(this=this)
        if self.take("PARTITION", "BY"):
            if self.take("("):
                node.set("partition_by", [] if self.take(")") else self.comma_list(self.expression))
            else:
                node.set("partition_by", self._open_list())
        if self.at("ORDER"):
            node.set("order", self.order(argument=True))
        return self.mark(node, start)

    def _open_list(self) -> list[exp.Expression]:
        """Keys without parentheses: the list ends where the next argument cannot be a column."""
        items = [self.expression()]
        while self.at(",") and self.is_name(self.peek()) and self.peek(2).key in (",", ")", ".", "ORDER"):
            self.advance()
            items.append(self.expression())
        return items

    # ---- after a call --------------------------------------------------------------------------------------------

    def _after_call(self, node: exp.Expression, start: int) -> exp.Expression:
        """``call_suffix``: WITHIN GROUP, IGNORE NULLS, FILTER, OVER, in this order."""
        if self.take("WITHIN", "GROUP"):
            self.need("(")
            order = self.order()
            self.need(")")
            node = self.mark(exp.WithinGroup(this=node, expression=order), start)
        node = self._null_treatment(node, start)
        if self.take("FILTER", "("):
            at = self.need("WHERE").start
            where = self.mark(exp.Where(this=self.expression()), at)
            self.need(")")
            node = self.mark(exp.Filter(this=node, expression=where), start)
        if self.take("OVER"):
            node = self._over(node, start)
        return node

    def _null_treatment(self, node: exp.Expression, start: int) -> exp.Expression:
        for word, kind in (("IGNORE", exp.IgnoreNulls), ("RESPECT", exp.RespectNulls)):
            if self.take(word, "NULLS"):
                return self.mark(kind(this=node), start)
        return node

    def _over(self, node: exp.Expression, start: int) -> exp.Window:
        """``over``."""
        if not self.take("("):
            return self.mark(exp.Window(this=node, alias=self.identifier("a window"), over="OVER"), start)
        window = exp.Window(this=node, over="OVER")
        self.window_body(window)
        return self.mark(window, start)

    def window_body(self, window: exp.Window) -> None:
        """``window_specification``, the closing parenthesis included."""
        if self.is_name() and not self.at("PARTITION") and not self.at("ORDER") and self.tok.key not in _FRAMES:
            window.set("alias", self.identifier("a window"))
        if self.at("PARTITION"):
            self.need("PARTITION", "BY")
            window.set("partition_by", self.several(self.expression))
        if self.at("ORDER"):
            window.set("order", self.order())
        if self.tok.key in _FRAMES:
            window.set("spec", self._frame())
        if not self.take(")"):
            self.fail_expected("PARTITION", "ORDER", "ROWS", "RANGE", ")")

    def order(self, argument: bool = False) -> exp.Order:
        """Read ORDER BY as a clause; behind the table of an ``argument`` several keys stand in parentheses."""
        start = self.tok.start
        return self.mark(exp.Order(expressions=self.order_items(argument)), start)

    def _frame(self) -> exp.WindowSpec:
        """``frame``."""
        start = self.tok.start
        kind = self.advance().key
        between = self.take("BETWEEN")
        first, first_side = self._bound()
        last: exp.Expression | str = "CURRENT ROW"
        last_side: str | None = None
        if between:
            self.need("AND")
            last, last_side = self._bound()
        return self.mark(
            exp.WindowSpec(kind=kind, start=first, start_side=first_side, end=last, end_side=last_side), start
        )

    def _bound(self) -> tuple[exp.Expression | str, str | None]:
        """``bound``."""
        if self.take("CURRENT", "ROW"):
            return "CURRENT ROW", None
        value: exp.Expression | str = "UNBOUNDED" if self.take("UNBOUNDED") else self.expression(40 - 1)
        return value, self.need_one(("PRECEDING", "FOLLOWING"))

    # ---- special syntax ------------------------------------------------------------------------------------------

    def _extract(self, name: str, start: int) -> Call:
        """``extract``."""
        unit = self._unit_var(EXTRACT_UNITS)
        self.need("FROM")
        return self._closed(name, [unit, self.expression()])

    def _unit_var(self, known: frozenset[str], word: str | None = None) -> exp.Var:
        token = self.tok
        word = word or UNITS.get(token.key, token.key)
        if token.kind != t.WORD or word not in known:
            self.fail_expected(*sorted(known), what="a unit of time such as SECOND")
        self.advance()
        return self.place(exp.Var(this=word), token)

    def _closed(self, name: str, items: list[exp.Expression]) -> Call:
        self.need(")")
        return Call(this=name, expressions=items)

    def _rounding(self, name: str, start: int) -> Call:
        """``rounding``: ``FLOOR(x [TO unit])``."""
        items = [self.argument()]
        if self.take("TO"):
            items.append(self._unit_var(EXTRACT_UNITS))
        elif self.take(","):
            items.append(self.expression())
        return self._closed(name, items)

    def _timestamp(self, name: str, start: int) -> Call:
        """``timestamp_arithmetic``: TIMESTAMPADD and TIMESTAMPDIFF."""
        token = self.tok
        known = frozenset(UNITS.values())
        word = token.key.removeprefix("SQL_TSI_")
        if word in UNITS and word not in known:
            self.fail(
                "FD112", f"{name} takes the singular of a unit, found '{token.text}'", help=f"write {UNITS[word]}"
            )
        items: list[exp.Expression] = [self._unit_var(known, word)]
        for _ in range(2):
            self.need(",")
            items.append(self.expression())
        return self._closed(name, items)

    def _position(self, name: str, start: int) -> Call:
        """``position``."""
        needle = self.expression(32)
        self.need("IN")
        items = [needle, self.expression()]
        if self.take("FROM"):
            items.append(self.expression())
        return self._closed(name, items)

    def _overlay(self, name: str, start: int) -> Call:
        """``overlay``."""
        items = [self.expression()]
        for word in ("PLACING", "FROM"):
            if not self.take(","):
                self.need(word)
            items.append(self.expression())
        if self.take("FOR") or self.take(","):
            items.append(self.expression())
        return self._closed(name, items)

    def _substring(self, name: str, start: int) -> Call:
        """``substring``."""
        items = [self.expression()]
        for word in ("FROM", "FOR"):
            if self.take(word) or self.take(","):
                items.append(self.expression())
        return self._closed(name, items)

    def _trim(self, name: str, start: int) -> Call:
        """``trim``."""
        token = self.tok
        side = self.take_one(("BOTH", "LEADING", "TRAILING"))
        where = self.place(exp.Var(this=side), token) if side else None
        blank = exp.Literal(this=" ", is_string=True)
        if where is not None and self.take("FROM"):
            return self._closed(name, [where, blank, self.expression()])
        first = self.expression()
        if self.take("FROM"):
            return self._closed(name, [where or exp.Var(this="BOTH"), first, self.expression()])
        if where is not None:
            self.fail_expected("FROM")
        return self._closed(name, [first, *(self.several(self.expression) if self.take(",") else [])])

    # ---- JSON ----------------------------------------------------------------------------------------------------

    def _json_path(self, name: str, start: int) -> JsonCall:
        """``json_path_call``: JSON_VALUE, JSON_QUERY and JSON_EXISTS."""
        node = JsonCall(this=name, expressions=self.several(self.expression))
        if self.take("RETURNING"):
            node.set("returning", self.type_())
        if self.tok.key in ("WITH", "WITHOUT"):
            node.set("wrapper", self._wrapper())
        while not self.at(")"):
            action = self._json_action()
            self.need("ON")
            where = self.need_one(("EMPTY", "ERROR"))
            node.set("on_empty" if where == "EMPTY" else "on_error", action)
        self.need(")")
        return node

    def _wrapper(self) -> str:
        """``json_wrapper``."""
        kind = self.advance().key
        if kind == "WITH":
            kind += f" {self.take_one(('CONDITIONAL', 'UNCONDITIONAL')) or 'UNCONDITIONAL'}"
        self.take("ARRAY")
        self.need("WRAPPER")
        return f"{kind} ARRAY"

    def _json_action(self) -> exp.Expression | str:
        """``json_behaviour``."""
        if self.take("DEFAULT"):
            return self.expression()
        word = self.need_one(("NULL", "ERROR", "EMPTY", "TRUE", "FALSE", "UNKNOWN", "DEFAULT"), "an ON clause or ')'")
        if word == "EMPTY":
            word += f" {self.take_one(('ARRAY', 'OBJECT')) or 'ARRAY'}"
        return word

    def _json_object(self, name: str, start: int) -> JsonCall:
        """``json_object``: pairs ``[KEY] k VALUE v``, ``k : v`` or, for JSON_OBJECTAGG, one of them."""
        return self._json_items(name, self._json_pair)

    def _json_pair(self) -> exp.JSONKeyValue:
        """``json_pair``."""
        start = self.tok.start
        if self.at("KEY") and self.peek().key not in ("VALUE", ":", ",", ".", "("):
            self.advance()
        key = self.expression()
        if not (self.take("VALUE") or self.take(":") or self.take(",")):
            self.fail_expected("VALUE")
        value = self.expression()
        if self.take("FORMAT"):
            self.need("JSON")
        return self.mark(exp.JSONKeyValue(this=key, expression=value), start)

    def _json_array(self, name: str, start: int) -> JsonCall:
        """``json_array``: JSON_ARRAY and JSON_ARRAYAGG."""
        return self._json_items(name, self.expression)

    def _at_json_tail(self) -> bool:
        return self.at(")") or self.at("NULL", "ON") or self.at("ABSENT", "ON")

    def _json_items(self, name: str, item: Callable[[], exp.Expression]) -> JsonCall:
        """What both take: items, and ``json_nulls``."""
        node = JsonCall(this=name, expressions=[] if self._at_json_tail() else self.several(item))
        if self._at_json_tail() and not self.at(")"):
            node.set("nulls", self.advance().key)
            self.need("ON", "NULL")
        if self.take("RETURNING"):
            node.set("returning", self.type_())
        if not self.take(")"):
            self.fail_expected(",", ")")
        return node

    # ---- provided above ------------------------------------------------------------------------------------------

    def order_items(self, argument: bool = False) -> list[exp.Ordered]:
        """Read ``ORDER BY`` and its items."""
        raise NotImplementedError

    def query(self) -> exp.Expression:
        """Read a query."""
        raise NotImplementedError

    def table_function_rest(self, name: exp.Table, start: int) -> exp.Expression:
        """Read the arguments of a table function whose name is read."""
        raise NotImplementedError


_FRAMES = frozenset({"ROWS", "RANGE"})
_SPECIAL: dict[str, Callable[[CallParser, str, int], exp.Expression]] = {
    "EXTRACT": CallParser._extract,
    "POSITION": CallParser._position,
    "OVERLAY": CallParser._overlay,
    "TRIM": CallParser._trim,
    **dict.fromkeys(("SUBSTRING", "SUBSTR"), CallParser._substring),
    **dict.fromkeys(("FLOOR", "CEIL", "CEILING"), CallParser._rounding),
    **dict.fromkeys(("TIMESTAMPADD", "TIMESTAMPDIFF"), CallParser._timestamp),
    **dict.fromkeys(("JSON_VALUE", "JSON_QUERY", "JSON_EXISTS"), CallParser._json_path),
    **dict.fromkeys(("JSON_OBJECT", "JSON_OBJECTAGG"), CallParser._json_object),
    **dict.fromkeys(("JSON_ARRAY", "JSON_ARRAYAGG"), CallParser._json_array),
}
