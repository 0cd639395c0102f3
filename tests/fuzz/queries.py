"""Random queries, each as Flink SQL and as DuckDB SQL over the same tables.

A relation is a SELECT in both dialects with its typed columns; every operator wraps one or two of them. Results that
both engines need not give digit for digit (means, deviations) or in the same order (LISTAGG) are marked by their type
and stay at the top of the query.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.fuzz.world import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PLAIN = ("int", "big", "str", "dbl", "dec", "bool", "date")
NUMBERS = ("int", "big", "dbl", "dec")
LITERALS = {
    "int": ("0", "1", "2", "-1"),
    "big": ("0", "1", "7"),
    "str": ("'a'", "'b'", "''", "'ab'"),
    "dbl": ("0.25E0", "0.0E0"),
    "dec": ("0.01", "3.30"),
    "bool": ("TRUE", "FALSE"),
    "date": ("DATE '2024-02-29'", "DATE '2024-03-01'"),
}


@dataclass(frozen=True)
class Rel:
    """A SELECT in both dialects. ``table``: it is a bare table, whose order of arrival DuckDB knows as ``seq``."""

    flink: str
    duck: str
    columns: tuple[Column, ...]
    table: Table | None = None

    def of(self, *types: str) -> list[Column]:
        return [c for c in self.columns if c.type in types]


@dataclass(frozen=True)
class Both:
    """An expression in both dialects and its type."""

    flink: str
    duck: str
    type: str


class Generator:
    """Queries over some tables; equal seeds give equal queries. ``twice``: often what a query joins is there twice."""

    def __init__(self, seed: int, tables: Sequence[Table], *, twice: bool = False) -> None:
        self.random, self.twice = random.Random(seed), twice
        self.tables = tables
        self.names = 0

    def query(self) -> Rel:
        return self._top(self.relation(self.random.choice([0, 1, 1, 1, 2])))

    # ---- pieces

    def fresh(self, prefix: str = "c") -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def some(self, columns: Sequence[Column], low: int, high: int) -> list[Column]:
        return self.random.sample(list(columns), min(len(columns), self.random.randint(low, high)))

    def plain(self, rel: Rel) -> list[Column]:
        return rel.of(*PLAIN)

    def base(self) -> Rel:
        t = self.random.choice(self.tables)
        text = f"SELECT {', '.join(c.name for c in t.columns)} FROM {t.name}"
        return Rel(text, text, t.columns, t)

    def relation(self, depth: int) -> Rel:
        if depth == 0:
            return self.base() if self.random.random() < 0.7 else self.filtered(self.base())
        maker = self.random.choice(
            (
                self._of_one(self.aggregate),
                self._of_one(self.aggregate),
                self._of_one(self.distinct),
                self._of_one(self.filtered),
                self._of_one(self.top),
                self._of_one(self.unnest),
                self.join,
                self.join,
                self.semi,
                self.setop,
                self.scalar,
            )
        )
        return maker(depth - 1)

    def _of_one(self, operator: Callable[[Rel], Rel]) -> Callable[[int], Rel]:
        return lambda depth: operator(self.relation(depth))

    def _top(self, rel: Rel) -> Rel:
        last = (
            self.aggregate,
            self.aggregate,
            self.special_aggregate,
            self.grouping_sets,
            self.distinct,
            self.top,
            self.top,
            self.limit,
            self.having_filter,
            self.dedup,
            lambda r: r,
            self.projected,
        )
        return self.random.choice(last)(rel)

    def predicate(self, columns: Sequence[Column], depth: int = 1) -> str:
        """Return a condition that reads the same in both dialects; ``columns`` carry their aliases."""
        r = self.random
        if depth and r.random() < 0.4:
            a, b = self.predicate(columns, 0), self.predicate(columns, 0)
            return r.choice([f"({a} AND {b})", f"({a} OR {b})", f"NOT ({a})"])
        c = r.choice([x for x in columns if x.type in PLAIN])
        value = r.choice(LITERALS[c.type])
        forms = [f"{c.name} IS NULL", f"{c.name} IS NOT NULL", f"{c.name} = {value}", f"{c.name} <> {value}"]
        if c.type != "bool":
            forms += [f"{c.name} > {value}", f"{c.name} <= {value}"]
            forms += [
                f"{c.name} IN ({', '.join(LITERALS[c.type])})",
                f"{c.name} NOT IN ({', '.join(LITERALS[c.type])})",
            ]
        if c.type == "str":
            forms.append(f"{c.name} LIKE 'a%'")
        peers = [x for x in columns if x.type == c.type and x.name != c.name]
        if peers:
            forms.append(f"{c.name} {r.choice(['=', '<', '>='])} {r.choice(peers).name}")
        return r.choice(forms)

    # ---- one input

    def filtered(self, rel: Rel) -> Rel:
        where = self.predicate(rel.columns)
        names = ", ".join(c.name for c in rel.columns)
        a = self.fresh("t")
        return Rel(
            f"SELECT {names} FROM ({rel.flink}) AS {a} WHERE {where}",
            f"SELECT {names} FROM ({rel.duck}) AS {a} WHERE {where}",
            rel.columns,
        )

    def projected(self, rel: Rel) -> Rel:
        r = self.random
        items: list[tuple[str, str]] = []
        for c in self.some(self.plain(rel), 1, 3):
            forms = [(c.name, c.type), (f"CASE WHEN {self.predicate(rel.columns)} THEN {c.name} END", c.type)]
            forms.append((f"COALESCE({c.name}, {r.choice(LITERALS[c.type])})", c.type))
            if c.type in ("int", "big", "dbl"):
                forms.append((f"{c.name} + {c.name}", c.type))
            if c.type == "str":
                forms += [(f"UPPER({c.name})", "str"), (f"{c.name} || '-'", "str"), (f"CHAR_LENGTH({c.name})", "int")]
            items.append(r.choice([f for f in forms if c.type != "dec" or "COALESCE" not in f[0]]))
        columns = tuple(Column(self.fresh(), t) for _, t in items)
        text = ", ".join(f"{e} AS {c.name}" for (e, _), c in zip(items, columns, strict=True))
        a = self.fresh("t")
        duck = text.replace("CHAR_LENGTH", "LENGTH")
        return Rel(f"SELECT {text} FROM ({rel.flink}) AS {a}", f"SELECT {duck} FROM ({rel.duck}) AS {a}", columns)

    def distinct(self, rel: Rel) -> Rel:
        kept = tuple(self.some(self.plain(rel), 1, 2))
        names = ", ".join(c.name for c in kept)
        a = self.fresh("t")
        return Rel(
            f"SELECT DISTINCT {names} FROM ({rel.flink}) AS {a}",
            f"SELECT DISTINCT {names} FROM ({rel.duck}) AS {a}",
            kept,
        )

    def call(self, rel: Rel) -> Both:
        """An aggregate call whose result both engines give exactly."""
        r = self.random
        c = r.choice(self.plain(rel))
        options = [Both("COUNT(*)", "COUNT(*)", "big"), Both(f"COUNT({c.name})", f"COUNT({c.name})", "big")]
        options.append(Both(f"COUNT(DISTINCT {c.name})", f"COUNT(DISTINCT {c.name})", "big"))
        if c.type != "bool":
            options += [Both(f"{f}({c.name})", f"{f}({c.name})", c.type) for f in ("MIN", "MAX")] * 2
        if c.type in NUMBERS:
            distinct = r.choice(["", "DISTINCT "])
            options += [Both(f"SUM({distinct}{c.name})", _sum(distinct, c), c.type)] * 2
        if c.type in ("int", "big"):
            mean = f"CAST(TRUNC(CAST(SUM({c.name}) AS DOUBLE) / COUNT({c.name})) AS BIGINT)"
            options.append(Both(f"AVG({c.name})", mean, c.type))
        call = r.choice(options)
        if r.random() < 0.2:
            where = self.predicate(rel.columns)
            if call.duck.startswith("CAST(TRUNC"):
                return call
            tail = f" FILTER (WHERE {where})"
            if call.duck.startswith("CAST("):
                inner, cast = call.duck.removeprefix("CAST(").rsplit(" AS ", 1)
                return Both(call.flink + tail, f"CAST({inner}{tail} AS {cast}", call.type)
            return Both(call.flink + tail, call.duck + tail, call.type)
        return call

    def aggregate(self, rel: Rel) -> Rel:
        keys = self.some(self.plain(rel), 0, 2) if self.random.random() < 0.9 else []
        return self._grouped(rel, keys, [self.call(rel) for _ in range(self.random.randint(1, 3))])

    def special_aggregate(self, rel: Rel) -> Rel:
        """Aggregates whose results are compared in their own way, and those that need the order of arrival."""
        r = self.random
        calls: list[Both] = [self.call(rel)]
        for c in self.some(self.plain(rel), 1, 2):
            forms: list[Both] = []
            if c.type == "dbl":  # of whole numbers they are whole numbers in Flink
                forms += [Both(f"{f}({c.name})", f"{f}({c.name})", "approx") for f in ("STDDEV_POP", "VAR_SAMP")]
            if c.type in NUMBERS:
                forms.append(Both(f"AVG(CAST({c.name} AS DOUBLE))", f"AVG(CAST({c.name} AS DOUBLE))", "approx"))
            if c.type == "str":
                forms.append(Both(f"LISTAGG({c.name})", f"STRING_AGG({c.name}, ',')", "listed"))
                forms.append(Both(f"LISTAGG(DISTINCT {c.name})", f"STRING_AGG(DISTINCT {c.name}, ',')", "listed"))
            if c.type == "int":
                forms.append(Both(f"ARRAY_AGG({c.name})", f"LIST({c.name})", "array"))
            if rel.table is not None and rel.table.kind == "append":
                where = f"FILTER (WHERE {c.name} IS NOT NULL)"
                forms.append(Both(f"FIRST_VALUE({c.name})", f"ARG_MIN({c.name}, seq) {where}", c.type))
                forms.append(Both(f"LAST_VALUE({c.name})", f"ARG_MAX({c.name}, seq) {where}", c.type))
            if forms:
                calls.append(r.choice(forms))
        return self._grouped(rel, self.some(self.plain(rel), 0, 2), calls)

    def _grouped(self, rel: Rel, keys: list[Column], calls: list[Both]) -> Rel:
        r = self.random
        outs = [*(Column(self.fresh(), k.type) for k in keys), *(Column(self.fresh(), c.type) for c in calls)]
        by = f" GROUP BY {', '.join(k.name for k in keys)}" if keys else ""
        having = f"{self.call(rel).flink.split(' FILTER')[0]}" if r.random() < 0.25 else ""
        conditions = []
        if having and having.startswith("COUNT"):
            conditions = [f"{having} {r.choice(['>', '<=', '='])} {r.randint(1, 3)}"]
        flink = f" HAVING {conditions[0]}" if conditions else ""
        # Flink's global aggregate has no row where it has no input
        duck_conditions = conditions + ([] if keys else ["COUNT(*) > 0"])
        duck = f" HAVING {' AND '.join(duck_conditions)}" if duck_conditions else ""
        a = self.fresh("t")

        def text(items: list[str]) -> str:
            return ", ".join(f"{e} AS {c.name}" for e, c in zip(items, outs, strict=True))

        names = [k.name for k in keys]
        source = f"({rel.duck}) AS {a}" if rel.table is None else rel.table.name
        return Rel(
            f"SELECT {text([*names, *(c.flink for c in calls)])} FROM ({rel.flink}) AS {a}{by}{flink}",
            f"SELECT {text([*names, *(c.duck for c in calls)])} FROM {source}{by}{duck}",
            tuple(outs),
        )

    def grouping_sets(self, rel: Rel) -> Rel:
        keys = self.some(self.plain(rel), 2, 2)
        if len(keys) < 2:
            return self.aggregate(rel)
        a, b = (k.name for k in keys)
        by = self.random.choice(
            [
                f"ROLLUP ({a}, {b})",
                f"CUBE ({a}, {b})",
                f"GROUPING SETS (({a}, {b}), ({b}))",
                f"GROUPING SETS (({a}, {b}), ())",
            ]
        )
        call = self.call(rel)
        outs = (
            *(Column(self.fresh(), k.type) for k in keys),
            Column(self.fresh(), call.type),
            Column(self.fresh(), "big"),
        )
        t = self.fresh("t")

        def text(c: str) -> str:
            return (
                f"{a} AS {outs[0].name}, {b} AS {outs[1].name}, {c} AS {outs[2].name}, GROUPING({a}) AS {outs[3].name}"
            )

        return Rel(
            f"SELECT {text(call.flink)} FROM ({rel.flink}) AS {t} GROUP BY {by}",
            f"SELECT {text(call.duck)} FROM ({rel.duck}) AS {t} GROUP BY {by} HAVING COUNT(*) > 0",
            outs,
        )

    def having_filter(self, rel: Rel) -> Rel:
        return self.filtered(self.aggregate(rel))

    def order(self, rel: Rel) -> tuple[str, str]:
        """Return a total order up to equal rows: all columns, some falling."""
        columns = self.plain(rel)
        self.random.shuffle(columns)
        flink, duck = [], []
        for c in columns:
            down = self.random.random() < 0.5
            flink.append(c.name + (" DESC" if down else ""))
            duck.append(c.name + (" DESC NULLS LAST" if down else " ASC NULLS FIRST"))
        return ", ".join(flink), ", ".join(duck)

    def top(self, rel: Rel) -> Rel:
        r = self.random
        by = [c.name for c in self.some(self.plain(rel), 0, 1)]
        flink, duck = self.order(rel)
        partition = f"PARTITION BY {', '.join(by)} " if by else ""
        n, rn, a, b = r.randint(1, 3), self.fresh("rn"), self.fresh("t"), self.fresh("t")
        where = f"{rn} <= {n}" if n == 1 or r.random() < 0.7 else f"{rn} BETWEEN 2 AND {n}"
        ranked = r.random() < 0.4
        kept = (*rel.columns, *([Column(rn, "big")] if ranked else []))
        names = ", ".join(c.name for c in kept)
        inner = ", ".join(c.name for c in rel.columns)

        def text(source: str, order: str) -> str:
            over = f"SELECT {inner}, ROW_NUMBER() OVER ({partition}ORDER BY {order}) AS {rn} FROM ({source}) AS {a}"
            return f"SELECT {names} FROM ({over}) AS {b} WHERE {where}"

        return Rel(text(rel.flink, flink), text(rel.duck, duck), kept)

    def limit(self, rel: Rel) -> Rel:
        flink, duck = self.order(rel)
        a, n = self.fresh("t"), self.random.randint(1, 5)
        names = ", ".join(c.name for c in rel.columns)
        return Rel(
            f"SELECT {names} FROM ({rel.flink}) AS {a} ORDER BY {flink} LIMIT {n}",
            f"SELECT {names} FROM ({rel.duck}) AS {a} ORDER BY {duck} LIMIT {n}",
            rel.columns,
        )

    def dedup(self, rel: Rel) -> Rel:
        """Keep-first and keep-last by processing time of an append table: its order of arrival."""
        t = next(t for t in self.tables if t.kind == "append")
        keys = ", ".join(c.name for c in self.some(t.columns[1:], 1, 2))
        names = ", ".join(c.name for c in t.columns)
        way, rn, a = self.random.choice(["ASC", "DESC"]), self.fresh("rn"), self.fresh("t")

        def text(time: str) -> str:
            over = f"ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {time} {way}) AS {rn}"
            return f"SELECT {names} FROM (SELECT {names}, {over} FROM {t.name}) AS {a} WHERE {rn} = 1"

        out = Rel(text("pt"), text("seq"), t.columns)
        return self.random.choice([lambda r: r, self.aggregate])(out)

    def unnest(self, rel: Rel) -> Rel:
        groups = [rel.of(t) for t in PLAIN if len(rel.of(t)) > 1]
        if not groups:
            return self.filtered(rel)
        x, y = self.some(self.random.choice(groups), 2, 2)
        a, b, e = self.fresh("t"), self.fresh("t"), Column(self.fresh(), x.type)
        names = ", ".join(f"{a}.{c.name}" for c in rel.columns)
        return Rel(
            f"SELECT {names}, {b}.{e.name} FROM ({rel.flink}) AS {a} "
            f"CROSS JOIN UNNEST(ARRAY[{a}.{x.name}, {a}.{y.name}]) AS {b} ({e.name})",
            f"SELECT {names}, {b}.{e.name} FROM ({rel.duck}) AS {a}, "
            f"LATERAL (SELECT UNNEST([{a}.{x.name}, {a}.{y.name}]) AS {e.name}) AS {b}",
            (*rel.columns, e),
        )

    # ---- two inputs

    def pair(self, depth: int) -> tuple[Rel, Rel, list[tuple[Column, Column]]]:
        """Two relations and the pairs of columns of one type."""
        left = self.relation(depth)
        if self.twice and self.random.random() < 0.6:
            over = [lambda r: r, self.filtered, self.distinct, self.aggregate]
            right = self.random.choice(over)(left)
            left = self.random.choice(over)(left)
        else:
            right = self.relation(self.random.randint(0, depth))
        same = [(x, y) for x in self.plain(left) for y in self.plain(right) if x.type == y.type]
        return left, right, same

    def join(self, depth: int) -> Rel:
        r = self.random
        left, right, same = self.pair(depth)
        if not same:
            return self.aggregate(left)
        a, b = self.fresh("l"), self.fresh("r")
        pairs = r.sample(same, min(len(same), r.choice([1, 1, 2])))
        on = " AND ".join(f"{a}.{x.name} = {b}.{y.name}" for x, y in pairs)
        if r.random() < 0.25:
            x, y = r.choice(same)
            on += f" AND {a}.{x.name} {r.choice(['<', '<>', '>='])} {b}.{y.name}"
        kind = r.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        mine = self.some(left.columns, 1, 3)
        theirs = self.some(right.columns, 1, 3)
        outs = (*(Column(self.fresh(), c.type) for c in (*mine, *theirs)),)
        texts = [*(f"{a}.{c.name}" for c in mine), *(f"{b}.{c.name}" for c in theirs)]
        items = ", ".join(f"{t} AS {c.name}" for t, c in zip(texts, outs, strict=True))
        return Rel(
            f"SELECT {items} FROM ({left.flink}) AS {a} {kind} ({right.flink}) AS {b} ON {on}",
            f"SELECT {items} FROM ({left.duck}) AS {a} {kind} ({right.duck}) AS {b} ON {on}",
            outs,
        )

    def semi(self, depth: int) -> Rel:
        r = self.random
        left, right, same = self.pair(depth)
        if not same:
            return self.distinct(left)
        x, y = r.choice(same)
        a, b = self.fresh("l"), self.fresh("r")
        names = ", ".join(f"{a}.{c.name}" for c in left.columns)
        negated = r.choice(["", "NOT "])
        theirs = [Column(f"{b}.{c.name}", c.type) for c in right.columns]
        extra = f" AND {self.predicate(theirs, 0)}" if r.random() < 0.4 else ""

        def text(one: str, two: str, form: str) -> str:
            if form == "IN":
                inner = f"SELECT {b}.{y.name} FROM ({two}) AS {b}{extra.replace(' AND', ' WHERE', 1)}"
                return f"SELECT {names} FROM ({one}) AS {a} WHERE {a}.{x.name} {negated}IN ({inner})"
            inner = f"SELECT 1 FROM ({two}) AS {b} WHERE {b}.{y.name} = {a}.{x.name}{extra}"
            return f"SELECT {names} FROM ({one}) AS {a} WHERE {negated}EXISTS ({inner})"

        form = r.choice(["IN", "EXISTS"])
        return Rel(text(left.flink, right.flink, form), text(left.duck, right.duck, form), left.columns)

    def setop(self, depth: int) -> Rel:
        r = self.random
        left, right, same = self.pair(depth)
        if not same:
            return self.distinct(left)
        pairs: list[tuple[Column, Column]] = []
        for x, y in r.sample(same, len(same)):
            if len(pairs) < 2 and all(x is not p and y is not q for p, q in pairs):
                pairs.append((x, y))
        word = r.choice(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
        outs = tuple(Column(self.fresh(), x.type) for x, _ in pairs)
        a, b = self.fresh("l"), self.fresh("r")

        def text(one: str, two: str) -> str:
            mine = ", ".join(f"{x.name} AS {o.name}" for (x, _), o in zip(pairs, outs, strict=True))
            theirs = ", ".join(f"{y.name} AS {o.name}" for (_, y), o in zip(pairs, outs, strict=True))
            return f"(SELECT {mine} FROM ({one}) AS {a}) {word} (SELECT {theirs} FROM ({two}) AS {b})"

        return Rel(text(left.flink, right.flink), text(left.duck, right.duck), outs)

    def scalar(self, depth: int) -> Rel:
        """A comparison with a scalar subquery, uncorrelated or correlated."""
        r = self.random
        left, right, same = self.pair(depth)
        same = [(x, y) for x, y in same if x.type != "bool"]
        if not same:
            return self.filtered(left)
        x, y = r.choice(same)
        a, b = self.fresh("l"), self.fresh("r")
        names = ", ".join(f"{a}.{c.name}" for c in left.columns)
        where = ""
        if r.random() < 0.5:
            p, q = r.choice(same)
            where = f" WHERE {b}.{q.name} = {a}.{p.name}"
        word, call = r.choice(["=", ">=", "<"]), r.choice(["MIN", "MAX"])

        def text(one: str, two: str) -> str:
            inner = f"SELECT {call}({b}.{y.name}) FROM ({two}) AS {b}{where}"
            return f"SELECT {names} FROM ({one}) AS {a} WHERE {a}.{x.name} {word} ({inner})"

        return Rel(text(left.flink, right.flink), text(left.duck, right.duck), left.columns)


def _sum(distinct: str, c: Column) -> str:
    text = f"SUM({distinct}{c.name})"
    return f"CAST({text} AS BIGINT)" if c.type in ("int", "big") else text
