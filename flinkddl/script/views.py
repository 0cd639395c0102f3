"""Tables and views printed as registered views: what ``compile --views`` gives, and the head of a printed program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors import connector
from flinkddl.deep import deep
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes import scans
from flinkddl.script.compile import Start
from flinkddl.show.environment import settle
from flinkddl.show.printer import print_steps, variables
from flinkddl.show.prologue import prologue
from flinkddl.show.pytext import comment, literal
from flinkddl.spark.folders import view_store
from flinkddl.spark.frames import frame_of
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from flinkddl.catalog.model import ObjectPath
    from flinkddl.catalog.state import Catalog
    from flinkddl.script.compile import Compiled

READ_ONLY_BY_SINKS = ("FD204", "FD651")


@deep
def print_views(catalog: Catalog) -> str:
    """Return a program that registers every table and view of the current catalog as a temp view, and nothing else."""
    databases = catalog.catalogs[catalog.current_catalog].databases
    paths = [item.path for d in databases for item in catalog.objects_in(catalog.current_catalog, d)]
    parts = [text for path in paths if (text := _registered(catalog, path)) is not None]
    return settle(prologue(catalog.settings) + "\n\n".join(parts) + "\n")


@deep
def views_of_jobs(compiled: Compiled) -> str:
    """Return the lines that register the tables which the script's jobs read, each once."""
    parts: dict[str, str] = {}
    for action, catalog in zip(compiled.actions, compiled.states, strict=True):
        if isinstance(action, Start):
            read = (scan for sink in action.sinks for scan in scans(sink))
            for path in (s.table.path for s in read if not connector(s.options.connector).local):
                text = None if str(path) in parts else _registered(catalog, path)
                if text is not None:
                    parts[str(path)] = text
    return "".join(text + "\n\n" for text in parts.values())


def _registered(catalog: Catalog, path: ObjectPath) -> str | None:
    here = path.database == catalog.current_database
    name = path.name if here else f"{path.database}.{path.name}"
    try:
        frame = frame_of(catalog, path)
    except FlinkDdlError as error:
        first = error.diagnostics[0]
        if first.code in READ_ONLY_BY_SINKS:
            return None
        return comment(f"no temp view {name}: {first.code} {first.message}")
    names = variables(frame.job)
    store = view_store(name)
    kind = "a stream" if frame.streaming else "read anew at each use"
    changes = ", its changes with their _row_kind" if frame.updating else ""
    quoted = literal(quote(name))
    return "\n".join(
        [
            comment(f"---- temp view {name}: {kind}{changes}"),
            print_steps(frame.job, names),
            f"{names[frame.step]}.createOrReplaceGlobalTempView({literal(store)})  # keeps what this session means",
            f"root.table({literal('global_temp.' + store)}).createOrReplaceTempView({quoted})",
        ]
    )
