"""CREATE and DROP: ``grammar/ddl.ebnf``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.dialect import nodes as n
from flinkddl.dialect import tokens as t
from flinkddl.dialect.cursor import COMMA, ParseFailure, near
from flinkddl.dialect.parse_query import QueryParser

if TYPE_CHECKING:
    from collections.abc import Callable

STRATEGIES = ("INCLUDING", "EXCLUDING", "OVERWRITING")
FEATURES = ("ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")
_CLAUSES = ("COMMENT", "DISTRIBUTED", "PARTITIONED", "USING", "WITH", "LIKE", "AS")


class DdlParser(QueryParser):
    """Reads CREATE and DROP."""

    def _create(self, start: int) -> n.Statement:
        """``create``."""
        self.need("CREATE")
        replace = self.take("OR", "REPLACE")
        if not replace:
            self.take("OR", "ALTER")
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        kind = self.tok
        if (refused := self.unknown_kind("CREATE", start)) is not None:
            return refused
        if kind.key not in _CREATE:
            self.fail_expected(*_CREATE, code="FD101")
        if system and kind.key != "FUNCTION":
            self.fail_expected("FUNCTION")
        if temporary and kind.key in ("CATALOG", "DATABASE"):
            self.fail("FD111", f"a {kind.key.lower()} can not be temporary", kind, "remove TEMPORARY")
        self.advance()
        node = _CREATE[kind.key](self, replace, temporary)
        if system:
            node.set("system", True)
        return self.mark(node, start)

    def _exists(self) -> bool | None:
        """``if_not_exists``."""
        if not self.take("IF", "NOT"):
            return None
        return bool(self.need("EXISTS"))

    def _if_exists(self) -> bool | None:
        """``if_exists``."""
        if self.at("IF") and near(self.peek().text, ["EXISTS"]):
            return bool(self.need("IF", "EXISTS"))
        return None

    def comment(self) -> exp.Literal | None:
        """``comment``."""
        return self.string("a comment") if self.take("COMMENT") else None

    def with_options(self) -> list[n.Option] | None:
        """``with_options``."""
        return self.options() if self.take("WITH") else None

    # ---- tables --------------------------------------------------------------------------------------------------

    def _create_table(self, replace: bool, temporary: bool) -> n.CreateTable:
        """``create_table``."""
        return self._table_body("CREATE OR REPLACE" if replace else "CREATE", temporary)

    def _table_body(self, mode: str, temporary: bool) -> n.CreateTable:
        node = n.CreateTable(mode=mode, temporary=temporary or None, exists=self._exists(), this=self.table_name())
        if self.at("("):
            node.set("elements", self._elements())
        node.set("comment", self.comment())
        if self.at("DISTRIBUTED"):
            node.set("distribution", self.distribution())
        if self.take("PARTITIONED", "BY"):
            self.need("(")
            node.set("partitioned_by", [] if self.take(")") else self.comma_list(self._partition_column))
        if self.take("USING", "CONNECTION"):
            node.set("connection", self.table_name("a connection"))
        node.set("options", self.with_options())
        if self.at("LIKE"):
            node.set("like", self._like_table())
        elif self.take("AS"):
            node.set("expression", self.query())
        self._no_late_clause()
        return node

    def _no_late_clause(self) -> None:
        if self.tok.key in _CLAUSES:
            self.fail(
                "FD111",
                f"{self.tok.key} stands too late or a second time",
                help="the order is COMMENT, DISTRIBUTED, PARTITIONED BY, WITH, then LIKE or AS",
            )

    def _partition_column(self) -> exp.Identifier:
        name = self.identifier("a column name")
        if self.at("("):
            self.fail("FD111", "PARTITIONED BY takes column names only", help="declare a computed column and name it")
        return name

    def _elements(self) -> list[exp.Expression]:
        """``table_elements``."""
        self.need("(")
        if self.at(")"):
            self.fail("FD102", "a table without columns has no parentheses", help="remove the parentheses")
        items: list[exp.Expression] = []
        watermarks = 0
        while not items or self.take(",") or self._comma_left_out():
            if self.at(")"):
                self.fail("FD102", "a comma before ')' is one too many", self.prev, "remove it")
            token = self.tok
            items.append(self.element())
            watermarks += isinstance(items[-1], n.Watermark)
            if watermarks > 1:
                self.fail("FD111", "a table has at most one watermark", token, "remove one of them")
        self.need(")")
        return items

    def _comma_left_out(self) -> bool:
        """Tell of a comma that is missing before another element; the list goes on as if it were there."""
        if self.at(")"):
            return False
        clause = self.at("WATERMARK", "FOR") or self.at("PRIMARY", "KEY") or self.at("CONSTRAINT")
        try:
            self._bad_element_end()
        except ParseFailure as failure:
            told = replace(failure.diagnostic, help=COMMA) if clause else failure.diagnostic
            if told.help != COMMA or not (clause or self.is_name()):
                raise
            self.notes.append(told)
        return True

    def _bad_element_end(self) -> None:
        if self.at("DEFAULT"):
            self.fail("FD111", "columns of Flink SQL have no default value", help="remove DEFAULT")
        expected = ("METADATA", "PRIMARY", "COMMENT", "NOT", "NULL", "AS", "CONSTRAINT", ",", ")")
        self.fail_expected(*expected, what="',' or ')'")

    def element(self) -> exp.Expression:
        """``table_element``."""
        start = self.tok.start
        if self.at("WATERMARK", "FOR"):
            return self.watermark()
        if self.at("PRIMARY", "KEY") or self.at("CONSTRAINT"):
            return self.constraint()
        if self.at("UNIQUE", "("):
            return self.constraint()
        self._glued("PRIMARY KEY", self.peek().key == "(")
        self._glued("WATERMARK FOR", self.peek(2).key == "AS")
        name: exp.Expression = self._column_name()
        if self.tok.key in (",", ")"):
            return name
        name = self.dotted(name, start)
        if self.take("AS"):
            node = n.ComputedColumn(this=name, expression=self.expression(), comment=self.comment())
            return self.mark(node, start)
        kind = self.column_type()
        if self.take("METADATA"):
            return self._metadata(name, kind, start)
        return self._physical(name, kind, start)

    def _column_name(self) -> exp.Identifier:
        """Take a column's name; a reserved word is told of and the statement goes on, so that each one is."""
        token = self.tok
        try:
            return self.identifier("a column name")
        except ParseFailure as failure:
            if failure.diagnostic.code != "FD107" or self.peek().kind != t.WORD:
                raise
            self.notes.append(failure.diagnostic)
            self.advance()
            return self.place(exp.Identifier(this=token.value, quoted=True), token)

    def _glued(self, words: str, follows: bool) -> None:
        """Fail at keywords without the space between them, where no column could have that name."""
        if follows and self.tok.kind == t.WORD and self.tok.key == words.replace(" ", ""):
            self.fail("FD102", f"'{self.tok.text}' is no column here", help=f"did you mean '{words}'?")

    def _metadata(self, name: exp.Expression, kind: n.Type, start: int) -> n.MetadataColumn:
        """``metadata_column``."""
        node = n.MetadataColumn(this=name, kind=kind)
        if self.take("FROM"):
            node.set("key", self.string("a metadata key"))
        if self.take("VIRTUAL"):
            node.set("virtual", True)
        if self.at("FROM") and node.args.get("virtual"):
            self.fail("FD111", "FROM stands before VIRTUAL", help="write METADATA FROM 'key' VIRTUAL")
        node.set("comment", self.comment())
        return self.mark(node, start)

    def _physical(self, name: exp.Expression, kind: n.Type, start: int) -> n.Column:
        """``physical_column``."""
        node = n.Column(this=name, kind=kind)
        at = self.tok.start
        constraint = self.identifier("a constraint name") if self.take("CONSTRAINT") else None
        if constraint is not None and not (self.at("PRIMARY") or self.at("UNIQUE")):
            self.fail_expected("PRIMARY")
        if self.take("PRIMARY", "KEY"):
            node.set("primary_key", self.mark(n.PrimaryKey(this=constraint, enforced=self._enforced()), at))
        elif self.at("UNIQUE"):
            self.fail("FD111", "UNIQUE is not possible in Flink SQL", help="write PRIMARY KEY NOT ENFORCED")
        node.set("comment", self.comment())
        return self.mark(node, start)

    def constraint(self) -> exp.Expression:
        """``table_constraint``."""
        start = self.tok.start
        name = self.identifier("a constraint name") if self.take("CONSTRAINT") else None
        kind = n.PrimaryKey
        if self.take("UNIQUE"):
            kind = n.UniqueKey  # type: ignore[assignment]
        else:
            self.need("PRIMARY", "KEY")
        return self.mark(kind(this=name, expressions=self.names(), enforced=self._enforced()), start)

    def _enforced(self) -> bool | None:
        """``enforcement``."""
        if self.take("NOT", "ENFORCED"):
            return False
        self._glued("NOT ENFORCED", True)
        return self.take("ENFORCED") or None

    def watermark(self) -> n.Watermark:
        """``watermark``."""
        start = self.tok.start
        self.need("WATERMARK", "FOR")
        name = self.nested()
        self.need("AS")
        return self.mark(n.Watermark(this=name, expression=self.expression()), start)

    def distribution(self) -> n.Distribution:
        """``distribution``: after DISTRIBUTED or, in ALTER, DISTRIBUTION."""
        start = self.tok.start
        self.need_one(("DISTRIBUTED", "DISTRIBUTION"))
        node = n.Distribution()
        by = self.take("BY")
        if by:
            token = self.tok
            if token.kind == t.WORD and self.peek().key == "(":
                if token.key not in ("HASH", "RANGE"):
                    self.fail("FD111", f"there is no distribution by '{token.text}'", help="write HASH or RANGE")
                node.set("kind", self.advance().key)
            node.set("expressions", self.names())
        if self.take("INTO"):
            node.set("buckets", self.number("a number of buckets"))
            self.need("BUCKETS")
        elif not by:
            self.fail_expected("BY", "INTO")
        return self.mark(node, start)

    def _like_table(self) -> n.Like:
        """``like_clause``."""
        start = self.need("LIKE").start
        node = n.Like(this=self.table_name())
        if self.take("("):
            items: list[n.LikeOption] = []
            while not self.take(")"):
                if self.at(","):
                    self.fail("FD111", "LIKE options have no commas between them", help="remove it")
                items.append(self._like_option())
            node.set("expressions", items)
        return self.mark(node, start)

    def _like_option(self) -> n.LikeOption:
        """``like_option``."""
        start = self.tok.start
        strategy = self.need_one(STRATEGIES)
        return self.mark(n.LikeOption(this=strategy, feature=self.need_one(FEATURES)), start)

    # ---- the others ----------------------------------------------------------------------------------------------

    def _create_view(self, replace: bool, temporary: bool) -> n.CreateView:
        """``create_view``."""
        node = n.CreateView(replace=replace or None, temporary=temporary or None, exists=self._exists())
        node.set("this", self.table_name("a view name"))
        if self.at("("):
            node.set("columns", self.names())
        node.set("comment", self.comment())
        self.need("AS")
        node.set("expression", self.query())
        return node

    def _create_catalog(self, replace: bool, temporary: bool) -> n.CreateCatalog:
        """``create_catalog``."""
        exists, name = self._exists(), self.simple_table("a catalog name")
        return n.CreateCatalog(exists=exists, this=name, comment=self.comment(), options=self.with_options())

    def _create_database(self, replace: bool, temporary: bool) -> n.CreateDatabase:
        """``create_database``."""
        exists, name = self._exists(), self.table_name("a database name")
        return n.CreateDatabase(exists=exists, this=name, comment=self.comment(), options=self.with_options())

    def _create_function(self, replace: bool, temporary: bool) -> n.CreateFunction:
        """``create_function``."""
        node = n.CreateFunction(temporary=temporary or None, exists=self._exists())
        node.set("this", self.table_name("a function name"))
        self.need("AS")
        node.set("identifier", self.string("a class or 'module.function'"))
        node.set("language", self.language())
        if self.take("USING"):
            paths: list[exp.Literal] = []
            while not paths or self.take(","):
                self.need_one(("JAR", "ARTIFACT"))
                paths.append(self.string("a path"))
            node.set("using", paths)
        node.set("options", self.with_options())
        return node

    def language(self) -> str | None:
        """``language``."""
        return self.need_one(("JAVA", "SCALA", "PYTHON")) if self.take("LANGUAGE") else None

    def _replace(self, start: int) -> n.Statement:
        """``replace_table``."""
        self.need("REPLACE", "TABLE")
        return self.mark(self._table_body("REPLACE", False), start)

    def _drop(self, start: int) -> n.Statement:
        """``drop``."""
        self.need("DROP")
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        if (refused := self.unknown_kind("DROP", start)) is not None:
            return refused
        kind = self.need_one(("TABLE", "VIEW", "DATABASE", "CATALOG", "FUNCTION"))
        node = n.Drop(kind=kind, temporary=temporary or None, system=system or None, exists=self._if_exists())
        node.set("this", self.table_name(f"a {kind.lower()} name"))
        if kind == "DATABASE" and (word := self.take_one(("RESTRICT", "CASCADE"))):
            node.set("cascade", word == "CASCADE" or None)
        return self.mark(node, start)

    def unknown_kind(self, verb: str, start: int) -> n.Unsupported | None:
        """Take a statement about a kind of object that does not exist here; None where it is about another."""
        if self.at("MATERIALIZED"):
            return self.unsupported(f"{verb} MATERIALIZED TABLE", start)
        return self.unsupported(f"{verb} {self.tok.key}", start) if self.tok.key in ("MODEL", "CONNECTION") else None

    def unsupported(self, kind: str, start: int) -> n.Unsupported:
        """Take a statement as text up to its end."""
        while self.tok.kind != t.END and self.tok.key != ";":
            self.advance()
        text = self.source.text[start : self.prev.end]
        return self.mark(n.Unsupported(this=kind, text=text), start)


_CREATE: dict[str, Callable[[DdlParser, bool, bool], n.Statement]] = {
    "TABLE": DdlParser._create_table,
    "VIEW": DdlParser._create_view,
    "CATALOG": DdlParser._create_catalog,
    "DATABASE": DdlParser._create_database,
    "FUNCTION": DdlParser._create_function,
}
