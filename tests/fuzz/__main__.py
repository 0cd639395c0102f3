"""``python -m tests.fuzz --cases 3000 --seed 1``: random queries over random changes, against DuckDB."""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.session import fuzz_session
from tests.fuzz.trial import Summary, run_group


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--group", type=int, default=25, help="queries that run over one stream")
    parser.add_argument("--store", choices=("memory", "rocksdb"), default="memory")
    args = parser.parse_args()
    started = time.monotonic()
    total = Summary(args.seed)
    spark = fuzz_session()
    try:
        number = 0
        while total.cases < args.cases:
            size = min(args.group, args.cases - total.cases)
            found = run_group(spark, args.seed * 1_000_000 + number, size, args.store)
            total.add(found)
            number += 1
            for text in found.divergences:
                print(text, flush=True)
            print(f"{total.cases}/{args.cases} cases, {time.monotonic() - started:.0f} s, {total.line()}", flush=True)
    finally:
        spark.stop()
    print(f"{total.line()} in {time.monotonic() - started:.0f} s")
    return 1 if total.divergences else 0


if __name__ == "__main__":
    sys.exit(main())
