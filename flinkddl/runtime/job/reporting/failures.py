"""What a failed Spark query means to the author of the SQL: the table, the records, the reason; Java goes to a file."""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import Diagnostic, FlinkDdlError
from flinkddl.diagnostics.secrets import scrub, secrets_in
from flinkddl.plan.nodes import scans
from flinkddl.runtime.job.reporting.blame import blamed
from flinkddl.runtime.job.reporting.progress import short
from flinkddl.runtime.machine.cache import new_log
from flinkddl.runtime.session.errors import full_text, reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.spark.job import SparkJob, Write

_OURS = re.compile(r"\b(FD\d{3}): (.*)")  # what our own kernels say: table, topic, partition, offset, column
_OF_TABLE = re.compile(r"(\w+) of table '([^']*)'")
_LENIENT = "ignore-parse-errors"
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_RANGE = re.compile(r"Current (Committed|Available) Offsets: (.*)")
_OUT_OF_RANGE = re.compile(r"Fetch position FetchPosition\{offset=(\d+),.*? is out of range for partition (\S+)-(\d+)")
_UNREAD = re.compile(r"Could not read records in offset \[(\d+), \d+\) for topic partition (\S+)-(\d+)")
_QUOTED = re.compile(r"(['\"])((?:(?!\1).){200})(?:(?!\1).){100,}\1")
_LONGEST = 2000
_PLACE = re.compile(r"KafkaV2\[[^\]]*\]+: (\{.*?\}\})")


class JobFailed(FlinkDdlError):
    """A running job failed. ``log`` is the file with Java's own words, ``text``; ``write`` the failed query's name."""

    def __init__(self, diagnostic: Diagnostic, write: str, log: Path, text: str = "") -> None:
        super().__init__([diagnostic])
        self.write = write
        self.log = log
        self.text = text

    @property
    def cause(self) -> str:
        """The code that says most: of our kernel that threw, else of the diagnostic."""
        ours = _OURS.search(self.text)
        return self.diagnostics[0].code if ours is None else ours[1]

    @property
    def of_records(self) -> bool:
        """Whether one of our kernels threw: it reads the same records again, whatever a cluster does."""
        return _OURS.search(self.text) is not None

    def told(self, diagnostic: Diagnostic) -> JobFailed:
        """Return the same failure in other words."""
        return JobFailed(diagnostic, self.write, self.log, self.text)


def job_failed(job: SparkJob, write: Write, error: Exception) -> JobFailed:
    """Return the failure of a write as an error of ours (FD829, FD830), the whole of Java's text kept in a file."""
    text = scrub(full_text(error), secrets_of(job))
    log = _kept(f"job {job.name}, write {write.name}\n\n{text}\n")
    target = f"the query into '{short(blamed(job, write, text) or write.name)}' failed"
    ours, module = _OURS.search(text), _NO_MODULE.search(text)
    if module is not None:
        message = f"{target}: the Python module '{module[1]}' is not on Spark's workers"
        help = "--py-files sends a module or package along, what is compiled must be installed there"
        help += f"; the whole error is in '{log}'"
        return JobFailed(Diagnostic("FD829", message, help=help), write.name, log, text)
    if ours is not None:
        message = f"{target} ({ours[1]}): {brief(ours[2].strip())}"
        help = f"`flinkddl error {ours[1]}` is about this cause; the whole error is in '{log}'"
        help = _way(job, ours[1], ours[2]) + help
    else:
        where = records_in_question(text)
        message, help = (
            f"{target}{f' on {where}' if where else ''}: {brief(reason(text))}",
            f"the whole error is in '{log}'",
        )
    return JobFailed(Diagnostic("FD830", message, help=help), write.name, log, text)


def _way(job: SparkJob, code: str, told: str) -> str:
    """Return which option of the table's format takes a record that does not fit (FD750), where there is one."""
    place = _OF_TABLE.match(told)
    if code != "FD750" or place is None:
        return ""
    known = [s.options for p in job.plan for s in scans(p.sink) if s.options and s.table.path.name == place[2]]
    formats = [o.key_format if place[1] == "key" else o.value_format for o in known]
    ways = dict.fromkeys(f"'{f.space}{_LENIENT}' = 'true'" for f in formats if f is not None and _LENIENT in f.options)
    return f"{' or '.join(ways)} makes such a field NULL and skips what is no record; " if ways else ""


def _kept(text: str) -> Path:
    """Write a failure's text into a file: of the cache, or where that has no room any more of the temporary folder."""
    try:
        log = new_log("failure")
        log.write_text(text, encoding="utf-8")
    except (OSError, FlinkDdlError):
        with suppress(OSError):
            log = Path(tempfile.mkdtemp(prefix="flinkddl-")) / "failure.log"
            log.write_text(text, encoding="utf-8")
            return log
        return Path(os.devnull)
    return log


def lost_place(text: str) -> tuple[str, int, int] | None:
    """Return topic, partition and offset of records that Spark was to read and are deleted, as its error says."""
    found = _OUT_OF_RANGE.search(text)
    if found is not None:
        return found[2], int(found[3]), int(found[1])
    found = _UNREAD.search(text)
    return None if found is None else (found[2], int(found[3]), int(found[1]))


def with_first(failed: JobFailed, first: Mapping[tuple[str, int], int]) -> JobFailed:
    """Return the failure as FD866 where records were deleted unread; ``first`` are the offsets that are there."""
    place = lost_place(failed.text)
    if place is None:
        return failed
    topic, partition, wanted = place
    there = first.get((topic, partition), wanted)
    message = (
        f"records of topic '{topic}' partition {partition} were deleted before they were read: wanted offset {wanted}, "
        + (f"the first one there is {there}, {there - wanted:,} are missing" if there > wanted else "it is not there")
    )
    help = "SET 'flinkddl.on-data-loss' = 'report' goes on behind them; `flinkddl error FD866` says when it is so"
    return failed.told(Diagnostic("FD866", message, help=help))


def secrets_of(job: SparkJob) -> set[str]:
    """Return every secret that a job's options and settings hold."""
    found = secrets_in(job.settings)
    for item in (*job.steps, *job.writes):
        found |= secrets_in(getattr(item, "options", {}))
    return found


def brief(text: str) -> str:
    """Return a sentence with each value that it quotes cut to 200 characters: a field of megabytes is no message."""
    text = _QUOTED.sub(r"\1\2...\1", text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 300]} ... {text[-200:]}"


def records_in_question(text: str) -> str:
    """Return the records of the failed batch, ``topic 'orders' partition 0, offsets 4 to 9``, as Spark says."""
    found = {kind: _places(rest) for kind, rest in _RANGE.findall(text)}
    done, end = found.get("Committed", {}), found.get("Available", {})
    ranges = [
        f"topic '{topic}' partition {partition}, offsets {done.get(topic, {}).get(partition, 0)} to {offset - 1}"
        for topic, places in end.items()
        for partition, offset in sorted(places.items(), key=lambda item: int(item[0]))
        if offset > done.get(topic, {}).get(partition, 0)
    ]
    return "; ".join(ranges[:3]) + (f" and {len(ranges) - 3} more partitions" if len(ranges) > 3 else "")


def _places(text: str) -> dict[str, dict[str, int]]:
    out: dict[str, dict[str, int]] = {}
    for part in _PLACE.findall(text):
        out |= json.loads(part)
    return out
