"""Properties of Kafka's clients that a table gives: on a real broker, what arrives there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.support.proxy import Proxy
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka

SCRIPT = """
SET 'execution.runtime-mode' = '{mode}';
CREATE TABLE src (id BIGINT) WITH ('connector' = 'kafka', 'topic' = '{source}', 'format' = 'json',
  'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset' {read});
CREATE TABLE snk (id BIGINT) WITH ('connector' = 'kafka', 'topic' = '{target}', 'format' = 'json',
  'properties.bootstrap.servers' = '{servers}' {write});
INSERT INTO snk SELECT id FROM src;
"""
NO_INTERCEPTOR = "org.apache.kafka.common.serialization.StringSerializer"
ONCE = ", 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'clients'"


@pytest.mark.parametrize("mode", ["streaming", "batch"])
@pytest.mark.parametrize(("once", "name"), [("", "writer"), (ONCE, "writer-of-transactions")])
def test_client_ids_are_those_of_the_tables(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], mode: str, once: str, name: str
) -> None:
    source, target = new_topic("src"), new_topic("dst")
    send(broker.bootstrap, source, [{"id": 1}])
    read = ", 'properties.client.id.prefix' = 'reader', 'properties.client.id' = 'not-this'"
    write = f", 'properties.client.id' = '{name}-{mode}' {once}"
    with Proxy(broker.bootstrap) as proxy:
        names = {"source": source, "target": target, "servers": proxy.address, "mode": mode}
        Catalog(spark).execute(SCRIPT.format(read=read, write=write, **names)).await_termination(120)
        assert {"reader", f"{name}-{mode}"} <= proxy.java_clients
    assert "not-this" not in proxy.java_clients
    assert len(committed(broker.bootstrap, target)) == 1


@pytest.mark.parametrize("once", ["", ONCE])
def test_interceptors_of_a_sink_reach_its_producer(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], once: str
) -> None:
    """A class that is there and no interceptor: Kafka's producer itself says so, and nothing is written."""
    source, target = new_topic("src"), new_topic("dst")
    send(broker.bootstrap, source, [{"id": 1}])
    names = {"source": source, "target": target, "servers": broker.bootstrap, "mode": "streaming", "read": ""}
    write = f", 'properties.interceptor.classes' = '{NO_INTERCEPTOR}' {once}"
    with pytest.raises(FlinkDdlError, match=f"FD830: .*: class {NO_INTERCEPTOR}"):
        Catalog(spark).execute(SCRIPT.format(write=write, **names)).await_termination(120)
    assert committed(broker.bootstrap, target) == []
