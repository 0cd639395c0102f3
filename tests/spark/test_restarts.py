"""``restart-strategy.*`` of a script: which strategy its job has, and what is refused.

The verdicts are those of Flink 2.3's RestartBackoffTimeStrategyFactoryLoader, asked with the same settings.
"""

from __future__ import annotations

import pytest

from flinkddl.catalog.settings import Settings
from flinkddl.diagnostics import Bag, FlinkDdlError, SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.restarts import ENDLESS, NONE, USUAL, RestartStrategy, restart_strategy

T, F, R, E = (f"restart-strategy.{k}" for k in ("type", "fixed-delay.", "failure-rate.", "exponential-delay."))
FIXED = RestartStrategy("fixed-delay", chosen=True, attempts=1, delay_ms=1000)
RATE = RestartStrategy("failure-rate", chosen=True, attempts=1, delay_ms=1000, interval_ms=60_000)
OFF = RestartStrategy("none", chosen=True)
GROWING = RestartStrategy(
    "exponential-delay", True, ENDLESS, 1000, multiplier=1.5, most_ms=60_000, reset_ms=3_600_000, jitter=0.1
)
ON = {"execution.checkpointing.interval": "1 min"}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, None),
        (ON, USUAL),
        *(({T: name}, OFF) for name in ("none", "off", "disable", "NONE")),
        *(({T: name}, FIXED) for name in ("fixed-delay", "fixeddelay", "Fixed-Delay")),
        ({"restart-strategy": "fixed-delay"}, FIXED),
        *(({T: name}, RATE) for name in ("failure-rate", "failurerate")),
        *(({T: name}, GROWING) for name in ("exponential-delay", "exponentialdelay")),
        ({T: "fixed-delay", F + "attempts": "0", F + "delay": "0"}, RestartStrategy("fixed-delay", True, 0, 0)),
        ({T: "exponential-delay", E + "max-backoff": "1 s"}, RestartStrategy(
            "exponential-delay", True, ENDLESS, 1000, 0, 1.5, 1000, 3_600_000, 0.1)),
        (ON | {E + "initial-backoff": "0 s"}, USUAL),  # not looked at
    ],
)  # fmt: skip
def test_strategies(config: dict[str, str], expected: RestartStrategy | None) -> None:
    assert restart_strategy(Settings.of(config), None, Bag()) == expected


@pytest.mark.parametrize(
    ("kind", "key", "bad", "good"),
    [
        ("fixed-delay", F + "attempts", ["-1"], ["0", "3"]),
        ("failure-rate", R + "max-failures-per-interval", ["0", "-1"], ["1"]),
        ("failure-rate", R + "failure-rate-interval", ["0"], ["1 s"]),
        ("failure-rate", R + "delay", [], ["0"]),
        ("exponential-delay", E + "initial-backoff", ["0 s", "2 min"], ["1 s"]),
        ("exponential-delay", E + "max-backoff", ["0 s", "500 ms"], ["1 s"]),
        ("exponential-delay", E + "backoff-multiplier", ["1", "1.0", "0.9"], ["2", "1.0001"]),
        ("exponential-delay", E + "jitter-factor", ["1.1", "-0.1"], ["0", "1", "0.5"]),
        ("exponential-delay", E + "reset-backoff-threshold", ["0"], ["1 s", "2 h"]),
        ("exponential-delay", E + "attempts-before-reset-backoff", ["0", "-1"], ["1"]),
    ],
)
def test_bounds(kind: str, key: str, bad: list[str], good: list[str]) -> None:
    for text in bad:
        with pytest.raises(FlinkDdlError, match="FD885"):
            restart_strategy(Settings.of({T: kind, key: text}), None, Bag())
        assert restart_strategy(Settings.of({T: "none", key: text}), None, Bag()) == OFF
    for text in good:
        assert restart_strategy(Settings.of({T: kind, key: text}), None, Bag()) != restart_strategy(
            Settings.of({T: "none"}), None, Bag()
        )


JOB = """
CREATE TABLE a (k STRING) WITH ('connector' = 'kafka', 'topic' = 'a', 'properties.bootstrap.servers' = 'b:9092',
  'format' = 'json', 'scan.startup.mode' = 'earliest-offset'{bounded});
CREATE TABLE p (k STRING) WITH ('connector' = 'print');
INSERT INTO p SELECT k FROM a;
"""
BOUNDED = ", 'scan.bounded.mode' = 'latest-offset'"


@pytest.mark.parametrize(
    ("settings", "bounded", "found"),
    [
        ({T: "nonsense"}, "", ["FD330"]),
        ({F + "attempts": "x"}, "", ["FD330"]),
        ({T: "fixed-delay", F + "attempts": "-1"}, "", ["FD885"]),
        ({F + "attempts": "3"}, "", ["FD886"]),
        ({T: "fixed-delay", R + "delay": "3 s"}, "", ["FD886"]),
        ({T: "fixed-delay", F + "attempts": "3"}, "", []),
        ({T: "fixed-delay"}, BOUNDED, ["FD886"]),
        ({T: "none"}, BOUNDED, []),
    ],
)
def test_what_is_said_of_a_script(settings: dict[str, str], bounded: str, found: list[str]) -> None:
    sets = "".join(f"SET '{key}' = '{value}';" for key, value in settings.items())
    compiled = compile_script(SourceText("<t>", sets + JOB.format(bounded=bounded)))
    assert [d.code for d in compiled.diagnostics] == found
    jobs = [a.job for a in compiled.actions if isinstance(a, Start)]
    if bounded:
        assert [j.restart for j in jobs] == [NONE]
