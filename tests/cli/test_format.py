"""``flinkddl format``: to the terminal, into the files, or only asked."""

import io

import pytest

from flinkddl.cli.main import main

UGLY = "-- why\nselect   a,b from t where a>1 ;"
BROKEN = "SELCT 1;"


@pytest.fixture
def pretty(tmp_path, capsys):
    path = tmp_path / "pretty.sql"
    path.write_text(UGLY)
    assert main(["format", str(path)]) == 0
    text = capsys.readouterr().out
    assert text != UGLY
    assert text.startswith("-- why\nSELECT")
    assert path.read_text() == UGLY
    return text


@pytest.fixture
def folder(tmp_path, pretty):
    (tmp_path / "pretty.sql").write_text(pretty)
    (tmp_path / "ugly.sql").write_text(UGLY)
    return tmp_path


def test_check_names_what_would_change(folder, capsys):
    assert main(["format", "--check", str(folder)]) == 1
    assert capsys.readouterr().out == f"would change {folder / 'ugly.sql'}\n"
    assert (folder / "ugly.sql").read_text() == UGLY
    assert main(["format", "--check", str(folder / "pretty.sql")]) == 0
    assert capsys.readouterr().out == ""


def test_write_changes_files_once(folder, pretty, capsys):
    assert main(["format", "--write", str(folder)]) == 0
    assert capsys.readouterr().out == f"formatted {folder / 'ugly.sql'}\n"
    assert (folder / "ugly.sql").read_text() == pretty
    assert main(["format", "--write", str(folder)]) == 0
    assert capsys.readouterr().out == ""


BARE, FIXED = "SELECT value\nFROM t\n", "SELECT `value`\nFROM t\n"


def test_fix_puts_reserved_words_into_back_ticks(tmp_path, capsys):
    path = tmp_path / "bare.sql"
    path.write_text(BARE)
    assert main(["format", "--check", str(path)]) == 0
    assert main(["format", "--check", "--fix", str(path)]) == 1
    assert main(["format", "--fix", str(path)]) == 0
    assert capsys.readouterr().out == f"would change {path}\n{FIXED}"
    assert path.read_text() == BARE
    assert main(["format", "--fix", "--write", str(path)]) == 0
    assert path.read_text() == FIXED


def test_a_broken_script_is_reported_and_kept_and_the_others_done(folder, pretty, capsys):
    (folder / "broken.sql").write_text(BROKEN)
    assert main(["format", "--write", str(folder)]) == 1
    assert f"{folder / 'broken.sql'}:1:1: error FD101" in capsys.readouterr().err
    assert (folder / "broken.sql").read_text() == BROKEN
    assert (folder / "ugly.sql").read_text() == pretty


def test_a_missing_file_is_the_outside_world(tmp_path, capsys):
    assert main(["format", str(tmp_path / "none.sql")]) == 3
    assert "FD801" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--write"]])
def test_standard_input_is_printed(pretty, capsys, monkeypatch, options):
    monkeypatch.setattr("sys.stdin", io.StringIO(UGLY))
    assert main(["format", *options, "-"]) == 0
    assert capsys.readouterr().out == pretty
