"""The one loop that carries out a compiled script: for programs, ``flinkddl run``, the shell and notebooks.

What a failure leaves is what Flink's SQL client leaves (tried on Flink 2.3): statements before it stay done and their
jobs go on, statements after it are not carried out. CREATE TABLE AS is not atomic: its table stays, whether the job
did not start or failed later.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

from flinkddl.script.compile import Start

if TYPE_CHECKING:
    from flinkddl.catalog.state import Catalog as CatalogState
    from flinkddl.results import Job
    from flinkddl.script.compile import Action, Compiled


class Session(Protocol):
    """What the loop asks of ``api.Catalog``."""

    state: CatalogState

    def preflight(self, action: Start, given: str | None = None) -> None:
        """Raise what can be known of a job before it is started."""

    def show_views(self) -> None:
        """Bring what Spark shows of the catalog in step."""


class Front(ABC):
    """Who has the actions carried out and shows what they give. ``checkpoint``: where its jobs keep theirs."""

    checkpoint: str | None = None

    @abstractmethod
    def carry_out(self, action: Action) -> Job | None:
        """Carry out an action and show what it gives; return the job of an INSERT."""

    def awaited(self, job: Job) -> None:  # noqa: B027 - not everyone has something to say
        """Say that the job of an INSERT has ended, which ``table.dml-sync`` has waited for."""

    def ends(self) -> bool:
        """Return whether the rest of the script is no longer wanted."""
        return False


def perform(session: Session, compiled: Compiled, front: Front) -> None:
    """Carry out the actions in order, each with the tables and settings that hold at its place.

    All jobs are looked at before the first action: what is known of them without a start is raised while nothing has
    happened. With ``table.dml-sync`` each INSERT is awaited. Raises FlinkDdlError of the action that failed.
    """
    _look_ahead(session, compiled, front.checkpoint)
    try:
        for action, session.state in zip(compiled.actions, compiled.states, strict=True):
            if front.ends():
                return
            job = front.carry_out(action)
            if job is not None and session.state.settings.table_dml_sync:
                await_job(job)
                front.awaited(job)
    finally:
        session.show_views()


def _look_ahead(session: Session, compiled: Compiled, checkpoint: str | None) -> None:
    before = session.state
    try:
        for action, session.state in zip(compiled.actions, compiled.states, strict=True):
            if isinstance(action, Start):
                session.preflight(action, checkpoint)
    finally:
        session.state = before


def await_job(job: Job) -> None:
    """Wait for a job's end; an interrupt (Ctrl-C) stops it and is raised. Raises FlinkDdlError when it fails."""
    try:
        job.await_termination()
    except KeyboardInterrupt:
        job.stop()
        raise
