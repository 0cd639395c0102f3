"""COMPILE PLAN and EXECUTE PLAN: our own plan file.

Flink's plan file holds Flink's operators. Ours is a JSON document with the statements that rebuild the job anywhere:
the declarations and settings of the session, then the INSERT or statement set.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.catalog import printing
from flinkddl.catalog.model import Table
from flinkddl.catalog.state import DEFAULT_CATALOG, DEFAULT_DATABASE
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

    from flinkddl.catalog.model import Function
    from flinkddl.catalog.state import Catalog
    from flinkddl.diagnostics import Span

VERSION = 1
_KEY = "flinkddl-plan"


def location(text: str, span: Span | None) -> Path:
    """Return the local path of a plan. Raises FD321 for another file system."""
    scheme, colon, rest = text.partition("://")
    if not colon:
        return Path(text)
    if scheme == "file":
        return Path(rest)
    raise FlinkDdlError.of("FD321", f"a plan cannot be kept at '{text}'", span, "give the path of a local file")


def write(catalog: Catalog, job: exp.Expression) -> str:
    """Return the text of the plan file of an INSERT or statement set."""
    statements = [*_session(catalog), job.sql(dialect="flink")]
    return json.dumps({_KEY: VERSION, "statements": statements}, indent=2, ensure_ascii=False) + "\n"


def store(path: Path, text: str) -> None:
    """Write a plan file, for its owner's eyes: the options in it may hold passwords. Raises FD321."""
    try:
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FlinkDdlError.of("FD321", f"the plan '{path}' cannot be written: {error.strerror}") from error


def read(path: Path, span: Span | None) -> str:
    """Return the text of a plan file. Raises FD321 when there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FlinkDdlError.of("FD321", f"the plan '{path}' cannot be read: {reason}", span) from error


def as_script(path: str, text: str, span: Span | None) -> SourceText:
    """Return the plan's statements as a script. Raises FD321 for a file that is no plan of ours."""
    try:
        plan = json.loads(text)
        fits = plan[_KEY] == VERSION
        statements = plan["statements"]
    except (ValueError, KeyError, TypeError):
        fits = False
    if not fits:
        help = "write one with COMPILE PLAN; the plans of Flink itself hold its own operators"
        raise FlinkDdlError.of("FD321", f"'{path}' is no plan file of flinkddl", span, help)
    return SourceText(path, ";\n".join(statements))


def _session(catalog: Catalog) -> Iterator[str]:
    yield from (
        f"SET {printing.literal_of(key)} = {printing.literal_of(value)}"
        for key, value in catalog.settings.as_written.items()
    )
    for name, entry in catalog.catalogs.items():
        if name != DEFAULT_CATALOG:
            yield printing.create_catalog(name, entry)
        for database in entry.databases:
            if (name, database) != (DEFAULT_CATALOG, DEFAULT_DATABASE):
                yield f"CREATE DATABASE IF NOT EXISTS {quote(name)}.{quote(database)}"
    yield from (f"ADD JAR {printing.literal_of(jar)}" for jar in catalog.jars)
    yield from (_function(f) for f in catalog.system_functions.values())
    yield from (_function(f) for f in catalog.temporary_functions.values())
    databases = [d for entry in catalog.catalogs.values() for d in entry.databases.values()]
    yield from (_function(f) for d in databases for f in d.functions.values())
    objects = [o for d in databases for o in d.objects.values()] + list(catalog.temporary.values())
    yield from (printing.create_table(o, secrets=True) for o in objects if isinstance(o, Table))
    for view in (o for o in objects if not isinstance(o, Table)):
        yield f"USE {quote(view.catalog)}.{quote(view.database)}"
        yield printing.create_view(view)
    yield f"USE {quote(catalog.current_catalog)}.{quote(catalog.current_database)}"


def _function(function: Function) -> str:
    path = function.path
    name = quote(function.name) if path is None else printing.path_of(path)
    kind = "TEMPORARY SYSTEM " if path is None else "TEMPORARY " if function.temporary else ""
    using = ", ".join(f"JAR {printing.literal_of(jar)}" for jar in function.jars)
    text = f"CREATE {kind}FUNCTION {name} AS {printing.literal_of(function.identifier)} LANGUAGE {function.language}"
    return f"{text} USING {using}" if using else text
