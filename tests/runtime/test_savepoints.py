"""Savepoints as folders: what is copied of a checkpoint, what is refused, what is found out when it is taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.moved import at_home, brought_along
from flinkddl.runtime.storage.moves import MOVES_FILE
from flinkddl.runtime.storage.savepoints import create, damage, drop, every, folder_of, keep, load, restore

QUERY = "cat.db.sink"


def checkpoint(root: Path, *, committed: int = 4, planned: int = 5, transactional: bool = False) -> Path:
    """Return a job's folder as Spark leaves it: snapshots of versions 2 and 4, changes since the first version."""
    folder = folder_of(root, "job")
    query = folder / QUERY
    files = {"metadata": '{"id":"1"}', "sources/0/0": "v1\n{}", "sources/1/9.compact": "later", "sources/1/3": "files"}
    files["sources/2/0"] = f'v1\n{{"path":"file://{folder}/frames/f/part-1.parquet","batchId":0}}'
    files |= {f"offsets/{n}": f'v1\n{{"batchWatermarkMs":0}}\n{{"t":{{"0":{n}}}}}' for n in range(planned + 1)}
    files |= {f"commits/{n}": "v1" for n in range(committed + 1)}
    files |= {f"state/0/0/{n}.changelog": "c" * n for n in range(1, planned + 2)}
    files |= {"state/0/0/2.zip": "z", "state/0/0/4.zip": "zz", "state/0/0/SSTs/1.sst": "s" * 100, "offsets/.5.crc": "x"}
    files |= {"state/0/_metadata/metadata": 'v1\n{"operatorName":"stateStoreSave"}', "state/0/0/_metadata/schema": "s"}
    for path, text in files.items():
        (query / path).parent.mkdir(parents=True, exist_ok=True)
        (query / path).write_text(text)
    plan = {"job": "job", "drained": False, "plan": [["Scan", "t"]], "queries": [], "transactional": transactional}
    plan |= {"script": ["job.sql", "abc"], "nodes": [["GroupAggregate-1", "GroupAggregate: a row a key"]]}
    (folder / "flinkddl-plan.json").write_text(json.dumps(plan))
    (folder / "flinkddl-owner-000001.json").write_text("{}")
    (folder / "frames/f").mkdir(parents=True)
    (folder / "frames/f/part-1.parquet").write_text("rows")
    return folder


def test_what_is_copied(tmp_path: Path) -> None:
    savepoint = create(checkpoint(tmp_path / "cp"), tmp_path / "sp", live=True)
    query = {p.removeprefix(f"{QUERY}/") for p in savepoint.files if p.startswith(QUERY)}
    assert query == {
        "metadata", "sources/0/0", "sources/1/3", "sources/2/0",
        *(f"{log}/{n}" for log in ("offsets", "commits") for n in range(5)),
        "state/0/0/4.zip", "state/0/0/5.changelog", "state/0/0/SSTs/1.sst",
        "state/0/_metadata/metadata", "state/0/0/_metadata/schema",
    }  # fmt: skip
    assert savepoint.files.keys() - {f"{QUERY}/{p}" for p in query} == {"flinkddl-plan.json", "frames/f/part-1.parquet"}
    (taken,) = savepoint.queries.values()
    assert (taken.batch, taken.sources) == (4, [{"t": {"0": 4}}])
    assert taken.state.keys() == {"0 stateStoreSave"}
    assert (savepoint.script, savepoint.script_hash, savepoint.job) == ("job.sql", "abc", "job")
    assert every(tmp_path / "sp") == [load(Path(savepoint.path))] == [savepoint]
    assert not list((tmp_path / "sp").glob(".*"))
    assert [p.name for p in (tmp_path / "cp/job").iterdir()] == ["job"]  # nothing is left beside the checkpoint


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"committed": -1}, "has committed no batch yet"),
        ({"transactional": True}, "batch 5 .* is planned and not committed: Kafka may have it"),
    ],
    ids=["none-committed", "cut-off-and-exactly-once"],
)
def test_no_savepoint_of(tmp_path: Path, facts: dict[str, int], said: str) -> None:
    with pytest.raises(FlinkDdlError, match=f"FD859: .*{said}"):
        create(checkpoint(tmp_path, **facts), tmp_path / "sp", live=False)  # type: ignore[arg-type]
    assert not every(tmp_path / "sp")


def test_no_savepoint_of_state_that_is_on_its_way(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path)
    (folder / MOVES_FILE).write_text(json.dumps({"plan": (folder / "flinkddl-plan.json").read_text()}))
    with pytest.raises(FlinkDdlError, match=r"FD859: .*start the job once"):
        create(folder, tmp_path / "sp", live=False)


@pytest.mark.parametrize("facts", [{}, {"planned": 4, "transactional": True}], ids=["at-least-once", "in-order"])
def test_of_a_run_that_has_ended(tmp_path: Path, facts: dict[str, int]) -> None:
    assert create(checkpoint(tmp_path, **facts), tmp_path / "sp", live=False).queries[QUERY].batch == 4  # type: ignore[arg-type]


def test_state_that_is_not_whole_is_no_savepoint(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path)
    (folder / QUERY / "state/0/0/5.changelog").unlink()
    with pytest.raises(FlinkDdlError, match=r"FD822.*state of version 5 is not whole"):
        create(folder, tmp_path / "sp", live=True)


def test_taken_back_elsewhere_under_another_id(tmp_path: Path) -> None:
    savepoint = create(checkpoint(tmp_path / "cp"), tmp_path / "sp", live=True)
    moved = Path(savepoint.path).rename(tmp_path / "elsewhere")
    target = folder_of(tmp_path / "new", "job")
    restore(load(moved), target)
    moved_log = (target / QUERY / "sources/2/0").read_text()
    assert f'"path":"file://{target}/frames/f/part-1.parquet"' in moved_log
    assert json.loads((target / QUERY / "metadata").read_text())["id"] != "1"
    there = {str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()}
    assert there == {*savepoint.files, "flinkddl-restored.json"}
    with pytest.raises(FlinkDdlError, match=r"FD858.*holds state of its own"):
        restore(load(moved), target)


@pytest.mark.parametrize("break_it", [lambda p: p.unlink(), lambda p: p.write_text("other")], ids=["gone", "changed"])
def test_damage_is_found(tmp_path: Path, break_it: object) -> None:
    savepoint = create(checkpoint(tmp_path / "cp"), tmp_path / "sp", live=True)
    assert damage(savepoint) == ""
    break_it(Path(savepoint.path, QUERY, "state/0/0/4.zip"))  # type: ignore[operator]
    assert "4.zip" in damage(savepoint)
    with pytest.raises(FlinkDdlError, match=r"FD857.*damaged.*4\.zip"):
        restore(savepoint, folder_of(tmp_path / "new", "job"))
    assert not list((tmp_path / "new").rglob("*.zip"))


def test_what_is_no_savepoint(tmp_path: Path) -> None:
    with pytest.raises(FlinkDdlError, match=r"FD857.*is no savepoint"):
        load(tmp_path / "nowhere")
    (tmp_path / "_metadata").write_bytes(b"\x49\x60\x67\x2d")
    with pytest.raises(FlinkDdlError, match=r"FD857.*is a savepoint of Flink"):
        load(tmp_path)


def test_dropped_and_kept(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "cp")
    made = [create(folder, tmp_path / "sp", live=True) for _ in range(3)]
    oldest, _, newest = sorted(made, key=lambda s: s.name)
    (Path(oldest.path) / "note.txt").write_text("mine")
    assert keep(tmp_path / "sp", "another", 1) == []
    assert len(keep(tmp_path / "sp", "job", 1)) == 2
    assert every(tmp_path / "sp") == [newest]
    assert [p.name for p in Path(oldest.path).iterdir()] == ["note.txt"]  # what is not of a savepoint stays
    drop(newest)
    assert not every(tmp_path / "sp")


def test_state_by_key_finds_its_schema_wherever_it_lies(tmp_path: Path) -> None:
    """Spark notes whole paths: of the place where an operator began, in a line of JSON behind a version."""
    begun, now = tmp_path / "begun" / "job", tmp_path / "now é" / "job"
    operator = now / "totals" / "state" / "0"
    schema, note = operator / "_stateSchema/default/0_1f", operator / "_metadata/v2/0"
    for path, text in ((schema, "v3"), (note, ""), (note.with_name(".0.crc"), "of the old text")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    other = "file:/gone/state/0/_stateSchema/default/0_2a"  # not here: Spark says what is missing
    paths = [f"file:{begun}/totals/state/0/_stateSchema/default/0_1f", other]
    stores = [{"storeName": "default", "numPartitions": 2, "stateSchemaFilePaths": paths}, {"storeName": "right"}]
    note.write_text("v2\n" + json.dumps({"operatorInfo": {"operatorId": 0}, "stateStoreInfo": stores}))
    before = note.read_text()
    with at_home(str(now / "totals")) as linked:
        assert f"file:{linked}/state/0/_stateSchema/default/0_1f" in Path(linked, "state/0/_metadata/v2/0").read_text()
        assert Path(linked, "state/0/_stateSchema/default/0_1f").read_text() == "v3"
    assert not Path(linked).exists()
    assert (note.read_text(), note.with_name(".0.crc").exists()) == (before, True)
    brought_along(str(now))
    version, told = note.read_text().split("\n")
    assert version == "v2"
    found = json.loads(told)
    assert found["operatorInfo"] == {"operatorId": 0}
    assert found["stateStoreInfo"][0]["stateSchemaFilePaths"] == [f"file:{schema}", other]
    assert found["stateStoreInfo"][1] == {"storeName": "right"}
    assert not note.with_name(".0.crc").exists()
    first = note.stat().st_mtime_ns
    with at_home(str(now / "totals")) as linked:
        assert linked == str(now / "totals")
    brought_along(str(now))
    assert note.stat().st_mtime_ns == first  # where it is right nothing is written
    note.write_text("v2\nno JSON")
    with pytest.raises(FlinkDdlError, match="FD822"):
        brought_along(str(now))
