"""Secrets in a session's settings: sealed under a key of the application, as Spark's event log holds the settings.

Spark writes the settings of a session into its event log with each job, as they are; it redacts there only those of
the application (``EventLoggingListener.redactProperties``). flinkddl/jvm's ``Secrets.java`` opens what is sealed here.
"""

from __future__ import annotations

KEY = "spark.flinkddl.secret.key"
"""The application's setting that holds the key: any long random text. A session's own setting of that name is none."""


def seal(text: str, key: str) -> str:
    """Return ``sealed:`` and in hexadecimal nonce, tag and bytes: HMAC-SHA256 in counter mode, then authenticated."""
    import hmac
    import os

    nonce, secret, data = os.urandom(16), key.encode(), text.encode()
    blocks = range(-(-len(data) // 32))
    stream = b"".join(hmac.digest(secret, b"block %d" % i + nonce, "sha256") for i in blocks)
    hidden = bytes(a ^ b for a, b in zip(data, stream))  # noqa: B905 - the last block is longer than what is left
    return "sealed:" + (nonce + hmac.digest(secret, b"tag" + nonce + hidden, "sha256") + hidden).hex()


def printed() -> str:
    """Return the lines of a printed program that make it seal: ``secret(text)``."""
    from inspect import getsource

    return f"""\
{getsource(seal)}

def secret(text: str) -> str:
    \"\"\"Seal a secret, where the session was started with a key.\"\"\"
    key = root.sparkContext.getConf().get("{KEY}")
    return seal(text, key) if key else text


"""
