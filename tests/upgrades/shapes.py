"""The jobs that are edited: a script each, its records under the first and under the second start, and its recount."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.upgrades.tables import Record, Records, Row, Table, grouped, keyed, newest, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Results = dict[str, Callable[[Iterable[Record]], Table]]


BY_WINDOW, BY_TIME, EARLIER, BLOBS, OLDEST = "by-window", "by-time", "earlier", "blobs", "oldest"
COMMITS = {BY_WINDOW: "5836cbe", BY_TIME: "0eec5d8", EARLIER: "a14547e", BLOBS: "9a60c35", OLDEST: "a2ff691"}
"""Commits that begin jobs which this code goes on with, or go on with its jobs. One kept a row of HOP in a chain once a
window, and each row of a window's join for itself. One took the rows of a batch by their
time for sessions in a chain. The two oldest ones keep a group in one piece (``retract_*``); the oldest has other plans
than this one."""


@dataclass(frozen=True)
class Shape:
    """A job. ``results``: for each sink topic what its query gives over all of some records.

    ``raised``: partitions that its sources have before the later records come; ``by``: the earlier commit that began
    it, "" for this one's code.
    """

    name: str
    script: str
    before: Records
    after: Records
    results: Results
    raised: int = 1
    by: str = ""

    @property
    def sources(self) -> set[str]:
        """The topics that it reads, or may read once it is edited."""
        return {r.topic for r in self.before + self.after}


def order(id_: int, cust: str, region: str, price: int) -> Record:
    return Record("orders", {"id": id_, "cust": cust, "region": region, "price": price}, {"id": id_})


def customer(cust: str, name: str) -> Record:
    return Record("customers", {"cust": cust, "name": name}, {"cust": cust})


def visit(usr: str, page: str, second: int, partition: int = 0) -> Record:
    return Record("visits", {"usr": usr, "page": page, "ts": _at(second)}, partition=partition)


def _at(second: int) -> str:
    return f"2026-01-02 {10 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


ORDERS = (
    order(1, "c1", "north", 10), order(2, "c2", "north", 20), order(3, "c1", "south", 5), order(4, "c3", "east", 7),
    order(5, "c2", "west", 3), order(6, "c1", "south", 8),
)  # fmt: skip
# the maximum of north is taken back, south gets one, west is left empty, nothing touches east
LATER = (
    Record("orders", None, {"id": 2}), order(3, "c1", "south", 50), order(7, "c3", "north", 15),
    order(5, "c2", "south", 3),
)  # fmt: skip
CUSTOMERS = (customer("c1", "Ann"), customer("c2", "Bob"))
RENAMED = (customer("c1", "Anna"), customer("c3", "Cid"), Record("customers", None, {"cust": "c2"}))
AGAIN = (visit("u7", "home", 61), visit("u7", "jobs", 62), visit("u3", "news", 63))
VISITS = (
    visit("u1", "home", 1), visit("u2", "home", 3), visit("u1", "home", 4), visit("u3", "help", 12),
    visit("u1", "help", 14), visit("u4", "jobs", 18),
)  # fmt: skip
RETURNS = (
    visit("u2", "home", 23), visit("u5", "home", 24), visit("u3", "help", 27), visit("bot", "help", 29),
    visit("u6", "news", 41), visit("bot", "home", 45),
)  # fmt: skip

UPSERT = (
    "'connector' = 'upsert-kafka', 'topic' = '${{P}}{0}', 'properties.bootstrap.servers' = '${{SERVERS}}',"
    " 'key.format' = 'json', 'value.format' = 'json'"
)
ORDERS_DDL = (
    "CREATE TABLE orders (id INT, cust STRING, region STRING, price INT, PRIMARY KEY (id) NOT ENFORCED)"
    f" WITH ({UPSERT.format('orders')});\n"
)
CUSTOMERS_DDL = (
    "CREATE TABLE customers (cust STRING, name STRING, PRIMARY KEY (cust) NOT ENFORCED)"
    f" WITH ({UPSERT.format('customers')});\n"
)
VISITS_DDL = (
    "CREATE TABLE visits (usr STRING, page STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH"
    " ('connector' = 'kafka', 'topic' = '${P}visits', 'properties.bootstrap.servers' = '${SERVERS}',"
    " 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');\n"
)
PLAIN_VISITS_DDL = VISITS_DDL.replace(", WATERMARK FOR ts AS ts - INTERVAL '5' SECOND", "")
BOUNDED = "'value.format' = 'json', 'scan.bounded.mode' = 'latest-offset'"


def sink(name: str, columns: str, key: str) -> str:
    """Return the DDL of an upsert topic of that name."""
    return f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({key}) NOT ENFORCED) WITH ({UPSERT.format(name)});\n"


def named(name: str) -> str:
    return f"SET 'pipeline.name' = '{name}';\n"


TOTALS_SINK = sink("totals", "region STRING, n BIGINT, total INT", "region")
TOTALS_INSERT = "INSERT INTO totals SELECT region, COUNT(*), SUM(price) FROM orders GROUP BY region;\n"
VISITORS_SINK = sink("visitors", "page STRING, n BIGINT, users BIGINT", "page")
VISITORS_INSERT = "INSERT INTO visitors SELECT page, COUNT(*), COUNT(DISTINCT usr) FROM visits GROUP BY page;\n"


def totals(records: Iterable[Record]) -> Table:
    groups = grouped(newest(records, "orders"), "region")
    out = [{"region": k, "n": len(v), "total": sum(r["price"] for r in v)} for k, v in groups.items()]
    return keyed(out, "region")


def maxima(records: Iterable[Record]) -> Table:
    groups = grouped(newest(records, "orders"), "region")
    return keyed([{"region": k, "top": max(r["price"] for r in v)} for k, v in groups.items()], "region")


def visitors(records: Iterable[Record]) -> Table:
    groups = grouped(rows(records, "visits"), "page")
    out = [{"page": k, "n": len(v), "users": len({r["usr"] for r in v})} for k, v in groups.items()]
    return keyed(out, "page")


def forgotten(records: Iterable[Record]) -> Table:
    """Return the pages of later visits where those that the second start has touched are forgotten, and no others."""
    touched = {r.row["page"] for r in RETURNS if r.row is not None}
    later = list(records)
    kept = [r for r in (*VISITS, *RETURNS) if r.row is not None and r.row["page"] not in touched]
    seen = {r.row["page"] for r in later if r.row is not None}
    return {key: row for key, row in visitors((*kept, *later)).items() if key[0] in seen}


def _joined(records: Iterable[Record], left: bool) -> Table:
    records = list(records)
    names = {r["cust"]: r["name"] for r in newest(records, "customers")}
    found = [r for r in newest(records, "orders") if left or r["cust"] in names]
    return keyed([{"id": r["id"], "price": r["price"], "name": names.get(r["cust"])} for r in found], "id")


def joined(records: Iterable[Record]) -> Table:
    return _joined(records, left=False)


def left_joined(records: Iterable[Record]) -> Table:
    return _joined(records, left=True)


def standing(records: Iterable[Record]) -> Table:
    """Of the orders that pass, the one of each customer that came, or changed, last."""
    orders: dict[Any, Row] = {}
    for r in (r for r in records if r.topic == "orders" and r.key is not None):
        orders.pop(r.key["id"], None)
        orders |= {r.key["id"]: r.row} if r.row is not None else {}
    passed = [{"cust": r["cust"], "price": r["price"]} for r in orders.values() if r["price"] > 5]
    return keyed(passed, "cust")


def top2(records: Iterable[Record]) -> Table:
    out: list[Row] = []
    for region, group in grouped(newest(records, "orders"), "region").items():
        first = sorted(group, key=lambda r: -r["price"])[:2]
        out += [{"region": region, "rn": i + 1, "id": r["id"], "price": r["price"]} for i, r in enumerate(first)]
    return keyed(out, "region", "rn")


def latest(records: Iterable[Record]) -> Table:
    groups = grouped(rows(records, "visits"), "usr")
    return keyed([max(v, key=lambda r: str(r["ts"])) for v in groups.values()], "usr")


def best(records: Iterable[Record]) -> Table:
    groups = grouped(newest(records, "orders"), "cust")
    sums = {k: sum(r["price"] for r in v) for k, v in groups.items()}
    top = max(sums.values(), default=None)
    return keyed([{"cust": k, "total": v} for k, v in sums.items() if v == top], "cust")


def sums(records: Iterable[Record]) -> Table:
    totals: dict[tuple[str, str], int] = {}
    for row in newest(records, "orders"):
        at = (row["region"], row["cust"])
        totals[at] = totals.get(at, 0) + row["price"]
    return keyed([{"region": r, "cust": c, "total": t} for (r, c), t in totals.items()], "region", "cust")


def changed_sums(records: Iterable[Record]) -> Table:
    """Return the sums that are not as they were after the first records: a sink that comes later gets those alone."""
    before = sums(ORDERS)
    return {key: row for key, row in sums(records).items() if before.get(key) != row}


def highest(records: Iterable[Record]) -> Table:
    groups = grouped(sums(records).values(), "region")
    return keyed([{"region": k, "top": max(r["total"] for r in v)} for k, v in groups.items()], "region")


def places(records: Iterable[Record]) -> Table:
    out: list[Row] = []
    for region, group in grouped(sums(records).values(), "region").items():
        first = sorted(group, key=lambda r: -r["total"])[:2]
        out += [{"region": region, "rn": i + 1, "total": r["total"]} for i, r in enumerate(first)]
    return keyed(out, "region", "rn")


def busiest(records: Iterable[Record]) -> Table:
    """Return of each user how often the page was seen that they saw most."""
    counts: dict[tuple[str, str], int] = {}
    for row in rows(records, "visits"):
        counts[row["usr"], row["page"]] = counts.get((row["usr"], row["page"]), 0) + 1
    users = {usr for usr, _ in counts}
    return keyed([{"usr": u, "n": max(n for (usr, _), n in counts.items() if usr == u)} for u in users], "usr")


def sessions(records: Iterable[Record], delay: int = 5, gap: int = 5) -> Table:
    """Return the sessions of a user that a watermark of that delay has closed (no record here is late)."""
    visits = rows(records, "visits")
    watermark = max(map(_second, visits), default=0) - delay
    found: list[tuple[str, list[int]]] = []
    for usr, group in grouped(visits, "usr").items():
        for second in sorted(map(_second, group)):
            if found and found[-1][0] == usr and second - found[-1][1][-1] <= gap:
                found[-1][1].append(second)
            else:
                found.append((usr, [second]))
    out = [{"start": _at(s[0]), "usr": usr, "n": len(s)} for usr, s in found if s[-1] + gap <= watermark]
    return keyed(out, "start", "usr")


def _second(row: dict[str, Any]) -> int:
    minute, second = row["ts"][14:16], row["ts"][17:19]
    return int(minute) * 60 + int(second)


def closed(records: Iterable[Record], delay: int = 5, size: int = 10, slide: int = 10) -> Table:
    """Return the windows of so many seconds that a watermark of that delay has closed (no record here is late)."""
    visits = rows(records, "visits")
    watermark = max(map(_second, visits), default=0) - delay
    counts: dict[tuple[int, str], int] = {}
    for row in visits:
        last = _second(row) // slide * slide
        for start in range(last, last - size, -slide):
            at = (start, row["page"])
            counts[at] = counts.get(at, 0) + 1
    # a window holds what lies below its end: the watermark has to be at its last millisecond
    done = {k: n for k, n in counts.items() if k[0] + size <= watermark}
    out = [{"start": _at(s), "page": p, "n": n} for (s, p), n in done.items()]
    return keyed(out, "start", "page")


def hops(records: Iterable[Record], delay: int = 5) -> Table:
    """Return the windows of ten seconds, one each five, that a watermark of that delay has closed."""
    return closed(records, delay, slide=5)


def meetings(records: Iterable[Record]) -> Table:
    """Return who was on a page in the same ten seconds, once a watermark of five seconds' delay has closed them."""
    visits = rows(records, "visits")
    watermark = max(map(_second, visits), default=0) - 5
    done = [(_second(row) // 10 * 10, row) for row in visits if _second(row) // 10 * 10 + 10 <= watermark]
    pairs = [(s, one, two) for s, one in done for t, two in done if s == t and one["page"] == two["page"]]
    out = [{"start": _at(s), "one": a["usr"], "two": b["usr"]} for s, a, b in pairs if a["usr"] < b["usr"]]
    return keyed(out, "start", "one", "two")


TOTALS = Shape(
    "totals",
    named("shop") + ORDERS_DDL + TOTALS_SINK + TOTALS_INSERT,
    ORDERS, LATER, {"totals": totals},
)  # fmt: skip
MAXIMA = Shape(
    "maxima",
    "SET 'execution.runtime-mode' = 'streaming';\n"
    + ORDERS_DDL.replace("'value.format' = 'json'", BOUNDED)
    + sink("maxima", "region STRING, top INT", "region")
    + "INSERT INTO maxima SELECT region, MAX(price) FROM orders GROUP BY region;\n",
    ORDERS, LATER, {"maxima": maxima},
)  # fmt: skip
VISITORS = Shape(
    "visitors",
    named("site") + PLAIN_VISITS_DDL + VISITORS_SINK + VISITORS_INSERT,
    VISITS, RETURNS, {"visitors": visitors},
)  # fmt: skip
AGEING = Shape(
    "ageing",
    named("site") + "SET 'table.exec.state.ttl' = '1 h';\n" + PLAIN_VISITS_DDL + VISITORS_SINK + VISITORS_INSERT,
    VISITS, RETURNS, {"visitors": visitors},
)  # fmt: skip
JOINED = Shape(
    "joined",
    named("names") + ORDERS_DDL + CUSTOMERS_DDL + sink("joined", "id INT, price INT, name STRING", "id")
    + "INSERT INTO joined SELECT o.id, o.price, c.name FROM orders o JOIN customers c ON o.cust = c.cust;\n",
    ORDERS + CUSTOMERS, LATER + RENAMED, {"joined": joined},
)  # fmt: skip
LEFT = Shape(
    "left",
    JOINED.script.replace("orders o JOIN", "orders o LEFT JOIN"),
    ORDERS + CUSTOMERS, LATER + RENAMED, {"joined": left_joined},
)  # fmt: skip
TOP2 = Shape(
    "top2",
    named("ranks") + ORDERS_DDL + sink("top2", "region STRING, rn BIGINT, id INT, price INT", "region, rn")
    + "INSERT INTO top2 SELECT region, rn, id, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY region"
    " ORDER BY price DESC) AS rn FROM orders) WHERE rn <= 2;\n",
    ORDERS, LATER, {"top2": top2},
)  # fmt: skip
STANDING = Shape(
    "standing",
    named("last") + ORDERS_DDL + sink("standing", "cust STRING, price INT", "cust")
    + "INSERT INTO standing SELECT cust, price FROM orders WHERE price > 5;\n",
    ORDERS, LATER, {"standing": standing},
)  # fmt: skip
LATEST = Shape(
    "latest",
    named("seen") + VISITS_DDL + sink("latest", "usr STRING, page STRING, ts TIMESTAMP(3)", "usr")
    + "INSERT INTO latest SELECT usr, page, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr"
    " ORDER BY ts DESC) AS rn FROM visits) WHERE rn = 1;\n",
    VISITS, RETURNS, {"latest": latest},
)  # fmt: skip
PAIR = Shape(
    "pair",
    named("both") + ORDERS_DDL + PLAIN_VISITS_DDL + TOTALS_SINK + VISITORS_SINK
    + "EXECUTE STATEMENT SET BEGIN\n" + TOTALS_INSERT + VISITORS_INSERT + "END;\n",
    ORDERS + VISITS, LATER + RETURNS, {"totals": totals, "visitors": visitors},
)  # fmt: skip
WINDOWS = Shape(
    "windows",
    named("tumbling") + VISITS_DDL + sink("windows", "`start` TIMESTAMP(3), page STRING, n BIGINT", "`start`, page")
    + "INSERT INTO windows SELECT window_start, page, COUNT(*) FROM TABLE(TUMBLE(TABLE visits, DESCRIPTOR(ts),"
    " INTERVAL '10' SECOND)) GROUP BY window_start, window_end, page;\n",
    VISITS, RETURNS, {"windows": closed},
)  # fmt: skip
HOPS = Shape(
    "hops",
    named("hopping") + "SET 'flinkddl.execution.state' = 'chain';\n" + VISITS_DDL
    + sink("hops", "`start` TIMESTAMP(3), page STRING, n BIGINT", "`start`, page")
    + "INSERT INTO hops SELECT window_start, page, COUNT(*) FROM TABLE(HOP(TABLE visits, DESCRIPTOR(ts),"
    " INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end, page;\n",
    VISITS, RETURNS, {"hops": hops},
)  # fmt: skip
_IN_TENS = "(SELECT * FROM TABLE(TUMBLE(TABLE visits, DESCRIPTOR(ts), INTERVAL '10' SECOND)))"
MEETINGS = Shape(
    "meetings",
    named("meeting") + "SET 'flinkddl.execution.state' = 'chain';\n" + VISITS_DDL
    + sink("meetings", "`start` TIMESTAMP(3), one STRING, two STRING", "`start`, one, two")
    + f"INSERT INTO meetings SELECT a.window_start, a.usr, b.usr FROM {_IN_TENS} a JOIN {_IN_TENS} b"
    " ON a.window_start = b.window_start AND a.window_end = b.window_end AND a.page = b.page WHERE a.usr < b.usr;\n",
    (*VISITS, visit("u5", "help", 19), visit("u2", "jobs", 21)),
    (visit("u1", "jobs", 22), visit("u6", "help", 23), visit("u3", "jobs", 29), visit("u6", "jobs", 45)),
    {"meetings": meetings},
)  # fmt: skip
SESSIONS = Shape(
    "sessions",
    named("sessions") + "SET 'flinkddl.execution.state' = 'chain';\n" + VISITS_DDL
    + sink("sessions", "`start` TIMESTAMP(3), usr STRING, n BIGINT", "`start`, usr")
    + "INSERT INTO sessions SELECT window_start, usr, COUNT(*) FROM TABLE(SESSION(TABLE visits PARTITION BY usr,"
    " DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end, usr;\n",
    VISITS, RETURNS, {"sessions": sessions},
)  # fmt: skip
BEST = Shape(
    "best",
    named("best") + ORDERS_DDL + sink("best", "cust STRING, total INT", "cust")
    + "CREATE VIEW sums AS SELECT cust, SUM(price) AS total FROM orders GROUP BY cust;\n"
    "INSERT INTO best SELECT s.cust, s.total FROM sums s JOIN (SELECT MAX(total) AS top FROM sums) m"
    " ON s.total = m.top;\n",
    ORDERS, LATER, {"best": best},
)  # fmt: skip
SUMS_DDL = (
    named("sums") + ORDERS_DDL + sink("sums", "region STRING, cust STRING, total INT", "region, cust")
    + sink("highest", "region STRING, top INT", "region")
    + sink("places", "region STRING, rn BIGINT, total INT", "region, rn")
    + "CREATE VIEW x AS SELECT region, cust, SUM(price) AS total FROM orders GROUP BY region, cust;\n"
)  # fmt: skip
SUMS_INSERT = "INSERT INTO sums SELECT * FROM x;\n"
HIGHEST_INSERT = "INSERT INTO highest SELECT region, MAX(total) FROM x GROUP BY region;\n"
PLACES_INSERT = (
    "INSERT INTO places SELECT region, rn, total FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY region"
    " ORDER BY total DESC) AS rn FROM x) WHERE rn <= 2;\n"
)
SUMS = Shape("sums", SUMS_DDL + SUMS_INSERT, ORDERS, LATER, {"sums": sums})
HIGHEST = Shape("highest", SUMS_DDL + HIGHEST_INSERT, ORDERS, LATER, {"highest": highest})
BUSIEST_INSERT = (
    "INSERT INTO busiest SELECT usr, MAX(n) FROM (SELECT usr, page, COUNT(*) AS n FROM visits GROUP BY usr, page)"
    " GROUP BY usr;\n"
)
UNITED = Shape(
    "united",
    named("united") + PLAIN_VISITS_DDL + VISITORS_SINK + sink("busiest", "usr STRING, n BIGINT", "usr")
    + "EXECUTE STATEMENT SET BEGIN\n" + VISITORS_INSERT + BUSIEST_INSERT + "END;\n",
    VISITS, RETURNS, {"visitors": visitors, "busiest": busiest},
)  # fmt: skip
BROKEN = replace(VISITORS, name="broken", after=(Record("visits", raw=b"{'no': json"), *RETURNS))
RAISED = replace(
    VISITORS, name="raised", raised=3,
    after=tuple(replace(r, partition=i % 3) for i, r in enumerate(RETURNS)),
)  # fmt: skip
PASSING = replace(VISITORS, name="passing")
OLDER = replace(BEST, name="older", by=EARLIER)
OLD_HOPS = replace(HOPS, name="old-hops", by=BY_WINDOW)
OLD_MEETINGS = replace(MEETINGS, name="old-meetings", by=BY_WINDOW)
OLD_SESSIONS = replace(SESSIONS, name="old-sessions", by=BY_TIME)


def _ending(shape: Shape, name: str, by: str) -> Shape:
    """Return a job whose topics end where they end at its start: an older ``run`` has no ``--until-read``."""
    ends = "SET 'execution.runtime-mode' = 'streaming';\n" + shape.script.replace("'value.format' = 'json'", BOUNDED, 1)
    return replace(shape, name=name, script=ends, by=by)


BLOB_TOTALS = replace(TOTALS, name="blob-totals", by=BLOBS)
BLOB_TOP2 = replace(TOP2, name="blob-top2", by=BLOBS)
OLD_TOTALS = _ending(TOTALS, "old-totals", OLDEST)
OLD_TOP2 = _ending(TOP2, "old-top2", OLDEST)
ENDING_TOP2 = _ending(TOP2, "ending-top2", "")
