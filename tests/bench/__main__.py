"""``python -m tests.bench [NAME ...]``: run benchmarks; without a name ``pageviews``."""

from __future__ import annotations

import argparse
from importlib import import_module

# name -> module with main([records]) -> None; "starting" has rounds too, "latency" a boundary
BENCHMARKS = {
    "pageviews": "tests.bench.pageviews",
    "json-kernels": "tests.bench.json_kernels",
    "decode": "tests.bench.decode",
    "guarantees": "tests.bench.guarantees",
    "against-flink": "tests.bench.against_flink",
    "latency": "tests.bench.latency",
    "flatness": "tests.bench.flatness",
    "first-row": "tests.bench.first_row",
    "first-hour": "tests.bench.first_hour",
    "starting": "tests.bench.starting",
    "check": "tests.bench.check",
    "views": "tests.bench.views",
    "sizing": "tests.bench.sizing",
    "state-forms": "tests.bench.state_forms",
    "growth": "tests.bench.growth",
    "growth-windows": "tests.bench.growth_windows",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], help="which benchmarks")
    parser.add_argument("--records", type=int, help="how many; else what each takes by itself, mostly 4,000,000")
    parser.add_argument("--rounds", type=int, help="of starting")
    parser.add_argument("--boundary", type=int, help="of latency: seconds between checkpoints")
    given = vars(parser.parse_args())
    names, records = given.pop("names") or ["pageviews"], given.pop("records")
    told = {name: value for name, value in given.items() if value is not None}
    for name in names:
        import_module(BENCHMARKS[name]).main(*(() if records is None else (records,)), **told)


if __name__ == "__main__":
    main()
