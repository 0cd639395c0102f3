"""Exit codes as README has them: 0 done, 1 the SQL is wrong, 2 wrong usage, 3 the outside world failed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.main import COMMANDS, main
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.machine.cache import new_log

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
CREATE TABLE g (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1');
CREATE TABLE b (id INT) WITH ('connector' = 'blackhole');
INSERT INTO b SELECT id FROM g;
"""
KAFKA = """
CREATE TABLE t (id INT) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = '127.0.0.1:1',
  'format' = 'json', 'properties.group.id' = 'g');
CREATE TABLE b (id INT) WITH ('connector' = 'blackhole');
INSERT INTO b SELECT id FROM t;
"""
OLD = "CREATE TABLE t (id INT) WITH ('connector.type' = 'kafka', 'connector.topic' = 't', 'format.type' = 'json');\n"
LOST = OLD.replace("connector.topic", "connector.tropic")
FILES = {
    "old.sql": OLD,
    "lost.sql": LOST,
    "good.sql": GOOD,
    "bad.sql": "SELECT nope FROM nowhere;",
    "kafka.sql": KAFKA,
    "file": "",
    "bytes.sql": "\xff",
}
NO_JAVA = {"JAVA_HOME": "/nonexistent", "PATH": "/nonexistent"}
AWAY = "FD811: no Kafka cluster answers at '127.0.0.1:1': table 'default_catalog.default_database.t' reads topic 't'\n"
NO_CACHE = {"FLINKDDL_CACHE": "file/cache"}

# command, exit code, what is said, what the environment has
CASES: list[tuple[str, int, str, dict[str, str]]] = [
    ("check good.sql", 0, "no errors", {}),
    ("check bad.sql", 1, "FD452", {}),
    ("check good.sql bad.sql", 1, "FD452", {}),
    ("check", 2, "usage", {}),
    ("check good.sql --output tea", 2, "invalid choice", {}),
    ("check gone.sql", 3, "FD801", {}),
    ("check bytes.sql", 3, "UTF-8", {}),
    ("explain good.sql", 0, "== Spark steps ==", {}),
    ("explain bad.sql", 1, "FD452", {}),
    ("explain", 2, "usage", {}),
    ("explain gone.sql", 3, "FD801", {}),
    ("compile good.sql", 0, "import", {}),
    ("compile bad.sql", 1, "FD452", {}),
    ("compile", 2, "usage", {}),
    ("compile gone.sql", 3, "FD801", {}),
    ("assess good.sql", 0, "", {}),
    ("assess bad.sql", 1, "FD452", {}),
    ("assess", 2, "usage", {}),
    ("assess gone", 3, "FD801", {}),
    ("format good.sql", 0, "", {}),
    ("format bytes.sql", 3, "UTF-8", {}),
    ("format gone.sql", 3, "FD801", {}),
    ("modernize good.sql", 0, "", {}),
    ("modernize old.sql", 0, "+CREATE TABLE t (id INT) WITH ('connector' = 'kafka'", {}),
    ("modernize --check old.sql", 1, "would change old.sql", {}),
    ("modernize lost.sql", 1, "FD673", {}),
    ("modernize gone.sql", 3, "FD801", {}),
    ("modernize", 2, "usage", {}),
    ("jobs list", 0, "no jobs", {"FLINKDDL_JOBS": "nojobs"}),  # its own: a worker of pytest has run some
    ("jobs stop nobody", 3, "FD854", {}),
    ("jobs stop", 2, "usage", {}),
    ("savepoint list .", 0, "no savepoints", {}),
    ("savepoint list nowhere", 3, "FD857", {}),
    ("savepoint describe .", 3, "FD857", {}),
    ("savepoint create --to sp", 2, "name a job", {}),
    ("savepoint create nobody --to sp", 3, "FD854", {}),
    ("savepoint create --checkpoint . --to sp", 3, "FD859", {}),
    ("savepoint create --checkpoint . --to s3a://sp", 3, "FD859", {}),
    ("savepoint create a --to sp --keep 0", 2, "no number from 1", {}),
    ("savepoint", 2, "usage", {}),
    ("state nowhere", 3, "FD874", {}),
    ("state .", 3, "FD874", {}),
    ("state s3a://x", 3, "FD859", {}),
    ("state", 2, "usage", {}),
    ("state . job 0 --limit 0", 2, "no number from 1", {}),
    ("run bad.sql good.sql gone.sql", 3, "gone.sql: failed (3)", NO_JAVA),
    ("options kafka", 0, "scan.startup.mode", {}),
    ("options teapot", 2, "teapot", {}),
    ("support", 0, "kafka", {}),
    ("support teapot", 2, "teapot", {}),
    ("error FD826", 0, "class path", {}),
    ("error FD000", 2, "FD000", {}),
    ("teapot", 2, "invalid choice", {}),
    ("", 2, "usage", {}),
    ("run bad.sql", 1, "FD452", {}),
    ("run", 2, "usage", {}),
    ("run good.sql --py-files gone.py", 2, "gone.py", {}),
    ("run good.sql --conf novalue", 2, "NAME=VALUE", {}),
    ("run gone.sql", 3, "FD801", {}),
    ("run good.sql", 3, "FD801: no java", NO_JAVA),
    ("run good.sql", 3, "FD827", NO_CACHE),
    ("run kafka.sql", 3, f"kafka.sql:2:102: error {AWAY}", NO_JAVA),
    ("run good.sql --jars file", 3, "FD802", {}),
    # where the checkpoint is to lie is looked at before Java is looked for
    ("run good.sql --checkpoint file", 3, "FD822", NO_JAVA),
    ("run good.sql --checkpoint file/below/it", 3, "FD822", NO_JAVA),
    ("run good.sql --checkpoint /proc/nothing", 3, "FD822", NO_JAVA),
    ("run good.sql --checkpoint fresh", 3, "FD801: no java", NO_JAVA),
    ("run good.sql --checkpoint file", 3, "FD801: no java", NO_JAVA | {"HADOOP_CONF_DIR": "/etc/hadoop"}),
    ("shell -f bad.sql", 1, "FD452", {}),
    ("shell --teapot", 2, "unrecognized", {}),
    ("shell -f gone.sql", 3, "FD801", {}),
    ("shell -f good.sql", 3, "FD801: no java", NO_JAVA),
    ("shell -f good.sql", 3, "FD827", NO_CACHE),
    ("shell -f kafka.sql", 3, f"kafka.sql:2:102: error {AWAY}", NO_JAVA),
    ("shell -f good.sql --checkpoint file", 3, "FD822", NO_JAVA),
    ("verify", 2, "usage", {}),
    ("verify a b --bootstrap 127.0.0.1:1", 3, "FD811", {}),
    ("handover", 2, "usage", {}),
    ("handover gone.sql --group g", 3, "FD801", {}),
    ("handover bad.sql --group g", 1, "FD452", {}),
    ("doctor --teapot", 2, "unrecognized", {}),
    ("doctor gone.sql --no-spark", 3, "FD801", {}),
    ("doctor kafka.sql --no-spark", 3, "FD811", {}),
    ("doctor good.sql --no-spark", 3, "FD827", NO_CACHE),
    ("doctor good.sql", 3, "FD801: no java", NO_JAVA),
    ("doctor good.sql --no-spark --checkpoint file/below", 3, "checkpoint", {}),
    ("assess good.sql --json file/x.json", 3, "cannot write", {}),
    ("init", 2, "usage", {}),
    ("init project", 0, "README.md says how", {}),
    ("init file/project", 3, "cannot be written", {}),
    ("package good.sql", 2, "usage", {}),
    ("package good.sql --out .", 2, "not empty", {}),
    ("package bad.sql --out package", 1, "FD452", {}),
    ("package gone.sql --out package", 3, "FD801", {}),
    ("package good.sql --out file/package", 3, "cannot be written", {}),
    ("topic", 2, "usage", {}),
    ("topic list --table t", 2, "go together", {}),
    ("topic list --bootstrap 127.0.0.1:1", 3, "FD811", {}),
    ("topic list --ddl bad.sql --table t", 1, "FD452", {}),
    ("topic list --help", 0, "the variable KAFKA_SERVERS", {}),
    ("topic list", 3, "FD811: 'env:x' is", {"KAFKA_SERVERS": "env:x"}),
    ("topic list -D KAFKA_SERVERS=d:x", 3, "FD811: 'd:x' is", {"KAFKA_SERVERS": "env:x"}),
    ("topic list --bootstrap b:x -D KAFKA_SERVERS=d:x", 3, "FD811: 'b:x' is", {"KAFKA_SERVERS": "env:x"}),
    ("topic list", 3, "or set KAFKA_SERVERS", {"KAFKA_SERVERS": "", "FLINKDDL_CACHE": "fresh"}),
    ("broker", 2, "usage", {}),
    ("broker start --port many", 2, "no port", {}),
    ("broker status", 3, "FD827", NO_CACHE),
    ("broker stop", 3, "FD827", NO_CACHE),
    ("broker start", 3, "FD827", NO_CACHE),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("codes")
    for name, text in FILES.items():
        (made / name).write_bytes(text.encode("latin-1"))
    return made


def called(command: str) -> int:
    try:
        return main(command.split())
    except SystemExit as usage:  # argparse's own
        return int(usage.code or 0)


def waits(command: str, code: int) -> bool:
    """Whether the command asks a broker that is not there, for seconds."""
    return code == 3 and ("kafka.sql" in command or command.endswith("127.0.0.1:1"))


@pytest.mark.parametrize(
    ("command", "code", "said", "environment"),
    [pytest.param(*c, id=f"{c[0]}-{c[1]}", marks=[pytest.mark.long] * waits(c[0], c[1])) for c in CASES],
)
def test_a_command_ends_with_its_code_and_a_sentence(
    command: str, code: int, said: str, environment: dict[str, str], folder: Path,
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = called(command)  # an exception that escapes is a traceback for the user
    printed = capfd.readouterr()
    assert found == code, printed
    assert said in printed.out + printed.err
    assert "Traceback" not in printed.err


def test_every_command_is_in_the_table() -> None:
    assert set(COMMANDS) <= {command.partition(" ")[0] for command, *_ in CASES}


def test_the_codes_are_those_of_the_process(folder: Path) -> None:
    for command, code in (("check bad.sql", 1), ("check", 2), ("run good.sql --checkpoint file", 3)):
        given = {**os.environ, **NO_JAVA, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = [sys.executable, "-m", "flinkddl", *command.split()]
        assert subprocess.run(run, cwd=folder, env=given, capture_output=True, check=False).returncode == code


def test_a_read_only_cache_with_jars_in_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root every folder is writable: one that the kernel itself keeps stands for a read-only file system."""
    (tmp_path / "logs").symlink_to("/proc/self")
    monkeypatch.setenv("FLINKDDL_CACHE", str(tmp_path))
    with pytest.raises(FlinkDdlError, match="FD827"):
        new_log("spark")


def test_without_a_command_all_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert all(f"    {name}" in said.err for name in COMMANDS)


@pytest.mark.parametrize(("typed", "meant"), [("chek", "check"), ("jbos", "jobs"), ("savepoints", "savepoint")])
def test_a_misspelt_command_names_the_nearest(typed: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([typed, "job.sql"])
    assert ended.value.code == 2
    assert f"there is no command '{typed}': did you mean '{meant}'?" in capsys.readouterr().err


def test_an_unlike_command_or_option_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    for typed in ("zzz", "--vers"):
        with pytest.raises(SystemExit) as ended:
            main([typed])
        assert ended.value.code == 2
        assert "did you mean" not in capsys.readouterr().err
