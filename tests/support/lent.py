"""The broker of a test process that starts another one, for the cases in there: a Java and some seconds less."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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
