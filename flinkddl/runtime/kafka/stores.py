"""Key and trust stores of Kafka clients (PEM, JKS, PKCS12 and what else Java reads) as Python's TLS context.

Java opens Java's stores, as the JVM's Kafka client does: passwords go to it by standard input, the key comes back by a
pipe and is never in a file that has a name where the system allows it (Linux), else in one that only its owner reads
and that is gone when the context is made.
"""

from __future__ import annotations

import os
import ssl
import subprocess
import tempfile
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.machine.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_JAR = Path(__file__).parents[2] / "jvm" / "flinkddl-functions.jar"
_QUICK = ("-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:+UseSerialGC", "-Xmx64m")
_FILES = ("ssl.truststore.location", "ssl.keystore.location")


def tls_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return the context that ``ssl.*`` of a Java client mean; one is kept for equal properties and unchanged files.

    Raises FD813 for a store that is not there, is not of its type, or whose password is wrong.
    """
    given = tuple(sorted((k, v) for k, v in properties.items() if k.startswith("ssl.")))
    return _context(given, tuple(_state(properties[name]) for name in _FILES if name in properties))


def _state(location: str) -> tuple[int, int] | None:
    try:
        found = Path(location).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=16)
def _context(given: tuple[tuple[str, str], ...], _files: tuple[tuple[int, int] | None, ...]) -> ssl.SSLContext:
    properties = dict(given)
    trusted = _trusted(properties)
    context = ssl.create_default_context(cadata=trusted)  # with a trust store nothing else is trusted, as in Java
    if trusted:
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN  # each certificate in it is an anchor
        context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT  # Python 3.13 asks for more than Java does
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https") != ""
    _load_key(context, properties)
    return context


def _trusted(properties: Mapping[str, str]) -> str | None:
    """Return the trusted certificates as PEM text, or None when no trust store is named."""
    if inline := properties.get("ssl.truststore.certificates"):
        return inline
    location = properties.get("ssl.truststore.location")
    if location is None:
        return None
    text = _pem(properties, "truststore", location)
    if "-----BEGIN CERTIFICATE-----" not in text:
        _refuse("trust", location, "it shows no certificate: it is empty, or needs its password")
    return text


def _load_key(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    location, inline = properties.get("ssl.keystore.location"), properties.get("ssl.keystore.key")
    if location is None and inline is None:
        return
    named, password = location or "ssl.keystore.key", None
    if location is None or _kind(properties, "keystore") == "PEM":
        password = properties.get("ssl.key.password")
    text = _pem(properties, "keystore", location) if location else _inline(properties)
    if "PRIVATE KEY-----" not in text:
        _refuse("key", named, "it holds no private key with its certificate")
    with _private_file(text) as file:
        try:
            # without a password OpenSSL would ask for one at the terminal
            context.load_cert_chain(file, password=password or "")
        except ssl.SSLError as error:
            _refuse("key", named, _words(text, error))


def _inline(properties: Mapping[str, str]) -> str:
    return f"{properties['ssl.keystore.key']}\n{properties.get('ssl.keystore.certificate.chain', '')}\n"


def _kind(properties: Mapping[str, str], store: str) -> str:
    return properties.get(f"ssl.{store}.type", "JKS").upper()


def _pem(properties: Mapping[str, str], store: str, location: str) -> str:
    what = store.removesuffix("store")
    try:
        Path(location).open("rb").close()
        if _kind(properties, store) == "PEM":
            return Path(location).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        _refuse(what, location, getattr(error, "strerror", None) or "it is no PEM text")
    passwords = (properties.get(f"ssl.{store}.password"), properties.get("ssl.key.password"))
    done = subprocess.run(
        [find_java(), *_QUICK, "-cp", str(_JAR), "flinkddl.Stores", what, _kind(properties, store), location],
        input="\0".join("-" if p is None else f"+{p}" for p in passwords),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        _refuse(what, location, (done.stderr.strip().splitlines() or ["Java cannot open it"])[-1])
    return done.stdout


@contextmanager
def _private_file(text: str) -> Iterator[str]:
    """Hold a text where OpenSSL can open it: in memory on Linux, where a crash leaves nothing, else in a 0600 file."""
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("key", os.MFD_CLOEXEC), "w", encoding="utf-8") as memory:
            memory.write(text)
            memory.flush()
            yield f"/proc/self/fd/{memory.fileno()}"
        return
    with tempfile.TemporaryDirectory(prefix="flinkddl-key-") as folder:  # 0700
        file = os.open(f"{folder}/key.pem", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(file, "w", encoding="utf-8") as disk:
            disk.write(text)
        yield f"{folder}/key.pem"


def _words(text: str, error: ssl.SSLError) -> str:
    """OpenSSL's reasons name no cause ("PEM lib"); a locked key is nearly always one whose password is wrong."""
    locked = "ENCRYPTED" in text
    return "'properties.ssl.key.password' does not open its key" if locked else f"{error.reason or error}"


def _refuse(what: str, location: str, why: str) -> NoReturn:
    store = f"ssl.{what}store"
    raise FlinkDdlError.of(
        "FD813",
        f"the {what} store '{location}' cannot be read: {why}",
        help=f"check 'properties.{store}.location', '.type' and '.password'",
    )
