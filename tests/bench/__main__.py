"""``python -m tests.bench [NAME ...]``: run benchmarks; without a name all of them."""

from __future__ import annotations

import argparse
from importlib import import_module

# name -> module with main(argv) -> None
BENCHMARKS = {
    "pageviews": "tests.bench.pageviews",
    "json-kernels": "tests.bench.json_kernels",
    "guarantees": "tests.bench.guarantees",
    "against-flink": "tests.bench.against_flink",
    "latency": "tests.bench.latency",
    "flatness": "tests.bench.flatness",
    "first-row": "tests.bench.first_row",
    "check": "tests.bench.check",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], help="which benchmarks")
    parser.add_argument("--records", type=int, default=4_000_000)
    args = parser.parse_args()
    for name in args.names or ["pageviews"]:
        import_module(BENCHMARKS[name]).main(args.records)


if __name__ == "__main__":
    main()
