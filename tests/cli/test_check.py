"""``flinkddl check`` as a process: every mistake in one go, and nothing heavy loaded for it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EIGHT = "tests/cases/eight_mistakes.sql"
# What a check must not load: the JVM's side, and what costs a noticeable part of a third of a second.
HEAVY = ("pyspark", "py4j", "kafka", "fastavro", "jgo", "rich", "flinkddl.runtime", "flinkddl.functions.java")

# line, column -> code, the text under the carets, what the help says
MISTAKES = {
    (19, 3): ("FD212", "'topc'", "'topic'"),
    (23, 24): ("FD211", "'two'", "a whole number"),
    (29, 56): ("FD202", "'kafak'", "'kafka'"),
    (33, 1): ("FD101", "SELCT", "'SELECT'"),
    (36, 30): ("FD450", "usr_id", "'user_id'"),
    (39, 39): ("FD400", "CHAR_LENGHT(page)", "'CHAR_LENGTH'"),
    (42, 46): ("FD452", "click", "'clicks'"),
    (45, 23): ("FD480", "SELECT user_id FROM clicks", "n: BIGINT"),
}

FINDING = re.compile(
    r"^(\S+?):(\d+):(\d+): error (FD\d+): .+\n *\d+ \| (.*)\n *\| ( *)(\^+) (.+)$",
    re.MULTILINE,
)  # file, line, column, code, then the line, the space before the carets, the carets, the help


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flinkddl", "check", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_eight_mistakes_come_out_in_one_go():
    done = check(EIGHT)
    assert done.returncode == 1
    found = re.findall(
        r"^(\S+?):(\d+):(\d+): error (FD\d+): .+\n *\d+ \| (.*)\n *\| ( *)(\^+) (.+)$", done.stderr, re.M
    )
    places = {(int(line), int(column)): rest for _, line, column, *rest in found}
    assert list(places) == list(MISTAKES), done.stderr
    for place, (code, text, help) in MISTAKES.items():
        said, line, pad, carets, helped = places[place]
        assert said == code
        assert line[len(pad) : len(pad) + len(carets)] == text
        assert len(pad) == place[1] - 1
        assert help in helped
    assert {name for name, *_ in found} == {EIGHT}
    assert "8 errors in" in done.stderr


def test_eight_mistakes_as_json():
    found = json.loads(check(EIGHT, "--output", "json").stdout)
    assert [(d["line"], d["column"], d["code"]) for d in found] == [(*at, code) for at, (code, *_) in MISTAKES.items()]


@pytest.mark.parametrize(
    ("arguments", "code"), [((EIGHT,), 1), (("samples/pageviews/job.sql", "-D", "KAFKA_SERVERS=x:1"), 0)]
)
def test_nothing_heavy_is_loaded(arguments, code):
    program = (
        "import sys; from flinkddl.cli.main import main; code = main(['check', *sys.argv[1:]]);"
        "print(code, *sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    said, *modules = done.stdout.split()
    assert int(said) == code, done.stderr
    assert "sqlglot" in modules
    assert [m for m in modules if m.startswith(HEAVY)] == []
