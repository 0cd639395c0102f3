"""One broker for all test processes of a run: the workers, and what they start with cases of their own."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from flinkddl.runtime.machine.cache import locked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

VARIABLE = "FLINKDDL_TEST_BROKER"


@dataclass(frozen=True)
class Lent:
    """What tests ask a broker for: its address and the variables of its secured listener."""

    bootstrap: str
    variables: Mapping[str, str]

    @classmethod
    def here(cls) -> Lent | None:
        """Return the broker that this process was given, if any."""
        given = os.environ.get(VARIABLE)
        return cls(**json.loads(given)) if given else None


def lending(broker: Broker) -> dict[str, str]:
    """Return the environment of a test process that is to take this broker."""
    return {**os.environ, VARIABLE: json.dumps(asdict(Lent(broker.bootstrap, dict(broker.variables))))}


@contextmanager
def shared(folder: Path, broker: Broker) -> Iterator[Lent]:
    """Yield the broker of a folder that all workers see: the first of them starts it, and waits for the others' end."""
    known = folder / "broker.json"
    with ExitStack() as mine, (folder / "broker.users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with locked(folder / "broker.lock"):
            if first := not known.exists():
                known.write_text(lending(mine.enter_context(broker))[VARIABLE], encoding="utf-8")
        yield Lent(**json.loads(known.read_text(encoding="utf-8")))
        if first:
            fcntl.flock(users, fcntl.LOCK_EX)
