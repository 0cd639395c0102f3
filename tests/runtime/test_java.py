from __future__ import annotations

import stat
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.broker.config import Listener, Security
from flinkddl.runtime.kafka.config import python_client_config
from flinkddl.runtime.machine.java import TRIM, find_java, java_major, parse_major, trimming

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("no such thing", 0),
    ],
)
def test_the_feature_release_is_read(text: str, major: int) -> None:
    assert parse_major(text) == major


def test_a_missing_java_is_one_sentence_with_the_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(FlinkDdlError, match=f"FD801: no java was found in JAVA_HOME .'{tmp_path}'. .install a JDK"):
        find_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FlinkDdlError, match="FD801: no java was found on PATH"):
        find_java()


def test_an_old_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(FlinkDdlError, match="is Java 11, Spark needs Java 17 or newer"):
        find_java()


# what a java does with the option -> whether it is given it
KNOWS = {"": [TRIM], 'case "$1" in -XX*) exit 1;; esac': []}


@pytest.mark.parametrize("does", KNOWS)
def test_a_java_is_given_the_trimming_that_it_knows(tmp_path: Path, does: str) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\n{does}\necho 'openjdk version \"21.0.2\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    assert (java_major(str(java)), trimming(str(java))) == (21, KNOWS[does])


def test_a_stores_password_is_on_no_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[str] = []
    run = subprocess.run

    def listening(command: list[str], **how: Any) -> Any:
        commands.append(" ".join(command))
        return run(command, **how)

    monkeypatch.setattr(subprocess, "run", listening)
    made = Security.make(tmp_path, (Listener("TLS", "SSL"),))
    assert made is not None
    store = {"ssl.truststore.location": str(made.truststore), "ssl.truststore.password": made.password}
    config = python_client_config({"security.protocol": "SSL", "ssl.truststore.type": "PKCS12", **store})
    assert config["ssl_context"].cert_store_stats()["x509"] == 1
    assert [c for c in commands if made.password in c] == []
    assert made.password not in repr(made)
