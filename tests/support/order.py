"""The order of test files in a run of several workers: what takes long starts early, so that no worker ends alone."""

from __future__ import annotations

LONG = (
    "e2e/test_connect", "e2e/test_realtime", "e2e/test_bridge", "e2e/test_together", "conformance/test_beside",
    "formats/test_robustness", "e2e/test_evolution", "e2e/test_figures", "e2e/test_broker_away", "e2e/test_all_kinds",
    "fuzz/test_fuzz", "spark/stream/test_types", "conformance/test_unread", "e2e/test_watermarks",
    "spark/stream/test_operators", "runtime/test_interpreter", "e2e/test_filesystem", "e2e/test_windows_in_a_chain",
    "e2e/test_shared_scans", "e2e/test_secrets", "runtime/test_class_archive", "e2e/test_pageviews",
    "e2e/test_view_query", "conformance/test_partitions", "e2e/test_packages",
)  # fmt: skip
"""Files under tests/ that take more than some 40 seconds, longest first: see ``--durations`` of a whole run."""

_RANK = {f"tests/{name}.py": place for place, name in enumerate(LONG)}


def rank(nodeid: str) -> int:
    """Return the place of a test's file among the long ones, of all others the same place behind them."""
    return _RANK.get(nodeid.partition("::")[0], len(LONG))
