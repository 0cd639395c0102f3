"""Views that keep themselves up to date in a notebook: a query's result, a job's panel.

A view is HTML that is replaced in place, which every front end can do and a saved notebook keeps; ipywidgets, where it
is there, gives a stop button beside it.
"""

from __future__ import annotations

import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from flinkddl.cli.shell.results import ChangelogResult, TableResult
from flinkddl.cli.tables import Columns
from flinkddl.notebook import pages

if TYPE_CHECKING:
    from flinkddl.api import Job, Result
    from flinkddl.catalog.settings import Settings
    from flinkddl.runtime.job.writers import Rows

REFRESH_SECONDS = 0.3
LIMIT = 50
MOST_ROWS = 1_000_000


class View(Protocol):
    """Something that can be drawn again and again while its job runs."""

    job: Job

    def html(self) -> str:
        """Return how it looks now."""


class JobView:
    """The panel of a job."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def html(self) -> str:
        """Return the panel, and the error below it."""
        error = self.job.error
        return pages.job_panel(self.job) + (pages.findings(error.diagnostics) if error else "")


class QueryView:
    """The result of a running SELECT: the table that its changes leave, or the changes themselves."""

    def __init__(self, result: Result, settings: Settings, mode: str = "table", limit: int = LIMIT) -> None:
        columns = Columns.of(result.fields, settings)
        self.limit = limit
        self.content = ChangelogResult(columns, limit) if mode == "changelog" else TableResult(columns, MOST_ROWS)
        self.job = result.changes(self._take)

    def _take(self, rows: Rows) -> None:
        self.content.add(rows.changes)

    def html(self) -> str:
        """Return the first rows (or the last changes) and what is behind them."""
        content = self.content
        shown = content.page(0, self.limit)
        rows = f"{len(content):,} row{'' if len(content) == 1 else 's'}"
        more = f"the first {self.limit} of {rows}" if len(content) > len(shown) else rows
        count = f"{content.count:,} change{'' if content.count == 1 else 's'}"
        facts = pages.caption(count if content.op else f"{more}, {count}", self.job.status, pages.held(self.job))
        error = self.job.error
        below = pages.findings(error.diagnostics) if error else ""
        return pages.block(pages.table(content.header, shown), facts, pages.lost(self.job), below)


# ---- where a view is shown ---------------------------------------------------------------------------------------


class Place:
    """An output of the current cell whose content can be replaced."""

    def __init__(self, html: str) -> None:
        from IPython.display import display

        self._last = html
        self._handle: Any = display(_both(html), raw=True, display_id=True)

    def update(self, html: str) -> None:
        """Replace the content, if it is another."""
        if html != self._last and self._handle is not None:
            self._last = html
            self._handle.update(_both(html), raw=True)


class StopButton:
    """A button that stops a job, where ipywidgets is there; a saved notebook has nothing in its place."""

    def __init__(self, job: Job) -> None:
        import ipywidgets
        from IPython.display import display

        button: Any = ipywidgets.Button(description="stop")
        button.on_click(lambda _: job.request_stop())
        shown = button._repr_mimebundle_()
        self._handle: Any = display({**shown, "text/plain": "", "text/html": ""}, raw=True, display_id=True)

    def remove(self) -> None:
        """Take it away."""
        if self._handle is not None:
            self._handle.update(_both(""), raw=True)


def _both(html: str) -> dict[str, str]:
    """Return content for every front end, export and diff: HTML, and the same as text."""
    return {"text/html": html, "text/plain": pages.as_text(html)}


class Watch:
    """A view on its place, drawn again in the background until its job has ended."""

    def __init__(self, view: View) -> None:
        html = view.html()
        self.view = view
        self._place = Place(html)
        runs = view.job.status in ("starting", "running")
        self._button = StopButton(view.job) if runs and find_spec("ipywidgets") else None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._follow, name="flinkddl notebook", daemon=True)
        self._thread.start()

    @property
    def job(self) -> Job:
        """The job that is watched."""
        return self.view.job

    def refresh(self) -> None:
        """Draw the view as it is now."""
        with self._lock:
            self._place.update(self.view.html())

    def join(self) -> None:
        """Wait until the job has ended and its last state is drawn."""
        self._thread.join()

    def _follow(self) -> None:
        pause = threading.Event()
        while self.job.status in ("starting", "running"):
            pause.wait(REFRESH_SECONDS)
            self.refresh()
        self.refresh()
        if self._button is not None:
            self._button.remove()


# ---- results and jobs as cell output -----------------------------------------------------------------------------


def show_job(job: Job) -> Watch:
    """Display a job's panel, live while it runs."""
    return Watch(JobView(job))


def show_result(result: Result, mode: str = "table", limit: int = LIMIT) -> Watch | None:
    """Display a result: a query starts and shows its rows as they come, an INSERT shows its job, the rest its rows."""
    if result.job is not None:
        return show_job(result.job)
    if not result.is_query:
        show_rows(result)
        return None
    watch = Watch(QueryView(result, result.settings, mode, limit))
    if not result.streaming:  # it ends by itself, and the cell with it
        watch.join()
        watch.job.await_termination()
    return watch


def show_rows(result: Result) -> None:
    """Display rows that are known; a lone OK is not worth a table."""
    from IPython.display import display

    rows = [["" if v is None else str(v) for v in row] for row in result.rows]
    if rows == [["OK"]] or not result.columns:
        return
    if len(rows) == 1 and len(rows[0]) == 1 and "\n" in rows[0][0]:
        print(rows[0][0])  # noqa: T201 - a plan or a DDL text
        return
    display(_both(pages.block(pages.table(result.columns, rows))), raw=True)


def result_html(result: Result) -> str:
    """Return a result as HTML without running anything: rows that are known, a job's panel, or what a SELECT is."""
    if result.job is not None:
        return JobView(result.job).html()
    if not result.is_query:
        rows = [["" if v is None else str(v) for v in row] for row in result.rows]
        return pages.block(pages.table(result.columns, rows))
    columns = pages.table(("column", "type"), [(f.name, str(f.type)) for f in result.fields])
    return pages.block(columns, pages.caption("a SELECT; .show() runs it, .dataframe hands it to Spark"))
