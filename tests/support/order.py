"""The order of test files in a run of several workers: what takes long starts early, so that no worker ends alone."""

from __future__ import annotations

LONG = (
    "e2e/test_realtime", "spark/stream/test_kinds", "e2e/test_connect", "e2e/test_bridge", "e2e/test_evolution",
    "spark/stream/test_fired", "e2e/test_together", "e2e/test_state", "spark/stream/test_order",
    "e2e/test_input_that_ends", "conformance/test_beside", "spark/stream/test_operators", "e2e/test_all_kinds",
    "spark/stream/test_chain", "spark/stream/test_types", "e2e/test_broker_away", "formats/test_robustness",
    "samples/test_notebook", "e2e/test_processing_time_windows", "e2e/test_windows_in_a_chain", "e2e/test_figures",
    "test_readme", "e2e/test_watermarks", "e2e/test_passing_rows", "fuzz/test_fuzz", "e2e/test_shared_scans",
    "conformance/test_unread", "runtime/test_interpreter", "e2e/test_secrets", "e2e/test_view_query",
    "e2e/test_operators_come_and_go", "e2e/test_filesystem", "conformance/test_partitions", "e2e/test_packages",
)  # fmt: skip
"""Files under tests/ that take more than some 40 seconds, longest first: see ``--durations`` of a whole run."""

_RANK = {f"tests/{name}.py": place for place, name in enumerate(LONG)}


def rank(nodeid: str) -> int:
    """Return the place of a test's file among the long ones, of all others the same place behind them."""
    return _RANK.get(nodeid.partition("::")[0], len(LONG))
