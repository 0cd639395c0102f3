"""SparkJobs as JSON: what ``compile --format json`` gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.diagnostics.secrets import mask
from flinkddl.show.environment import settle_settings
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Iterable


@deep
def print_json(jobs: Iterable[J.SparkJob]) -> str:
    """Return the jobs as JSON: steps with their kind, writes, settings; secrets masked."""
    return settle_settings(json.dumps([_plain(_job(job)) for job in jobs], ensure_ascii=False, indent=2))


def _job(job: J.SparkJob) -> dict[str, object]:
    return job.told() | {
        "steps": [{"kind": s.kind} | {f.name: getattr(s, f.name) for f in fields(s)} for s in job.steps],
        "writes": [asdict(w) for w in job.writes],
        "united": [asdict(w) for w in job.united],
        "restart": None if job.restart is None else asdict(job.restart),
        "fingerprint": job.fingerprint,
    }


def _plain(value: object, key: str = "") -> object:
    match value:
        case J.StateCall() | J.StageCall():
            return value.sql
        case J.SortKey():
            return asdict(value)
        case Mapping():
            return {str(k): _plain(v, str(k)) for k, v in value.items()}
        case list() | tuple():
            return [_plain(v) for v in value]
        case str():
            return mask(key, value)
        case _:
            return value
