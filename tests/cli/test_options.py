"""``flinkddl options`` and ``flinkddl support``: generated, complete, and the README has them as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flinkddl.catalog.settings import table as settings
from flinkddl.cli import options, support
from flinkddl.cli.main import main
from flinkddl.plan.nodes import NODES

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize(
    ("name", "holders"),
    [
        ("upsert-kafka", ["upsert-kafka"]),
        ("scan.startup.mode", ["kafka"]),
        ("scan.parallelism", ["datagen", "kafka", "upsert-kafka"]),
        ("json.ignore-parse-errors", ["json"]),
        ("value.csv.field-delimiter", ["csv"]),
        ("fields.id.kind", ["datagen"]),
        ("properties.linger.ms", ["kafka", "upsert-kafka"]),
        ("table.exec.state.ttl", ["table.exec.state.ttl"]),
        ("scan.bounded.*", ["kafka", "upsert-kafka"]),
    ],
)
def test_a_name_leads_to_its_owners(name: str, holders: list[str]) -> None:
    assert [e["name"] for e in options.about(name) if e["name"] in holders] == holders


@pytest.mark.parametrize("document", options.documents(), ids=lambda d: f"{d.kind}-{d.name}")
def test_every_option_is_explained(document: object, capsys: pytest.CaptureFixture[str]) -> None:
    name = document.name  # type: ignore[attr-defined]
    assert main(["options", name]) == 0
    printed = capsys.readouterr().out
    for key, spec in document.options.items():  # type: ignore[attr-defined]
        assert key in printed
        assert spec.doc in printed
        assert spec.note is None or spec.note in printed


def test_every_setting_is_explained() -> None:
    for key in settings():
        assert options.about(key), key


def test_all_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["options"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(options.documents())


def test_json_and_text_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["options", "kafka", "--format", "json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    found = {o["key"]: o for o in entry["options"]}
    assert found["scan.startup.mode"]["default"] == "group-offsets"
    assert found["properties.bootstrap.servers"]["required"] is True


def test_a_mistyped_name_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["options", "scan.startup.mod"]) == 2
    assert "did you mean 'scan.startup.mode'?" in capsys.readouterr().err


# ---- support -----------------------------------------------------------------------------------------------------


def test_readme_is_current() -> None:
    text = README.read_text(encoding="utf-8")
    assert support.filled(text) == text, "bring it up to date: make docs (flinkddl support --write README.md)"
    assert "| `upsert-kafka` | upserts and deletes |" in text


@pytest.mark.parametrize("part", support.PARTS)
def test_parts(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["support", part]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(lines) > 2
    cells = {line.replace("\\|", "").count("|") for line in lines}
    assert len(cells) == 1


def test_every_operator_has_its_words() -> None:
    assert all(node.sql for node in NODES)


def test_unknown_part_is_wrong_usage() -> None:
    assert main(["support", "nothing"]) == 2
