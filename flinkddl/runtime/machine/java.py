"""Finding a Java that Spark 4 and Kafka 4 accept, and running it without a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from flinkddl.diagnostics import FlinkDdlError

MINIMUM = 17
TRIM = "-XX:TrimNativeHeapInterval=60000"
_STORE_PASSWORD = "FLINKDDL_STORE_PASSWORD"
_HELP = f"install a JDK or JRE {MINIMUM} or newer and put it on PATH, or point JAVA_HOME at it"


def java_home() -> str | None:
    """Return ``JAVA_HOME`` when it is set and not empty."""
    return os.environ.get("JAVA_HOME") or None


def find_java() -> str:
    """Return the path of a ``java`` that is new enough. Raises FD801 with the fix when there is none.

    ``JAVA_HOME`` wins over PATH, as it does for Spark itself.
    """
    home = java_home()
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if path is None or not Path(path).is_file():
        where = f"in JAVA_HOME ('{home}')" if home else "on PATH"
        raise FlinkDdlError.of("FD801", f"no java was found {where}", help=_HELP)
    major = java_major(path)
    if major < MINIMUM:
        raise FlinkDdlError.of("FD801", f"'{path}' is Java {major}, Spark needs Java {MINIMUM} or newer", help=_HELP)
    return path


def java_major(path: str) -> int:
    """Return the feature release of a ``java`` binary (8, 11, 17 ...), or 0 when it says none. Raises FD801."""
    return parse_major(_version(path)[0])


def trimming(path: str) -> list[str]:
    """Return the option by which a ``java`` has glibc give back each minute what is free; none where it has none.

    It came with Java 23 and with updates of 17 and 21 (JDK-8293114, JDK-8325496): so the binary is asked. Raises FD801.
    """
    return [TRIM] if _version(path)[1] else []


@cache
def _version(path: str) -> tuple[str, bool]:
    """Return what ``java -version`` prints, and whether it takes the option TRIM: else it does not start with it."""
    for options in ([TRIM], []):
        try:
            command = [path, *options, "-version"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except OSError as error:
            raise FlinkDdlError.of("FD801", f"'{path}' cannot be run: {error.strerror}", help=_HELP) from error
        if done.returncode == 0:
            return done.stderr + done.stdout, bool(options)
    return done.stderr + done.stdout, False


def parse_major(text: str) -> int:
    """Return the feature release out of what ``java -version`` prints; 0 when there is none.

    >>> parse_major('openjdk version "17.0.15" 2025-04-15'), parse_major('java version "1.8.0_402"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0


def keytool(*arguments: str, password: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the JDK's keytool; the store's password goes by the environment, as command lines are public."""
    command = [str(Path(find_java()).with_name("keytool")), *arguments]
    environment = dict(os.environ)
    if password is not None:
        command += ["-storepass:env", _STORE_PASSWORD]
        environment[_STORE_PASSWORD] = password
    return subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, env=environment
    )
