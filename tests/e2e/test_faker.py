"""faker tables: the recipes of Flink's SQL cookbook in shape, every type, lookups, rows that stay the same."""

from __future__ import annotations

import re
import time
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.oracle.record_faker import kept

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.results import Rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

BATCH = "SET 'execution.runtime-mode' = 'batch';\n"
BROWSERS = re.compile(r"(Mozilla|Opera)/.*")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def catalog(spark: SparkSession) -> Catalog:
    return Catalog(spark, views=False)


def table(name: str, columns: str, expressions: dict[str, str], rows: int | None = 60, **options: str) -> str:
    """A faker table: ``expressions`` by the path of their column, other options with ``__`` for a full stop."""
    given = {"connector": "faker", **{f"fields.{path}.expression": text for path, text in expressions.items()}}
    given |= {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    given |= {} if rows is None else {"number-of-rows": str(rows)}
    texts = ",\n  ".join("'{}' = '{}'".format(k, v.replace("'", "''")) for k, v in given.items())
    return f"CREATE TEMPORARY TABLE {name} ({columns}) WITH (\n  {texts});\n"


def recent(value: datetime, most: float, least: float = 0) -> bool:
    """Whether a time lies so many seconds back; the query itself took at most a few minutes."""
    age = (datetime.now(UTC).replace(tzinfo=None) - value).total_seconds()
    return least <= age < most + 300


# ---- the cookbook --------------------------------------------------------------------------------------------------

STATUS = "#{regexify '(200|201|204|404|500){1}'}"
LOGS = table(
    "logs",
    "ip STRING, who STRING, ts TIMESTAMP(3), asked STRING, status STRING, size_ INT, agent STRING,"
    " WATERMARK FOR ts AS ts - INTERVAL '30' SECOND",
    {
        "ip": "#{Internet.publicIpV4Address}",
        "who": "-",
        "ts": "#{date.past '15','5','SECONDS'}",
        "asked": "#{regexify '(GET|POST|PUT){1}'} #{regexify '(/a\\.html|/b\\.html){1}'} HTTP/1.1",
        "status": STATUS,
        "size_": "#{number.numberBetween '100','10000000'}",
        "agent": "#{Internet.userAgentAny}",
    },
)
SPELLS = table(
    "spells",
    "wizard STRING, spell STRING, ids ARRAY<STRING>",
    {
        "wizard": "#{regexify '(Harry|Ron|Hermione)'}",
        "spell": "#{harry_potter.spells}",
        "ids": "#{Internet.uuid}",
    },
    fields__ids__length="3",
)
ORDERS = table(
    "orders",
    "id INT, state STRING, ts TIMESTAMP(3), total DOUBLE, WATERMARK FOR ts AS ts",
    {
        "id": "#{number.numberBetween '0','10'}",
        "state": "#{Options.option 'RECEIVED','SHIPPED','CANCELLED')}",
        "ts": "#{date.past '1','HOURS'}",
        "total": "#{Number.randomDouble '2','10','1000'}",
    },
)
BOOKINGS = table(
    "bookings",
    "seat INT, person STRING, start_date DATE, expires TIMESTAMP_LTZ(3), city STRING",
    {
        "seat": "#{number.numberBetween '1','50'}",
        "person": "#{Name.firstName} #{Name.last_name}",
        "start_date": "#{date.past '30','DAYS'}",
        "expires": "#{date.future '365','DAYS'}",
        "city": "#{Address.city}",
    },
)
HEROES = table(
    "heroes",
    "name STRING, strength STRING, age INT",
    {"name": "#{superhero.name}", "strength": "#{superhero.power}", "age": "#{number.numberBetween '0','1000'}"},
    fields__strength__null_rate="0.5",
)
RATES = table(
    "rates",
    "code STRING, rate DECIMAL(6, 4), channel STRING, tags STRING",
    {
        "code": "#{Currency.code}",
        "rate": "#{Number.randomDouble '4','0','10'}",
        "channel": "#{regexify '(bahn\\.de|app|lidl){1}'}",
        "tags": "a=#{number.numberBetween '0','5'},b=x",
    },
)


def _log(row: Any) -> bool:
    ip, who, at, asked, status, size, agent = row
    return (
        ip_address(ip).version == 4
        and who == "-"
        and recent(at, 15, 5)
        and re.fullmatch(r"(GET|POST|PUT) /[ab]\.html HTTP/1\.1", asked) is not None
        and status in {"200", "201", "204", "404", "500"}
        and 100 <= size < 10_000_000
        and BROWSERS.match(agent) is not None
    )


def _each(check: Callable[[Any], bool], count: int = 60) -> Callable[[list[Any]], bool]:
    return lambda rows: len(rows) == count and all(map(check, rows))


def _booking(row: Any) -> bool:
    seat, person, start, expires, city = row
    today = datetime.now(UTC).date()
    return (
        1 <= seat < 50
        and len(person.split()) >= 2
        and today - timedelta(31) <= start <= today
        and 0 < (expires.replace(tzinfo=None) - datetime.now(UTC).replace(tzinfo=None)).days + 1 <= 366
        and bool(city)
    )


def _rate(row: Any) -> bool:
    code, rate, channel, a = row
    return re.fullmatch("[A-Z]{3}", code) is not None and 0 <= rate <= 10 and channel in CHANNELS and 0 <= int(a) < 5


CHANNELS = {"bahn.de", "app", "lidl"}
COOKBOOK: list[tuple[str, str, str, Callable[[list[Any]], bool]]] = [
    ("01-create-table", LOGS, "SELECT * FROM logs", _each(_log)),
    (
        "02-insert-into-filtered",
        LOGS,
        "SELECT ts, asked, status FROM logs WHERE status SIMILAR TO '[4,5][0-9][0-9]'",
        lambda rows: 0 < len(rows) < 60 and {r[2] for r in rows} <= {"404", "500"},
    ),
    (
        "03-group-by",
        LOGS,
        "SELECT status, COUNT(*), AVG(size_) FROM logs GROUP BY status",
        lambda rows: sum(r[1] for r in rows) == 60 and all(100 <= r[2] < 10_000_000 for r in rows),
    ),
    (
        "04-order-by-view",
        HEROES + "CREATE TEMPORARY VIEW elders AS SELECT name, strength, age FROM heroes WHERE age >= 500;\n",
        "SELECT * FROM elders ORDER BY age DESC LIMIT 5",
        lambda rows: len(rows) == 5 and all(500 <= r[2] < 1000 and r[0] for r in rows),
    ),
    (
        "05-null-rate",
        HEROES,
        "SELECT strength FROM heroes",
        lambda rows: 10 < sum(r[0] is None for r in rows) < 50 and len({r[0] for r in rows}) > 5,
    ),
    (
        "06-tumbling-window",
        ORDERS,
        "SELECT window_start, COUNT(*), SUM(total) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts),"
        " INTERVAL '10' MINUTES)) GROUP BY window_start, window_end",
        lambda rows: (
            sum(r[1] for r in rows) == 60
            and 6 <= len(rows) <= 8
            and all(r[0].minute % 10 == 0 and 10 * r[1] <= r[2] <= 1000 * r[1] for r in rows)
        ),
    ),
    (
        "07-top-n",
        SPELLS,
        "SELECT wizard, spell, times FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY wizard ORDER BY times DESC) AS n"
        " FROM (SELECT wizard, spell, COUNT(*) AS times FROM spells GROUP BY wizard, spell)) WHERE n <= 2",
        lambda rows: Counter(r[0] for r in rows) == {"Harry": 2, "Ron": 2, "Hermione": 2},
    ),
    (
        "08-deduplication",
        ORDERS,
        "SELECT id, state FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts DESC) AS n FROM orders)"
        " WHERE n = 1",
        lambda rows: (
            sorted(r[0] for r in rows) == list(range(10))
            and {r[1] for r in rows} <= {"RECEIVED", "SHIPPED", "CANCELLED"}
        ),
    ),
    (
        "09-expanding-arrays",
        SPELLS,
        "SELECT wizard, i FROM spells CROSS JOIN UNNEST(ids) AS u(i)",
        lambda rows: len({r[1] for r in rows}) == 180 and all(UUID.fullmatch(r[1]) for r in rows),
    ),
    ("10-dates", BOOKINGS, "SELECT * FROM bookings", _each(_booking)),
    (
        "11-split-strings-into-maps",
        RATES,
        "SELECT code, rate, channel, STR_TO_MAP(tags)['a'] FROM rates",
        _each(_rate),
    ),
    (
        "12-override-table-options",
        HEROES,
        "SELECT * FROM heroes /*+ OPTIONS('number-of-rows' = '7', 'fields.age.expression' = '5') */",
        _each(lambda r: r[2] == 5, 7),
    ),
    (
        "13-regular-join",
        ORDERS + HEROES,
        "SELECT o.id, h.name, h.age FROM orders AS o JOIN heroes AS h ON h.age / 100 = o.id",
        lambda rows: all(r[0] == r[2] // 100 for r in rows),
    ),
]


@pytest.mark.parametrize(("ddl", "query", "holds"), [c[1:] for c in COOKBOOK], ids=[c[0] for c in COOKBOOK])
def test_recipes_of_the_cookbook(catalog: Catalog, ddl: str, query: str, holds: Callable[[list[Any]], bool]) -> None:
    for name in re.findall(r"CREATE TEMPORARY (TABLE|VIEW) (\w+)", ddl):
        catalog.execute(f"DROP TEMPORARY {name[0]} IF EXISTS {name[1]}")
    catalog.execute_all(BATCH + ddl)
    rows = catalog.execute(query).collect()
    assert holds(rows), rows


def test_a_stream_without_end(catalog: Catalog) -> None:
    """Rows come at their rate, each with a time of its batch; the query is ended from outside."""
    columns = "id INT, ts TIMESTAMP(3)"
    parts = {"id": "#{number.numberBetween '0','5'}", "ts": "#{date.past '10','SECONDS'}"}
    made = table("ticks", columns, parts, None, rows_per_second="50")
    catalog.execute_all("SET 'execution.runtime-mode' = 'streaming';\n" + made)
    seen: list[Any] = []

    def take(rows: Rows) -> None:
        seen.extend(change.row for change in rows.changes)

    job = catalog.execute("SELECT id, ts FROM ticks WHERE id < 4").changes(take)
    end = time.monotonic() + 120
    while len(seen) < 40 and time.monotonic() < end:
        time.sleep(0.2)
    job.stop()
    assert len(seen) >= 40
    assert {row[0] for row in seen} == {0, 1, 2, 3}
    assert all(recent(row[1], 10) for row in seen)


# ---- types ---------------------------------------------------------------------------------------------------------

# type, text of the expression, value; Flink-faker's FakerUtils.stringValueToType, and what is more
TYPES: list[tuple[str, str, Any]] = [
    ("CHAR(3)", "abc", "abc"),
    ("VARCHAR(9)", "it''s {x}", "it''s {x}"),
    ("BOOLEAN", "TRUE", True),
    ("BOOLEAN", "yes", False),
    ("TINYINT", "-128", -128),
    ("SMALLINT", "32767", 32767),
    ("INT", "+7", 7),
    ("BIGINT", "9223372036854775807", 9223372036854775807),
    ("FLOAT", "1.5", 1.5),
    ("DOUBLE", "1e3", 1000.0),
    ("DECIMAL(5, 2)", "1.005", Decimal("1.01")),
    ("DECIMAL(5, 2)", "12345", None),
    ("DATE", "2020-02-29 23:59:59.9", date(2020, 2, 29)),
    ("DATE", "1969-12-31", date(1969, 12, 31)),
    ("TIME(3)", "3723004000000", 3723004),
    ("TIME", "10:15:30", 36930000),
    ("TIMESTAMP(3)", "2020-01-02 03:04:05.123456789", datetime(2020, 1, 2, 3, 4, 5, 123000)),
    ("TIMESTAMP(6)", "2020-01-02T03:04:05.123456Z", datetime(2020, 1, 2, 3, 4, 5, 123456)),
    ("TIMESTAMP(0)", "1969-12-31 23:59:59.5", datetime(1969, 12, 31, 23, 59, 59)),
    ("ARRAY<INT>", "4", [4, 4]),
    ("MULTISET<STRING>", "x", {"x": 2}),
    ("STRING", "", ""),
]


def test_types(catalog: Catalog) -> None:
    columns = ", ".join(f"c{i} {t[0]}" for i, t in enumerate(TYPES))
    lengths = {f"fields__c{i}__length": "2" for i, t in enumerate(TYPES) if "<" in t[0]}
    nested = "r ROW<a INT, b ROW<c STRING, d ARRAY<INT>>, m MAP<STRING, INT>>, rows_ ARRAY<ROW<x INT, y STRING>>"
    parts = {"r.a": "1", "r.b.c": "two", "r.b.d": "3", "r.m.key": "k", "r.m.value": "4", "rows_.x": "5", "rows_.y": "z"}
    expressions = {f"c{i}": t[1] for i, t in enumerate(TYPES)} | parts
    lengths |= {"fields__r__b__d__length": "2", "fields__r__m__null_rate": "1"}
    catalog.execute_all(BATCH + table("typed", f"{columns}, {nested}", expressions, 1, **lengths))
    (row,) = catalog.execute("SELECT * FROM typed").collect()
    assert list(row[: len(TYPES)]) == [t[2] for t in TYPES]
    assert row[-2] == (1, ("two", [3, 3]), None)
    assert row[-1] == [(5, "z")]


def test_a_row_is_the_same_whoever_asks(catalog: Catalog) -> None:
    """A batch that is run again has the rows that it had; two columns, and two tables, have nothing in common."""
    columns = {"a": "#{Name.full_name}", "b": "#{Name.full_name}", "ts": "#{date.past '1','HOURS'}"}
    made = "a STRING, b STRING, ts TIMESTAMP(3)"
    catalog.execute_all(BATCH + table("alpha", made, columns, 50) + table("beta", made, columns, 50))
    one, again, two = (catalog.execute(f"SELECT a, b FROM {t}").collect() for t in ("alpha", "alpha", "beta"))
    assert sorted(one) == sorted(again)
    assert len(set(one)) == 50
    assert all(a != b for a, b in one)
    assert not {a for a, _ in one} & {a for a, _ in two} or {a for a, _ in one} != {a for a, _ in two}
    both = catalog.execute("SELECT x.ts = y.ts FROM alpha AS x JOIN alpha AS y ON x.a = y.a AND x.b = y.b").collect()
    assert both == [(True,)] * 50


# what Flink-faker gives for these, and we do not
OURS: dict[str, Any] = {
    "c DATE: 'fields.c.expression' = '1969-12-31 12:00:00'": "1969-12-31",  # it rounds towards 1970: the next day
    "c DATE: 'fields.c.expression' = '1950-06-01 06:00:00'": "1950-06-01",
}
REFUSED = ("c STRING: 'fields.c.expression' = 'ü #{'",)  # FD478: it is never closed
FLINK_FAKER = {f"{line['columns']}: {line['options']}": line for line in kept()}


def declared(name: str, line: dict[str, Any]) -> str:
    given = f"'connector' = 'faker', 'number-of-rows' = '2', {line['options']}"
    return f"{BATCH}CREATE TEMPORARY TABLE {name} ({line['columns']}) WITH ({given})"


def test_what_flink_faker_makes_itself(catalog: Catalog) -> None:
    """Its own rows of the same texts, asked of it in Flink 2.3."""
    taken = {k: line for k, line in FLINK_FAKER.items() if line["error"] is None and k not in REFUSED}
    assert len(taken) > 45
    for i, line in enumerate(taken.values()):
        catalog.execute_all(declared(f"ff{i}", line))
    query = " UNION ALL ".join(f"SELECT {i}, {line['select']} FROM ff{i}" for i, line in enumerate(taken.values()))
    rows = catalog.execute(query).collect()
    found = {key: [value for n, value in rows if n == i] for i, key in enumerate(taken)}
    wanted = {k: [OURS.get(k, row[1]) for row in line["rows"]] for k, line in taken.items()}
    assert found == wanted


CODES = {"FD109", "FD211", "FD212", "FD218", "FD238", "FD478"}  # of check


def read(catalog: Catalog, name: str, line: dict[str, Any]) -> list[Any]:
    catalog.execute_all(declared(name, line))
    return catalog.execute(f"SELECT {line['select']} FROM {name}").collect()


def test_what_flink_faker_refuses_itself(catalog: Catalog) -> None:
    refused = [line for key, line in FLINK_FAKER.items() if line["error"] is not None or key in REFUSED]
    assert len(refused) > 20
    for i, line in enumerate(refused):
        with pytest.raises(FlinkDdlError) as raised:
            read(catalog, f"fr{i}", line)
        codes = {d.code for d in raised.value.diagnostics}
        assert codes <= CODES or (codes == {"FD830"} and "FD478" in str(raised.value)), line  # as the kernel says it


FAILING = [
    ("no-number", "INT", "#{Name.firstName}", r"table 'bad': 'fields\.c\.expression' = .*which is no INT"),
    ("too-large", "TINYINT", "#{number.numberBetween '1000','2000'}", "which is no TINYINT"),
    ("digits", "DECIMAL(2, 1) NOT NULL", "123", r"too many digits for DECIMAL\(2, 1\) NOT NULL"),
    ("no-date", "STRING", "#{date.between 'x','y'}", r"'fields\.c\.expression' = '#\{date.* fails: Unable to resolve"),
]


@pytest.mark.parametrize(("type", "expression", "words"), [c[1:] for c in FAILING], ids=[c[0] for c in FAILING])
def test_a_value_that_does_not_fit(catalog: Catalog, type: str, expression: str, words: str) -> None:
    catalog.execute("DROP TEMPORARY TABLE IF EXISTS bad")
    catalog.execute_all(BATCH + table("bad", f"c {type}", {"c": expression}, 3))
    with pytest.raises(FlinkDdlError, match=f"{words}.*FD478"):
        catalog.execute("SELECT * FROM bad").collect()


# ---- lookups -------------------------------------------------------------------------------------------------------

UPDATES = table(
    "updates",
    "id INT, place STRING, pt AS PROCTIME()",
    {"id": "#{number.numberBetween '0','10'}", "place": "#{harry_potter.location}"},
    40,
    fields__id__null_rate="0.2",
)
PEOPLE = table(
    "people",
    "id INT, name STRING, age INT, label AS UPPER(name)",
    {
        "id": "#{number.numberBetween '0','10'}",
        "name": "#{harry_potter.characters}",
        "age": "#{number.numberBetween '0','100'}",
    },
    1,
)
LOOKUP = (
    "SELECT u.id, p.id, p.name, p.label, p.age FROM updates AS u {} JOIN people FOR SYSTEM_TIME AS OF u.pt AS p ON {}"
)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_every_key_is_found(catalog: Catalog, mode: str) -> None:
    for name in ("updates", "people"):
        catalog.execute(f"DROP TEMPORARY TABLE IF EXISTS {name}")
    people = PEOPLE if mode == "batch" else PEOPLE.replace(",\n  'number-of-rows' = '1'", "")
    catalog.execute_all(f"SET 'execution.runtime-mode' = '{mode}';\n{UPDATES}{people}")
    found = catalog.execute(LOOKUP.format("", "u.id = p.id")).collect()
    assert 20 < len(found) < 40  # a NULL finds nothing
    assert all(a == b and label == name.upper() and 0 <= age < 100 for a, b, name, label, age in found)
    assert len({r[1:] for r in found}) == len({r[0] for r in found}) > 5  # a key has one row
    left = catalog.execute(LOOKUP.format("LEFT", "u.id = p.id AND p.age < 50")).collect()
    assert len(left) == 40
    wanted = Counter(r for r in found if r[4] < 50)
    assert Counter(r for r in left if r[1] is not None) == wanted
    assert all(r[1:] == (None,) * 4 for r in left if r[1] is None)
