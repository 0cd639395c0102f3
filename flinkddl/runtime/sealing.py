"""Secrets in a session's settings: sealed under a key of the application, as Spark's event log holds the settings.

Spark writes the settings of a session into its event log with each job, as they are; it redacts there only those of
the application (``EventLoggingListener.redactProperties``). A session built here has a key of its own; a user's own
session has one where it was started with ``spark.flinkddl.secret.key`` (any long random text).
"""

from __future__ import annotations

import hmac
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "spark.flinkddl.secret."
KEY = "spark.flinkddl.secret.key"
_BLOCK = 32  # bytes of SHA-256


def new_key() -> str:
    """Return a random key, as the value of KEY."""
    return os.urandom(32).hex()


def set_setting(spark: SparkSession, key: str, value: str, sealing: str | None) -> None:
    """Set a session's setting, a secret sealed by ``sealing`` (the application's KEY, None where it has none)."""
    spark.conf.set(key, seal(value, sealing) if sealing and key.startswith(PREFIX) else value)


def sealing_key(spark: SparkSession) -> str | None:
    """Return the key of a session's application, None where it was started without one."""
    return spark.conf.get(KEY, None)


def seal(text: str, key: str, nonce: bytes | None = None) -> str:
    """Return ``sealed:`` and in hexadecimal nonce, tag and bytes: HMAC-SHA256 in counter mode, then authenticated."""
    nonce = os.urandom(16) if nonce is None else nonce
    secret = key.encode()
    data = text.encode()
    stream = b"".join(_hmac(secret, b"block %d" % i + nonce) for i in range(-(-len(data) // _BLOCK)))
    sealed = bytes(a ^ b for a, b in zip(data, stream, strict=False))
    return "sealed:" + (nonce + _hmac(secret, b"tag" + nonce + sealed) + sealed).hex()


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")
