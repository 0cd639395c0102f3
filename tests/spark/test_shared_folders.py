"""Several INSERTs of one script into one folder: batches share it, a stream does not."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script

TABLES = """
CREATE TABLE s (a INT, b INT) WITH ('connector' = 'filesystem', 'path' = '/in', 'format' = 'json');
CREATE TABLE u (a INT, b INT) WITH ('connector' = 'filesystem', 'path' = '/in2', 'format' = 'json',
  'source.monitor-interval' = '1s');
CREATE TABLE t (a INT, b INT) WITH ('connector' = 'filesystem', 'path' = '/out/t', 'format' = 'json');
CREATE TABLE same (a INT, b INT) WITH ('connector' = 'filesystem', 'path' = 'file:///out/./t/', 'format' = 'csv');
CREATE TABLE other (a INT, b INT) WITH ('connector' = 'filesystem', 'path' = 's3a://bucket/out/t', 'format' = 'json');
CREATE TABLE parts (a INT, b INT) PARTITIONED BY (b) WITH ('connector' = 'filesystem', 'path' = '/out/p',
  'format' = 'json');
"""
STREAM, BATCH = (f"SET 'execution.runtime-mode' = '{mode}';" for mode in ("streaming", "batch"))
SYNC = "SET 'table.dml-sync' = 'true';"
SET = "EXECUTE STATEMENT SET BEGIN {} END;"
INTO = "INSERT INTO {} SELECT a, b FROM s;"
STREAMS, BOTH = "streams into", "by a stream and by a batch job"

# script, the lines' INSERTs (from 1) that are refused, words of the message
CASES = [
    (STREAM + INTO.format("t"), [], ""),
    (STREAM + INTO.format("t") * 3, [2, 3], STREAMS),
    (STREAM + INTO.format("t") + INTO.format("same"), [2], STREAMS),
    (STREAM + INTO.format("t") + INTO.format("other"), [], ""),
    (STREAM + SET.format(INTO.format("t") * 2), [2], STREAMS),
    (STREAM + SYNC + INTO.format("t") * 2, [2], STREAMS),
    (STREAM + "INSERT INTO parts PARTITION (b = 1) SELECT a FROM s; INSERT INTO parts PARTITION (b = 2) "
     "SELECT a FROM s;", [2], STREAMS),
    ("INSERT INTO t SELECT a, b FROM u;" * 2, [2], STREAMS),
    ("INSERT INTO t VALUES (1, 2); INSERT INTO t SELECT a, b FROM u;", [2], BOTH),
    (STREAM + INTO.format("t") + BATCH + INTO.format("t"), [2], BOTH),
    (STREAM + INTO.format("t") + BATCH + "INSERT OVERWRITE t SELECT a, b FROM s;", [2], BOTH),
    (SYNC + STREAM + INTO.format("t") + BATCH + "INSERT OVERWRITE t SELECT a, b FROM s;" + INTO.format("t"), [], ""),
    (BATCH + INTO.format("t") * 5, [], ""),
    (BATCH + SET.format(INTO.format("t") * 5), [], ""),
    ("INSERT INTO t VALUES (1, 2);" * 3, [], ""),
]  # fmt: skip


@pytest.mark.parametrize(("script", "refused", "words"), CASES, ids=range(len(CASES)))
def test_shared_folders(script: str, refused: list[int], words: str) -> None:
    text = TABLES + script
    found = [d for d in compile_script(SourceText("t.sql", text)).diagnostics if d.severity == "error"]
    assert [(d.code, words in d.message) for d in found] == [("FD474", True)] * len(refused)
    targets = [i + len("INSERT INTO ") for i in range(len(text)) if text.startswith(("INSERT INTO", "INSERT OVER"), i)]
    starts = [d.span.start for d in found if d.span is not None]
    assert [any(abs(start - targets[n - 1]) < 8 for start in starts) for n in refused] == [True] * len(refused)
