"""Secrets in the settings of a session: sealed where its application has a key (``spark/sealing.py`` says why).

A session built here has a key of its own; a user's own session where it was started with one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flinkddl.formats.registry import SECRET_SETTING
from flinkddl.runtime.session.connect import is_connect
from flinkddl.spark.sealing import KEY, seal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["KEY", "SECRET_SETTING", "new_key", "sealing_key", "set_setting"]


def new_key() -> str:
    """Return a random key, as the value of KEY."""
    return os.urandom(32).hex()


def set_setting(spark: SparkSession, key: str, value: str, sealing: str | None) -> None:
    """Set a session's setting, a secret sealed by ``sealing`` (the application's KEY, None where it has none)."""
    spark.conf.set(key, seal(value, sealing) if sealing and key.startswith(SECRET_SETTING) else value)


def sealing_key(spark: SparkSession) -> str | None:
    """Return the key of a session's application, None where it was started without one.

    A builder sets its settings on a session that is there already too: that is not the application's.
    """
    return spark.conf.get(KEY, None) if is_connect(spark) else spark.sparkContext.getConf().get(KEY)
