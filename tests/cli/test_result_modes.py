"""The article's picture at a terminal: one upsert-kafka table in the result modes table, changelog and tableau."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyte", reason="no terminal emulator")
from tests.cli.test_terminal import START, terminal
from tests.support.terminal import CTRL_C, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

TABLE = """CREATE TABLE orders_upsert_kafka_json (
  order_id INT, order_date TIMESTAMP(0), customer_name STRING, price DECIMAL(10, 5),
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}',
  'key.format' = 'json', 'value.format' = 'json'
);
"""
SELECT = "select * from orders_upsert_kafka_json;\r"
MODE = "SET 'sql-client.execution.result-mode' = '{}';\r"
WAIT = 120.0


class Orders:
    """Writes orders as an upsert topic holds them."""

    def __init__(self, servers: str, topic: str) -> None:
        from kafka import KafkaProducer

        self._producer, self._topic = KafkaProducer(bootstrap_servers=servers), topic

    def put(self, order: int, date: str | None, name: str = "") -> None:
        row = {"order_id": order, "order_date": f"{date} 10:08:22", "customer_name": name, "price": 50.5}
        value = None if date is None else json.dumps(row).encode()
        self._producer.send(self._topic, key=json.dumps({"order_id": order}).encode(), value=value)
        self._producer.flush()

    def close(self) -> None:
        self._producer.close()


def shown(screen: str, *cells: str) -> bool:
    """Whether a line of the screen is a row with these cells first."""
    return re.search(r"^\| *" + r" *\| *".join(map(re.escape, cells)) + r" *\|", screen, re.M) is not None


def row(t: Terminal, *cells: str) -> None:
    """Wait for a row on the screen: the count above the rows is drawn before them."""
    until(t, lambda screen: shown(screen, *cells), f"{cells} not on the screen")


def until(t: Terminal, holds: Callable[[str], bool], complaint: str) -> None:
    """Wait until something holds of the screen."""
    end = time.monotonic() + WAIT
    while not holds(t.screen):
        assert time.monotonic() < end, f"{complaint}:\n{t.screen}"
        time.sleep(0.1)


@pytest.mark.kafka
def test_table_changelog_and_tableau_over_an_upsert_topic(
    broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = new_topic("orders_upsert_kafka_json")
    tables = tmp_path / "tables.sql"
    tables.write_text(TABLE.format(topic=topic, servers=broker.bootstrap))
    orders = Orders(broker.bootstrap, topic)
    for order, name in ((10001, "Jark"), (10002, "Sally"), (10003, "Edward")):
        orders.put(order, "2020-07-30", name)
    with terminal("shell", "-i", str(tables), home=tmp_path) as t:
        t.expect("Flink SQL>", seconds=START)
        t.send(SELECT)  # the mode is 'table' where nothing is set, as in Flink
        t.expect("SQL Query Result (Table)", "  3 rows  ", seconds=START)
        row(t, "10003", "2020-07-30 10:08:22", "Edward", "50.50000")
        orders.put(10005, "2020-07-30", "Ann")
        t.expect("  4 rows  ", "Ann", seconds=WAIT)
        orders.put(10003, "2020-07-31", "Edward")
        t.expect("  4 rows  ", "2020-07-31", seconds=WAIT)
        row(t, "10003", "2020-07-31 10:08:22", "Edward", "50.50000")
        orders.put(10005, None)
        t.expect("  3 rows  ", seconds=WAIT)
        until(t, lambda screen: "10005" not in screen, "10005 is still on the screen")
        t.send("q")
        t.expect("Flink SQL>")

        t.send(MODE.format("changelog") + SELECT)
        t.expect("SQL Query Result (Changelog)", "  3 rows  ", seconds=WAIT)
        for order in (10001, 10002, 10003):
            row(t, "+I", str(order))
        orders.put(10006, "2020-08-01", "Zoe")
        t.expect("  4 rows  ", seconds=WAIT)
        orders.put(10001, "2020-08-02", "Jark")
        t.expect("  6 rows  ", seconds=WAIT)
        orders.put(10006, None)
        t.expect("  7 rows  ", seconds=WAIT)
        for cells in (("-U", "10001", "2020-07-30 10:08:22"), ("+U", "10001", "2020-08-02 10:08:22"), ("-D", "10006")):
            row(t, *cells)
        t.send("q")
        t.expect("Flink SQL>")

        t.send(MODE.format("tableau") + SELECT)
        orders.put(10007, "2020-08-03", "Max")
        row(t, "+I", "10007", "2020-08-03 10:08:22", "Max")
        orders.put(10007, "2020-08-04", "Max")
        row(t, "-U", "10007", "2020-08-03 10:08:22", "Max")
        row(t, "+U", "10007", "2020-08-04 10:08:22", "Max")
        orders.put(10007, None)
        row(t, "-D", "10007", "2020-08-04 10:08:22", "Max")
        t.send(CTRL_C)
        t.expect("Query terminated")
        t.send("QUIT;\r")
        assert t.ends(180) == 0
    orders.close()
