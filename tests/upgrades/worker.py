"""Starts of ``flinkddl`` in one process whose Java stays: a line of arguments in, an exit code out."""

import json
import os
import sys


def start(arguments: list[str]) -> int:
    """Run the command line once, as its own process would."""
    from flinkddl.cli.main import main

    try:
        return main(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1


if __name__ == "__main__":
    # what a start prints, Java's output too, is for the log: the pipe has the exit codes alone
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        code = start(json.loads(line))
        sys.stdout.flush()
        sys.stderr.flush()
        print(code, file=answers, flush=True)
