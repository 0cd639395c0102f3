"""``python -m tests.e2e.resume --records N --runs K``: page views, killed midway, K times over N records.

Each run starts ``flinkddl run --checkpoint`` over a full topic, sends SIGKILL when the sink shows a random share of the
records (from a third to two thirds), starts the same command again, and compares the last value of every key with a
recount in plain Python, byte by byte.
"""

from __future__ import annotations

import argparse
import random
import signal
import tempfile
import time
from pathlib import Path

from tests.e2e import support
from tests.e2e.test_pageviews import run_command, seen, wait_until


def one_run(servers: str, source: str, target: str, views: int, expected: dict[bytes, bytes], kill_at: int) -> str:
    """Kill and resume once; return what happened in a line.

    Raises:
        AssertionError: a record was lost or counted twice, or the job does not get on.
    """
    text = support.script("pageviews/job.sql", {"pageviews": source, "pageviews_per_region": target})
    text = f"SET 'flinkddl.execution.max-offsets-per-trigger' = '{max(views // 20, 1000)}';\n{text}"
    with tempfile.TemporaryDirectory() as folder:
        script, checkpoint = Path(folder, "job.sql"), Path(folder, "checkpoint")
        script.write_text(text, encoding="utf-8")
        begin = time.monotonic()
        run = run_command(script, servers, checkpoint)
        wait_until(lambda: seen(servers, target) >= kill_at, run)
        run.send_signal(signal.SIGKILL)
        run.wait(60)
        killed = seen(servers, target)
        assert killed < views, "the job was through before it could be killed"
        run = run_command(script, servers, checkpoint)
        wait_until(lambda: seen(servers, target) >= views, run)
        run.send_signal(signal.SIGTERM)
        assert run.wait(120) == 0, "the clean stop failed"
        assert support.upserted(support.read_topic(servers, target)) == expected, "the table differs from the recount"
        return (
            f"killed at {killed:,} of {views:,} records, table equal to the recount, {time.monotonic() - begin:.0f} s"
        )


def main() -> None:
    """Fill a topic once, then kill and resume; exits with an error at the first difference."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    parser = argparse.ArgumentParser(prog="tests.e2e.resume", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    random_ = random.Random(args.seed)
    with Broker(BrokerOptions(heap="1g")) as broker, KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
        print(f"writing {args.records:,} records ...", flush=True)
        admin.create_topic("pageviews", 4, {"retention.ms": "-1"})
        views = support.pageviews(args.records, seed=args.seed)
        support.send(broker.bootstrap, "pageviews", views, 4)
        expected = support.views_per_region(views)
        for i in range(args.runs):
            admin.create_topic(f"out-{i}", 4)
            kill_at = random_.randrange(args.records // 3, 2 * args.records // 3)
            line = one_run(broker.bootstrap, "pageviews", f"out-{i}", args.records, expected, kill_at)
            print(f"run {i + 1}: {line}", flush=True)
    print(f"{args.runs} runs over {args.records:,} records, 0 lost, 0 counted twice")


if __name__ == "__main__":
    main()
