"""Flink SQL in notebooks: ``%load_ext flinkddl``, then ``%%flinksql`` cells; results and jobs show themselves, live.

``pages`` makes HTML, ``views`` keeps it up to date while a job runs, ``magic`` is the cell magic.
"""

from __future__ import annotations

from typing import Any


def load(ipython: Any) -> None:
    """Register the magic, and how results and jobs are displayed."""
    from flinkddl.api import Job, Result
    from flinkddl.notebook.magic import FlinkMagics
    from flinkddl.notebook.views import show_job, show_result

    ipython.register_magics(FlinkMagics(ipython))
    formatter = ipython.display_formatter.ipython_display_formatter
    formatter.for_type(Result, show_result)
    formatter.for_type(Job, show_job)


def unload(ipython: Any) -> None:
    """Stop the jobs of the magic's catalog and take the displays away; the session of a user goes on."""
    from flinkddl.api import Job, Result
    from flinkddl.notebook.magic import NAME

    formatter = ipython.display_formatter.ipython_display_formatter
    for kind in (Result, Job):
        formatter.pop(kind, None)
    catalog = ipython.user_ns.get(NAME)
    if catalog is not None:
        for job in catalog.jobs:
            job.request_stop()
