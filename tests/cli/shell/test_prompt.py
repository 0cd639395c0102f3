"""The prompt, driven by keys through a pipe, as a terminal would send them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from pygments.token import Comment, Error, Keyword, Name, Number, String

from flinkddl.cli.shell.engine import Engine, Quit
from flinkddl.cli.shell.highlight import FlinkSqlLexer
from flinkddl.cli.shell.output import Output
from flinkddl.cli.shell.prompt import make_session, toolbar
from flinkddl.cli.shell.warmup import SparkStart
from tests.cli.shell.support import catalog

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_toolkit.history import History

pytestmark = pytest.mark.timeout(120)  # a prompt that waits for one more key would wait for ever
ALT_ENTER, CTRL_C, LEFT = "\x1b\r", "\x03", "\x1b[D"
PASTE = "\x1b[200~{}\x1b[201~"


@pytest.fixture
def engine() -> Engine:
    made = catalog()
    return Engine(made, SparkStart(made), Output())


def typed(engine: Engine, keys: str, history: History | None = None) -> str:
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        session = make_session(engine, history or InMemoryHistory(), pipe, DummyOutput())
        return session.prompt()


KEYS = [
    ("one line", "SELECT 1;\r", "SELECT 1;"),
    ("several lines", "SELECT 1\r, 2\r;\r", "SELECT 1\n, 2\n;"),
    ("a semicolon in a string", "SELECT ';\r';\r", "SELECT ';\n';"),
    ("a new line by hand", f"SELECT 1;{ALT_ENTER}SELECT 2;\r", "SELECT 1;\nSELECT 2;"),
    ("quit without semicolon", "quit\r", "quit"),
    ("a paste keeps its lines", PASTE.format("SELECT 1;\nSELECT 2;") + "\r", "SELECT 1;\nSELECT 2;"),
    ("edited in the middle", f"SELECT 2;{LEFT}{LEFT}1\r", "SELECT 12;"),
    ("a statement set", "BEGIN STATEMENT SET;\rEND;\r", "BEGIN STATEMENT SET;\nEND;"),
]


@pytest.mark.parametrize(("keys", "text"), [k[1:] for k in KEYS], ids=[k[0] for k in KEYS])
def test_what_keys_make(engine: Engine, keys: str, text: str) -> None:
    assert typed(engine, keys) == text


def test_ctrl_c_drops_what_is_typed(engine: Engine) -> None:
    with pytest.raises(KeyboardInterrupt):
        typed(engine, f"SELECT{CTRL_C}")


def test_history_is_kept_in_a_file(engine: Engine, tmp_path: Path) -> None:
    file = str(tmp_path / "history")
    typed(engine, "SELECT 'first'\r;\r", FileHistory(file))
    typed(engine, "SELECT 'second';\r", FileHistory(file))
    assert list(FileHistory(file).load_history_strings()) == ["SELECT 'second';", "SELECT 'first'\n;"]


def test_the_line_below_tells_of_spark_and_of_where_one_is(engine: Engine) -> None:
    assert toolbar(engine) == " Spark is not started  |  default_catalog.default_database"
    engine.execute("USE other;")
    assert "default_catalog.other" in toolbar(engine)


COLOURS = [
    ("SELECT", Keyword),
    ("COUNT", Name.Function),
    ("'it''s'", String.Single),
    ("`a b`", Name.Variable),
    ("42", Number),
    ("-- why", Comment),
    ("/*+ OPTIONS('a' = 'b') */", Comment.Special),
    ("BIGINT", Keyword.Type),
    ("whatever", Name),
    ("¿", Error),
]


def test_colours_and_places() -> None:
    text = "\n".join(piece for piece, _ in COLOURS).replace("COUNT", "COUNT(")
    pieces = list(FlinkSqlLexer().get_tokens_unprocessed(text))
    assert "".join(part for _, _, part in pieces) == text
    assert all(text[at : at + len(part)] == part for at, _, part in pieces)
    for piece, kind in COLOURS:
        assert (kind, piece) in [(k, part) for _, k, part in pieces]


# ---- statements that need no Spark ---------------------------------------------------------------------------------

ANSWERS: list[tuple[str, bool, str]] = [
    ("CREATE TABLE x (a INT) WITH ('connector' = 'print');", True, "[INFO] Execute statement succeeded."),
    ("SHOW DATABASES;", True, "|            other |\n+------------------+\n2 rows in set"),
    ("SHOW JOBS;", True, "Empty set"),
    ("SET 'sql-client.execution.result-mode' = 'tableau';", True, "[INFO] Execute statement succeeded."),
    ("SET 'sql-client.execution.result-mode' = 'tabloid';", False, "FD330"),
    ("DESCRIBE other.orders;", True, "DECIMAL(10, 2)"),
    ("EXPLAIN SELECT * FROM per_region;", True, "== Spark steps =="),
    ("SELECT usr_id FROM pageviews;", False, "      |        ^^^^^^ did you mean 'user_id'?"),
    ("STOP JOB '7';", False, "FD840: there is no job '7'"),
    ("DESCRIBE JOB '7';", False, "FD840"),
    ("HELP;", True, "Statements end with a semicolon."),
    ("help", True, "Statements end with a semicolon."),
]


@pytest.mark.parametrize(("text", "well", "said"), ANSWERS, ids=[a[0] for a in ANSWERS])
def test_answers(engine: Engine, capsys: pytest.CaptureFixture[str], text: str, well: bool, said: str) -> None:
    assert engine.execute(text) is well
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("text", ["QUIT;", "exit", "Quit ;"])
def test_leaving(engine: Engine, text: str) -> None:
    with pytest.raises(Quit):
        engine.execute(text)


def test_a_script_with_a_mistake_is_not_begun(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    before = engine.catalog.state
    assert not engine.execute("CREATE VIEW v AS SELECT 1 AS a; SELECT nope FROM v;")
    assert engine.catalog.state is before
    assert "FD450" in capsys.readouterr().out


def test_settings_hold_from_their_place_on(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(engine, "_query", lambda action: seen.append(engine.settings.table_display_max_column_width))
    engine.execute("SELECT 1; SET 'table.display.max-column-width' = '9'; SELECT 2;")
    assert seen == [30, 9]
