"""The prompt: multi-line editing, history, completion, colours, a line about Spark and the jobs below it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import completion_is_selected, has_focus
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style

from flinkddl.cli.shell.complete import complete
from flinkddl.cli.shell.engine import Engine, Quit
from flinkddl.cli.shell.highlight import FlinkSqlLexer
from flinkddl.cli.shell.results import job_state
from flinkddl.cli.shell.split import CLIENT_WORDS, is_client_word, is_complete, split
from flinkddl.cli.shell.view import show_query

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_toolkit.document import Document
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output as Terminal

    from flinkddl.diagnostics import FlinkDdlError

PROMPT = "Flink SQL> "
CONTINUATION = "         > "
HISTORY = "~/.flinkddl-history"
WATCH_SECONDS = 0.3
BANNER = "flinkddl {version}: Flink SQL on Spark. HELP; lists the commands, QUIT; leaves."

STYLE = Style.from_dict(
    {
        "pygments.keyword": "ansiblue bold",
        "pygments.keyword.type": "ansicyan",
        "pygments.name.function": "ansimagenta",
        "pygments.name.variable": "ansiyellow",
        "pygments.literal.string": "ansigreen",
        "pygments.literal.number": "ansicyan",
        "pygments.comment": "ansibrightblack italic",
        "pygments.comment.special": "ansiyellow",
        "pygments.error": "ansired underline",
        "bottom-toolbar": "noreverse ansibrightblack",
    }
)


class SqlCompleter(Completer):
    """Hands completions to the prompt."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what may be put in; while typing only where something is begun."""
        catalog = self.engine.catalog
        jobs = [(j.id, j.name) for j in catalog.jobs if j.status == "running"]
        before = document.text_before_cursor
        for c in complete(before, document.text_after_cursor, catalog.state, jobs):
            if c.replaces or complete_event.completion_requested or before.endswith(("'", ".")):
                yield Completion(c.text, start_position=-c.replaces, display=c.display, display_meta=c.meta)


def interact(
    engine: Engine, history: str | None = None, terminal_input: Input | None = None, terminal: Terminal | None = None
) -> int:
    """Read statements until the user leaves; return the exit code."""
    from flinkddl import __version__

    engine.viewer = show_query
    engine.spark.begin()
    engine.out.line(BANNER.format(version=__version__))
    session = make_session(engine, _history(history), terminal_input, terminal)
    watch = JobWatch(engine)
    warned = False
    while True:
        try:
            with patch_stdout(raw=True), watch:
                text = session.prompt()
            word = text.strip("; \n\t").upper()
            if is_client_word(text) and word in {"QUIT", "EXIT"} and not warned and _running(engine):
                warned = True
                engine.out.message("WARN", f"{_running(engine)} running here would be stopped; {word}; again to leave")
                continue
            warned = False
            _execute(engine, text)
        except KeyboardInterrupt:
            continue
        except (EOFError, Quit):
            break
    if _running(engine):
        with engine.out.waiting(lambda: f"stopping {_running(engine)}"):
            engine.catalog.stop()
    return 0


def _execute(engine: Engine, text: str) -> None:
    """Carry out what was entered, statement by statement; after a mistake the rest is left."""
    if is_client_word(text):
        engine.execute(text)
        return
    pieces = split(text)
    rest = [] if pieces.blank else [pieces.rest.strip()]
    for statement in (*pieces.statements, *rest):
        if statement and not engine.execute(statement):
            return


def _running(engine: Engine) -> str:
    n = sum(j.status == "running" for j in engine.catalog.jobs)
    return "" if n == 0 else "1 job" if n == 1 else f"{n} jobs"


def _history(path: str | None) -> History:
    file = Path(path or HISTORY).expanduser()
    try:
        file.touch(mode=0o600)
        file.chmod(0o600)  # what was typed may hold passwords; older versions of a file too
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


def make_session(
    engine: Engine, history: History, terminal_input: Input | None = None, terminal: Terminal | None = None
) -> PromptSession[str]:
    """Return the prompt with everything it can do."""
    return PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=lambda width, number, wrapped: CONTINUATION,
        lexer=PygmentsLexer(FlinkSqlLexer, sync_from_start=True),
        completer=ThreadedCompleter(SqlCompleter(engine)),
        complete_while_typing=True,
        history=history,
        auto_suggest=AutoSuggestFromHistory(),
        key_bindings=_keys(),
        style=STYLE,
        bottom_toolbar=lambda: toolbar(engine),
        refresh_interval=0.5,
        input=terminal_input,
        output=terminal,
    )


def _keys() -> KeyBindings:
    keys = KeyBindings()

    typing = has_focus(DEFAULT_BUFFER)  # not while the history is searched

    @keys.add("enter", filter=typing & completion_is_selected)
    def take(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @keys.add("enter", filter=typing & ~completion_is_selected)
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=True)

    @keys.add("escape", "enter")
    def newline(event: KeyPressEvent) -> None:
        event.current_buffer.newline()

    return keys


def toolbar(engine: Engine) -> str:
    """Return the line below the prompt: Spark, then each running job."""
    state = engine.catalog.state
    parts = [engine.spark.status(), f"{state.current_catalog}.{state.current_database}"]
    for job in engine.catalog.jobs:
        if job.status == "running":
            parts.append(f"job {job.id}: " + ", ".join(job_state(job)[:3]))
    return " " + "  |  ".join(parts)


class JobWatch:
    """Says above the prompt when a job in the background has ended."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._told: set[str] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> JobWatch:
        self._told |= {j.id for j in self.engine.catalog.jobs if j.status != "running" and j.error is None}
        self._stop.clear()
        self._thread = threading.Thread(target=self._watch, name="flinkddl job watch", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(WATCH_SECONDS):
            for job in self.engine.catalog.jobs:
                if job.status not in {"running", "starting"} and job.id not in self._told:
                    self._told.add(job.id)
                    self._tell(job.id, job.name, job.status, job.error)

    def _tell(self, id: str, name: str, status: str, error: FlinkDdlError | None) -> None:
        out = self.engine.out
        if error is None:
            out.info(f"job {id} ({name}) {status}")
        else:
            out.message("ERROR", f"job {id} ({name}) failed")
            out.diagnostics(error.diagnostics)


__all__ = ["CLIENT_WORDS", "SqlCompleter", "interact", "make_session", "toolbar"]
