"""``python -m tests.conformance AREA --data DIR``: run recorded cases and count those that come out as Flink's.

One line per case that differs, then the number of refusals (they count as failed), then ``N passed, N failed``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from importlib import import_module
from pathlib import Path

from tests.conformance.differences import reason

# area -> module with run(area, data, only, jobs) -> Iterator[Outcome]
AREAS: dict[str, str] = {
    "validate": "tests.conformance.validate",
    "formats": "tests.conformance.formats",
    "views": "tests.conformance.views",
    "expressions": "tests.conformance.expressions",
    "queries": "tests.conformance.queries",
    "queries-batch": "tests.conformance.queries",
}


def main(arguments: list[str]) -> int:
    """Run one area; returns 0 when every case passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("area", choices=sorted(AREAS))
    parser.add_argument("--data", type=Path, default=None, help="folder of .jsonl files (default: tests/data/goldens)")
    parser.add_argument("--only", default="", help="an id, or what ids begin with; several with commas")
    parser.add_argument("--jobs", type=int, default=1, help="cases that run at once, where the area can")
    forms = ("aggregate", "keyed", "chain", "auto")
    parser.add_argument("--state", choices=forms, help="flinkddl.execution.state of queries")
    options = parser.parse_args(arguments)
    if options.state:
        os.environ["FLINKDDL_STATE"] = options.state
    module = import_module(AREAS[options.area])
    only = tuple(o for o in options.only.split(",") if o)
    counts: Counter[str] = Counter()
    explained: defaultdict[str, list[str]] = defaultdict(list)
    begin = time.monotonic()
    for outcome in module.run(options.area, options.data, only, options.jobs):
        counts[outcome.status] += 1
        if outcome.status == "passed" and outcome.reason:
            explained[outcome.reason].append(outcome.id)
            counts["corrected"] += 1
        elif outcome.status != "passed":
            print(outcome.line(), flush=True)
            known = reason(options.area, outcome.id) or outcome.reason
            explained[known or "no reason is known"].append(outcome.id)
    for why, ids in explained.items():
        print(f"{why}: {', '.join(ids)}")
    failed = counts["failed"] + counts["refused"]
    print(f"{counts['passed'] + failed} cases in {time.monotonic() - begin:.0f} s")
    print(f"{counts['refused']} of the failed were refused with an error of ours")
    if counts["corrected"]:
        print(f"{counts['corrected']} of the passed gave the right answer where the recorded one is a mistake")
    print(f"{counts['passed']} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
