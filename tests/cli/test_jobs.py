"""``flinkddl jobs`` over records, and the names that ``run`` gives its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.listed import Listed, Listing, job_names
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.job.registry import Entry, Log, Request, ask, find, log_path
from flinkddl.script.compile import Start, compile_script

if TYPE_CHECKING:
    from pathlib import Path

    from flinkddl.script.compile import Compiled

TABLES = """
CREATE TABLE g (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1');
CREATE TABLE a (id INT) WITH ('connector' = 'blackhole');
CREATE TABLE b (id INT) WITH ('connector' = 'blackhole');
"""
INSERT = "INSERT INTO {} SELECT id FROM g;"
NAMED = "SET 'pipeline.name' = '{}';"


def compiled(sql: str) -> Compiled:
    return compile_script(SourceText("job.sql", TABLES + sql))


@pytest.mark.parametrize(
    ("script", "sql", "names"),
    [
        ("in/daily.sql", INSERT.format("a"), ["daily"]),
        ("-", INSERT.format("a"), ["stdin"]),
        ("daily.sql", NAMED.format("report") + INSERT.format("a"), ["report"]),
        ("daily.sql", INSERT.format("a") + INSERT.format("b"), ["daily.a", "daily.b"]),
        ("daily.sql", INSERT.format("a") + INSERT.format("a"), ["daily.a", "daily.a-2"]),
        ("d.sql", NAMED.format("x") + INSERT.format("a") + NAMED.format("y") + INSERT.format("b"), ["x", "y"]),
        ("d.sql", "SELECT id FROM g;" + INSERT.format("a"), ["d"]),
    ],
)
def test_names(script: str, sql: str, names: list[str]) -> None:
    assert list(job_names(script, compiled(sql)).values()) == names


def entry(folder: Path, name: str, **changes: object) -> Entry:
    found = Entry(folder, name, f"insert-into_{name}", f"/srv/{name}.sql")
    found.publish(**changes)
    return found


SINK = {
    "table": "totals", "to": "kafka -> topic 'totals'", "rows_in": 1200, "rows_out": 40, "upserts": 39, "tombstones": 1,
    "late_rows": 2, "batch": 7, "batch_ms": 430, "time": "", "watermark": "2026-01-02T03:04:05.000Z",
    "state_rows": 5, "state_bytes": 2_100_000,
    "nodes": [
        {"depth": 0, "node": "n3", "text": "Sink(totals)", "rows": 40, "state_rows": None, "state_bytes": None,
         "again": False},
        {"depth": 1, "node": "n2", "text": "Aggregate(by=[k])", "rows": None, "state_rows": 5,
         "state_bytes": 2_100_000, "again": False},
    ],
}  # fmt: skip


def test_list_and_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobs", "--dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"no jobs in '{tmp_path}'\n"
    source = {"table": "orders", "topic": "orders", "from": "earliest"}
    figures = {"batches": 8, "rows_in": 1200, "rows_out": 40, "lag": {"orders": 1500}}
    entry(tmp_path, "orders", state="RUNNING", sources=[source], sinks=[SINK], **figures)
    entry(tmp_path, "broken", state="FAILED", failure="it broke", ended=1.0)
    assert main(["jobs", "list", "--dir", str(tmp_path)]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == "ID NAME STATE STARTED DURATION BATCHES ROWS IN ROWS OUT LAG SINK".lower().split()
    words = first.split()
    assert words[1:3] + words[6:] == ["orders", "RUNNING", "8", "1,200", "40", "1,500", "totals"]
    assert second.split()[1:3] == ["broken", "FAILED"]
    assert main(["jobs", "status", "orders", "--dir", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    for line in (
        "script      /srv/orders.sql",
        "reads       orders  topic orders from earliest, lag 1,500",
        "writes      totals  kafka -> topic 'totals'",
        "            1,200 rows in, 40 out · 39 upserts, 1 tombstones · batch 7 in 0.43 s"
        " · watermark 2026-01-02 03:04:05 · state 5 rows, 2.1 MB · 2 late rows dropped",
        "            state of n2 Aggregate(by=[k]): 5 rows, 2.1 MB",
    ):
        assert line in told.splitlines(), told
    assert "n3 Sink" not in told
    assert main(["jobs", "status", "orders", "--plan", "--dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(
        "\n== totals ==\nn3 Sink(totals)   [40 rows in]\n   n2 Aggregate(by=[k])   [state 5 rows, 2.1 MB]\n"
    )
    assert main(["jobs", "status", "broken", "--dir", str(tmp_path)]) == 0
    assert "failure     it broke" in capsys.readouterr().out


def test_stop_of_what_has_ended_or_does_not_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry(tmp_path, "over", state="FINISHED", ended=1.0)
    assert main(["jobs", "stop", "over", "--dir", str(tmp_path)]) == 3
    assert "has ended already: FINISHED" in capsys.readouterr().err
    entry(tmp_path, "busy", state="RUNNING")
    assert main(["jobs", "stop", "busy", "--timeout", "0.3", "--dir", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert "is RUNNING after 0." in said
    assert "--now" in said
    assert main(["jobs", "stop", "nobody", "--dir", str(tmp_path)]) == 3
    assert "FD854" in capsys.readouterr().err


def test_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = entry(tmp_path, "a", state="FINISHED", ended=1.0)
    assert main(["jobs", "logs", "a", "--dir", str(tmp_path)]) == 3
    assert "has no log" in capsys.readouterr().err
    path = log_path(tmp_path, found.record.id)
    path.with_suffix(".log.1").write_text("one\ntwo\n")
    Log(path).write("three\n")
    for more, lines in [([], ["one", "two", "three"]), (["--tail", "2", "--follow"], ["two", "three"])]:
        assert main(["jobs", "logs", "a", "--dir", str(tmp_path), *more]) == 0
        assert capsys.readouterr().out.splitlines() == lines


def test_a_job_that_is_stopped_before_it_starts_is_canceled(tmp_path: Path) -> None:
    (start,) = (a for a in compiled(INSERT.format("a")).actions if isinstance(a, Start))
    job = Listed(start.job, Entry(tmp_path, "a", start.job.name, "a.sql"))
    job.publish()
    assert find(tmp_path, "a").state == "INITIALIZING"
    ask(tmp_path, find(tmp_path, "a"), Request("stop"))
    job.publish()
    assert (find(tmp_path, "a").state, job.asked) == ("CANCELED", True)


def test_a_job_that_does_not_start_has_failed_and_says_why(tmp_path: Path) -> None:
    (start,) = (a for a in compiled(INSERT.format("a")).actions if isinstance(a, Start))
    job = Listed(start.job, Entry(tmp_path, "a", start.job.name, "a.sql"))
    with pytest.raises(FlinkDdlError), job.starting():
        raise FlinkDdlError.of("FD811", "no broker at kafka://ann:hush@b:1")
    job.publish(last=True)
    record = find(tmp_path, "a")
    assert (record.state, record.failure) == ("FAILED", "no broker at kafka://ann:******@b:1")
    text = log_path(tmp_path, record.id).read_text()
    assert "error FD811: no broker at kafka://ann:******@b:1" in text
    assert text.endswith("the job has ended: FAILED\n")


def test_a_folder_that_cannot_be_used_keeps_nobody_from_running(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said: list[str] = []
    sql = f"SET 'flinkddl.jobs.dir' = '{tmp_path}/file/jobs';" + INSERT.format("a")
    with Listing(said.append) as listing:
        script = compiled(sql)
        listing.take("job.sql", script, None)
        (start,) = (a for a in script.actions if isinstance(a, Start))
        assert listing.of(start).entry is None
    assert len(said) == 1
    assert "Not a directory" in said[0]
