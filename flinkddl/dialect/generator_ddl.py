"""Statements back to Flink SQL: one function a node, one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.dialect import nodes as n
from flinkddl.dialect.generator_text import block, comma, field_sql, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp
    from sqlglot.generator import Generator


def _flag(node: exp.Expression, key: str, text: str) -> str:
    return text if node.args.get(key) else ""


def _exists(node: exp.Expression) -> str:
    return _flag(node, "exists", "IF NOT EXISTS")


def _if_exists(node: exp.Expression) -> str:
    return _flag(node, "exists", "IF EXISTS")


def _comment(g: Generator, node: exp.Expression) -> str:
    comment = node.args.get("comment")
    return f"COMMENT {g.sql(comment)}" if comment is not None else ""


def _with(g: Generator, node: exp.Expression) -> str:
    options = node.args.get("options")
    return f"WITH {block(g, options)}" if options is not None else ""


def _clauses(g: Generator, *parts: str) -> str:
    return ("\n" if g.pretty else " ").join(p for p in parts if p)


# ---- elements ----------------------------------------------------------------------------------------------------


def _column(g: Generator, node: n.Column) -> str:
    key = node.args.get("primary_key")
    return words(g.sql(node, "this"), g.sql(node, "kind"), g.sql(key) if key else "", _comment(g, node))


def _metadata(g: Generator, node: n.MetadataColumn) -> str:
    key = node.args.get("key")
    source = f"FROM {g.sql(key)}" if key is not None else ""
    virtual = _flag(node, "virtual", "VIRTUAL")
    return words(g.sql(node, "this"), g.sql(node, "kind"), "METADATA", source, virtual, _comment(g, node))


def _key(kind: str) -> Callable[[Generator, exp.Expression], str]:
    def text(g: Generator, node: exp.Expression) -> str:
        name = node.args.get("this")
        columns = node.args.get("expressions")
        enforced = {False: "NOT ENFORCED", True: "ENFORCED", None: ""}[node.args.get("enforced")]
        listed = f"({comma(g, columns)})" if columns else ""
        return words(f"CONSTRAINT {g.sql(name)}" if name is not None else "", kind, listed, enforced)

    return text


def _distribution(g: Generator, node: n.Distribution) -> str:
    columns = node.args.get("expressions")
    kind = node.args.get("kind")
    by = f"BY {kind or ''}({comma(g, columns)})" if columns else ""
    buckets = node.args.get("buckets")
    word = "DISTRIBUTED" if isinstance(node.parent, n.CreateTable) else "DISTRIBUTION"
    return words(word, by, f"INTO {buckets} BUCKETS" if buckets is not None else "")


def _like(g: Generator, node: n.Like) -> str:
    options = node.args.get("expressions")
    inner = " ".join(f"{o.this} {o.args['feature']}" for o in options or [])
    return words("LIKE", g.sql(node, "this"), f"({inner})" if options is not None else "")


# ---- CREATE and DROP ---------------------------------------------------------------------------------------------


def _create_table(g: Generator, node: n.CreateTable) -> str:
    elements = node.args.get("elements")
    partitions = node.args.get("partitioned_by")
    connection = node.args.get("connection")
    query = node.args.get("expression")
    head = words(node.args["mode"], _flag(node, "temporary", "TEMPORARY"), "TABLE", _exists(node), g.sql(node, "this"))
    return _clauses(
        g,
        words(head, block(g, elements) if elements else ""),
        _comment(g, node),
        g.sql(node, "distribution"),
        f"PARTITIONED BY ({comma(g, partitions)})" if partitions is not None else "",
        f"USING CONNECTION {g.sql(connection)}" if connection is not None else "",
        _with(g, node),
        g.sql(node, "like"),
        f"AS {g.sql(query)}" if query is not None else "",
    )


def _create_view(g: Generator, node: n.CreateView) -> str:
    columns = node.args.get("columns")
    head = words(
        "CREATE OR REPLACE" if node.args.get("replace") else "CREATE",
        _flag(node, "temporary", "TEMPORARY"),
        "VIEW",
        _exists(node),
        g.sql(node, "this"),
        f"({comma(g, columns)})" if columns else "",
        _comment(g, node),
        "AS",
    )
    return f"{head}{g.sep()}{g.sql(node, 'expression')}"


def _create_simple(kind: str) -> Callable[[Generator, exp.Expression], str]:
    def text(g: Generator, node: exp.Expression) -> str:
        head = words("CREATE", kind, _exists(node), g.sql(node, "this"), _comment(g, node))
        return words(head, _with(g, node))

    return text


def _function(verb: str) -> Callable[[Generator, exp.Expression], str]:
    def text(g: Generator, node: exp.Expression) -> str:
        using = ", ".join(f"JAR {g.sql(path)}" for path in node.args.get("using") or [])
        language = node.args.get("language")
        return words(
            verb,
            _flag(node, "temporary", "TEMPORARY"),
            _flag(node, "system", "SYSTEM"),
            "FUNCTION",
            _exists(node) if verb == "CREATE" else _if_exists(node),
            g.sql(node, "this"),
            f"AS {g.sql(node, 'identifier')}",
            f"LANGUAGE {language}" if language else "",
            f"USING {using}" if using else "",
            _with(g, node),
        )

    return text


def _drop(g: Generator, node: n.Drop) -> str:
    return words(
        "DROP",
        _flag(node, "temporary", "TEMPORARY"),
        _flag(node, "system", "SYSTEM"),
        node.args["kind"],
        _if_exists(node),
        g.sql(node, "this"),
        _flag(node, "cascade", "CASCADE"),
    )


# ---- ALTER -------------------------------------------------------------------------------------------------------


def _alter(kind: str) -> Callable[[Generator, exp.Expression], str]:
    def text(g: Generator, node: exp.Expression) -> str:
        action = node.args["action"]
        lead = ""
        if isinstance(node, n.AlterView) and not isinstance(action, n.AlterRename):
            lead = "AS"
        elif isinstance(node, n.AlterCatalog) and not isinstance(action, n.AlterSet | n.AlterReset):
            lead = "COMMENT"
        return words("ALTER", kind, _if_exists(node), g.sql(node, "this"), lead, g.sql(action))

    return text


def _components(verb: str) -> Callable[[Generator, exp.Expression], str]:
    def text(g: Generator, node: exp.Expression) -> str:
        items = node.expressions
        if len(items) == 1 and isinstance(items[0], n.Distribution):
            return f"{verb} {g.sql(items[0])}"
        return f"{verb} {block(g, items)}"

    return text


def _position(g: Generator, node: n.ColumnPosition) -> str:
    after = node.args.get("after")
    return words(g.sql(node, "this"), "FIRST" if node.args.get("first") else f"AFTER {g.sql(after)}")


def _alter_drop(g: Generator, node: n.AlterDrop) -> str:
    items = node.args.get("expressions") or []
    match node.args["what"]:
        case "COLUMN":
            return f"DROP ({comma(g, items)})"
        case "CONSTRAINT":
            return f"DROP CONSTRAINT {comma(g, items)}"
        case what:
            return f"DROP {what}"


def _alter_partition(g: Generator, node: n.AlterPartition) -> str:
    if node.args["add"]:
        return words("ADD", _exists(node), " ".join(g.sql(p) for p in node.expressions))
    return words("DROP", _if_exists(node), comma(g, node.expressions))


# ---- DML and session ---------------------------------------------------------------------------------------------


def _insert(g: Generator, node: n.Insert) -> str:
    columns = node.args.get("columns")
    head = words(
        "INSERT",
        "OVERWRITE" if node.args.get("overwrite") else "INTO",
        g.sql(node, "this"),
        g.sql(node, "partition"),
        f"({comma(g, columns)})" if columns else "",
    )
    conflict = node.args.get("conflict")
    tail = f"{g.sep()}ON CONFLICT DO {conflict}" if conflict else ""
    return f"{head}{g.sep()}{g.sql(node, 'expression')}{tail}"


def _statement_set(g: Generator, node: n.StatementSet) -> str:
    lead = "" if isinstance(node.parent, n.CompilePlan | n.Explain) else "EXECUTE "
    body = g.sep().join(f"{g.sql(item)};" for item in node.expressions)
    return f"{lead}STATEMENT SET BEGIN{g.sep()}{body}{g.sep()}END"


def _compile(g: Generator, node: n.CompilePlan) -> str:
    return words(
        "COMPILE AND EXECUTE PLAN" if node.args.get("execute") else "COMPILE PLAN",
        g.sql(node, "this"),
        _exists(node),
        "FOR",
        g.sql(node, "expression"),
    )


def _use(g: Generator, node: n.Use) -> str:
    match node.args["kind"]:
        case "MODULES":
            return f"USE MODULES {comma(g, node.expressions)}"
        case "CATALOG":
            return f"USE CATALOG {g.sql(node, 'this')}"
        case _:
            return f"USE {g.sql(node, 'this')}"


def _show(g: Generator, node: n.Show) -> str:
    this, scope, pattern = (node.args.get(k) for k in ("this", "scope", "pattern"))
    like = words(_flag(node, "negated", "NOT"), "ILIKE" if node.args.get("ilike") else "LIKE")
    what = node.args["what"]
    return words(
        "SHOW",
        what,
        words("FROM" if what == "COLUMNS" else "", g.sql(this)) if this is not None else "",
        f"FROM {g.sql(scope)}" if scope is not None else "",
        f"{like} {g.sql(pattern)}" if pattern is not None else "",
        g.sql(node, "partition"),
    )


def _describe(g: Generator, node: n.Describe) -> str:
    kind = node.args["kind"]
    return words("DESCRIBE", "" if kind == "TABLE" else kind, _flag(node, "extended", "EXTENDED"), g.sql(node, "this"))


def _stop(g: Generator, node: n.StopJob) -> str:
    flags = (_flag(node, key, f"WITH {key.upper()}") for key in ("savepoint", "drain"))
    return words("STOP JOB", g.sql(node, "this"), *flags)


STATEMENT_NODES: dict[type[exp.Expr], Callable[..., str]] = {
    n.Option: lambda g, e: f"{g.sql(e, 'this')} = {g.sql(e, 'expression')}",
    n.Field: field_sql,
    n.Column: _column,
    n.MetadataColumn: _metadata,
    n.ComputedColumn: lambda g, e: words(g.sql(e, "this"), "AS", g.sql(e, "expression"), _comment(g, e)),
    n.Watermark: lambda g, e: f"WATERMARK FOR {g.sql(e, 'this')} AS {g.sql(e, 'expression')}",
    n.PrimaryKey: _key("PRIMARY KEY"),
    n.UniqueKey: _key("UNIQUE"),
    n.Distribution: _distribution,
    n.Like: _like,
    n.Partition: lambda g, e: f"PARTITION ({comma(g, e.expressions)})",
    n.CreateTable: _create_table,
    n.CreateView: _create_view,
    n.CreateCatalog: _create_simple("CATALOG"),
    n.CreateDatabase: _create_simple("DATABASE"),
    n.CreateFunction: _function("CREATE"),
    n.AlterFunction: _function("ALTER"),
    n.Unsupported: lambda g, e: str(e.args["text"]),
    n.Drop: _drop,
    n.AlterTable: _alter("TABLE"),
    n.AlterView: _alter("VIEW"),
    n.AlterDatabase: _alter("DATABASE"),
    n.AlterCatalog: _alter("CATALOG"),
    n.AlterAdd: _components("ADD"),
    n.AlterModify: _components("MODIFY"),
    n.ColumnPosition: _position,
    n.AlterDrop: _alter_drop,
    n.AlterRenameColumn: lambda g, e: f"RENAME {g.sql(e, 'this')} TO {g.sql(e, 'to')}",
    n.AlterRename: lambda g, e: f"RENAME TO {g.sql(e, 'this')}",
    n.AlterSet: lambda g, e: f"SET {block(g, e.expressions)}",
    n.AlterReset: lambda g, e: f"RESET ({comma(g, e.expressions or [])})",
    n.AlterPartition: _alter_partition,
    n.Insert: _insert,
    n.StatementSet: _statement_set,
    n.ExecuteQuery: lambda g, e: f"EXECUTE {g.sql(e, 'this')}",
    n.CompilePlan: _compile,
    n.ExecutePlan: lambda g, e: f"EXECUTE PLAN {g.sql(e, 'this')}",
    n.Set: lambda g, e: f"SET {g.sql(e, 'this')} = {g.sql(e, 'expression')}" if e.args.get("this") else "SET",
    n.Reset: lambda g, e: words("RESET", g.sql(e, "this")),
    n.Use: _use,
    n.Module: lambda g, e: words(e.args["kind"], "MODULE", g.sql(e, "this"), _with(g, e)),
    n.Jar: lambda g, e: f"{e.args['kind']} JAR {g.sql(e, 'this')}",
    n.Show: _show,
    n.Describe: _describe,
    n.Explain: lambda g, e: words("EXPLAIN", ", ".join(e.args.get("details") or []), g.sql(e, "this")),
    n.StopJob: _stop,
    n.Client: lambda g, e: str(e.this),
}
