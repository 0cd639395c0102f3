"""``flinkddl broker start|stop|status``: the development broker in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, OUTSIDE_FAILED, exit_code, print_diagnostics
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=("start", "stop", "status"))


def run(args: argparse.Namespace) -> int:
    """Carry out the action and say where the broker listens."""
    from flinkddl.runtime import broker_daemon

    try:
        match args.action:
            case "start":
                state = broker_daemon.start()
                print(f"broker at {state.bootstrap}")
            case "stop":
                state = broker_daemon.stop()
                print(f"stopped the broker at {state.bootstrap}")
            case _:
                found = broker_daemon.status()
                print(f"broker at {found.bootstrap}" if found else "no broker is running")
                return OK if found else OUTSIDE_FAILED
    except FlinkDdlError as error:
        print_diagnostics(error.diagnostics)
        return exit_code(error)
    return OK
