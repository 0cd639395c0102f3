"""``python -m tests.fuzz --cases 3000 --seed 1``: random queries over random changes, against DuckDB.

Groups of cases are spread over ``--processes``, each with a Spark of its own; what a group draws depends on
the seed and the group's number only.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from tests.fuzz.trial import Summary, run_group

STORES = ("rocksdb", "memory", "memory", "memory")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--group", type=int, default=25, help="queries that run over one stream")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--store", choices=("memory", "rocksdb"), help="default: RocksDB for every fourth group")
    parser.add_argument("--state", choices=("aggregate", "keyed", "auto", "chain"), default="aggregate")
    args = parser.parse_args()
    if args.state != "aggregate" and args.store == "memory":
        parser.error("state by key needs RocksDB")
    started = time.monotonic()
    total = Summary(args.seed)
    groups = [
        (args.seed * 1_000_000 + n, min(args.group, args.cases - first), store(args, n), args.state)
        for n, first in enumerate(range(0, args.cases, args.group))
    ]
    with ProcessPoolExecutor(args.processes, get_context("spawn")) as workers:
        for done in as_completed([workers.submit(run_group, *group) for group in groups]):
            found = done.result()
            total.add(found)
            for text in found.divergences:
                print(text, flush=True)
            print(f"{total.cases}/{args.cases} cases, {time.monotonic() - started:.0f} s, {total.line()}", flush=True)
    print(f"{total.line()} in {time.monotonic() - started:.0f} s")
    return 1 if total.divergences else 0


def store(args: argparse.Namespace, group: int) -> str:
    return args.store or ("rocksdb" if args.state != "aggregate" else STORES[group % len(STORES)])


if __name__ == "__main__":
    sys.exit(main())
