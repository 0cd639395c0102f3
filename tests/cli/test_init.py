"""``flinkddl init``: what it writes passes ``check``, and nothing is overwritten (it runs in tests/test_readme.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_project_passes_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "p")]) == 0
    assert (
        capsys.readouterr().out
        == f"{tmp_path / 'p'}: README.md, clicks.jsonl, job.sql. README.md says how to run it.\n"
    )
    monkeypatch.setenv("KAFKA_SERVERS", "localhost:9092")
    assert main(["check", "--strict", str(tmp_path / "p/job.sql")]) == 0
    assert "`flinkddl shell -i job.sql` runs\nthe script, its job too" in (tmp_path / "p/README.md").read_text()


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").touch()
    assert main(["init", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"'{tmp_path}' is not empty: nothing is written\n"
    assert main(["init", str(tmp_path / "mine" / "p")]) == 3
