"""Completion: a text with the cursor at ``|``, and what must (or must not) be offered there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.shell.complete import Candidate, complete
from tests.cli.shell.support import catalog

if TYPE_CHECKING:
    from flinkddl.catalog.state import Catalog as CatalogState

TUMBLE = "TUMBLE(TABLE pageviews, DESCRIPTOR(viewtime), INTERVAL '1' MINUTE)"
KAFKA = "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'format' = 'json', "

# text, what must be among the candidates, what must not
CASES = [
    ("|", "SELECT CREATE INSERT QUIT SHOW", "pageviews"),
    ("sel|", "select", "SELECT show"),
    ("SELECT 1; SH|", "SHOW", "SELECT"),
    ("SHOW |", "TABLES JOBS", "pageviews"),
    ("SHOW CREATE |", "TABLE VIEW", "JOBS"),
    ("CREATE T|", "TABLE", "DATABASE"),
    ("DROP |", "TABLE", ""),
    ("SELECT * FROM |", "pageviews per_region `odd name` other", "user_id"),
    ("SELECT * FROM page|", "pageviews", "per_region"),
    ("SELECT * FROM `odd|", "odd name`", "pageviews"),
    ("SELECT * FROM other.|", "orders", "pageviews"),
    ("SELECT * FROM default_catalog.other.o|", "orders", ""),
    ("SELECT * FROM pageviews, |", "per_region", "user_id"),
    ("SELECT * FROM pageviews JOIN |", "per_region", "user_id"),
    ("INSERT INTO |", "`odd name`", "user_id"),
    ("DESCRIBE p|", "pageviews per_region", "user_id"),
    ("WITH mine AS (SELECT 1) SELECT * FROM mi|", "mine", "pageviews"),
    ("SELECT use| FROM pageviews", "user_id user_region", "page_id"),
    ("SELECT | FROM pageviews", "user_id viewtime", "amount"),
    ("SELECT p.| FROM pageviews AS p", "user_id viewtime", "amount pageviews"),
    ("SELECT p.user_r| FROM pageviews p", "user_region", "user_id"),
    ("SELECT per_region.| FROM per_region", "user_region pv", ""),
    ("SELECT o.| FROM other.orders o", "id amount", ""),
    ("SELECT `sel| FROM `odd name`", "select`", "plain"),
    ("SELECT user_r|", "user_region", ""),
    ("SELECT f|", "from", "free"),
    ("SELECT COU|", "COUNT(", "SUM("),
    ("SELECT cou|", "count(", "COUNT("),
    ("SELECT user_region, COUNT(*) FROM pageviews GROUP |", "BY", ""),
    ("SELECT user_region, COUNT(*) FROM pageviews GROUP BY |", "user_region", ""),
    ("SELECT * FROM pageviews WHERE user_id IS |", "NULL", ""),
    ("SELECT * FROM |", "TABLE(HOP(TABLE", "HOP("),
    ("SELECT * FROM TABLE(CUMU|", "CUMULATE(", ""),
    ("SELECT * FROM TABLE(TUMBLE(TABLE page|", "pageviews", "page_id"),
    ("SELECT * FROM TABLE(TUMBLE(TABLE pageviews, DESCRIPTOR(|", "viewtime", "COUNT("),
    (f"SELECT window_| FROM TABLE({TUMBLE})", "window_start", ""),
    ("SELECT CAST(user_id AS |", "STRING BIGINT", "user_id"),
    ("CREATE TABLE t (a |", "STRING BIGINT", "pageviews"),
    ("CREATE TABLE t (a INT, b TIM|", "TIMESTAMP(3) TIME", "STRING"),
    ("CREATE TABLE t (a INT) WITH (|", "'connector' = '", "topic"),
    ("CREATE TABLE t (a INT) WITH ('conn|", "connector' = '", ""),
    ("CREATE TABLE t (a INT) WITH ('connector' = '|", "kafka' upsert-kafka' datagen'", "json'"),
    ("CREATE TABLE t (a INT) WITH ('connector' = |", "'kafka'", ""),
    ("CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'format' = 'j|", "json'", "csv'"),
    ("CREATE TABLE t (a INT) WITH ('connector' = 'upsert-kafka', 'value.format' = '|", "json'", "debezium-json'"),
    (KAFKA + "'|", "topic' = ' scan.startup.mode' = '", "connector' = ' csv.null-literal' = '"),
    (KAFKA + "'json|", "json.ignore-parse-errors' = '", "csv.null-literal' = '"),
    (KAFKA + "'scan.st|", "scan.startup.mode' = '", "topic' = '"),
    (KAFKA + "'startup|", "scan.startup.mode' = '", "topic' = '"),
    (KAFKA + "'properties.boot|", "properties.bootstrap.servers' = '", ""),
    (KAFKA + "'scan.startup.mode' = '|", "earliest-offset' latest-offset' timestamp'", "true'"),
    (KAFKA + "'scan.startup.mode' = 'e|'", "earliest-offset", "earliest-offset'"),
    (KAFKA + "'json.ignore-parse-errors' = '|", "true' false'", ""),
    ("SELECT * FROM pageviews /*+ OPTIONS('scan.startup|", "scan.startup.mode' = '", "connector' = '"),
    ("SELECT * FROM pageviews /*+ OPTIONS('scan.startup.mode' = '|", "latest-offset'", ""),
    ("ALTER TABLE pageviews SET ('|", "connector' = '", ""),
    ("SET '|", "table.local-time-zone' = ' sql-client.execution.result-mode' = '", ""),
    ("SET 'result-m|", "sql-client.execution.result-mode' = '", "table.local-time-zone' = '"),
    ("SET 'sql-client.execution.result-mode' = '|", "table' changelog' tableau'", ""),
    ("RESET 'table.local|", "table.local-time-zone'", ""),
    ("STOP JOB '|", "1' 2'", ""),
    ("SELECT 'no|", "", "NOT"),
    ("SELECT 1 -- sel|", "", "select SELECT"),
    ("SELECT /* sel|", "", "select SELECT"),
]  # fmt: skip


@pytest.fixture(scope="module")
def state() -> CatalogState:
    return catalog().state


@pytest.mark.parametrize(("text", "wanted", "unwanted"), CASES, ids=[text for text, *_ in CASES])
def test_what_is_offered(text: str, wanted: str, unwanted: str, state: CatalogState) -> None:
    before, _, after = text.partition("|")
    found = [c.text for c in complete(before, after, state, [("1", "insert-into_a"), ("2", "insert-into_b")])]
    joined = "\n".join(found)
    for part in _parts(wanted):
        assert part in found, joined
    for part in _parts(unwanted):
        assert part not in found, joined


def _parts(text: str) -> list[str]:
    """Words, where ``= '`` and a name in backticks belong to the word before."""
    text = text.replace(" = '", "\x00").replace("`odd name`", "`odd\x01name`").replace("odd name`", "odd\x01name`")
    return [w.replace("\x00", " = '").replace("\x01", " ") for w in text.split()]


def test_a_candidate_says_what_it_is(state: CatalogState) -> None:
    found = {c.display: c for c in complete("SELECT * FROM p", "", state)}
    assert found["pageviews"] == Candidate("pageviews", "table", 1, "pageviews")
    assert found["per_region"].meta == "view"
    columns = {c.display: c.meta for c in complete("SELECT ", " FROM per_region", state)}
    assert columns == {"user_region": "STRING", "pv": "BIGINT"}


def test_a_statement_that_is_broken_elsewhere_is_completed_all_the_same(state: CatalogState) -> None:
    found = complete("SELEC user_r", " FRM x FROM pageviews WHERE 'open", state)
    assert "user_region" in [c.text for c in found]
