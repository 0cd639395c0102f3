"""ADD JAR and REMOVE JAR: the jars of a session, in which the classes of Java functions are looked for."""

from __future__ import annotations

import os
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.catalog.context import literal
from flinkddl.diagnostics import did_you_mean

if TYPE_CHECKING:
    from sqlglot import exp

    from flinkddl.catalog.context import Context
    from flinkddl.catalog.state import Catalog


def jar(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """ADD JAR | REMOVE JAR 'path': where the classes of Java functions are looked for. No class of it is run."""
    given = literal(statement.this)
    path = catalog.jar_path(given)
    if statement.args["kind"] == "REMOVE":
        if path not in catalog.jars:
            help = did_you_mean(path, catalog.jars) or "SHOW JARS lists those that were added"
            ctx.error("FD320", f"the jar '{given}' was not added", statement.this, help)
        return replace(catalog, jars=tuple(j for j in catalog.jars if j != path))
    return add_jar(catalog, given, statement.this, ctx)


def add_jar(catalog: Catalog, given: str, node: exp.Expression, ctx: Context) -> Catalog:
    """Return the catalog with one more jar; report FD320 where there is none."""
    path = catalog.jar_path(given)
    if (why := _no_jar(given, path)) is not None:
        help = "connectors and formats are built in: leave the statement out where it brings one; else correct the path"
        ctx.error("FD320", f"the jar '{given}' cannot be added: {why}", node, help)
        return catalog
    return replace(catalog, jars=tuple(dict.fromkeys((*catalog.jars, path))))


def warn_of_jar(catalog: Catalog, function: str, node: exp.Expression, ctx: Context) -> None:
    """Report FD320 as a warning where the jar of a permanent function cannot be read: only a call of it needs it."""
    given = literal(node)
    if (why := _no_jar(given, catalog.jar_path(given))) is not None:
        message = f"the jar '{given}' cannot be read: {why}"
        ctx.bag.warning("FD320", message, ctx.span(node), f"correct the path, or no call of '{function}' is possible")


def _no_jar(given: str, path: str) -> str | None:
    if "://" in path:
        return "only a file of this machine can be read"
    if not os.path.isfile(path):
        return "there is no such file"
    return None if zipfile.is_zipfile(path) else "it is no jar"
