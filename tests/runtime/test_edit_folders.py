"""Where the queries of an edited script have their state, and what starts that were killed leave in a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.checkpoint import Checkpoint, _check, checked, note_plan, open_checkpoint, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.spark.meaning import meanings
from tests.spark.test_carried import COUNTS, SUMS, TOPS, job, sets

OUT = "default_catalog.default_database.sums"
COUNTED = "default_catalog.default_database.counts"


def ran(checkpoint: Checkpoint, write: str, holds: str) -> Path:
    """Leave what a query of one operator does, as far as it matters here."""
    query = Path(checkpoint.location(write))
    for log in ("offsets", "commits"):
        (query / log).mkdir(parents=True)
        (query / log / "0").write_text("v1\n{}")
    (query / "metadata").write_text('{"id":"1"}')
    for number in range(2):
        (query / "state" / f"{number}" / "0").mkdir(parents=True)
        (query / "state" / f"{number}" / "0" / "1.zip").write_text(f"{holds} {number}")
    return query


def uploads(query: Path) -> Path:
    """Upload what waited for a query that has ended, as its stores know the place."""
    late = query / "state" / "0" / "0" / "9.zip"
    late.parent.mkdir(parents=True, exist_ok=True)
    late.write_text("late")
    return late


def test_what_an_ended_query_uploads_comes_to_no_operator(tmp_path: Path) -> None:
    """Its stores write by the numbers of before, up to a minute after its end: the folder is another one by then."""
    was = ran(open_checkpoint(job(f"{SUMS}"), str(tmp_path)), OUT, "of sums")
    found = checked(job(TOPS.replace("tops", "counts")), str(tmp_path), allow_dropped=True)
    ((write, carried),) = found.edit.carried.items()
    (was / "state-next" / "0").mkdir(parents=True)  # as filled
    now = note_plan(found, job(TOPS.replace("tops", "counts")), ("", ""))
    query = Path(now.location(write))
    assert query != was
    assert carried.order[1:] == (0, 1)
    for _ in range(2):  # the start that goes on with it, and the next
        late = uploads(was)
        again = open_checkpoint(job(TOPS.replace("tops", "counts")), str(tmp_path))
        assert Path(again.location(write)) == query
        assert not late.exists()
        assert sorted(p.name for p in query.rglob("*.zip")) == ["1.zip"] * 2
        assert (query / "state" / "2" / "0" / "1.zip").read_text() == "of sums 1"


def test_a_query_that_comes_again_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """That of an INSERT that was dropped comes back with what its stores upload."""
    both, one = job(sets(SUMS, COUNTS)), job(sets(SUMS))
    checkpoint = open_checkpoint(both, str(tmp_path))
    ran(checkpoint, OUT, "of sums")
    was = ran(checkpoint, COUNTED, "of counts")
    open_checkpoint(one, str(tmp_path), allow_dropped=True)
    assert not was.exists()
    late = uploads(was)
    again = open_checkpoint(both, str(tmp_path))
    assert not late.exists()
    uploads(was)
    assert Path(again.location(COUNTED)) != was
    assert not again.started(COUNTED)
    assert again.location(OUT) == checkpoint.location(OUT)
    assert open_checkpoint(both, str(tmp_path)).location(COUNTED) == again.location(COUNTED)


def test_a_query_that_never_began_has_no_folder(tmp_path: Path) -> None:
    """Spark refused it, and the script was changed then."""
    open_checkpoint(job(SUMS), str(tmp_path))
    again = open_checkpoint(job(TOPS), str(tmp_path))
    assert again.edit.carried
    assert not again.started("default_catalog.default_database.tops")
    assert open_checkpoint(job(TOPS), str(tmp_path)).edit.refused == ()


def test_a_fill_that_was_killed_leaves_nothing(tmp_path: Path) -> None:
    """The start after it goes on with the unedited script, and savepoints find one query."""
    made = job(SUMS)
    checkpoint = open_checkpoint(made, str(tmp_path))
    query = ran(checkpoint, OUT, "of sums")
    for place in (Path(checkpoint.root, "filling", "query"), query / "state-next" / "0"):
        place.mkdir(parents=True)
        (place / "metadata").write_text("")
    open_checkpoint(made, str(tmp_path))
    assert [p.parent for p in Path(checkpoint.root).rglob("metadata")] == [query]


def test_a_store_that_copies_folders(tmp_path: Path) -> None:
    """A start that is killed while one is copied would leave it half there and half here."""
    open_checkpoint(job(SUMS), str(tmp_path))
    stored = stored_plan(LOCAL, str(tmp_path / "j"))
    assert stored is not None
    now = job(TOPS)
    plain = json.loads(json.dumps(meanings(now)))
    with pytest.raises(FlinkDdlError, match=r"FD820.*s3a:// copies folders"):
        _check(Checkpoint("s3a://b/j", temporary=False), stored, (now, plain), allow_dropped=True)
    assert _check(Checkpoint("hdfs://b/j", temporary=False), stored, (now, plain), allow_dropped=True).edit.carried


def test_state_is_lost_when_the_plan_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that is killed while it takes away what is dropped does not leave a plan that still has it."""
    both, one = job(sets(SUMS, COUNTS)), job(sets(SUMS))
    checkpoint = open_checkpoint(both, str(tmp_path))
    for run in both.runs:
        ran(checkpoint, run.name, run.name)
    found = checked(one, str(tmp_path), allow_dropped=True)
    monkeypatch.setattr(type(LOCAL), "remove", lambda _, path: (_ for _ in ()).throw(KeyboardInterrupt(path)))
    with pytest.raises(KeyboardInterrupt):
        note_plan(found, one, ("", ""))
    monkeypatch.undo()
    told = stored_plan(LOCAL, str(tmp_path / "j"))
    assert told is not None
    assert [q["write"] for q in told["meaning"]] == [run.name for run in one.runs]
