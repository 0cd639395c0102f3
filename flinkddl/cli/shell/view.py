"""A query's result on a screen of its own: ``table`` and ``changelog`` mode, changing while it is looked at."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window

from flinkddl.cli.cells import cut, data_widths, line, rule
from flinkddl.cli.common import count
from flinkddl.cli.shell.results import ChangelogResult, Result, TableResult, job_state
from flinkddl.cli.tables import frame, in_set, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyPressEvent

    from flinkddl.api import Job
    from flinkddl.cli.shell.engine import Engine
    from flinkddl.cli.tables import Columns
    from flinkddl.script.compile import Start

REFRESH_SECONDS = 0.25
_KEYS = "q leave   n/p page   g/l first, last page   up/down row   left/right column   x row by row"
_FRAME_LINES = 7  # title, state, three lines of frame, an empty one, keys
_MOVES = {  # by how many rows, pages, columns
    ("n", "pagedown", " "): (0, 1, 0),
    ("p", "pageup"): (0, -1, 0),
    ("down", "j"): (1, 0, 0),
    ("up", "k"): (-1, 0, 0),
    ("right",): (0, 0, 1),
    ("left",): (0, 0, -1),
}
_LEFT_BEHIND = 40  # rows of the result that stay in the scrollback


class View:
    """The screen: where in the result it stands, and what it shows."""

    def __init__(self, result: Result, title: str, most: int) -> None:
        self.result, self.title, self.most = result, title, most
        self.job: Job | None = None
        self.top = 0
        self.column = 0
        self.follows = result.op  # a changelog is read at its end, a table from its beginning
        self.expanded = False
        self.application: Application[None] | None = None

    # ---- what is shown ---------------------------------------------------------------------------------------------

    def lines(self, height: int, width: int) -> list[tuple[str, str]]:
        """Return the screen as (style, line) pairs."""
        page = self._page(height)
        size = len(self.result)
        if self.follows:
            self.top = max(0, (size - 1) // page * page)
        self.top = min(self.top, max(0, size - 1))
        out = [("bold", self.title), ("dim", self.state(page))]
        if self.expanded:
            row = self.result.page(self.top, 1)
            out += [("", text) for text in record(self.result.header, row[0], self.top + 1, width)] if row else []
            return [(style, cut(text, max(3, width))) for style, text in out[: max(3, height - 1)]]
        header = list(self.result.header)[self.column :]
        rows = [row[self.column :] for row in self.result.page(self.top, page)]
        if not header:
            return out
        widths = data_widths(header, rows, self.most)
        out += [("", rule(widths)), ("bold", line(header, widths)), ("", rule(widths))]
        out += [("", line(row, widths)) for row in rows]
        if rows:
            out.append(("", rule(widths)))
        return [(style, cut(text, max(3, width))) for style, text in out]

    def _page(self, height: int) -> int:
        return 1 if self.expanded else max(1, height - _FRAME_LINES)

    def state(self, page: int) -> str:
        """Return the line below the title: where the reader is, and how the job does."""
        size = len(self.result)
        pages = max(1, -(-size // page))
        parts = [f"page {self.top // page + 1} of {pages}", count(size, "row")]
        if self.result.count != size:
            parts.append(f"{self.result.count:,} changes")
        if self.job is not None:
            parts += job_state(self.job)
        parts.append(time.strftime("%H:%M:%S"))
        return "  ·  ".join(parts)

    # ---- keys ------------------------------------------------------------------------------------------------------

    def keys(self) -> KeyBindings:
        """Return what the keys do."""
        keys = KeyBindings()
        table: dict[tuple[str, ...], Callable[[KeyPressEvent], None]] = {
            **{names: partial(self._move, by=by) for names, by in _MOVES.items()},
            ("g", "home"): self._first,
            ("l", "end"): self._last,
            ("x", "enter"): self._expand,
            ("q", "Q", "c-c", "c-d"): _leave,
        }
        for names, handler in table.items():
            for name in names:
                keys.add(name)(handler)
        return keys

    def _move(self, event: KeyPressEvent, by: tuple[int, int, int]) -> None:
        rows, pages, columns = by
        page = self._page(event.app.output.get_size().rows)
        last = max(0, (len(self.result) - 1) // page * page)
        self.follows = False
        self.top = min(max(0, self.top + rows + pages * page), max(last, self.top))
        self.column = min(max(0, self.column + columns), len(self.result.header) - 1)

    def _first(self, event: KeyPressEvent) -> None:
        self.follows, self.top = False, 0

    def _last(self, event: KeyPressEvent) -> None:
        self.follows = True

    def _expand(self, event: KeyPressEvent) -> None:
        self.expanded = not self.expanded

    # ---- the screen ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Show the result until the reader leaves, or the job fails."""
        self.application = Application(
            layout=Layout(
                HSplit([Window(FormattedTextControl(self._body)), Window(FormattedTextControl(_KEYS), height=1)])
            ),
            key_bindings=self.keys(),
            full_screen=True,
            erase_when_done=True,  # some terminals have no second screen to leave it on
            refresh_interval=REFRESH_SECONDS,
            before_render=self._leave_on_failure,
        )
        self.application.run()

    def _body(self) -> StyleAndTextTuples:
        assert self.application is not None
        size = self.application.output.get_size()
        return [(style, text + "\n") for style, text in self.lines(size.rows, size.columns)]

    def _leave_on_failure(self, app: Application[None]) -> None:
        if self.job is not None and self.job.status == "failed" and app.is_running and not app.is_done:
            app.loop.call_soon_threadsafe(app.exit) if app.loop else None


def _leave(event: KeyPressEvent) -> None:
    event.app.exit()


def show_query(engine: Engine, action: Start, columns: Columns, mode: str) -> None:
    """Run a query and show it until the reader leaves; the last rows seen stay in the scrollback."""
    began = time.monotonic()
    most = engine.settings.sql_client_execution_max_table_result_rows
    result = ChangelogResult(columns, most) if mode == "changelog" else TableResult(columns, most)
    view = View(result, f"SQL Query Result ({mode.capitalize()})", columns.most)
    told: list[str] = []
    show = {"on_rows": lambda rows: result.add(rows.changes), "notice": lambda text: None, "warning": told.append}
    job = engine.start(action, **show)
    view.job = job
    try:
        view.run()
    finally:
        running = job.status == "running"
        with engine.out.waiting(lambda: "ending the query"):
            job.stop()
    _leave_behind(engine, result, engine.time_cost(began, result.last), cancelled=running)
    for text in told:  # the screen had no room for more than their sum
        engine.out.message("WARN", text)
    if job.error is not None:
        raise job.error


def _leave_behind(engine: Engine, result: Result, cost: str, *, cancelled: bool) -> None:
    size = len(result)
    rows = result.page(max(0, size - _LEFT_BEHIND), _LEFT_BEHIND)
    for text in frame(result.header, rows, result.columns.most):
        engine.out.line(text)
    shown = f" (the last {len(rows)} are shown)" if size > len(rows) else ""
    engine.out.line(f"{in_set(size)}{shown} {cost}".rstrip())
    if cancelled:
        engine.out.info("Result retrieval cancelled.")
