"""Trees of Flink SQL that sqlglot has no node for: statements, table elements and query parts.

Every node carries ``meta["start"]`` and ``meta["end"]``: absolute, half-open offsets into the script (``span_of`` reads
them). Options keep key and value as string literals with their own places. Two trees are equal when their text means
the same; places do not count.

Expressions, joins, selects and set operations are sqlglot's own nodes where they mean exactly the same; queries are
``exp.Query`` or ``exp.Values``; column and target types are ``Type``, an ``exp.DataType``
(``flinkddl.dialect.types.to_type`` makes a ``sqltypes.DataType`` of one); object names are ``exp.Table`` (catalog, db,
this). Function calls are ``Call`` (an ``exp.Anonymous``), never one of sqlglot's function classes.

Which node each construct becomes, beside those below:

- ``'a'``, ``U&'..'``; ``1``; ``X'41'``: exp.Literal (decoded); exp.Literal; exp.HexString (upper case)
- ``TRUE``; ``NULL``: exp.Boolean; exp.Null
- ``a``, ``t.a``, ``d.t.a``, ``c.d.t.a``: exp.Column (a table name or a row column before the dot: resolve it)
- ``x.f`` of an expression or a fifth part: exp.Dot(this=x, expression=Identifier); ``x.*``: expression is exp.Star
- ``*``; ``t.*``: exp.Star; exp.Column(this=exp.Star, table=t)
- ``x[i]``: Index(this=x, expressions=[i]), an exp.Bracket, index as written
- ``(x)``; ``(a, b)``; ``(query)``: exp.Paren; exp.Tuple; exp.Subquery
- ``+ - * / % ||``; ``-x``; ``+x``: exp.Add, Sub, Mul, Div, Mod, DPipe; exp.Neg; x itself
- ``= <> < <= > >=``: exp.EQ, NEQ, LT, LTE, GT, GTE
- ``= ANY (..)``, ``SOME``, ``ALL``: right side exp.Any or exp.All over exp.Subquery or exp.Tuple
- ``AND``, ``OR``, ``NOT``: exp.And, exp.Or, exp.Not; every ``x NOT ..`` is exp.Not of the positive form
- ``IS [NOT] NULL, TRUE, FALSE, UNKNOWN``: exp.Is(x, exp.Null | exp.Boolean | exp.Var("UNKNOWN"))
- ``IS JSON [VALUE | OBJECT | ARRAY | SCALAR]``: exp.Is(x, exp.JSON(this="VALUE" ...))
- ``IS [NOT] DISTINCT FROM``: exp.NullSafeNEQ; with NOT exp.NullSafeEQ
- ``BETWEEN [SYMMETRIC]``: exp.Between(this, low, high, symmetric=True or absent)
- ``IN (..)``; ``IN (query)``; ``EXISTS``: exp.In(expressions); exp.In(query=exp.Subquery);
  exp.Exists(this=exp.Subquery)
- ``LIKE``, ``SIMILAR TO``, ``.. ESCAPE c``: exp.Like, exp.SimilarTo; exp.Escape(this=that, expression=c)
- ``(a, b) OVERLAPS (c, d)``: exp.Overlaps of two exp.Tuple (or Call ROW)
- ``CASE [x] WHEN a, b THEN c``: exp.Case(this=x, ifs=[exp.If(a, true=c), exp.If(b, true=c)], default)
- ``CAST``, ``TRY_CAST``: exp.Cast, exp.TryCast (to=Type)
- ``INTERVAL '5' DAY(3)``, ``.. DAY TO SECOND``: exp.Interval(this=Literal, unit=exp.Var or exp.IntervalSpan of two
  exp.Var); args "precision", "fraction" ints when written; minus sign: exp.Neg of it
- ``ARRAY[..]``: exp.Array(expressions)
- ``f(..) OVER (..)``, ``OVER w``: exp.Window(this, partition_by, order, spec=exp.WindowSpec, alias=Identifier w)
- ``f(..) FILTER (WHERE b)``: exp.Filter(this, expression=exp.Where)
- ``WITHIN GROUP``, ``IGNORE | RESPECT NULLS``: exp.WithinGroup(this, expression=exp.Order), exp.IgnoreNulls,
  exp.RespectNulls
- nesting of the four: Window(Filter(IgnoreNulls(WithinGroup(call))))
- SELECT: exp.Select: hint (SelectHint), distinct, expressions, from_, joins, where, group, having,
  windows, qualify, with_, order, limit, offset
- ``FETCH FIRST n ROWS ONLY``: exp.Limit
- ``TABLE t`` as a query: exp.Select of exp.Star
- GROUP BY: exp.Group(expressions, grouping_sets, cube, rollup); ``()`` is an empty exp.Tuple; what stands in
  parentheses inside the sets is always an exp.Tuple
- UNION, EXCEPT, INTERSECT: exp.Union, exp.Except, exp.Intersect (distinct=bool)
- VALUES; ``(VALUES ..) AS t(a)``: exp.Values of exp.Tuple, alias on it
- FROM t, (query), joins: exp.Table (args "hints"), exp.Subquery, exp.Join (side, kind, method, on, using); a comma is
  an exp.Join without all of these
- ``LATERAL (query)``: exp.Lateral(this=exp.Subquery, alias)
- ``UNNEST(..) WITH ORDINALITY AS u(x, i)``: exp.Unnest(expressions, alias u(x), offset=Identifier i, or True without
  names)
"""

from __future__ import annotations

from sqlglot import exp

PLUS = "plus"  # in the meta of an operand that had a unary plus before it


def _args(names: str) -> dict[str, bool]:
    """Return sqlglot's ``arg_types`` of a node: the names of its parts, those that may be missing with a ``?``."""
    return {name.rstrip("?"): not name.endswith("?") for name in names.split()}


class Node(exp.Expression):
    """Base of our own nodes."""


class Statement(Node):
    """Base of every statement that is not a bare query."""


# ---- shared parts ------------------------------------------------------------------------------------------------


class Option(Node):
    """``'key' = 'value'``: two string literals."""

    arg_types = _args("this expression")


class Column(Node):
    """A physical column: name, type, inline constraint.

    ``primary_key`` is None, or a PrimaryKey node with no columns for an inline ``PRIMARY KEY NOT ENFORCED``.
    """

    arg_types = _args("this kind primary_key? comment?")


class MetadataColumn(Node):
    """``c type METADATA [FROM 'key'] [VIRTUAL]``; ``key`` is a string literal."""

    arg_types = _args("this kind key? virtual? comment?")


class ComputedColumn(Node):
    """``c AS expr``."""

    arg_types = _args("this expression comment?")


class Watermark(Node):
    """``WATERMARK FOR c AS expr``; ``this`` is an identifier or, for a nested field, an ``exp.Dot``."""

    arg_types = _args("this expression")


class PrimaryKey(Node):
    """``[CONSTRAINT n] PRIMARY KEY (c, ...) [NOT ENFORCED | ENFORCED]``; ``enforced`` is None when nothing was said."""

    arg_types = _args("this? expressions? enforced?")


class UniqueKey(Node):
    """``UNIQUE (c, ...)``: parsed, refused by the catalog."""

    arg_types = _args("this? expressions? enforced?")


class Distribution(Node):
    """``DISTRIBUTED [BY [HASH | RANGE] (c, ...)] [INTO n BUCKETS]``; ``kind`` is a string or None."""

    arg_types = _args("kind? expressions? buckets?")


class LikeOption(Node):
    """``INCLUDING ALL`` and the like: ``this`` the strategy, ``feature`` the feature, both upper-case strings."""

    arg_types = _args("this feature")


class Like(Node):
    """``LIKE table [(options)]``."""

    arg_types = _args("this expressions?")


class Partition(Node):
    """``PARTITION (k = literal | k, ...)``: identifiers or ``exp.EQ``."""

    arg_types = _args("expressions")


class OptionsHint(Node):
    """``/*+ OPTIONS('k' = 'v', ...) */`` after a table name: Option nodes. Stored in ``exp.Table.args["hints"]``."""

    arg_types = _args("expressions")


# ---- CREATE, ALTER, DROP -----------------------------------------------------------------------------------------


class CreateTable(Statement):
    """CREATE [OR REPLACE] [TEMPORARY] TABLE; also plain ``REPLACE TABLE``.

    ``elements``: Column, MetadataColumn, ComputedColumn, Watermark, PrimaryKey, UniqueKey, or bare identifiers (CTAS
    reordering). ``options``: list of Option, or None without a WITH clause. ``like``: Like. ``expression``: a query.
    ``mode``: "CREATE", "CREATE OR REPLACE" or "REPLACE".
    """

    arg_types = _args(
        "this mode temporary? exists? elements? comment? distribution? partitioned_by? connection? "
        "options? like? expression?"
    )


class CreateView(Statement):
    """CREATE [TEMPORARY] VIEW [IF NOT EXISTS] v [(c, ...)] [COMMENT 's'] AS query; columns are identifiers."""

    arg_types = _args("this replace? temporary? exists? columns? comment? expression")


class CreateCatalog(Statement):
    """CREATE CATALOG [IF NOT EXISTS] c [COMMENT 's'] [WITH (...)]."""

    arg_types = _args("this exists? comment? options?")


class CreateDatabase(Statement):
    """CREATE DATABASE [IF NOT EXISTS] [c.]d [COMMENT 's'] [WITH (...)]."""

    arg_types = _args("this exists? comment? options?")


class CreateFunction(Statement):
    """CREATE [TEMPORARY [SYSTEM]] FUNCTION f AS 'id' [LANGUAGE l] [USING JAR 'p', ...] [WITH (...)]."""

    arg_types = _args("this temporary? system? exists? identifier language? using? options?")


class Unsupported(Statement):
    """A statement of Flink that is parsed as far as its name and then refused: ``this`` is the kind, such as
    "CREATE MODEL", "CREATE MATERIALIZED TABLE", "ANALYZE TABLE", "CALL"; ``text`` the whole statement.
    """

    arg_types = _args("this text")


class Drop(Statement):
    """DROP [TEMPORARY [SYSTEM]] kind [IF EXISTS] name [RESTRICT | CASCADE].

    ``kind``: "TABLE", "VIEW", "DATABASE", "CATALOG", "FUNCTION".
    """

    arg_types = _args("this kind temporary? system? exists? cascade?")


class AlterTable(Statement):
    """ALTER TABLE [IF EXISTS] t action; ``action`` is one of the Alter* nodes below."""

    arg_types = _args("this exists? action")


class AlterAdd(Node):
    """ADD of columns, watermark, primary key or distribution: ColumnPosition or the other element nodes."""

    arg_types = _args("expressions")


class AlterModify(Node):
    """MODIFY, same parts as AlterAdd."""

    arg_types = _args("expressions")


class ColumnPosition(Node):
    """A column definition with ``FIRST`` (``first``) or ``AFTER x`` (``after``)."""

    arg_types = _args("this first? after?")


class AlterDrop(Node):
    """DROP of ``what``: "COLUMN" (expressions), "PRIMARY KEY", "CONSTRAINT" (one name), "WATERMARK", "DISTRIBUTION"."""

    arg_types = _args("what expressions?")


class AlterRenameColumn(Node):
    """RENAME old TO new."""

    arg_types = _args("this to")


class AlterRename(Node):
    """RENAME TO name (tables and views)."""

    arg_types = _args("this")


class AlterSet(Node):
    """SET ('k' = 'v', ...)."""

    arg_types = _args("expressions")


class AlterReset(Node):
    """RESET ('k', ...): string literals."""

    arg_types = _args("expressions?")


class AlterPartition(Node):
    """ADD / DROP PARTITION: parsed and refused; ``add`` says which."""

    arg_types = _args("add exists? expressions")


class AlterView(Statement):
    """ALTER VIEW v RENAME TO n | AS query: ``action`` is AlterRename or a query."""

    arg_types = _args("this exists? action")


class AlterDatabase(Statement):
    """ALTER DATABASE d SET (...)."""

    arg_types = _args("this action")


class AlterCatalog(Statement):
    """ALTER CATALOG c SET (...) | RESET (...) | COMMENT 's': ``action`` is AlterSet, AlterReset or a string literal."""

    arg_types = _args("this action")


class AlterFunction(Statement):
    """ALTER [TEMPORARY [SYSTEM]] FUNCTION [IF EXISTS] f AS 'id' [LANGUAGE l]."""

    arg_types = _args("this temporary? system? exists? identifier language?")


# ---- DML ---------------------------------------------------------------------------------------------------------


class Insert(Statement):
    """[EXECUTE] INSERT INTO | OVERWRITE t [hint] [PARTITION (..)] [(c, ...)] query [ON CONFLICT DO x].

    ``this``: exp.Table, its hints in ``args["hints"]``; ``conflict``: "NOTHING", "ERROR", "DEDUPLICATE" or None;
    ``expression``: a query (VALUES is an ``exp.Values``).
    """

    arg_types = _args("this overwrite? partition? columns? expression conflict?")


class StatementSet(Statement):
    """EXECUTE STATEMENT SET BEGIN ... END, and the older BEGIN STATEMENT SET; ... END: Insert nodes."""

    arg_types = _args("expressions")


class ExecuteQuery(Statement):
    """EXECUTE SELECT ...: ``this`` is the query."""

    arg_types = _args("this")


class CompilePlan(Statement):
    """COMPILE [AND EXECUTE] PLAN 'p' [IF NOT EXISTS] FOR statement."""

    arg_types = _args("this exists? execute? expression")


class ExecutePlan(Statement):
    """EXECUTE PLAN 'p'."""

    arg_types = _args("this")


# ---- session -----------------------------------------------------------------------------------------------------


class Set(Statement):
    """SET; SET 'k' = 'v'; SET k = v. Key and value are string literals, both None for a bare SET."""

    arg_types = _args("this? expression?")


class Reset(Statement):
    """RESET; RESET 'k'."""

    arg_types = _args("this?")


class Use(Statement):
    """USE CATALOG c | USE [c.]d | USE MODULES m, ...: ``kind`` "CATALOG", "DATABASE" or "MODULES"."""

    arg_types = _args("kind this? expressions?")


class Module(Statement):
    """LOAD MODULE m [WITH (..)] | UNLOAD MODULE m: ``kind`` "LOAD" or "UNLOAD"."""

    arg_types = _args("kind this options?")


class Jar(Statement):
    """ADD JAR 'p' | REMOVE JAR 'p': ``kind`` "ADD" or "REMOVE"."""

    arg_types = _args("kind this")


class Show(Statement):
    """SHOW what [FROM x] [[NOT] LIKE | ILIKE 'pattern'].

    ``what``: upper-case words such as "TABLES", "CURRENT CATALOG", "CREATE TABLE", "USER FUNCTIONS", "FULL MODULES",
    "COLUMNS", "PARTITIONS", "JARS", "JOBS"; ``this``: the object of CREATE / COLUMNS / PARTITIONS; ``scope``: the
    name after FROM or IN.
    """

    arg_types = _args("what this? scope? pattern? ilike? negated? partition?")


class Describe(Statement):
    """DESCRIBE [kind] [EXTENDED] x: ``kind`` "TABLE", "CATALOG", "DATABASE", "FUNCTION", "JOB", "MODEL"."""

    arg_types = _args("this kind extended?")


class Explain(Statement):
    """EXPLAIN [PLAN FOR | detail, ...] statement: ``details`` are upper-case strings."""

    arg_types = _args("this details?")


class StopJob(Statement):
    """STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]."""

    arg_types = _args("this savepoint? drain?")


class Client(Statement):
    """QUIT, EXIT, CLEAR, HELP: ``this`` the upper-case word."""

    arg_types = _args("this")


# ---- query parts -------------------------------------------------------------------------------------------------


class TableArgument(Node):
    """``TABLE t [PARTITION BY k, ...] [ORDER BY ..]`` or a subquery as the data argument of a table function."""

    arg_types = _args("this partition_by? order?")


class Descriptor(Node):
    """``DESCRIPTOR(c, ...)``: identifiers."""

    arg_types = _args("expressions")


class NamedArgument(Node):
    """``name => value`` in a function call: ``this`` an identifier."""

    arg_types = _args("this expression")


class TableFunction(Node, exp.UDTF):
    """A table function in FROM: window TVF, ``LATERAL TABLE (f(x))`` or a process table function.

    ``this``: upper-case name for TUMBLE, HOP, CUMULATE, SESSION, else the name as written; ``expressions``:
    TableArgument, Descriptor, NamedArgument, exp.Subquery or expressions; ``lateral`` says whether LATERAL stood
    before it; ``path`` identifiers before the name (``catalog.database.f``).
    """

    arg_types = _args("this expressions? alias? lateral? path?")


class TemporalTable(Node, exp.UDTF):
    """``t FOR SYSTEM_TIME AS OF expr [AS a]``: ``this`` is an exp.Table (or subquery), ``expression`` the time."""

    arg_types = _args("this expression alias?")


class MatchRecognize(Node, exp.UDTF):
    """``this MATCH_RECOGNIZE (...) [AS a]``: ``measures`` and ``define`` are exp.Alias (name = variable or column).

    ``pattern`` is the text of the pattern with single blanks, ``after`` the text of AFTER MATCH, ``rows`` that of ONE
    ROW PER MATCH or ALL ROWS PER MATCH, each None when absent; ``within`` an interval.
    """

    arg_types = _args("this partition_by? order? measures? rows? after? pattern within? define? alias?")


class QueryHint(Node):
    """A hint of a SELECT, such as ``BROADCAST(t)`` or ``STATE_TTL('a' = '1d')``.

    ``this``: upper-case name; ``expressions``: identifiers, literals or Option nodes. Held by SelectHint in the
    select's ``args["hint"]``.
    """

    arg_types = _args("this expressions?")


class SelectHint(Node, exp.Hint):
    """``/*+ .. */`` after SELECT: QueryHint nodes."""

    arg_types = _args("expressions")


# ---- expression parts --------------------------------------------------------------------------------------------


class Call(Node, exp.Anonymous):
    """Every function call, whatever its syntax: ``this`` the upper-case name, ``expressions`` the arguments in order.

    ``path``: identifiers before the name (``catalog.database.f``), or None. Special syntax has fixed positions:

    ========================================= =====================================================
    ``COUNT(*)``, ``f(DISTINCT a, b)``        ``[Star]``, ``[exp.Distinct(expressions=[a, b])]``
    ``EXTRACT(u FROM x)``                     ``[Var(u), x]``
    ``FLOOR(x TO u)``, ``CEIL(x TO u)``       ``[x, Var(u)]``
    ``TIMESTAMPADD(u, n, x)``, ``..DIFF``     ``[Var(u), n, x]``
    ``POSITION(a IN b)``                      ``[a, b]``
    ``OVERLAY(a PLACING b FROM c [FOR d])``   ``[a, b, c, d]``
    ``SUBSTRING(a FROM b [FOR c])``           ``[a, b, c]``
    ``TRIM([BOTH|..] [c] FROM s)``            ``[Var(BOTH|LEADING|TRAILING), c or ' ', s]``; plain TRIM(s) is ``[s]``
    ``ROW(a, b)``, ``MAP[k, v, ...]``         names ROW and MAP, arguments as written (also ``MULTISET[..]``)
    ``CURRENT_DATE`` and the like             no arguments, with or without ``()``
    ``f(x ORDER BY y)``                       ``[exp.Order(this=x, expressions=[Ordered])]`` as last argument
    ========================================= =====================================================
    """

    arg_types = _args("this expressions? path?")


class JsonCall(Node, exp.Anonymous):
    """JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT(AGG), JSON_ARRAY(AGG), as ``this`` says, with their clauses.

    ``expressions``: the arguments; for JSON_OBJECT and JSON_OBJECTAGG ``exp.JSONKeyValue`` nodes. ``returning``: a
    type. ``wrapper``: "WITHOUT ARRAY", "WITH UNCONDITIONAL ARRAY" or "WITH CONDITIONAL ARRAY".
    ``on_empty`` and
    ``on_error``: "NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT", "TRUE", "FALSE", "UNKNOWN", or what DEFAULT gives.
    ``nulls``: "NULL" or "ABSENT" (ON NULL). All None when not written.
    """

    arg_types = _args("this expressions? returning? wrapper? on_empty? on_error? nulls?")


class Index(Node, exp.Bracket):
    """``x[i]``: an exp.Bracket whose index is as written, from 1 for arrays."""

    arg_types = exp.Bracket.arg_types


class TypedLiteral(Node, exp.Condition):
    """``DATE '..'``, ``TIME '..'``, ``TIMESTAMP '..'``: ``this`` a string literal, ``kind`` the upper-case word."""

    arg_types = _args("this kind")


class Type(Node, exp.DataType):
    """A type as Flink writes it, defaults filled in (``VARCHAR`` is VARCHAR(1), ``DECIMAL`` DECIMAL(10, 0)).

    ``this`` is sqlglot's kind, ``name`` Flink's root (a string of ``sqltypes.Root``); ``params`` the numbers in
    parentheses; ``children`` the element, key and value types; ``fields`` Field nodes of a ROW; ``nullable`` False
    after NOT NULL; ``unit`` the units of an INTERVAL (``params`` then precision and fraction, None where absent).
    """

    arg_types = _args("this name params? children? fields? nullable? unit? text?")


class Field(Node):
    """A field of a ROW type: ``this`` an identifier, ``kind`` a Type, ``comment`` a string literal."""

    arg_types = _args("this kind comment?")


def span_of(node: exp.Expression) -> tuple[int, int] | None:
    """Return the half-open offsets that a node covers, or None when nothing is known.

    Nodes of the parser know their own place (sqlglot's with inclusive ends, ours with half-open ones); a node made
    later covers what the nodes below it cover.
    """
    start: int | None = None
    end = 0
    for part in node.walk(prune=lambda n: "start" in (n._meta or ())):
        meta = part._meta or {}
        if "start" in meta and "end" in meta:
            stop = meta["end"] if isinstance(part, Node) else meta["end"] + 1
            start = meta["start"] if start is None else min(start, meta["start"])
            end = max(end, stop)
    return None if start is None else (start, end)
