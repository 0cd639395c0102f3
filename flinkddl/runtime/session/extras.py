"""Jars that only some jobs need, put on a session's class path when such a job begins: roles of ``jars.lock.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from flinkddl.runtime.machine.jars import Role, resolve_jars
from flinkddl.runtime.session.classes import has_class
from flinkddl.runtime.session.connect import add_jars, is_connect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

FOLDER = "spark.flinkddl.jars.folder"
"""A session's setting: the folder of ``--jars``, from which further jars come too."""

_CLASSES: Mapping[str, str] = {"datafaker": "net.datafaker.Faker"}


def jars_folder(spark: SparkSession) -> str | None:
    """Return the folder from which a session's further jars come, None where it has none."""
    return spark.conf.get(FOLDER, None) or None


def extra_jars(roles: Iterable[str], folder: str | None = None) -> list[Path]:
    """Return the jars of these roles, downloading what is missing. Raises FD802 or FD803."""
    return [path for role in roles for path in resolve_jars(cast("Role", role), folder)]


def add_extras(spark: SparkSession, roles: Iterable[str]) -> None:
    """Put the jars of these roles on a session's class path, where they are not there. Raises FD802 or FD803."""
    missing = [role for role in roles if not has_class(spark, _CLASSES[role])]
    if not missing:
        return
    paths = extra_jars(missing, jars_folder(spark))
    if is_connect(spark):
        add_jars(spark, paths)
        return
    for path in paths:
        spark.sql(f"ADD JAR '{path}'")
