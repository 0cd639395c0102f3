"""``flinkddl init DIR``: a small project that runs: a job, its data, and a page that says how."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, OUTSIDE_FAILED, WRONG_USAGE

if TYPE_CHECKING:
    import argparse

PROJECT = Path(__file__).parent / "project"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", metavar="DIR", help="a new folder, or an empty one")


def run(args: argparse.Namespace) -> int:
    """Write the project; a folder that holds something is left as it is."""
    folder = Path(args.folder)
    try:
        if folder.is_dir() and any(folder.iterdir()):
            print(f"'{folder}' is not empty: nothing is written", file=sys.stderr)
            return WRONG_USAGE
        folder.mkdir(parents=True, exist_ok=True)
        names = [shutil.copyfile(file, folder / file.name).name for file in sorted(PROJECT.iterdir())]
    except OSError as error:
        print(f"'{folder}' cannot be written: {error.strerror}", file=sys.stderr)
        return OUTSIDE_FAILED
    print(f"{folder}: {', '.join(names)}. README.md says how to run it.")
    return OK
