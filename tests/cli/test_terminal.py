"""The command line at a real terminal: keys through a pseudo terminal, what its screen shows."""

from __future__ import annotations

import json
import re
import sys
import time
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from flinkddl.runtime.machine.cache import cache_dir
from tests.e2e.support import pageviews, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

pytest.importorskip("pyte", reason="no terminal emulator")
from tests.support.terminal import CTRL_C, Terminal

START = 180.0  # seconds: Spark itself, on a machine that does other things too

ORDERS = (
    "CREATE TABLE orders (id INT, price DECIMAL(6, 2)) WITH ('connector' = 'datagen', 'rows-per-second' = '5', "
    "'fields.id.min' = '10', 'fields.id.max' = '99');"
)


def terminal(*arguments: str, home: Path) -> Terminal:
    env = {
        "HOME": str(home),
        "FLINKDDL_CACHE": str(cache_dir()),
        "PROMPT_TOOLKIT_NO_CPR": "1",
    }
    return Terminal([sys.executable, "-m", "flinkddl", *arguments], env)


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_in_the_shell(tmp_path: Path) -> None:
    with terminal("shell", home=tmp_path) as t:
        t.expect("Flink SQL>", seconds=START)
        t.send(f"{ORDERS}\r")
        t.expect("[INFO] Execute statement succeeded.")
        t.send("SELECT COUNT(*) AS n, MAX(pri")
        t.expect("price        DECIMAL(6, 2)")  # offered while it is typed
        t.send("ce) AS dearest FROM ord")
        t.expect("orders  table")
        t.send("ers;\r")
        t.expect("SQL Query Result (Table)", "dearest", seconds=START)
        first = int(re.findall(r"\| +(\d+) \|", t.expect("1 row", seconds=START))[0])
        end = time.monotonic() + 60
        while (now := int(re.findall(r"\| +(\d+) \|", t.screen)[0])) <= first:
            assert time.monotonic() < end, t.screen
            time.sleep(0.2)
        assert now > first
        t.send("q")
        t.expect("Flink SQL>")
        t.send("SELECT id FROM oders;\r")
        t.expect("error FD452: table or view 'oders' not found", "did you mean 'orders'?")
        t.send("SET 'sql-client.execution.result-mode' = 'tableau';\rSELECT id, price FROM orders;\r")
        screen = t.expect("| +I | ", seconds=START)
        assert re.search(r"\| \+I \| +\d\d \| +\d+\.\d\d \|", screen), screen
        t.send(CTRL_C)
        t.expect("Query terminated")
        _says_how_it_does_until_rows_come(t, tmp_path / "files")
        t.send("QUIT;\r")
        assert t.ends(180) == 0


def _says_how_it_does_until_rows_come(t: Terminal, folder: Path) -> None:
    folder.mkdir()
    monitored = "'format' = 'json', 'source.monitor-interval' = '1 s'"
    t.send(f"CREATE TABLE files (a STRING) WITH ('connector' = 'filesystem', 'path' = '{folder}', {monitored});\r")
    t.send("SELECT a FROM files;\r")
    t.expect("| op |", "running  ·  waiting for the first batch", seconds=START)
    (folder / "one.json").write_text('{"a": "there it is"}\n')
    screen = t.expect("there it is", seconds=START)
    assert "waiting for the first batch" not in screen
    t.send(CTRL_C)
    t.expect("received a total of 1 row")


@pytest.mark.slow
@pytest.mark.kafka
def test_run_shows_a_panel_and_serves_figures(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> None:
    source, target = new_topic("pageviews"), new_topic("per_region")
    send(broker.bootstrap, source, pageviews(500, seed=1), 1)
    script = tmp_path / "job.sql"
    kafka = f"'properties.bootstrap.servers' = '{broker.bootstrap}'"
    script.write_text(f"""
        CREATE TABLE pageviews (user_id BIGINT, user_region STRING) WITH ('connector' = 'kafka', 'format' = 'json',
          'topic' = '{source}', 'scan.startup.mode' = 'earliest-offset', {kafka});
        CREATE TABLE per_region (user_region STRING, pv BIGINT, PRIMARY KEY (user_region) NOT ENFORCED) WITH (
          'connector' = 'upsert-kafka', 'topic' = '{target}', 'key.format' = 'json', 'value.format' = 'json', {kafka});
        INSERT INTO per_region SELECT user_region, COUNT(*) FROM pageviews GROUP BY user_region;""")
    arguments = ("run", str(script), "--metrics-port", "0", "--checkpoint", str(tmp_path / "state"))
    with terminal(*arguments, home=tmp_path) as t:
        address = re.findall(r"figures at (http://[\d.:]+)/metrics", t.expect("/metrics", seconds=START))[0]
        screen = t.expect("running", f"topic {source}", "upserts", "500", seconds=START)
        assert re.search(r"pageviews +topic \S+ +earliest +0 ", screen), screen
        assert f"per_region  kafka -> topic '{target}'" in screen
        with urlopen(f"{address}/health", timeout=30) as answer:
            body = json.load(answer)
        assert (answer.status, body["status"], body["jobs"][0]["lag"]) == (200, "up", {source: 0})
        with urlopen(f"{address}/metrics", timeout=30) as answer:
            figures = answer.read().decode()
        name = "insert-into_default_catalog.default_database.per_region"
        assert f'flinkddl_rows_in_total{{job="{name}",sink="per_region"}} 500' in figures
        assert f'flinkddl_upserts_total{{job="{name}",sink="per_region"}} 4' in figures
        t.send(CTRL_C)
        assert t.ends(120) == 0
        t.expect("stopped")


VIEW = """
from flinkddl.cli.shell.results import TableResult
from flinkddl.cli.shell.view import View
from tests.cli.shell.test_results import COLUMNS, changes
result = TableResult(COLUMNS, 100)
result.add(changes("+I a1", "+I b2"))
try:
    View(result, "SQL Query Result (Table)", 30).run()
except KeyboardInterrupt:
    pass
print("gone")
input()
"""


@pytest.mark.parametrize("key", ["q", CTRL_C])
def test_a_left_view_leaves_no_borders(key: str, tmp_path: Path) -> None:
    """Also on a terminal that has no second screen, as the emulator has none."""
    with Terminal([sys.executable, "-c", VIEW], {"HOME": str(tmp_path), "PROMPT_TOOLKIT_NO_CPR": "1"}) as t:
        t.expect("SQL Query Result (Table)", "| a | 1 |", "q leave")
        t.send(key)
        assert t.expect("gone") == "gone"
        t.send("\r")
        assert t.ends() == 0
