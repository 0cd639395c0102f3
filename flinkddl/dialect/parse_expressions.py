"""Expressions by precedence climbing: ``grammar/expressions.ebnf``. The levels are those of Calcite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.dialect import tokens as t
from flinkddl.dialect.cursor import MAX_DEPTH
from flinkddl.dialect.literals import check_datetime, check_interval
from flinkddl.dialect.nodes import PLUS, Call, Index, TypedLiteral
from flinkddl.dialect.parse_types import TypeParser
from flinkddl.dialect.words import STRICT, UNITS

if TYPE_CHECKING:
    from collections.abc import Callable

NOT_LEVEL, IS_LEVEL, COMPARISON, RANGE, UNARY = 26, 28, 30, 32, 80

BINARY: dict[str, tuple[int, type[exp.Expression]]] = {
    "OR": (22, exp.Or),
    "AND": (24, exp.And),
    "=": (COMPARISON, exp.EQ),
    "<>": (COMPARISON, exp.NEQ),
    "<": (COMPARISON, exp.LT),
    "<=": (COMPARISON, exp.LTE),
    ">": (COMPARISON, exp.GT),
    ">=": (COMPARISON, exp.GTE),
    "+": (40, exp.Add),
    "-": (40, exp.Sub),
    "*": (60, exp.Mul),
    "/": (60, exp.Div),
    "%": (60, exp.Mod),
    "||": (60, exp.DPipe),
}
LEVELS = {key: level for key, (level, _) in BINARY.items()} | {
    "IS": IS_LEVEL,
    "NOT": RANGE,
    "BETWEEN": RANGE,
    "IN": RANGE,
    "LIKE": RANGE,
    "SIMILAR": RANGE,
    "OVERLAPS": RANGE,
    "!=": COMPARISON,
    "==": COMPARISON,
    "RLIKE": RANGE,
    "ILIKE": RANGE,
}
_NEGATABLE = frozenset({"BETWEEN", "IN", "LIKE", "SIMILAR", "RLIKE", "ILIKE"})
_NOT_FLINK = {
    "!=": ("'!=' is no operator of Flink SQL", "write <>"),
    "==": ("'==' is no operator of Flink SQL", "write ="),
    "RLIKE": ("RLIKE is not possible in Flink SQL", "write REGEXP(a, b)"),
    "ILIKE": ("ILIKE is not possible in Flink SQL", "write LOWER(a) LIKE LOWER(b)"),
}
_TESTS: dict[str, Callable[[], exp.Expression]] = {
    "NULL": exp.Null,
    "TRUE": lambda: exp.Boolean(this=True),
    "FALSE": lambda: exp.Boolean(this=False),
    "UNKNOWN": lambda: exp.Var(this="UNKNOWN"),
}
_JSON_KINDS = ("VALUE", "OBJECT", "ARRAY", "SCALAR")


class ExpressionParser(TypeParser):
    """Reads expressions. ``primary_call`` and ``query`` come from the parsers above this one."""

    def expression(self, level: int = 0) -> exp.Expression:
        """``expression``, ``condition``, ``comparison`` and ``term``: everything that binds tighter than ``level``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("FD117", "this expression nests too deeply")
        start = self.tok.start
        left = self._prefix(level)
        while True:
            key = self.tok.key
            power = LEVELS.get(key)
            if power is None or power <= level or (key == "NOT" and self.peek().key not in _NEGATABLE):
                break
            left = self._infix(left, key, start)
        self.depth -= 1
        return left

    def _infix(self, left: exp.Expression, key: str, start: int) -> exp.Expression:
        if key in BINARY:
            self.advance()
            level, node = BINARY[key]
            right = self._quantified() if level == COMPARISON else None
            out = self.mark(node(this=left, expression=right or self.expression(level)), start)
            if key == "/":
                # Division of whole numbers stays whole, whatever dialect prints it.
                out.set("typed", True)
            return out
        if key == "IS":
            return self._is(left, start)
        negated = self.take("NOT")
        self._refuse_foreign()
        predicate = _RANGES[self.advance().key](self, left, start)
        return self.mark(exp.Not(this=predicate), start) if negated else predicate

    def _refuse_foreign(self) -> None:
        if self.tok.key in _NOT_FLINK:
            message, help = _NOT_FLINK[self.tok.key]
            self.fail("FD116", message, help=help)

    def _quantified(self) -> exp.Expression | None:
        """``quantified``: ``= ANY (..)``, SOME, ALL."""
        if self.tok.key not in ("ANY", "SOME", "ALL") or self.peek().key != "(":
            return None
        start = self.tok.start
        kind: type[exp.Expression] = exp.All if self.advance().key == "ALL" else exp.Any
        return self.mark(kind(this=self._subquery_or_list()), start)

    def _subquery_or_list(self) -> exp.Expression:
        start = self.tok.start
        self.need("(")
        if self.at_query():
            return self.subquery_rest(start)
        return self.mark(exp.Tuple(expressions=self.comma_list(self.expression)), start)

    # ---- predicates ----------------------------------------------------------------------------------------------

    def _is(self, left: exp.Expression, start: int) -> exp.Expression:
        """``is_predicate``."""
        self.need("IS")
        negated = self.take("NOT")
        if self.take("DISTINCT", "FROM"):
            kind: type[exp.Expression] = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return self.mark(kind(this=left, expression=self.expression(COMPARISON)), start)
        at = self.tok.start
        word = self.need_one((*_TESTS, "JSON"))
        what = exp.JSON(this=self.take_one(_JSON_KINDS) or "VALUE") if word == "JSON" else _TESTS[word]()
        node = self.mark(exp.Is(this=left, expression=self.mark(what, at)), start)
        return self.mark(exp.Not(this=node), start) if negated else node

    def _between(self, left: exp.Expression, start: int) -> exp.Expression:
        """``between``."""
        symmetric = self.take("SYMMETRIC")
        if not symmetric:
            self.take("ASYMMETRIC")
        low = self.expression(RANGE)
        self.need("AND")
        high = self.expression(RANGE)
        args = {"symmetric": True} if symmetric else {}
        return self.mark(exp.Between(this=left, low=low, high=high, **args), start)

    def _in(self, left: exp.Expression, start: int) -> exp.Expression:
        """``in``."""
        at = self.tok.start
        self.need("(")
        if self.at_query():
            return self.mark(exp.In(this=left, query=self.subquery_rest(at)), start)
        return self.mark(exp.In(this=left, expressions=self.comma_list(self.expression)), start)

    def _like(self, left: exp.Expression, start: int) -> exp.Expression:
        """``like``."""
        return self._escape(self.mark(exp.Like(this=left, expression=self.expression(RANGE)), start), start)

    def _similar(self, left: exp.Expression, start: int) -> exp.Expression:
        """``similar``."""
        self.need("TO")
        return self._escape(self.mark(exp.SimilarTo(this=left, expression=self.expression(RANGE)), start), start)

    def _escape(self, node: exp.Expression, start: int) -> exp.Expression:
        if not self.take("ESCAPE"):
            return node
        return self.mark(exp.Escape(this=node, expression=self.expression(RANGE)), start)

    def _overlaps(self, left: exp.Expression, start: int) -> exp.Expression:
        """``overlaps``."""
        return self.mark(exp.Overlaps(this=left, expression=self.expression(RANGE)), start)

    # ---- operands ------------------------------------------------------------------------------------------------

    def _prefix(self, level: int) -> exp.Expression:
        """``unary``, with NOT and ``exists``."""
        start = self.tok.start
        match self.tok.key:
            case "NOT":
                self.advance()
                return self.mark(exp.Not(this=self.expression(NOT_LEVEL)), start)
            case "-":
                self.advance()
                return self.mark(exp.Neg(this=self.expression(UNARY)), start)
            case "+":
                self.advance()
                node = self.expression(UNARY)
                node.meta[PLUS] = True  # it changes nothing, and the planner checks that it stands before a number
                return node
            case "EXISTS" if self.peek().key == "(":
                self.advance()
                at = self.tok.start
                self.need("(")
                return self.mark(exp.Exists(this=self.subquery_rest(at)), start)
            case _:
                return self._postfix(self.primary(), start)

    def _postfix(self, node: exp.Expression, start: int) -> exp.Expression:
        """``postfix``: ``a[i]``, ``x.f``, ``x.*``."""
        while True:
            if self.take("["):
                index = self.expression()
                self.need("]")
                node = self.mark(Index(this=node, expressions=[index]), start)
            elif self.at(".") and not isinstance(node, exp.Star):
                self.advance()
                at = self.tok.start
                field: exp.Expression
                if self.take("*"):
                    field = self.mark(exp.Star(), at)
                else:
                    field = self.identifier("a field name", after_dot=True)
                node = self.mark(exp.Dot(this=node, expression=field), start)
            else:
                return node

    def primary(self) -> exp.Expression:
        """``primary``."""
        token = self.tok
        match token.kind:
            case t.WORD:
                return self._word(token)
            case t.STRING:
                return self.string()
            case t.NUMBER:
                self.advance()
                return self.place(exp.Literal(this=token.text, is_string=False), token)
            case t.NAME:
                return self.name_or_call()
            case t.BINARY:
                self.advance()
                return self.place(exp.HexString(this=token.value), token)
            case t.SYMBOL if token.key == "(":
                return self._parenthesis(token.start)
            case t.SYMBOL if token.key == "{":
                return self._escape_literal(token)
            case t.HINT:
                return self.fail("FD115", "a hint stands only after SELECT or a table name", token, "move it there")
            case _:
                return self.fail_expected(what="an expression")

    def _escape_literal(self, token: t.Token) -> exp.Expression:
        """``escape_literal``: ``{d '..'}``, ``{t '..'}``, ``{ts '..'}``."""
        kind = _ESCAPES.get(self.peek().key)
        if kind is None:
            self.fail_expected(what="an expression")
        self.advance()
        self.advance()
        node = TypedLiteral(this=self.string(), kind=kind)
        self.need("}")
        return self.mark(node, token.start)

    def _word(self, token: t.Token) -> exp.Expression:
        parse = _WORDS.get(token.key)
        if parse is not None:
            node = parse(self, token)
            if node is not None:
                return node
        self._refuse_foreign()
        if self.peek().key == "(" and token.key not in _NEVER_CALLED:
            return self.name_or_call()
        if token.key in STRICT:
            if token.key in _CLAUSE_WORDS and self.peek().key not in ("FROM", ",", "="):
                self.fail_expected(what="an expression")
            self.identifier("an expression")
        return self.name_or_call()

    def name_or_call(self) -> exp.Expression:
        """``column`` or a call: names with dots, then perhaps an opening parenthesis."""
        start = self.tok.start
        parts = [self._name_part()]
        while self.at(".") and self.peek().key not in ("*", "[", "("):
            self.advance()
            parts.append(self.identifier("a name", after_dot=True))
        if self.at("("):
            return self.call(parts, start)
        if self.at(".", "*"):
            if len(parts) > 3:
                return self._dots(parts, start)
            self.advance()
            at = self.tok.start
            self.advance()
            star = self.mark(exp.Star(), at)
            return self._column([*parts, star], start)
        return self._dots(parts, start)

    def _name_part(self) -> exp.Identifier:
        token = self.tok
        if token.kind == t.WORD and self.peek().key == "(":
            # The name of a function may be a reserved word (COUNT, DATE_FORMAT is none, MOD is one).
            self.advance()
            return self.place(exp.Identifier(this=token.text, quoted=False), token)
        return self.identifier("an expression")

    def _dots(self, parts: list[exp.Identifier], start: int) -> exp.Expression:
        node = self._column(list(parts[:4]), start)
        for part in parts[4:]:
            node = self.mark(exp.Dot(this=node, expression=part), start)
        return node

    def _column(self, parts: list[exp.Expression], start: int) -> exp.Expression:
        names = dict(zip(("this", "table", "db", "catalog"), reversed(parts), strict=False))
        return self.mark(exp.Column(**names), start)

    def _parenthesis(self, start: int) -> exp.Expression:
        """``parenthesis``: an expression, a row or a query."""
        self.need("(")
        if self.at_query():
            return self.subquery_rest(start)
        if self.at(")"):
            self.fail_expected(what="an expression")
        items = self.comma_list(self.expression)
        if len(items) == 1 and isinstance(items[0], exp.Sub) and self.tok.key in UNITS:
            return self._minus_date(items[0], start)
        if len(items) == 1:
            return self.mark(exp.Paren(this=items[0]), start)
        return self.mark(exp.Tuple(expressions=items), start)

    def _minus_date(self, difference: exp.Sub, start: int) -> exp.Expression:
        """``difference``: ``(a - b) DAY``, the interval between two times, as a call of MINUS_DATE."""
        at = self.tok.start
        unit, _, _ = self.interval_unit()
        items = [difference.this, difference.expression, self.mark(exp.Var(this=unit), at)]
        return self.mark(Call(this="MINUS_DATE", expressions=items), start)

    # ---- words ---------------------------------------------------------------------------------------------------

    def _constant(self, token: t.Token) -> exp.Expression:
        """``constant``."""
        self.advance()
        node = exp.Null() if token.key == "NULL" else exp.Boolean(this=token.key == "TRUE")
        return self.place(node, token)

    def _case(self, token: t.Token) -> exp.Expression:
        """``case``: ``CASE x WHEN a, b THEN`` becomes two branches."""
        self.need("CASE")
        operand = None if self.at("WHEN") else self.expression()
        ifs: list[exp.If] = []
        while self.at("WHEN"):
            start = self.advance().start
            values = [self.expression()] if operand is None else self.several(self.expression)
            self.need("THEN")
            result = self.expression()
            for i, value in enumerate(values):
                ifs.append(self.mark(exp.If(this=value, true=result if i == 0 else result.copy()), start))
        if not ifs:
            self.fail_expected("WHEN")
        default = self.expression() if self.take("ELSE") else None
        if not self.take("END"):
            self.fail_expected("END", "ELSE", "WHEN")
        return self.mark(exp.Case(this=operand, ifs=ifs, default=default), token.start)

    def _cast(self, token: t.Token) -> exp.Expression | None:
        """``cast``."""
        if self.peek().key != "(":
            return None
        self.need(token.key, "(")
        value = self.expression()
        self.need("AS")
        to = self.type_()
        self.need(")")
        node = exp.Cast if token.key == "CAST" else exp.TryCast
        return self.mark(node(this=value, to=to), token.start)

    def _typed_literal(self, token: t.Token) -> exp.Expression | None:
        """``datetime_literal``."""
        if self.peek().kind != t.STRING:
            return None
        self.advance()
        literal = self.string()
        node = self.mark(TypedLiteral(this=literal, kind=token.key), token.start)
        if problem := check_datetime(token.key, literal.this):
            self.fail("FD112", problem, self.span(token).to(self.span(self.prev)))
        return node

    def _interval_literal(self, token: t.Token) -> exp.Expression | None:
        """``interval_literal``: ``INTERVAL [-] '..' unit``; a number or an expression in parentheses also."""
        after = self.peek(2) if self.peek().key in ("-", "+") else self.peek()
        if after.kind not in (t.STRING, t.NUMBER) and after.key != "(":
            return None
        self.advance()
        negative = self.take("-") or (self.take("+") and False)
        value: exp.Expression = self.string() if self.tok.kind == t.STRING else self.primary()
        at = self.tok.start
        unit, precision, fraction = self.interval_unit()
        first, _, last = unit.partition(" TO ")
        name: exp.Expression = exp.Var(this=first)
        if last:
            name = exp.IntervalSpan(this=exp.Var(this=first), expression=exp.Var(this=last))
        node = exp.Interval(this=value, unit=self.mark(name, at))
        if precision is not None:
            node.set("precision", precision)
        if fraction is not None:
            node.set("fraction", fraction)
        self.mark(node, token.start)
        if value.is_string and (problem := check_interval(value.this, unit, precision)):
            message, help = problem
            self.fail("FD112", message, self.span(token).to(self.span(self.prev)), help)
        return self.mark(exp.Neg(this=node), token.start) if negative else node

    def _constructor(self, token: t.Token) -> exp.Expression | None:
        """``constructor``: ``ARRAY[..]``, ``MAP[..]``, ``MULTISET[..]``."""
        if self.peek().key != "[":
            if self.peek().key == "(" and token.key != "MULTISET":
                self.fail("FD116", f"{token.key} is built with square brackets", token, f"write {token.key}[...]")
            return None
        self.need(token.key, "[")
        items = [] if self.take("]") else self.comma_list(self.expression, "]")
        if token.key == "ARRAY":
            return self.mark(exp.Array(expressions=items), token.start)
        return self.mark(Call(this=token.key, expressions=items), token.start)

    def _no_parentheses(self, token: t.Token) -> exp.Expression | None:
        """``niladic``: CURRENT_DATE and the like."""
        self.advance()
        if self.take("("):
            if self.tok.kind == t.NUMBER and token.key not in ("CURRENT_DATE",):
                self.advance()
            self.need(")")
        return self.mark(Call(this=token.key, expressions=[]), token.start)

    # ---- provided above ------------------------------------------------------------------------------------------

    def at_query(self) -> bool:
        """Whether a query begins here."""
        raise NotImplementedError

    def subquery_rest(self, start: int) -> exp.Subquery:
        """Read a query and its closing parenthesis."""
        raise NotImplementedError

    def call(self, parts: list[exp.Identifier], start: int) -> exp.Expression:
        """Read the arguments of a call."""
        raise NotImplementedError


_RANGES: dict[str, Callable[[ExpressionParser, exp.Expression, int], exp.Expression]] = {
    "BETWEEN": ExpressionParser._between,
    "IN": ExpressionParser._in,
    "LIKE": ExpressionParser._like,
    "SIMILAR": ExpressionParser._similar,
    "OVERLAPS": ExpressionParser._overlaps,
}
NILADIC = (
    *("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_USER"),
    *("SESSION_USER", "SYSTEM_USER", "CURRENT_CATALOG", "CURRENT_SCHEMA", "CURRENT_PATH", "CURRENT_ROLE"),
)
_WORDS: dict[str, Callable[[ExpressionParser, t.Token], exp.Expression | None]] = {
    **dict.fromkeys(("NULL", "TRUE", "FALSE"), ExpressionParser._constant),
    **dict.fromkeys(("DATE", "TIME", "TIMESTAMP"), ExpressionParser._typed_literal),
    **dict.fromkeys(("CAST", "TRY_CAST"), ExpressionParser._cast),
    **dict.fromkeys(("ARRAY", "MAP", "MULTISET"), ExpressionParser._constructor),
    **dict.fromkeys(NILADIC, ExpressionParser._no_parentheses),
    "CASE": ExpressionParser._case,
    "INTERVAL": ExpressionParser._interval_literal,
}
_NEVER_CALLED = frozenset(
    {
        *("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "ON", "USING", "AS", "AND", "OR", "IN", "WHEN"),
        *("THEN", "ELSE", "END", "OVER", "UNION", "EXCEPT", "INTERSECT", "LIMIT", "OFFSET", "FETCH", "WINDOW"),
        *("WITH", "INTO", "BY", "INTERVAL", "TABLE", "LATERAL", "JOIN", "BETWEEN", "LIKE", "CASE", "DISTINCT", "ALL"),
        *("IS", "QUALIFY", "VALUES", "INSERT", "CREATE", "NULL", "UNNEST", "DEFAULT"),
    }
)
_CLAUSE_WORDS = _NEVER_CALLED - {"TABLE", "LATERAL", "DEFAULT", "INTERVAL"}
_ESCAPES = {"D": "DATE", "T": "TIME", "TS": "TIMESTAMP"}
