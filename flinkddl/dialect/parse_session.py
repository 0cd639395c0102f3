"""DML and session statements: ``grammar/dml.ebnf`` and ``grammar/session.ebnf``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.diagnostics import did_you_mean
from flinkddl.dialect import nodes as n
from flinkddl.dialect import tokens as t
from flinkddl.dialect.cursor import ParseFailure
from flinkddl.dialect.parse_alter import AlterParser
from flinkddl.dialect.words import STATEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "PLAN_ADVICE", "JSON_EXECUTION_PLAN")
_SHOW_PLAIN = ("JARS", "JOBS")
_SHOW_SCOPED = (
    *("CATALOGS", "DATABASES", "TABLES", "VIEWS", "FUNCTIONS", "PROCEDURES", "MODELS", "CONNECTIONS", "MODULES"),
)
_SHOW_CREATE = ("TABLE", "VIEW", "CATALOG", "MODEL", "MATERIALIZED", "FUNCTION", "CONNECTION", "DATABASE")
_DESCRIBED = ("CATALOG", "DATABASE", "FUNCTION", "JOB", "MODEL", "CONNECTION")


class StatementParser(AlterParser):
    """Reads every statement."""

    def statement(self) -> exp.Expression:
        """``statement``: one statement without its semicolon."""
        start = self.tok.start
        parse = _STATEMENTS.get(self.tok.key)
        if parse is not None:
            return parse(self, start)
        if self.tok.kind == t.WORD:
            self.fail("FD101", f"'{self.tok.text}' begins no statement", help=did_you_mean(self.tok.text, STATEMENTS))
        return self.fail("FD101", f"expected a statement, found {self.found()}")

    # ---- DML -----------------------------------------------------------------------------------------------------

    def _insert(self, start: int) -> n.Insert:
        """``insert``."""
        self.need("INSERT")
        overwrite = self.need_one(("INTO", "OVERWRITE")) == "OVERWRITE"
        if self.peek().kind in (t.WORD, t.NAME):
            self.take("TABLE")
        at = self.tok.start
        node = n.Insert(this=self.table_hints(self.table_name(), at), overwrite=overwrite or None)
        if self.at("PARTITION"):
            node.set("partition", self.partition())
        if self.at("(") and not self.at_query():
            node.set("columns", self.names())
        node.set("expression", self.query())
        if self.take("ON"):
            self.need("CONFLICT", "DO")
            node.set("conflict", self.need_one(("NOTHING", "ERROR", "DEDUPLICATE")))
        return self.mark(node, start)

    def _execute(self, start: int) -> n.Statement:
        """``execute``."""
        self.need("EXECUTE")
        match self.tok.key:
            case "STATEMENT":
                return self._statement_set(start)
            case "INSERT":
                return self._insert(start)
            case "PLAN":
                self.advance()
                return self.mark(n.ExecutePlan(this=self.string("the path of a plan")), start)
            case _ if self.at_query():
                return self.mark(n.ExecuteQuery(this=self.query()), start)
            case _:
                return self.fail_expected("STATEMENT", "INSERT", "PLAN", "SELECT")

    def _statement_set(self, start: int) -> n.StatementSet:
        """``statement_set``."""
        self.need("STATEMENT", "SET", "BEGIN")
        return self._set_body(start)

    def _begin(self, start: int) -> n.StatementSet:
        """``begin_statement_set``: the older spelling."""
        self.need("BEGIN", "STATEMENT", "SET")
        self.take(";")
        return self._set_body(start)

    def _set_body(self, start: int) -> n.StatementSet:
        """``statement_set_body``: a mistake in one INSERT does not hide those in the next."""
        items: list[exp.Expression] = []
        failed: ParseFailure | None = None
        while True:
            while self.take(";"):
                pass
            if self.take("END"):
                break
            if self.tok.kind == t.END:
                if failed is not None:
                    raise failed
                self.fail("FD113", "this statement set has no END", help="write END; after the last INSERT")
            try:
                items.append(self._set_item())
            except ParseFailure as failure:
                if failed is not None:
                    self.notes.append(failed.diagnostic)
                failed = failure
                self.depth = 0
                self._skip_in_set()
        if failed is not None:
            raise failed
        if not items:
            self.fail("FD113", "this statement set is empty", self.prev, "write at least one INSERT")
        return self.mark(n.StatementSet(expressions=items), start)

    def _set_item(self) -> exp.Expression:
        start = self.tok.start
        self.take("EXECUTE")
        if not self.at("INSERT"):
            if self.tok.key in _STATEMENTS:
                self.fail("FD113", f"a statement set holds INSERT statements only, found {self.found()}")
            self.fail_expected("INSERT", "END")
        item = self._insert(start)
        if not (self.at(";") or self.at("END")):
            self.fail_expected(";", *(_AFTER_QUERY))
        return item

    def _skip_in_set(self) -> None:
        cases = 0
        while self.tok.kind != t.END and self.tok.key != ";":
            if self.at("CASE"):
                cases += 1
            if self.at("END"):
                if not cases:
                    return
                cases -= 1
            self.advance()

    def _compile(self, start: int) -> n.CompilePlan:
        """``compile_plan``."""
        self.need("COMPILE")
        execute = self.take("AND", "EXECUTE")
        self.need("PLAN")
        node = n.CompilePlan(this=self.string("the path of a plan"), execute=execute or None, exists=self._exists())
        self.need("FOR")
        node.set("expression", self._job())
        return self.mark(node, start)

    def _job(self) -> exp.Expression:
        """``job``."""
        start = self.tok.start
        self.take("EXECUTE")
        if self.at("STATEMENT"):
            return self._statement_set(start)
        if not self.at("INSERT"):
            self.fail_expected("INSERT", "STATEMENT")
        return self._insert(start)

    def _refused(self, start: int) -> n.Unsupported:
        """``refused``: UPDATE, DELETE, TRUNCATE, ANALYZE, CALL."""
        words = [self.advance().key]
        if words[0] in ("TRUNCATE", "ANALYZE"):
            words.append(self.need("TABLE").key)
        return self.unsupported(" ".join(words), start)

    # ---- session -------------------------------------------------------------------------------------------------

    def _set_option(self, start: int) -> n.Set:
        """``set``."""
        self.need("SET")
        if self.tok.kind == t.END or self.tok.key == ";":
            return self.mark(n.Set(), start)
        key = self._raw_or_string("an option key")
        quoted = self.prev.kind == t.STRING
        self.need("=")
        value = self._raw_or_string("a value")
        at, text = self.prev, "'" + value.name.replace("'", "''") + "'"
        if at.kind != t.STRING and (quoted or len(at.text.split()) != 1):
            which = "behind a key in quotes" if quoted else "that is not one word"
            self.take_note(f"a value without quotes {which}", at, f"write {text}", text)
        return self.mark(n.Set(this=key, expression=value), start)

    def _raw_or_string(self, what: str) -> exp.Literal:
        token = self.tok
        if token.kind == t.RAW:
            self.advance()
            return self.place(exp.Literal(this=token.value, is_string=True), token)
        if token.kind in (t.WORD, t.NUMBER) and self.prev.key == "=":
            self.advance()
            return self.place(exp.Literal(this=token.text, is_string=True), token)
        return self.string(what)

    def _reset_option(self, start: int) -> n.Reset:
        """``reset``."""
        self.need("RESET")
        if self.tok.kind == t.END or self.tok.key == ";":
            return self.mark(n.Reset(), start)
        return self.mark(n.Reset(this=self._raw_or_string("an option key")), start)

    def _use(self, start: int) -> n.Use:
        """``use``."""
        self.need("USE")
        if self.at("CATALOG") and self.peek().kind in (t.WORD, t.NAME):
            self.advance()
            return self.mark(n.Use(kind="CATALOG", this=self.simple_table("a catalog name")), start)
        if self.take("MODULES"):
            names = self.several(lambda: self.identifier("a module name"))
            return self.mark(n.Use(kind="MODULES", expressions=names), start)
        return self.mark(n.Use(kind="DATABASE", this=self.table_name("a database name")), start)

    def _module(self, start: int) -> n.Module:
        """``module``."""
        kind = self.advance().key
        self.need("MODULE")
        node = n.Module(kind=kind, this=self.identifier("a module name"))
        if kind == "LOAD":
            node.set("options", self.with_options())
        return self.mark(node, start)

    def _jar(self, start: int) -> n.Jar:
        """``jar``."""
        kind = self.advance().key
        self.need("JAR")
        return self.mark(n.Jar(kind=kind, this=self.string("the path of a jar")), start)

    def _show(self, start: int) -> n.Show:
        """``show``."""
        self.need("SHOW")
        if self.take("CURRENT"):
            return self.mark(n.Show(what=f"CURRENT {self.need_one(('CATALOG', 'DATABASE'))}"), start)
        if self.take("CREATE"):
            return self.mark(self._show_create(), start)
        if self.take("COLUMNS"):
            self.need_one(("FROM", "IN"))
            node = n.Show(what="COLUMNS", this=self.table_name())
            return self.mark(self._pattern_of(node), start)
        if self.take("PARTITIONS"):
            node = n.Show(what="PARTITIONS", this=self.table_name())
            node.set("partition", self.partition() if self.at("PARTITION") else None)
            return self.mark(node, start)
        if self.tok.key in _SHOW_PLAIN:
            return self.mark(n.Show(what=self.advance().key), start)
        prefix = self.take_one(("USER", "FULL", "MATERIALIZED"))
        words = {"USER": ("FUNCTIONS",), "FULL": ("MODULES",), "MATERIALIZED": ("TABLES",)}
        everything = (*_SHOW_SCOPED, *_SHOW_PLAIN, "COLUMNS", "PARTITIONS", "CREATE", "CURRENT", "USER", "FULL")
        what = self.need_one(words[prefix]) if prefix else self._show_what(everything)
        node = n.Show(what=f"{prefix} {what}" if prefix else what)
        if self.take_one(("FROM", "IN")):
            node.set("scope", self.table_name("a name"))
        return self.mark(self._pattern_of(node), start)

    def _show_what(self, everything: tuple[str, ...]) -> str:
        if self.tok.key not in _SHOW_SCOPED:
            self.fail_expected(*everything, what="what to show, such as TABLES")
        return self.advance().key

    def _show_create(self) -> n.Show:
        """``show_create``."""
        kind = self.need_one(_SHOW_CREATE)
        if kind == "MATERIALIZED":
            kind += f" {self.need('TABLE').key}"
        return n.Show(what=f"CREATE {kind}", this=self.table_name("a name"))

    def _pattern_of(self, node: n.Show) -> n.Show:
        """``show_pattern``."""
        negated = self.take("NOT")
        if negated or self.tok.key in ("LIKE", "ILIKE"):
            ilike = self.need_one(("LIKE", "ILIKE")) == "ILIKE"
            node.set("ilike", ilike or None)
            node.set("negated", negated or None)
            node.set("pattern", self.string("a pattern"))
        return node

    def _describe(self, start: int) -> n.Describe:
        """``describe``."""
        self.advance()
        kind = "TABLE"
        if self.tok.key in _DESCRIBED and (self.peek().kind in (t.WORD, t.NAME, t.STRING)):
            kind = self.advance().key
        extended = self.take("EXTENDED") or None
        this = self.string("the id of a job") if kind == "JOB" else self.table_name("a name")
        return self.mark(n.Describe(kind=kind, extended=extended, this=this), start)

    def _explain(self, start: int) -> n.Explain:
        """``explain``."""
        self.need("EXPLAIN")
        details: list[str] = []
        if not self.take("PLAN", "FOR"):
            while self.tok.key in _DETAILS:
                details.append(self.advance().key)
                if self.take(",") and self.tok.key not in _DETAILS:
                    self.fail_expected(*_DETAILS)
        return self.mark(n.Explain(details=details or None, this=self._explained()), start)

    def _explained(self) -> exp.Expression:
        """``explained``."""
        start = self.tok.start
        match self.tok.key:
            case "STATEMENT" | "BEGIN":
                return self._statement_set(start) if self.at("STATEMENT") else self._begin(start)
            case "EXECUTE" | "INSERT" | "CREATE" | "REPLACE":
                return _STATEMENTS[self.tok.key](self, start)
            case _ if self.at_query():
                return self.query()
            case _:
                return self.fail_expected("SELECT", "INSERT", "STATEMENT", *_DETAILS, what="a query or an INSERT")

    def _stop(self, start: int) -> n.StopJob:
        """``stop_job``."""
        self.need("STOP", "JOB")
        node = n.StopJob(this=self.string("the id of a job"))
        while self.take("WITH"):
            node.set(self.need_one(("SAVEPOINT", "DRAIN")).lower(), True)
        return self.mark(node, start)

    def _client(self, start: int) -> n.Client:
        """``client``."""
        return self.mark(n.Client(this=self.advance().key), start)


_AFTER_QUERY = ("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "JOIN", "ON")
_STATEMENTS: dict[str, Callable[[StatementParser, int], exp.Expression]] = {
    # ``query_statement``
    **dict.fromkeys(("SELECT", "WITH", "VALUES", "TABLE", "("), lambda parser, start: parser.query()),
    "CREATE": StatementParser._create,
    "REPLACE": StatementParser._replace,
    "DROP": StatementParser._drop,
    "ALTER": StatementParser._alter,
    "INSERT": StatementParser._insert,
    "EXECUTE": StatementParser._execute,
    "STATEMENT": StatementParser._statement_set,
    "BEGIN": StatementParser._begin,
    "COMPILE": StatementParser._compile,
    **dict.fromkeys(("UPDATE", "DELETE", "TRUNCATE", "ANALYZE", "CALL"), StatementParser._refused),
    "SET": StatementParser._set_option,
    "RESET": StatementParser._reset_option,
    "USE": StatementParser._use,
    **dict.fromkeys(("LOAD", "UNLOAD"), StatementParser._module),
    **dict.fromkeys(("ADD", "REMOVE"), StatementParser._jar),
    "SHOW": StatementParser._show,
    **dict.fromkeys(("DESCRIBE", "DESC"), StatementParser._describe),
    "EXPLAIN": StatementParser._explain,
    "STOP": StatementParser._stop,
    **dict.fromkeys(("QUIT", "EXIT", "CLEAR", "HELP"), StatementParser._client),
}
STARTS = frozenset(_STATEMENTS) - {"("}
"""Words that a statement begins with."""
