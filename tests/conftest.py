"""Fixtures shared by every test: one Spark session and one broker a process, both real and small."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import hypothesis
import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.machine.java import find_java
from tests.support.lent import Lent, shared
from tests.support.order import rank
from tests.support.spark import QUICK, SHARED, VIEWFS, viewfs_conf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.kafka.admin import KafkaAdmin

# a machine that is busy with something else is no failure
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


def pytest_configure() -> None:
    """Java starts some hundred times in a run, mostly for seconds: all of them compile quickly."""
    os.environ.setdefault("JDK_JAVA_OPTIONS", QUICK)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs Java where there is none, with the reason; run fast tests first, then files that take long."""
    marks = ("spark", "kafka", "flink")
    items.sort(key=lambda item: (any(item.get_closest_marker(m) for m in marks), rank(item.nodeid)))
    if not any(item.get_closest_marker(m) for item in items for m in marks):
        return
    try:
        find_java()
    except FlinkDdlError as error:
        for item in items:
            if any(item.get_closest_marker(m) for m in marks):
                item.add_marker(pytest.mark.skip(reason=str(error)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many cases of the connector reference stand in a test, per letter."""
    from tests.support.references import summary

    terminalreporter.write_line(f"reference cases in tests: {summary()}")


@pytest.fixture(scope="session", autouse=True)
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Register the jobs of tests where the user's own do not lie."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLINKDDL_JOBS", str(tmp_path_factory.mktemp("jobs")))
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start a local session with small memory; jobs run in ``job_session(spark, ...)`` children of it."""
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    conf = SHARED | viewfs_conf() | {"spark.sql.shuffle.partitions": "2"}
    session = build_session(SparkOptions(master="local[2]", conf=conf))
    yield session
    session.stop()


@pytest.fixture
def viewfs() -> str:
    """Return a folder of its own in a file system that Spark opens and Python cannot."""
    return f"{VIEWFS}/{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker | Lent]:
    """Start a development broker; ``broker.bootstrap`` is its address, of ``broker.variables`` a secured one.

    A test process that another one has started takes the other's, and workers of one run have one together.
    """
    from flinkddl.runtime.broker.config import secure_listener
    from flinkddl.runtime.broker.server import Broker, BrokerOptions

    if lent := Lent.here():
        yield lent
        return
    own = Broker(BrokerOptions(heap="600m", listeners=(secure_listener(),)))
    worker = "PYTEST_XDIST_WORKER" in os.environ
    with shared(tmp_path_factory.getbasetemp().parent, own) if worker else own as running:
        yield running


@pytest.fixture(scope="session")
def admin(broker: Broker | Lent) -> Iterator[KafkaAdmin]:
    """Open an admin client of the test broker."""
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as client:
        yield client


@pytest.fixture(scope="session")
def connect_address() -> Iterator[str]:
    """Start a Spark Connect server; PySpark takes it in a process without another kind of session."""
    from tests.support.connect import connect_server

    with connect_server() as address:
        yield address


@pytest.fixture
def new_topic(admin: KafkaAdmin) -> Callable[..., str]:
    """Return a function that makes a topic with a name of its own: ``new_topic("orders", partitions=2)``."""

    def make(prefix: str = "t", partitions: int = 1) -> str:
        name = f"{prefix}-{uuid.uuid4().hex[:8]}"
        admin.create_topic(name, partitions)
        return name

    return make
