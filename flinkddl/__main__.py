"""``python -m flinkddl``."""

from flinkddl.cli.main import entry

entry()
