"""The operators with state of checkpoints, as the files of their folders say: without Spark, and without a change.

A folder is one that ``--checkpoint`` names, the folder of one job in it, or a savepoint.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError, did_you_mean
from flinkddl.runtime.storage.checkpoint import PLAN_FILE, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.runtime.storage.noted import nodes_of, noted_state
from flinkddl.runtime.storage.savepoints import last_of, of_version
from flinkddl.spark.folders import plain_folder
from flinkddl.spark.realtime import STATE_FORMAT
from flinkddl.spark.stateful import AGGREGATE, JOIN, SESSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_DEPTHS = ("", "*/", "*/*/")
_DEFAULT = "default_catalog.default_database."
_FORMATS: Mapping[str, str] = {
    AGGREGATE: "spark.sql.streaming.aggregation.stateFormatVersion",
    SESSIONS: "spark.sql.streaming.sessionWindow.stateFormatVersion",
    JOIN: "spark.sql.streaming.join.stateFormatVersion",
}
"""The settings that a checkpoint notes the version of an operator's state format by."""


@dataclass(frozen=True)
class Operator:
    """One operator with state of one query of a job, as of the query's last committed batch.

    ``number`` is Spark's. ``bytes``: size of the files that this batch's state is made of. ``variables`` are the parts
    of state that ``transformWithState`` keeps, ``settings`` what the checkpoint notes of Spark's, ``note`` what a run
    wrote down of the operator (``noted.py``), nothing where it and Spark do not say the same.
    """

    job: str
    folder: str
    number: int
    spark: str
    batch: int
    bytes: int
    partitions: int
    stores: tuple[str, ...]
    variables: tuple[str, ...]
    settings: Mapping[str, str] = field(repr=False)
    note: Mapping[str, Any] = field(repr=False)

    @property
    def query(self) -> str:
        """The query's name: what it writes into."""
        return plain_folder(Path(self.folder).name).replace(_DEFAULT, "")

    @property
    def name(self) -> str:
        """What it is called here: its query and Spark's number."""
        return f"{self.query}/{self.number}"

    @property
    def nodes(self) -> Sequence[Mapping[str, Any]]:
        """What is written down of each of its nodes: a stage has several."""
        return nodes_of(self.note)

    @property
    def layout(self) -> str:
        """Where its state lies, and in which format."""
        provider = self.settings.get("spark.sql.streaming.stateStore.providerClass", "").rpartition(".")[2]
        words = [provider.removesuffix("StateStoreProvider") or "unknown provider"]
        words += filter(None, [self.settings.get("spark.sql.streaming.stateStore.encodingFormat")])
        if version := self.settings.get(_FORMATS.get(self.spark, "")):
            words.append(f"format {version}")
        return ", ".join(words)


def operators_of(place: Path, job: str | None = None) -> list[Operator]:
    """Return the operators with state of all jobs below a folder, or of one: by its name, its folder's or its table's.

    Raises FD874 for a folder that is not there or holds no checkpoint, and for an unknown job; FD822 for broken notes.
    """
    if not place.is_dir():
        near = did_you_mean(place.name, (p.name for p in place.parent.iterdir())) if place.parent.is_dir() else None
        raise FlinkDdlError.of("FD874", f"there is no folder '{place}'", help=near)
    roots = [p.parent for depth in _DEPTHS for p in sorted(place.glob(depth + PLAN_FILE))]
    plans = {root: plan for root in roots if (plan := stored_plan(LOCAL, str(root))) is not None}
    if not plans:
        help = "name what `flinkddl run --checkpoint` was given, the folder of a job in it, or a savepoint"
        raise FlinkDdlError.of("FD874", f"'{place}' holds no checkpoint of flinkddl", help=help)
    names = {root: (str(plan["job"]), root.name) for root, plan in plans.items()}
    if job is not None:
        plans = {root: plan for root, plan in plans.items() if job in (*names[root], names[root][0].rpartition(".")[2])}
    if not plans:
        raise _unknown(
            f"'{place}' holds no job '{job}'", job or "", sorted({n for both in names.values() for n in both})
        )
    return [operator for root, plan in plans.items() for operator in _of_job(root, str(plan["job"]))]


def pick(found: Sequence[Operator], node: str) -> tuple[Operator, frozenset[int]]:
    """Return the operator of a name: ``query/number``, the number alone, its identity or the beginning of that.

    With it come the numbers of those of its nodes that have this identity; none where it is asked for as a whole.
    Raises FD874 where none or several are of that name.
    """
    matches: tuple[Callable[[Operator], bool], ...] = (
        lambda o: node in (o.name, str(o.number), *_identities(o)),
        lambda o: any(identity.startswith(node) for identity in _identities(o)),
    )
    named = next((hits for match in matches if (hits := [o for o in found if match(o)])), [])
    if len(named) == 1:
        (operator,) = named
        return operator, frozenset() if node in (operator.name, str(operator.number)) else _of_identity(operator, node)
    known = [o.name for o in named or found]
    if named:
        message = f"several operators are called '{node}': {', '.join(known)}"
        raise FlinkDdlError.of("FD874", message, help="name the query and the number, or the job")
    raise _unknown(f"no operator with state is called '{node}'", node, known)


def _of_identity(operator: Operator, identity: str) -> frozenset[int]:
    whole = identity in _identities(operator)
    mine = (n for n in operator.nodes if str(n.get("identity", "")).startswith(identity) and n.get("node"))
    return frozenset(int(n["node"]) for n in mine if not whole or n["identity"] == identity)


def _identities(operator: Operator) -> list[str]:
    return [str(n.get("identity", "")) for n in operator.nodes]


def _unknown(message: str, name: str, known: list[str]) -> FlinkDdlError:
    help = did_you_mean(name, known) or f"there is: {', '.join(known) or 'none'}"
    return FlinkDdlError.of("FD874", message, help=help)


def _of_job(root: Path, job: str) -> Iterator[Operator]:
    notes = noted_state(LOCAL, str(root))
    for query in sorted(p.parent for p in root.rglob("metadata") if (p.parent / "offsets").is_dir()):
        batch = last_of(query / "commits")
        if batch is None:
            continue  # what lies there belongs to a batch that may never be
        settings = _settings(query / "offsets" / str(batch))
        settings |= {STATE_FORMAT: _format(query / "commits" / str(batch))}
        said = [json.loads(_last_lines(p)) for p in _numbers(query / "state")]
        noted = notes.get(query.name, [])
        agree = [s["operatorInfo"]["operatorName"] for s in said] == [n["spark"] for n in noted]
        for place, one, note in zip(_numbers(query / "state"), said, noted if agree else [{}] * len(said), strict=True):
            yield _operator(job, query, place, one, (batch, settings, note))


def _operator(
    job: str, query: Path, place: Path, said: Mapping[str, Any], more: tuple[int, Mapping[str, str], Mapping[str, Any]]
) -> Operator:
    batch, settings, note = more
    properties = json.loads(said.get("operatorPropertiesJson") or "{}")
    variables = (v["stateName"] for v in properties.get("stateVariables", ()))
    return Operator(
        job=job,
        folder=str(query),
        number=int(place.name),
        spark=said["operatorInfo"]["operatorName"],
        batch=batch,
        bytes=_bytes(place, batch + 1),
        partitions=max((s["numPartitions"] for s in said["stateStoreInfo"]), default=0),
        stores=tuple(s["storeName"] for s in said["stateStoreInfo"]),
        variables=tuple(sorted(v for v in variables if not v.startswith("$"))),
        settings=settings,
        note=note,
    )


def _numbers(state: Path) -> list[Path]:
    return sorted((p for p in state.glob("[0-9]*") if p.name.isdigit() and _metadata(p)), key=lambda p: int(p.name))


def _metadata(operator: Path) -> Path | None:
    """Return where Spark notes an operator: in version 1 one file, in version 2 one a change, by its batch."""
    versions = [p for p in (operator / "_metadata" / "v2").glob("[0-9]*") if p.name.isdigit()]
    old = operator / "_metadata" / "metadata"
    return max(versions, key=lambda p: int(p.name)) if versions else old if old.is_file() else None


def _last_lines(operator: Path) -> str:
    path = _metadata(operator)
    assert path is not None
    return path.read_text(encoding="utf-8").partition("\n")[2]


def _settings(offsets: Path) -> dict[str, str]:
    """Return the settings that a batch notes in the line after its version."""
    lines = offsets.read_text(encoding="utf-8").splitlines()
    found: dict[str, str] = json.loads(lines[1]).get("conf", {})
    return found


def _format(commit: Path) -> str:
    """Return a checkpoint's format, which Spark does not note: in version 2 a batch says which files its state is."""
    lines = commit.read_text(encoding="utf-8").splitlines()
    return "2" if json.loads(lines[1]).get("stateUniqueIds") else "1"


def _bytes(operator: Path, version: int) -> int:
    total = 0
    files = (p for p in operator.glob("[0-9]*/**/*") if p.is_file() and "_metadata" not in p.parts)
    for store in sorted({p.parent for p in files}):
        try:
            names = of_version(store, version)
        except FileNotFoundError:  # Spark writes and takes away files meanwhile
            names = [p.name for p in store.iterdir() if p.is_file()]
        total += sum((store / n).stat().st_size for n in names if (store / n).is_file())
    return total
