"""``python -m tests.upgrades``: edit a script over its checkpoint, start it again, and recount its table.

Each job begins once, over its first records, and its later records are written. Then each of its edits starts over a
copy of that checkpoint, one after the other; those that must be refused share one copy, over which the unedited script
goes on last: a refusal takes nothing away. A line an edit: its name, the exit code, what the start said, whether the
sinks hold what Python counts. Exit code 1 where one of them does otherwise than its line of ``edits.py`` says.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from samples.topics import read_topic
from tests.support.spark import QUICK
from tests.upgrades.edits import EDITS, SILENT, Edit
from tests.upgrades.shapes import COMMITS, EARLIER, OLDEST
from tests.upgrades.starts import ROOT, Starts, clone
from tests.upgrades.tables import Span, Table, gone_on, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.upgrades.shapes import Shape
    from tests.upgrades.starts import Ran
    from tests.upgrades.tables import Record


@dataclass
class Place:
    """The broker, a folder for jobs, and what starts them: this code and that of earlier commits, once it is wanted."""

    servers: str
    folder: Path
    commits: Mapping[str, str] = field(default_factory=lambda: COMMITS)
    warm: bool = True
    starts: dict[str, Starts] = field(default_factory=dict)

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        for starts in self.starts.values():
            starts.close()

    def run(self, shape: Shape, script: str, checkpoint: Path, flags: Iterable[str] = (), by: str = "") -> Ran:
        """Start a script and wait until it has read what its topics hold."""
        job = self.folder / f"{shape.name}.sql"
        job.write_text(script, encoding="utf-8")
        command = ["run", str(job), "--checkpoint", str(checkpoint), *flags]
        command += ["--until-read"] if by != OLDEST else []  # which has jobs that end by themselves
        command += ["-D", f"SERVERS={self.servers}", "-D", f"P={shape.name}-", "--master", "local[2]"]
        for conf in (f"spark.driver.extraJavaOptions={QUICK}", "spark.sql.shuffle.partitions=2"):
            command += ["--conf", conf]
        if by not in self.starts:
            root = clone(self.commits[by], self.folder / by) if by else ROOT
            self.starts[by] = Starts(root, self.folder, self.warm)
        return self.starts[by].run(command)

    def topic(self, shape: Shape, name: str) -> list[tuple[bytes | None, bytes | None]]:
        """Return keys and values of a topic of one partition."""
        return [(r.key, r.value) for r in read_topic(self.servers, f"{shape.name}-{name}")]

    def create(self, shape: Shape, names: Iterable[str]) -> None:
        from kafka.admin import KafkaAdminClient, NewTopic

        admin = KafkaAdminClient(bootstrap_servers=self.servers)
        missing = {f"{shape.name}-{n}" for n in names} - set(admin.list_topics())
        if missing:
            admin.create_topics([NewTopic(n, 1, 1) for n in sorted(missing)])
        admin.close()

    def raise_partitions(self, shape: Shape) -> None:
        from kafka.admin import KafkaAdminClient, NewPartitions

        admin = KafkaAdminClient(bootstrap_servers=self.servers)
        admin.create_partitions({f"{shape.name}-{t}": NewPartitions(shape.raised) for t in shape.sources})
        admin.close()

    def send(self, shape: Shape, records: Iterable[Record]) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers)
        for r in records:
            name = f"{shape.name}-{r.topic}"
            producer.send(name, key=r.key_bytes, value=r.value, partition=r.partition).get(30)
        producer.close()


@dataclass
class Begun:
    """A job that has read its first records; the later ones lie in its topics."""

    place: Place
    shape: Shape
    folder: Path
    written: dict[str, int] = field(default_factory=dict)
    refusals: int = 0

    @classmethod
    def of(cls, place: Place, shape: Shape) -> Begun:
        """Begin a job. Raises AssertionError where its first run is not what it must be."""
        begun = cls(place, shape, place.folder / shape.name)
        place.create(shape, shape.sources | set(shape.results) | {"other_orders"})
        place.send(shape, shape.before)
        ran = place.run(shape, shape.script, begun.folder / "begun", by=shape.by)
        assert ran.code == 0, f"{shape.name} did not begin: {ran.text}"
        for name, results in shape.results.items():
            records = place.topic(shape, name)
            assert read(records) == results(shape.before), f"{shape.name}: {read(records)}"
            begun.written[name] = len(records)
        if shape.raised > 1:
            place.raise_partitions(shape)
        place.send(shape, shape.after)
        return begun

    def checkpoint(self, edit: Edit) -> Path:
        """Return a copy of the checkpoint at the place where it was made: those that are refused share one."""
        shared, at = self.folder / "refusals", self.folder / "checkpoint"
        if edit.answer.refused and self.refusals:
            return shared
        to = shared if edit.answer.refused else at
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.folder / "begun", to)
        self.refusals += edit.answer.refused
        return to

    def lengths(self, edit: Edit) -> dict[str, int]:
        """Return how many records each topic holds that the edited script could write."""
        names = set(self.shape.results) | set(edit.elsewhere.values()) | set(edit.new)
        self.place.create(self.shape, names)
        return {n: len(self.place.topic(self.shape, n)) for n in sorted(names)}

    def found(self, before: dict[str, int]) -> dict[str, Table]:
        """Return the tables: what the first script wrote, and what came since those lengths were taken."""
        tables = {}
        for name, length in before.items():
            records = self.place.topic(self.shape, name)
            tables[name] = read(records[: self.written.get(name, 0)] + records[length:])
        return tables


def expected(edit: Edit) -> dict[str, Table]:
    """Recount what the sinks must hold after the second start."""
    shape = edit.shape
    first, both = shape.before, shape.before + tuple(r for r in shape.after if edit.counts(r))
    tables = {name: results(first) for name, results in shape.results.items()}
    tables |= {name: {} for name in edit.elsewhere.values()}
    if edit.answer.refused:
        return tables
    for name in shape.results.keys() - set(edit.gone):
        results, to = shape.results[name], edit.elsewhere.get(name, name)
        span = Span(results(first), edit.gives.get(name, results)(both))
        tables[to] = gone_on(tables[to], span, edit.shows)
    tables |= {name: results(shape.before + shape.after) for name, results in edit.new.items()}
    return tables | {name: tables[name] | results(edit.later) for name, results in edit.again.items()}


@dataclass(frozen=True)
class Outcome:
    """What came of an edit: what is wrong with it, if anything."""

    edit: Edit
    ran: Ran
    wrong: tuple[str, ...]
    seconds: float

    def line(self) -> str:
        state = "WRONG" if self.wrong else "finding" if self.edit.finding else "ok"
        table = "table DIFFERS" if any(w.startswith("table") for w in self.wrong) else "table equal"
        said = self.ran.said or "(nothing of the checkpoint)"
        name, took = f"{self.edit.shape.name}/{self.edit.name}", f"{self.seconds:.0f} s"
        text = f"{state:7} {name}: exit {self.ran.code}, {table}, {took}: {said}"
        return "\n".join([text, *(f"        {w}" for w in (*self.wrong, self.edit.finding) if w)])


def _wrong(edit: Edit, ran: Ran, tables: dict[str, Table]) -> tuple[str, ...]:
    wrong = []
    if ran.code != edit.answer.exit:
        wrong.append(f"exit code {ran.code}, not {edit.answer.exit}")
    if edit.answer.silent and ran.said:
        wrong.append("says something of the checkpoint")
    wrong += [f"does not say {p!r}" for p in edit.answer.pieces if p not in ran.text]
    wanted = expected(edit)
    wrong += [f"table {n}: {tables[n]}, recounted {wanted[n]}" for n in sorted(tables) if tables[n] != wanted[n]]
    return tuple(wrong)


def tried(begun: Begun, edit: Edit) -> Outcome:
    """Start the edited script over the checkpoint and look at what it said and wrote."""
    begin, checkpoint = time.monotonic(), begun.checkpoint(edit)
    before, extra = begun.lengths(edit), []
    if edit.fails:
        first = begun.place.run(edit.shape, edit.shape.script, checkpoint)
        if first.code != 3 or edit.fails not in first.text:
            extra.append(f"the unedited script ended with {first.code}, not with {edit.fails}")
    ran = begun.place.run(edit.shape, edit.script, checkpoint, edit.flags, edit.by)
    if edit.later:
        time.sleep(edit.waits)
        begun.place.send(edit.shape, edit.later)
        third = begun.place.run(edit.shape, edit.script, checkpoint, edit.flags, edit.by)
        extra += [] if third.code == 0 else [f"the third start ended with {third.code}"]
    wrong = (*extra, *_wrong(edit, ran, begun.found(before)))
    return Outcome(edit, ran, wrong, time.monotonic() - begin)


def after_refusals(begun: Begun) -> Outcome:
    """Go on with the unedited script, and the code that began it, over what all refused starts have seen."""
    edit = Edit("unedited-after-refusals", begun.shape, (), SILENT)
    begin, before = time.monotonic(), begun.lengths(edit)
    ran = begun.place.run(begun.shape, edit.script, begun.folder / "refusals", by=begun.shape.by)
    return Outcome(edit, ran, _wrong(edit, ran, begun.found(before)), time.monotonic() - begin)


def upgrades(place: Place, edits: list[Edit]) -> list[Outcome]:
    """Try the edits, shape by shape, and print a line each."""
    outcomes = []
    for _, group in groupby(sorted(edits, key=lambda e: e.shape.name), key=lambda e: e.shape.name):
        todo = list(group)
        begun = Begun.of(place, todo[0].shape)
        for edit in todo:
            outcomes.append(tried(begun, edit))
            print(outcomes[-1].line(), flush=True)
        if begun.refusals:
            outcomes.append(after_refusals(begun))
            print(outcomes[-1].line(), flush=True)
    return outcomes


def main() -> int:
    from flinkddl.runtime.broker.server import Broker, BrokerOptions

    parser = argparse.ArgumentParser(prog="python -m tests.upgrades", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these edits, or those of these jobs, alone")
    parser.add_argument("--earlier", default=COMMITS[EARLIER], help="the commit before this one")
    parser.add_argument("--processes", action="store_true", help="a process for each start, as users have: slower")
    parser.add_argument("--keep", type=Path, help="keep scripts, logs and checkpoints there")
    args = parser.parse_args()
    edits = [e for e in EDITS if not args.only or {e.name, e.shape.name} & set(args.only)]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="upgrades") as folder, Broker(BrokerOptions(heap="400m")) as broker:
        at = args.keep or Path(folder)
        at.mkdir(parents=True, exist_ok=True)
        with Place(broker.bootstrap, at, COMMITS | {EARLIER: args.earlier}, not args.processes) as place:
            outcomes = upgrades(place, edits)
    wrong, found = sum(bool(o.wrong) for o in outcomes), sum(bool(o.edit.finding) for o in outcomes)
    print(f"{len(outcomes)} starts, {wrong} wrong, {found} findings, {time.monotonic() - begin:.0f} s")
    return int(bool(wrong) or not outcomes)


if __name__ == "__main__":
    sys.exit(main())
