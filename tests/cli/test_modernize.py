"""``flinkddl modernize``: as a diff, in place, only asked, or from a pipe."""

import io
import subprocess

import pytest

from flinkddl.cli.main import main

OLD = "-- why\nCREATE TABLE t (a INT) WITH (\n  'connector.type' = 'kafka',\n  'connector.topic' = 't'\n);\n"
NEW = "-- why\nCREATE TABLE t (a INT) WITH (\n  'connector' = 'kafka',\n  'topic' = 't'\n);\n"
LOST = OLD.replace(",\n", ", 'connector.password' = 'hunter2', 'connector.nope' = 'x',\n")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "old.sql").write_text(OLD)
    (tmp_path / "new.sql").write_text(NEW)
    return tmp_path


def test_a_diff_that_patch_takes(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["modernize", "old.sql", "new.sql"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("--- a/old.sql\n+++ b/old.sql\n@@ ")
    assert (folder / "old.sql").read_text() == OLD
    subprocess.run(["git", "apply", "-"], input=said, text=True, check=True)
    assert (folder / "old.sql").read_text() == NEW


def test_a_text_without_a_last_line_end(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "old.sql").write_text(OLD.rstrip().replace("\n", " ").replace("-- why ", ""))
    assert main(["modernize", "old.sql"]) == 0
    subprocess.run(["git", "apply", "-"], input=capsys.readouterr().out, text=True, check=True)
    assert "'topic' = 't'" in (folder / "old.sql").read_text()


def test_write_changes_files_once(folder, capsys):
    assert main(["modernize", "--write", str(folder)]) == 0
    assert capsys.readouterr().out == f"modernized {folder / 'old.sql'}\n"
    assert (folder / "old.sql").read_text() == NEW
    assert main(["modernize", "--write", str(folder)]) == 0
    assert capsys.readouterr().out == ""


def test_check_names_what_would_change(folder, capsys):
    assert main(["modernize", "--check", str(folder)]) == 1
    assert capsys.readouterr().out == f"would change {folder / 'old.sql'}\n"
    assert (folder / "old.sql").read_text() == OLD
    assert main(["modernize", "--check", str(folder / "new.sql")]) == 0


def test_what_is_lost_ends_with_one_and_is_written_all_the_same(folder, capsys):
    (folder / "old.sql").write_text(LOST)
    assert main(["modernize", "--write", str(folder / "old.sql")]) == 1
    said = capsys.readouterr().err
    assert "nothing does the same as 'connector.nope' today" in said
    assert "hunter2" not in said
    assert "'connector' = 'kafka'" in (folder / "old.sql").read_text()


def test_from_a_pipe(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(OLD))
    assert main(["modernize", "--write", "-"]) == 0
    assert capsys.readouterr().out == NEW


def test_a_broken_script_is_kept(folder, capsys):
    (folder / "broken.sql").write_text("SELCT 1;")
    assert main(["modernize", "--write", str(folder)]) == 1
    assert "FD101" in capsys.readouterr().err
    assert (folder / "old.sql").read_text() == NEW
