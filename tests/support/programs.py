"""Printed programs run as what they are, Python programs, on the session that other tests have started already."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics.secrets import holds_secret
from flinkddl.script.views import views_of_jobs
from flinkddl.show.environment import look_up
from flinkddl.show.printer import print_pyspark

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from flinkddl.script.compile import Compiled, Start
    from flinkddl.spark.job import SparkJob

SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def small(start: Start) -> Start:
    """Return the job with one task a stage and nothing compiled: a handful of records needs no more."""
    return replace(start, job=replace(start.job, settings={**start.job.settings, **SMALL}))


def printed(compiled: Compiled, starts: Iterable[Start]) -> str:
    """Return what ``flinkddl compile`` prints for some jobs of a script."""
    return print_pyspark([s.job for s in starts], views_of_jobs(compiled), compiled.catalog.settings)


def tell_secrets(job: SparkJob, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the secrets of a job where its program looks for them; one value each."""
    texts = [job.settings, *(s.options for s in job.steps if hasattr(s, "options")), *(w.options for w in job.writes)]
    for key, value in {item for options in texts for item in options.items()}:
        if holds_secret(key, value):
            (name,) = re.findall(r'"(FLINKDDL_[A-Z0-9_]*)@', look_up(key, value))
            monkeypatch.setenv(name, value)


class Program:
    """A printed program on its way, to be handled as a started job is."""

    def __init__(self, text: str, queries: int) -> None:
        self._text, self._queries = text, queries
        self._space: dict[str, Any] = {"__name__": "__main__"}
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            exec(compile(self._text, "<printed>", "exec"), self._space)
        except BaseException as error:  # noqa: BLE001 - it is raised where the test waits
            self._error = error

    @property
    def status(self) -> str:
        return "running" if self._thread.is_alive() else "finished"

    def await_input(self, seconds: float) -> bool:
        """Wait until the program has taken all that lies in its topics now, or has come to its end."""
        end = time.monotonic() + seconds
        while self._thread.is_alive() and time.monotonic() < end:
            queries = self._space["spark"].streams.active if "spark" in self._space else []
            if len(queries) == self._queries:
                for query in queries:
                    query.processAllAvailable()
                return True
            time.sleep(0.05)
        return not self._thread.is_alive()

    def stop(self) -> None:
        for query in self._space["spark"].streams.active if "spark" in self._space else ():
            query.stop()

    def await_termination(self, seconds: float = 60) -> None:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "the program goes on"
        for name in re.findall(r'\.createOrReplaceTempView\("`(.*)`"\)', self._text):
            self._space["root"].catalog.dropTempView(name)  # the session is not the program's alone
        if self._error is not None:
            raise self._error
