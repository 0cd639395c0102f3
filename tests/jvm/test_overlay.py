"""State that is held until its batch ends, or it is too much: nobody sees a difference."""

from __future__ import annotations

import pytest

from tests.support.java_probes import Probes
from tests.support.java_udf import needs_javac

pytestmark = [pytest.mark.spark, needs_javac]


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Probes:
    return Probes(tmp_path_factory.mktemp("overlay"), "OverlayProbe")


@pytest.mark.parametrize("held", [0, 1000, 1_000_000])
def test_the_same_as_state_that_is_not_held(probes: Probes, held: int) -> None:
    """Any operations of several groups: written after each, now and then, or with the batch's end alone."""
    assert probes.run("OverlayProbe", 1, 1000, options=[f"-Dflinkddl.state.held={held}"]) == ["done"]
