"""State folders that move to the numbers of their operators, and a run that is killed at any step of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from flinkddl.runtime.storage.file_systems import LOCAL, LocalStorage
from flinkddl.runtime.storage.moves import MOVES_FILE, Move, begin, clear, finish, made, pending_plan, rename

if TYPE_CHECKING:
    from pathlib import Path

PLAN = "flinkddl-plan.json"
IDS = "stateUniqueIds"


class Killed(Exception):
    """The process is gone."""


class Dying(LocalStorage):
    """A file system whose user is killed before the n-th change."""

    def __init__(self, lives: int) -> None:
        self.lives = lives

    def _live(self) -> None:
        self.lives -= 1
        if self.lives < 0:
            raise Killed

    def make(self, folder: str) -> None:
        self._live()
        super().make(folder)

    def write(self, path: str, text: str) -> None:
        self._live()
        super().write(path, text)

    def move(self, old: str, new: str) -> None:
        self._live()
        super().move(old, new)

    def remove(self, path: str) -> None:
        self._live()
        super().remove(path)


def operator(query: Path, number: int, holds: str, zipped: str = "4.zip") -> None:
    """Write an operator as Spark does, as far as it matters here."""
    at = query / "state" / str(number)
    for partition in range(2):
        (at / f"{partition}").mkdir(parents=True)
        (at / f"{partition}" / zipped).write_text(f"{holds} {partition}")
    (at / "_metadata" / "v2").mkdir(parents=True)
    told = {
        "operatorInfo": {"operatorId": number, "operatorName": "transformWithStateExec"},
        "stateSchemaFilePaths": [f"file:{at}/_stateSchema/default/0_1"],
    }
    (at / "_metadata" / "v2" / "0").write_text("v2\n" + json.dumps(told, separators=(",", ":")))
    (at / "_metadata" / "v2" / ".0.crc").write_text("of that text")


def begun(root: Path, operators: int, ids: bool = False) -> Path:
    query = root / "q"
    for number in range(operators):
        operator(query, number, f"was {number}")
    (query / "commits").mkdir()
    said = {"nextBatchWatermarkMs": 0} | ({IDS: {f"{n}": [[f"id{n}"]] for n in range(operators)}} if ids else {})
    (query / "commits" / "3").write_text("v1\n" + json.dumps(said))
    (root / PLAN).write_text("old")
    return query


def holds(query: Path) -> dict[int, str]:
    return {int(p.name): (p / "0" / "4.zip").read_text().removesuffix(" 0") for p in (query / "state").iterdir()}


def check(root: Path, wanted: dict[int, str]) -> None:
    """What lies at each number is what is wanted, and says so itself."""
    query = root / "r"
    assert holds(query) == wanted
    for number in wanted:
        text = (query / "state" / str(number) / "_metadata" / "v2" / "0").read_text()
        assert f'"operatorId":{number},' in text
        assert f"{query}/state/{number}/_stateSchema" in text
    assert (root / PLAN).read_text() == "new"
    assert sorted(p.name for p in query.iterdir()) == ["commits", "state"]
    assert sorted(p.name for p in root.iterdir()) == [PLAN, "r"]


CASES: dict[str, tuple[int, tuple[int, ...], dict[int, str]]] = {
    "one less in front": (3, (1, 2), {0: "was 1", 1: "was 2"}),
    "one less in the middle": (3, (0, 2), {0: "was 0", 1: "was 2"}),
    "all others": (2, (1, 0), {0: "was 1", 1: "was 0"}),
    "one more": (2, (-1, 0, 1), {0: "made", 1: "was 0", 2: "was 1"}),
    "one for two": (3, (-1, 2), {0: "made", 1: "was 2"}),
    "none left": (2, (), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_killed_at_any_step(case: str, tmp_path: Path) -> None:
    """Whoever comes next ends what was begun; before the journal is written nothing has been."""
    operators, order, wanted = CASES[case]
    for lives in range(100):
        root = tmp_path / str(lives)
        query = begun(root, operators)
        if -1 in order:
            operator(root / "other", 0, "made", "1.zip")
            made(LOCAL, str(root / "other"), 0, str(query), 0, 4)
            (root / "other" / "state").rmdir()
            (root / "other").rmdir()
        dying = Dying(lives)
        try:
            begin(dying, str(root), [Move("q", "r", order)], "new")
            finish(dying, str(root), PLAN)
        except Killed:
            if pending_plan(LOCAL, str(root)) is None and (root / PLAN).read_text() != "new":
                clear(LOCAL, str(root), ["q"])
                assert holds(query) == {n: f"was {n}" for n in range(operators)}
                continue
            finish(LOCAL, str(root), PLAN)
            finish(LOCAL, str(root), PLAN)
        check(root, wanted)
        if dying.lives >= 0:
            assert lives > 8
            return
    raise AssertionError("it takes more steps than that")


def test_a_query_without_operators_has_no_state(tmp_path: Path) -> None:
    begun(tmp_path, 2)
    begin(LOCAL, str(tmp_path), [Move("q", "r", ())], "new")
    assert pending_plan(LOCAL, str(tmp_path)) == "new"
    finish(LOCAL, str(tmp_path), PLAN)
    assert not list((tmp_path / "r" / "state").iterdir())
    assert not (tmp_path / MOVES_FILE).exists()


def test_a_commit_that_names_states_names_them_by_their_numbers_now(tmp_path: Path) -> None:
    """A chain's checkpoint does: Spark would look for the files of another operator."""
    query = begun(tmp_path, 2, ids=True)
    (query / "commits" / ".3.crc").write_text("of that text")
    operator(tmp_path / "other", 0, "made", "1_new.zip")
    (tmp_path / "other" / "state" / "0" / "0" / "1_new.changelog").write_text("")
    made(LOCAL, str(tmp_path / "other"), 0, str(query), 1, 4)
    begin(LOCAL, str(tmp_path), [Move("q", "r", (1, -1))], "new")
    finish(LOCAL, str(tmp_path), PLAN)
    query = tmp_path / "r"
    said = json.loads((query / "commits" / "3").read_text().partition("\n")[2])
    assert said[IDS] == {"0": [["id1"]], "1": [["new"], ["new"]]}
    assert not (query / "commits" / ".3.crc").exists()
    assert sorted(p.name for p in (query / "state" / "1" / "0").iterdir()) == ["4_new.zip"]


def listed(root: Path) -> Path:
    """Leave the log of a source of files, among them one of the checkpoint's own and one of another folder."""
    log = begun(root, 2).parent / "q" / "sources" / "listed" / "0"
    log.parent.mkdir(parents=True)
    log.with_name(".0.crc").write_text("of that text")
    paths = (f"file://{root}/frames/v/a%20b.parquet", f"file://{root}-2/frames/v/c.parquet")
    log.write_text("\n".join(["v1", *(json.dumps({"path": p, "batchId": 0}, separators=(",", ":")) for p in paths)]))
    return log


@pytest.mark.parametrize("twice", [False, True])
def test_a_job_that_is_renamed_and_killed_at_any_step(twice: bool, tmp_path: Path) -> None:
    """It is called the one or the other, whole; what Spark notes names its own files once somebody has opened it."""
    for lives in range(100):
        above = tmp_path / str(lives)
        old, new = (above / n / n if twice else above / n for n in ("old", "new"))
        listed(old)
        new.mkdir(parents=True)
        (new / "flinkddl-owner-000001.json").write_text("a start that was refused")
        dying = Dying(lives)
        try:
            rename(dying, str(old), str(new), "new")
            finish(dying, str(new), PLAN)
        except Killed:
            if old.exists():
                renamed_not_at_all(old)
                continue
            assert pending_plan(LOCAL, str(new)) == "new" or (new / PLAN).read_text() == "new"
            finish(LOCAL, str(new), PLAN)
        renamed(new)
        assert not old.exists()
        if dying.lives >= 0:
            assert lives > 8
            assert sorted(p.name for p in above.iterdir()) == ["new"]
            return
    raise AssertionError("it takes more steps than that")


def renamed_not_at_all(old: Path) -> None:
    """A start under the old name finds what it has left, and one under the new name may begin with it again."""
    assert pending_plan(LOCAL, str(old)) is None
    finish(LOCAL, str(old), PLAN)
    assert (old / PLAN).read_text() == "old"
    assert sorted(p.name for p in old.iterdir()) == [PLAN, "q"]
    assert f"{old}/q/state/0/_stateSchema" in (old / "q" / "state" / "0" / "_metadata" / "v2" / "0").read_text()


def renamed(new: Path) -> None:
    query = new / "q"
    assert (new / PLAN).read_text() == "new"
    assert sorted(p.name for p in new.iterdir()) == [PLAN, "q"]
    assert holds(query) == {0: "was 0", 1: "was 1"}
    for number in range(2):
        text = (query / "state" / str(number) / "_metadata" / "v2" / "0").read_text()
        assert f'"operatorId":{number},' in text
        assert f"file:{query}/state/{number}/_stateSchema" in text
        assert not (query / "state" / str(number) / "_metadata" / "v2" / ".0.crc").exists()
    version, mine, other = (query / "sources" / "listed" / "0").read_text().splitlines()
    assert version == "v1"
    assert json.loads(mine)["path"] == f"file://{new}/frames/v/a%20b.parquet"
    assert json.loads(other)["path"].endswith("old-2/frames/v/c.parquet")
    assert not (query / "sources" / "listed" / ".0.crc").exists()
