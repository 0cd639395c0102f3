"""``flinkddl broker start|stop|status``: the development broker in the background."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, OUTSIDE_FAILED, WRONG_USAGE

if TYPE_CHECKING:
    from flinkddl.runtime.broker.daemon import BrokerState


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=("start", "stop", "status"))
    parser.add_argument(
        "--port", type=_port, default=0, metavar="PORT", help="start: where it listens (default: a free port)"
    )
    parser.add_argument("--keep", metavar="DIR", help="start: a folder in which topics outlive the broker")
    parser.add_argument(
        "--security", action="store_true", help="start: with a listener over SASL_SSL (SCRAM-SHA-512) too"
    )


def run(args: argparse.Namespace) -> int:
    """Carry out the action and say where the broker listens."""
    from flinkddl.runtime.broker import daemon as broker_daemon
    from flinkddl.runtime.broker.config import secure_listener
    from flinkddl.runtime.broker.server import BrokerOptions

    match args.action:
        case "start":
            if args.keep and args.security:
                print("--keep and --security: its user and key are made anew at each start", file=sys.stderr)
                return WRONG_USAGE
            listeners = (secure_listener(),) if args.security else ()
            keep = str(Path(args.keep).absolute()) if args.keep else None
            _tell(broker_daemon.start(BrokerOptions(port=args.port, listeners=listeners, keep=keep)))
        case "stop":
            state = broker_daemon.stop()
            print(f"stopped the broker at {state.bootstrap}" + _kept(state))
        case _:
            found = broker_daemon.status()
            if found is None:
                print("no broker is running")
                return OUTSIDE_FAILED
            _tell(found)
    return OK


def _port(text: str) -> int:
    if not text.isdigit() or not 0 <= int(text) < 65536:
        raise argparse.ArgumentTypeError(f"'{text}' is no port")
    return int(text)


def _kept(state: BrokerState) -> str:
    return f"; its topics are kept in {state.keep}" if state.keep else ""


def _tell(state: BrokerState) -> None:
    print(f"broker at {state.bootstrap}" + _kept(state))
    if state.environment:
        print(f"its secured address, user and trust store are variables: source {state.environment}")
