"""Flink SQL in notebooks: ``%load_ext flinkddl``, then ``%%flinksql`` cells; results and jobs show themselves, live.

``pages`` makes HTML, ``views`` keeps it up to date while a job runs, ``magic`` is the cell magic.
"""

from __future__ import annotations

from typing import Any


def load(ipython: Any) -> None:
    """Register the magic; results and jobs show themselves without it."""
    from flinkddl.notebook.magic import FlinkMagics

    ipython.register_magics(FlinkMagics(ipython))


def unload(ipython: Any) -> None:
    """Stop the jobs of the magic's catalog; the session of a user goes on."""
    from flinkddl.notebook.magic import NAME

    catalog = ipython.user_ns.get(NAME)
    if catalog is not None:
        for job in catalog.jobs:
            job.request_stop()
