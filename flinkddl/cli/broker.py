"""``flinkddl broker start|stop|status``: the development broker in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, OUTSIDE_FAILED, exit_code, print_diagnostics
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    import argparse

    from flinkddl.runtime.broker.daemon import BrokerState


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=("start", "stop", "status"))
    parser.add_argument(
        "--security", action="store_true", help="start: with a listener over SASL_SSL (SCRAM-SHA-512) too"
    )


def run(args: argparse.Namespace) -> int:
    """Carry out the action and say where the broker listens."""
    from flinkddl.runtime.broker import daemon as broker_daemon
    from flinkddl.runtime.broker.config import secure_listener
    from flinkddl.runtime.broker.server import BrokerOptions

    try:
        match args.action:
            case "start":
                listeners = (secure_listener(),) if args.security else ()
                _tell(broker_daemon.start(BrokerOptions(listeners=listeners)))
            case "stop":
                state = broker_daemon.stop()
                print(f"stopped the broker at {state.bootstrap}")
            case _:
                found = broker_daemon.status()
                if found is None:
                    print("no broker is running")
                    return OUTSIDE_FAILED
                _tell(found)
    except FlinkDdlError as error:
        print_diagnostics(error.diagnostics)
        return exit_code(error)
    return OK


def _tell(state: BrokerState) -> None:
    print(f"broker at {state.bootstrap}")
    if state.environment:
        print(f"its secured address, user and trust store are variables: source {state.environment}")
