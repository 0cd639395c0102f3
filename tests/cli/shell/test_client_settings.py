"""What the settings of the client change: how a result is shown, and what is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.cli.shell import view
from flinkddl.cli.shell.engine import Engine
from flinkddl.cli.shell.output import Output
from flinkddl.cli.shell.warmup import SparkStart
from flinkddl.cli.tables import Columns
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.script.compile import Start, compile_script
from tests.cli.shell.support import catalog

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def engine() -> Engine:
    made = catalog()
    return Engine(made, SparkStart(made), Output())


def query(engine: Engine) -> Start:
    (action,) = compile_script(SourceText("t", "SELECT user_region FROM pageviews;"), engine.catalog.state).actions
    assert isinstance(action, Start)
    return action


def test_result_mode(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    engine.viewer = lambda engine, action, columns, mode: seen.append(mode)
    monkeypatch.setattr(engine, "_tableau", lambda action, columns: seen.append("tableau"))
    for mode in ("table", "changelog", "tableau"):
        engine.execute(f"SET 'sql-client.execution.result-mode' = '{mode}'; SELECT user_region FROM pageviews;")
    assert seen == ["table", "changelog", "tableau"]


@pytest.mark.parametrize("most", [2, 3])
def test_most_rows(engine: Engine, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """A result is kept up to so many rows; which go is TableResult's and ChangelogResult's own matter."""

    class NoScreen:
        def __init__(self, result: Any, *_: Any) -> None:
            assert result.most == most
            raise KeyboardInterrupt

    monkeypatch.setattr(view, "View", NoScreen)
    engine.execute(f"SET 'sql-client.execution.max-table-result.rows' = '{most}';")
    action = query(engine)
    with pytest.raises(KeyboardInterrupt):
        view.show_query(engine, action, Columns.of_query(action, engine.catalog.state), "table")


@pytest.mark.parametrize(("verbose", "shown"), [("true", True), ("false", False)])
def test_verbose(
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    verbose: str,
    shown: bool,
) -> None:
    class Failed(FlinkDdlError):
        log = tmp_path / "java.log"

    Failed.log.write_text("at org.apache.spark.Deep")

    def fail(*_: Any) -> None:
        raise Failed.of("FD830", "it failed")

    monkeypatch.setattr(engine, "_query", fail)
    assert not engine.execute(f"SET 'sql-client.verbose' = '{verbose}'; SELECT user_region FROM pageviews;")
    assert ("org.apache.spark.Deep" in capsys.readouterr().out) is shown


def test_column_width(engine: Engine) -> None:
    widths = []
    for width in (12, 15):
        engine.execute(f"SET 'table.display.max-column-width' = '{width}';")
        widths += Columns.of_query(query(engine), engine.catalog.state).widths()
    assert widths == [12, 15]


def test_time_cost(engine: Engine) -> None:
    assert engine.time_cost(0).endswith("seconds)")
    engine.execute("SET 'sql-client.display.print-time-cost' = 'false';")
    assert engine.time_cost(0) == ""


def test_dml_sync(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Job:
        id, name = 1, "insert"

        def await_termination(self) -> None:
            waited.append(self)

    waited: list[Any] = []
    monkeypatch.setattr(engine, "start", lambda action: Job())
    insert = "INSERT INTO `odd name` SELECT 1, user_region FROM pageviews;"
    for sync, times in (("false", 0), ("true", 1)):
        assert engine.execute(f"SET 'table.dml-sync' = '{sync}'; {insert}")
        assert len(waited) == times
