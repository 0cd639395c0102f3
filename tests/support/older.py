"""Jobs as an earlier version would begin them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from flinkddl.script import compile as compiling
from flinkddl.spark.assemble import lower_job

if TYPE_CHECKING:
    import pytest

    from flinkddl.plan.stateforms import Begun


def plan_as(patched: pytest.MonkeyPatch, begun: Begun) -> None:
    """Let scripts be planned as if their checkpoints had been begun so."""
    patched.setattr(compiling, "lower_job", partial(lower_job, begun=begun))
