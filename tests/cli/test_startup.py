"""What commands put off until it is needed, and put back."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMMAND = """
import gc, sys
from flinkddl.cli import main
seen = {}
class Module:
    configure = staticmethod(lambda parser: None)
    run = staticmethod(lambda args: seen.update(gc=gc.isenabled()) or 0)
main.import_module = lambda name: Module
sys.argv = ["flinkddl", "run"]
try:
    main.entry()
except SystemExit:
    print(seen["gc"])
"""


def _python(text: str) -> str:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.strip()


def test_a_command_runs_with_garbage_collection() -> None:
    assert _python(COMMAND) == "True"


@pytest.mark.parametrize(
    "use",
    [
        "import importlib.metadata; print(importlib.metadata.version('sqlglot'))",
        "from importlib.metadata import version; print(version('sqlglot'))",
        "from importlib import metadata; print(metadata.version('sqlglot'))",
        "from importlib.metadata import entry_points; print(entry_points(group='console_scripts') and 30)",
        "import sqlglot, importlib.metadata as m; sqlglot.parse_one('a', read='flink'); print(m.version('sqlglot'))",
    ],
)
def test_metadata_put_off_answers_when_asked(use: str) -> None:
    asked = _python(f"from flinkddl.cli.late import put_off_metadata; put_off_metadata(); {use}")
    assert asked.startswith("30")


def test_metadata_is_not_read_for_a_parse() -> None:
    loaded = "from flinkddl.cli.late import put_off_metadata; put_off_metadata()\nimport sys, sqlglot\n"
    assert _python(f"{loaded}print('email' in sys.modules)") == "False"


def test_metadata_that_is_there_stays() -> None:
    before = "import importlib.metadata as m; from flinkddl.cli.late import put_off_metadata; put_off_metadata()\n"
    assert _python(f"{before}import sys; print(sys.modules['importlib.metadata'] is m)") == "True"
