"""The edits, thought out from README alone: what changes in a script, and what a start over its checkpoint must say.

What a start says is asked for by pieces of its text: the fates of the queries (``kept: totals``), the code, both texts
of a refusal. Nothing here was written with flinkddl's code at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.upgrades import shapes as s

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.upgrades.shapes import Results, Shape
    from tests.upgrades.tables import Record, Row

Change = tuple[str, str]


@dataclass(frozen=True)
class Answer:
    """The exit code of the second start and pieces of what it says; ``silent``: of its checkpoint it says nothing."""

    exit: int
    pieces: tuple[str, ...] = ()
    silent: bool = False

    @property
    def refused(self) -> bool:
        return self.exit != 0


def kept(*queries: str) -> Answer:
    return Answer(0, tuple(f"kept: {q}" for q in queries))


SILENT = Answer(0, silent=True)
"""The answer to an edit that leaves the plan as it is: it goes on without a word."""


def refused(*pieces: str, code: str = "FD820") -> Answer:
    return Answer(3, (code, *pieces))


def _same(row: Row) -> Row | None:
    return row


def _any(record: Record) -> bool:
    return True


@dataclass(frozen=True)
class Edit:
    """One edit of a shape's script, and the recount of its sinks.

    ``shows`` is the new script's filter and projection above its state, ``counts`` its filter below; ``gives`` takes
    the place of the shape's results where the edit changes them. ``elsewhere``: where the edited script writes a sink;
    ``new``: sinks that it adds, whose INSERT begins where its tables say; ``gone``: sinks without an INSERT now.
    ``fails``: the code with which the unedited script ends over the later records. ``by``: the earlier commit that it
    is gone on with. ``later``: records that come ``waits`` seconds after the second start has ended, for a third one of
    the edited script, which gives ``again`` over them. ``finding``: what README promises and ``answer``, which is what
    happens, does not keep.
    """

    name: str
    shape: Shape
    changes: tuple[Change, ...]
    answer: Answer
    shows: Callable[[Row], Row | None] = _same
    counts: Callable[[Record], bool] = _any
    gives: Results = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    new: Results = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    fails: str = ""
    by: str = ""
    later: tuple[Record, ...] = ()
    again: Results = field(default_factory=dict)
    waits: float = 2.0
    finding: str = ""

    @property
    def script(self) -> str:
        """The script after the edit. Raises ValueError where the edit finds nothing to change."""
        text = self.shape.script
        for old, new in self.changes:
            if old not in text:
                raise ValueError(f"{self.name}: {old!r} is not in the script of {self.shape.name}")
            text = text.replace(old, new)
        return text


def _first(text: str) -> Change:
    """Return a change that puts a text before the script's first table."""
    return ("CREATE TABLE orders", text + "CREATE TABLE orders")


def _human(record: Record) -> bool:
    return record.row is not None and record.row["usr"] != "bot"


TOTALS = (
    Edit("where-over-updates", s.TOTALS, (("FROM orders", "FROM orders WHERE price > 5"),),
         refused("refused: totals", "the filter '(price > 5)' below 'Aggregate(by=[region]")),
    Edit("key-changed", s.TOTALS, (
        ("region STRING, n BIGINT", "cust STRING, n BIGINT"), ("PRIMARY KEY (region)", "PRIMARY KEY (cust)"),
        ("SELECT region, COUNT", "SELECT cust, COUNT"), ("GROUP BY region", "GROUP BY cust"),
    ), refused("by=[region]", "by=[cust]")),
    Edit("aggregate-changed", s.TOTALS, (("SUM(price)", "MAX(price)"),), refused("SUM(price)", "MAX(price)")),
    Edit("aggregate-added", s.TOTALS, (
        ("total INT", "total INT, least INT"), ("SUM(price)", "SUM(price), MIN(price)"),
    ), refused("SUM(price))", "MIN(price)")),
    Edit("type-changed", s.TOTALS, (("price INT", "price BIGINT"), ("total INT", "total BIGINT")),
         refused("refused: totals", "(price INT) and has (price BIGINT)")),
    Edit("other-source-topic", s.TOTALS, (("${P}orders", "${P}other_orders"),), refused("-orders'", "-other_orders'")),
    Edit("other-source-format", s.TOTALS, (
        ("'topic' = '${P}orders', 'properties.bootstrap.servers' = '${SERVERS}', 'key.format' = 'json',"
         " 'value.format' = 'json'",
         "'topic' = '${P}orders', 'properties.bootstrap.servers' = '${SERVERS}', 'key.format' = 'json',"
         " 'value.format' = 'csv'"),
    ), refused("json", "csv")),
    Edit("state-form-changed", s.TOTALS, (_first("SET 'flinkddl.execution.state' = 'aggregate';\n"),),
         refused("flinkddl.execution.state", code="FD887")),
    Edit("operator-more", s.TOTALS, (
        ("FROM orders GROUP BY region", "FROM (SELECT DISTINCT region, price FROM orders) GROUP BY region"),
    ), refused("totals")),
    Edit("job-renamed-without-a-word", s.TOTALS, (("= 'shop'", "= 'store'"),),
         refused("shop", "store", "--continue-job shop", code="FD825")),
    Edit("job-renamed-from-another", s.TOTALS, (("= 'shop'", "= 'store'"),), Answer(1, ("FD529", "'shops'", "'shop'")),
         flags=("--continue-job", "shops")),
    Edit("job-renamed-and-key-changed", s.TOTALS, (
        ("= 'shop'", "= 'store'"),
        ("region STRING, n BIGINT", "cust STRING, n BIGINT"), ("PRIMARY KEY (region)", "PRIMARY KEY (cust)"),
        ("SELECT region, COUNT", "SELECT cust, COUNT"), ("GROUP BY region", "GROUP BY cust"),
    ), refused("by=[region]", "by=[cust]"), flags=("--continue-job", "shop")),
    Edit("job-renamed", s.TOTALS, (("= 'shop'", "= 'store'"),), Answer(0, ("kept: totals", "(was job shop)")),
         flags=("--continue-job", "shop")),
    Edit("job-renamed-and-having-added", s.TOTALS, (
        ("= 'shop'", "= 'store'"), ("GROUP BY region", "GROUP BY region HAVING COUNT(*) > 1"),
    ), Answer(0, ("kept: totals", "(was job shop)")), shows=lambda r: r if r["n"] > 1 else None,
        flags=("--continue-job", "shop")),
    Edit("having-added", s.TOTALS, (("GROUP BY region", "GROUP BY region HAVING COUNT(*) > 1"),), kept("totals"),
         shows=lambda r: r if r["n"] > 1 else None),
    Edit("output-column-added", s.TOTALS, (
        ("total INT", "total INT, mean DOUBLE"), ("SUM(price)", "SUM(price), SUM(price) / CAST(COUNT(*) AS DOUBLE)"),
    ), kept("totals"), shows=lambda r: r | {"mean": r["total"] / r["n"]}),
    Edit("having-on-key", s.TOTALS, (("GROUP BY region", "GROUP BY region HAVING region <> 'south'"),),
         kept("totals"), shows=lambda r: r if r["region"] != "south" else None),
    Edit("insert-moved-into-set", s.TOTALS, (
        ("INSERT INTO", s.sink("maxima", "region STRING, top INT", "region") + "EXECUTE STATEMENT SET BEGIN\n"
         "INSERT INTO maxima SELECT region, MAX(price) FROM orders GROUP BY region;\nINSERT INTO"),
        ("GROUP BY region;\n", "GROUP BY region;\nEND;\n"), ("region;\nEND;\nINSERT", "region;\nINSERT"),
    ), Answer(0, ("kept: totals", "new: maxima")), new={"maxima": s.maxima}),
    Edit("sink-renamed", s.TOTALS, (("TABLE totals", "TABLE regions"), ("INTO totals", "INTO regions")),
         kept("regions")),
    Edit("sink-topic", s.TOTALS, (("${P}totals", "${P}totals_2"),), kept("totals"),
         elsewhere={"totals": "totals_2"}),
    Edit("source-renamed", s.TOTALS, (("TABLE orders", "TABLE purchases"), ("FROM orders", "FROM purchases")),
         kept("totals")),
    Edit("view-between", s.TOTALS, (
        ("INSERT INTO", "CREATE VIEW bought AS SELECT id, price, region FROM orders;\nINSERT INTO"),
        ("FROM orders GROUP", "FROM bought GROUP"),
    ), SILENT),
    Edit("client-option", s.TOTALS, (
        ("'topic' = '${P}orders'", "'topic' = '${P}orders', 'properties.max.poll.records' = '100'"),
    ), SILENT),
    Edit("ttl-added", s.TOTALS, (_first("SET 'table.exec.state.ttl' = '1 h';\n"),), SILENT),
    Edit("source-column-added", s.TOTALS, (("price INT", "price INT, note STRING"),), kept("totals")),
    Edit("four-edits-at-once", s.TOTALS, (
        ("TABLE orders", "TABLE purchases"), ("FROM orders", "FROM purchases"), ("${P}totals", "${P}totals_3"),
        ("GROUP BY region", "GROUP BY region HAVING SUM(price) < 50"), ("SUM(price) FROM", "-SUM(price) FROM"),
    ), kept("totals"), shows=lambda r: r | {"total": -r["total"]} if r["total"] < 50 else None,
        elsewhere={"totals": "totals_3"}),
)  # fmt: skip
_MAXIMA = "insert-into_default_catalog.default_database.maxima"
_MOVED = (
    ("INSERT INTO", s.TOTALS_SINK + "EXECUTE STATEMENT SET BEGIN\n" + s.TOTALS_INSERT + "INSERT INTO"),
    ("MAX(price) FROM orders GROUP BY region;\n", "MAX(price) FROM orders GROUP BY region;\nEND;\n"),
)
MAXIMA = (
    Edit("insert-moved-into-set-without-a-word", s.MAXIMA, _MOVED, refused("default_database.maxima", code="FD825")),
    Edit("insert-moved-into-set-without-job-name", s.MAXIMA, _MOVED,
         Answer(0, ("kept: maxima", f"(was job {_MAXIMA})", "new: totals")), new={"totals": s.totals},
         flags=("--continue-job", _MAXIMA)),
    Edit("sink-renamed-without-a-word", s.MAXIMA, (("TABLE maxima", "TABLE tops"), ("INTO maxima", "INTO tops")),
         refused("default_database.maxima", "default_database.tops", code="FD825")),
    Edit("sink-renamed-without-job-name", s.MAXIMA, (("TABLE maxima", "TABLE tops"), ("INTO maxima", "INTO tops")),
         Answer(0, ("kept: tops", f"(was job {_MAXIMA})")), flags=("--continue-job", _MAXIMA)),
    Edit("sink-renamed-under-old-name", s.MAXIMA, (
        ("TABLE maxima", "TABLE tops"), ("INTO maxima", "INTO tops"),
        _first(f"SET 'pipeline.name' = '{_MAXIMA}';\n"),
    ), kept("tops")),
    Edit("having-over-maximum", s.MAXIMA, (("GROUP BY region", "GROUP BY region HAVING MAX(price) < 20"),),
         kept("maxima"), shows=lambda r: r if r["top"] < 20 else None),
)  # fmt: skip
VISITORS = (
    Edit("distinct-taken-away", s.VISITORS, (("COUNT(DISTINCT usr)", "COUNT(usr)"),),
         refused("COUNT(DISTINCT usr)", "COUNT(usr)")),
    Edit("where-over-inserts", s.VISITORS, (("FROM visits", "FROM visits WHERE usr <> 'bot'"),), kept("visitors"),
         counts=_human),
    Edit("having-on-key-over-inserts", s.VISITORS, (("GROUP BY page", "GROUP BY page HAVING page <> 'help'"),),
         kept("visitors"), shows=lambda r: r if r["page"] != "help" else None),
    Edit("startup-mode-changed", s.VISITORS, (("'earliest-offset'", "'latest-offset'"),), SILENT),
    Edit("source-column-added-to-inserts", s.VISITORS, (("page STRING, ts", "page STRING, agent STRING, ts"),),
         kept("visitors")),
    Edit("source-column-taken-away", s.VISITORS, ((", ts TIMESTAMP(3))", ")"),),
         Answer(0, ("operator 'Scan'", "kept: visitors"))),
    Edit("ignore-errors-after-poison", s.BROKEN, (
        ("'format' = 'json'", "'format' = 'json', 'json.ignore-parse-errors' = 'true'"),
    ), kept("visitors"), fails="FD750"),
    Edit("partitions-raised", s.RAISED, (("page, COUNT(*), COUNT", "page, COUNT(*) + 0, COUNT"),), kept("visitors")),
    Edit("ttl-added-that-runs-out", s.PASSING, (
        ("CREATE TABLE visits", "SET 'table.exec.state.ttl' = '1 s';\nCREATE TABLE visits"),
    ), SILENT, later=s.AGAIN, again={"visitors": s.forgotten}),
    Edit("ttl-changed", s.AGEING, (("'1 h'", "'2 h'"),), SILENT),
    Edit("ttl-taken-away", s.AGEING, (("SET 'table.exec.state.ttl' = '1 h';\n", ""),), SILENT),
)  # fmt: skip
JOINS = (
    Edit("inner-to-left", s.JOINED, (("o JOIN", "o LEFT JOIN"),), refused("joined", "inner", "left")),
    Edit("join-condition-changed", s.JOINED, (
        ("o.cust = c.cust", "o.region = c.cust"),
    ), refused("joined", "cust", "region")),
    Edit("join-unread-column", s.JOINED, (
        ("name STRING, PRIMARY KEY (id)", "name STRING, region STRING, PRIMARY KEY (id)"),
        ("c.name FROM", "c.name, o.region FROM"),
    ), refused("joined", "region")),
    Edit("join-column-computed", s.JOINED, (("c.name FROM", "UPPER(c.name) FROM"),), kept("joined"),
         shows=lambda r: r | {"name": r["name"].upper()}),
    Edit("where-above-join", s.JOINED, (
        ("o.cust = c.cust", "o.cust = c.cust WHERE o.price + CHAR_LENGTH(c.name) > 13"),
    ), kept("joined"), shows=lambda r: r if r["price"] + len(r["name"]) > 13 else None),
    Edit("where-of-one-side-above-join", s.JOINED, (("o.cust = c.cust", "o.cust = c.cust WHERE o.price > 9"),),
         kept("joined"), shows=lambda r: r if r["price"] > 9 else None),
    Edit("column-unread-and-where-of-one-side", s.JOINED, (
        ("name STRING, PRIMARY KEY (cust)", "name STRING, city STRING, PRIMARY KEY (cust)"),
        ("o.cust = c.cust", "o.cust = c.cust WHERE c.name <> 'Anna' AND o.price > 9"),
    ), kept("joined"), shows=lambda r: r if r["price"] > 9 and r["name"] != "Anna" else None),
    Edit("where-of-one-side-not-kept", s.JOINED, (("o.cust = c.cust", "o.cust = c.cust WHERE o.region <> 'south'"),),
         refused("refused: joined", "the filter '(region <> 'south')' below 'Join(inner")),
    Edit("where-above-left", s.LEFT, (("o.cust = c.cust", "o.cust = c.cust WHERE o.price > 9"),), kept("joined"),
         shows=lambda r: r if r["price"] > 9 else None),
    Edit("left-to-inner", s.LEFT, (("o LEFT JOIN", "o JOIN"),), refused("joined", "left", "inner")),
    Edit("left-column-filled", s.LEFT, (("c.name FROM", "COALESCE(c.name, '?') FROM"),), kept("joined"),
         shows=lambda r: r | {"name": r["name"] or "?"}),
    Edit("left-sink-topic-and-client-option", s.LEFT, (
        ("${P}joined", "${P}joined_2"),
        ("'topic' = '${P}customers'", "'topic' = '${P}customers', 'properties.client.id' = 'mine'"),
    ), kept("joined"), elsewhere={"joined": "joined_2"}),
)  # fmt: skip
RANKS = (
    Edit("top-n-changed", s.TOP2, (("rn <= 2", "rn <= 3"),), refused("top2", "2", "3")),
    Edit("top-order-turned", s.TOP2, (("price DESC", "price ASC"),), refused("order=[price DESC]", "order=[price]")),
    Edit("top-column-computed", s.TOP2, (("id, price FROM (", "id, price * 100 FROM ("),), kept("top2"),
         shows=lambda r: r | {"price": r["price"] * 100}),
    Edit("top-where-on-key", s.TOP2, (("rn <= 2", "rn <= 2 AND region <> 'south'"),),
         kept("top2"), shows=lambda r: r if r["region"] != "south" else None),
    Edit("last-to-first", s.LATEST, (("ts DESC", "ts ASC"),), refused("latest", "last", "first")),
    Edit("where-above-newest", s.LATEST, (("rn = 1", "rn = 1 AND page <> 'help'"),), kept("latest"),
         shows=lambda r: r if r["page"] != "help" else None),
    Edit("delay-changed-above-newest", s.LATEST, (("'5' SECOND", "'7' SECOND"),), kept("latest")),
)  # fmt: skip
STANDING = (
    Edit("where-below-sink-that-keeps-rows", s.STANDING, (("price > 5", "price >= 5"),),
         refused("refused: standing", "the filter '(price > 5)' below 'Sink(", "is now '(price >= 5)'")),
    Edit("where-taken-away-below-sink-that-keeps-rows", s.STANDING, ((" WHERE price > 5", ""),),
         refused("refused: standing", "the filter '(price > 5)' below 'Sink(", "is gone")),
    Edit("topic-of-sink-that-keeps-rows", s.STANDING, (("${P}standing", "${P}standing_2"),), kept("standing"),
         elsewhere={"standing": "standing_2"}),
)  # fmt: skip
SETS = (
    Edit("insert-less", s.PAIR, ((s.VISITORS_INSERT, ""),), refused("--allow-dropped-state", "dropped: visitors")),
    Edit("insert-less-allowed", s.PAIR, ((s.VISITORS_INSERT, ""),), Answer(0, ("kept: totals", "dropped: visitors")),
         gone=("visitors",), flags=("--allow-dropped-state",)),
    Edit("insert-less-allowed-and-job-renamed", s.PAIR, (("= 'both'", "= 'one'"), (s.VISITORS_INSERT, "")),
         Answer(0, ("kept: totals", "(was job both)", "dropped: visitors")), gone=("visitors",),
         flags=("--allow-dropped-state", "--continue-job", "both")),
    Edit("insert-more", s.PAIR, (
        ("EXECUTE STATEMENT", s.sink("maxima", "region STRING, top INT", "region") + "EXECUTE STATEMENT"),
        ("BEGIN\n", "BEGIN\nINSERT INTO maxima SELECT region, MAX(price) FROM orders GROUP BY region;\n"),
    ), Answer(0, ("kept: totals", "visitors", "new: maxima")), new={"maxima": s.maxima}),
    Edit("inserts-in-other-order", s.PAIR, (
        (s.TOTALS_INSERT + s.VISITORS_INSERT, s.VISITORS_INSERT + s.TOTALS_INSERT),
    ), Answer(0, ("kept: ", "totals", "visitors"))),
)  # fmt: skip
WINDOWS = (
    Edit("window-size-changed", s.WINDOWS, (("'10' SECOND", "'20' SECOND"),), refused("windows", "10", "20")),
    Edit("watermark-delay-longer", s.WINDOWS, (("'5' SECOND", "'20' SECOND"),), kept("windows"),
         gives={"windows": lambda records: s.closed(records, delay=20)}),
    Edit("watermark-delay-shorter", s.WINDOWS, (("'5' SECOND", "'1' SECOND"),), kept("windows"),
         gives={"windows": lambda records: s.closed(records, delay=1)}),
)  # fmt: skip
HOPS = (
    Edit("hop-slide-changed", s.HOPS, (("(ts), INTERVAL '5'", "(ts), INTERVAL '2'"),), refused("hops", "5", "2")),
    Edit("hop-source-renamed", s.HOPS, (("TABLE visits", "TABLE seen"),), kept("hops")),
    Edit("hop-having-added", s.HOPS, (("window_end, page;", "window_end, page HAVING COUNT(*) > 1;"),), kept("hops"),
         shows=lambda r: r if r["n"] > 1 else None),
    Edit("hop-delay-longer", s.HOPS, (("ts - INTERVAL '5'", "ts - INTERVAL '20'"),), kept("hops"),
         gives={"hops": lambda records: s.hops(records, delay=20)}),
    Edit("hop-where-below", s.HOPS, (("TABLE(HOP(TABLE visits", "TABLE(HOP(TABLE people"), (
        "INSERT", "CREATE VIEW people AS SELECT * FROM visits WHERE usr <> 'bot';\nINSERT"),
    ), kept("hops"), counts=_human),
)  # fmt: skip
CHAINS = (
    Edit("chain-aggregate-changed", s.BEST, (("MAX(total)", "MIN(total)"),), refused("MAX(total)", "MIN(total)")),
    Edit("chain-where-above", s.BEST, (("= m.top", "= m.top WHERE s.total + m.top > 100"),),
         kept("best"), shows=lambda r: r if 2 * r["total"] > 100 else None),
    Edit("chain-column-computed", s.BEST, (("s.total FROM", "s.total + 1 FROM"),), kept("best"),
         shows=lambda r: r | {"total": r["total"] + 1}),
    Edit("chain-view-renamed", s.BEST, (("VIEW sums", "VIEW spent"), ("FROM sums", "FROM spent")), SILENT),
)  # fmt: skip
OPERATORS = (
    Edit("aggregate-above", s.SUMS, ((s.SUMS_INSERT, s.HIGHEST_INSERT),),
         Answer(0, ("kept: highest", "SUM(price)", "new: highest", "MAX(total)")), new={"highest": s.highest},
         gone=("sums",)),
    Edit("aggregate-above-and-job-renamed", s.SUMS, (("= 'sums'", "= 'tops'"), (s.SUMS_INSERT, s.HIGHEST_INSERT)),
         Answer(0, ("kept: highest", "SUM(price)", "(was job sums)", "new: highest")), new={"highest": s.highest},
         gone=("sums",), flags=("--continue-job", "sums")),
    Edit("top-n-above", s.SUMS, ((s.SUMS_INSERT, s.PLACES_INSERT),), Answer(0, ("kept: places", "new: places (Rank")),
         new={"places": s.places}, gone=("sums",)),
    Edit("aggregate-above-state-that-ages", s.SUMS, (
        _first("SET 'table.exec.state.ttl' = '1 h';\n"), (s.SUMS_INSERT, s.HIGHEST_INSERT),
    ), Answer(1, ("FD679", "MAX(total)"))),
    Edit("aggregate-gone", s.HIGHEST, ((s.HIGHEST_INSERT, s.SUMS_INSERT),),
         refused("--allow-dropped-state", "dropped: highest", "MAX(total)")),
    Edit("aggregate-gone-allowed", s.HIGHEST, ((s.HIGHEST_INSERT, s.SUMS_INSERT),),
         Answer(0, ("kept: sums", "dropped: highest (Aggregate(by=[region], MAX(total)))")),
         new={"sums": s.changed_sums}, gone=("highest",), flags=("--allow-dropped-state",)),
    Edit("united-insert-less", s.UNITED, ((s.BUSIEST_INSERT, ""),),
         refused("--allow-dropped-state", "dropped: visits-read-once")),
    Edit("united-insert-less-allowed", s.UNITED, ((s.BUSIEST_INSERT, ""),),
         Answer(0, ("kept: visits-read-once (Aggregate(by=[page]", "dropped: visits-read-once")), gone=("busiest",),
         flags=("--allow-dropped-state",)),
    Edit("united-other-insert-less-allowed", s.UNITED, ((s.VISITORS_INSERT, ""),),
         Answer(0, ("kept: visits-read-once", "dropped: visits-read-once (Aggregate(by=[page]")), gone=("visitors",),
         flags=("--allow-dropped-state",)),
)  # fmt: skip
COMMITS = (
    Edit("begun-earlier", s.OLDER, (), Answer(0, ())),
    Edit("begun-earlier-and-edited", s.OLDER, (("s.total FROM", "s.total + 1 FROM"),), kept("best"),
         shows=lambda r: r | {"total": r["total"] + 1}),
    Edit("narrow-rows-gone-on-with-earlier", s.BEST, (), refused("what 'Project(cust, price)' keeps"), by=s.EARLIER),
    Edit("narrow-rows-gone-on-with", s.BEST, (("s.total FROM", "s.total + 1 FROM"),), kept("best"),
         shows=lambda r: r | {"total": r["total"] + 1}),
    Edit("hops-begun-by-window", s.OLD_HOPS, (), SILENT, later=s.AGAIN,
         again={"hops": lambda later: s.hops((*s.VISITS, *s.RETURNS, *later))}),
    Edit("hops-begun-by-window-and-edited", s.OLD_HOPS, (
        ("window_end, page;", "window_end, page HAVING COUNT(*) > 1;"),
    ), kept("hops"), shows=lambda r: r if r["n"] > 1 else None),
    Edit("hops-gone-on-with-by-window", s.HOPS, (), refused("of slices of 5000 ms"), by=s.BY_WINDOW),
    Edit("meetings-begun-by-window", s.OLD_MEETINGS, (), SILENT, later=s.AGAIN,
         again={"meetings": lambda later: s.meetings((*s.MEETINGS.before, *s.MEETINGS.after, *later))}),
    Edit("meetings-gone-on-with-by-window", s.MEETINGS, (), refused(code="FD528"), by=s.BY_WINDOW),
    Edit("sessions-begun-by-time", s.OLD_SESSIONS, (), SILENT),
    Edit("sessions-gone-on-with-by-time", s.SESSIONS, (), SILENT, by=s.BY_TIME),
    Edit("totals-begun-in-blobs", s.BLOB_TOTALS, (), Answer(0, ())),
    Edit("totals-begun-in-blobs-and-edited", s.BLOB_TOTALS, (
        ("GROUP BY region", "GROUP BY region HAVING COUNT(*) > 1"),
    ), kept("totals"), shows=lambda r: r if r["n"] > 1 else None),
    Edit("top-n-begun-in-blobs", s.BLOB_TOP2, (), Answer(0, ())),
    Edit("top-n-gone-on-with-blobs", s.ENDING_TOP2, (), refused(code="FD887"), by=s.BLOBS),
    Edit("totals-begun-with-oldest", s.OLD_TOTALS, (), refused("'Scan'")),
    Edit("top-n-begun-with-oldest", s.OLD_TOP2, (), refused("'Rank'")),
    Edit("top-n-gone-on-with-oldest", s.ENDING_TOP2, (), refused(), by=s.OLDEST),
)  # fmt: skip
EDITS = TOTALS + MAXIMA + VISITORS + JOINS + RANKS + STANDING + SETS + WINDOWS + HOPS + CHAINS + OPERATORS + COMMITS
