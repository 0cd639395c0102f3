"""One loop carries out scripts for programs, ``run``, the shell and notebooks: what each of them leaves."""

from __future__ import annotations

import _thread
import threading
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.script.compile import compile_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    Front = Callable[[Catalog, str], list[str]]

pytestmark = pytest.mark.spark


def _program(catalog: Catalog, sql: str) -> list[str]:
    try:
        catalog.execute_all(sql)
    except FlinkDdlError as error:
        return [d.code for d in error.diagnostics]
    return []


def _run(catalog: Catalog, sql: str) -> list[str]:
    from flinkddl.cli.listed import Listing
    from flinkddl.cli.live import Display
    from flinkddl.cli.running import Run, Running, Stops

    stops = Stops()
    try:
        run = Run(stops, Display(), Listing(), {})
        Running(catalog, run).perform(compile_script(SourceText("job.sql", sql), catalog.state))
    except FlinkDdlError as error:
        return [d.code for d in error.diagnostics]
    finally:
        stops.leave()
    return []


def _shell(catalog: Catalog, sql: str) -> list[str]:
    from flinkddl.cli.shell.engine import Engine
    from flinkddl.cli.shell.output import Output
    from flinkddl.cli.shell.warmup import SparkStart

    out = Output()
    engine = Engine(catalog, SparkStart(catalog), out)
    return [] if engine.execute_source(SourceText("job.sql", sql)) else sorted(out.failed)


def _notebook(catalog: Catalog, sql: str) -> list[str]:
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell.instance()
    shell.user_ns["catalog"] = catalog
    try:
        shell.run_line_magic("load_ext", "flinkddl")
        with capture_output():
            error = shell.run_cell(f"%%flinksql\n{sql}").error_in_exec
    finally:
        shell.run_line_magic("unload_ext", "flinkddl")
        InteractiveShell.clear_instance()
    return [d.code for d in error.diagnostics] if isinstance(error, FlinkDdlError) else [repr(error)] if error else []


@pytest.fixture(params=[_program, _run, _shell, _notebook], ids=["program", "run", "shell", "notebook"])
def front(request: pytest.FixtureRequest) -> Front:
    return request.param


@pytest.fixture
def catalog(spark: SparkSession, tmp_path: Path) -> Iterator[Catalog]:
    made = Catalog(spark, views=False)
    made.execute(f"""
        CREATE TABLE ever (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1');
        CREATE TABLE few (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '2');
        CREATE TABLE gone (id INT) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}/no');
        CREATE TABLE void (id INT) WITH ('connector' = 'blackhole')""")
    yield made
    made.stop()


def tables(catalog: Catalog) -> set[str]:
    return {name for (name,) in catalog.execute("SHOW TABLES").rows} - {"ever", "few", "gone", "void"}


SYNC = "SET 'table.dml-sync' = 'true';"
COPY = "CREATE TABLE copied WITH ('connector' = 'blackhole') AS SELECT {0} AS id FROM {1};"
AFTER = "CREATE TABLE after_it (id INT) WITH ('connector' = 'blackhole');"


def test_a_job_that_does_not_start_ends_the_script(catalog: Catalog, front: Front) -> None:
    """Flink 2.3 (oracle): CREATE TABLE AS leaves its table behind; the jobs before it run on."""
    script = f"INSERT INTO void SELECT id FROM ever; {COPY.format('id', 'gone')} {AFTER}"
    assert front(catalog, script) == ["FD847"]
    assert tables(catalog) == {"copied"}
    assert [job.status for job in catalog.jobs] == ["running"]


def test_an_awaited_job_that_fails_ends_the_script(catalog: Catalog, front: Front) -> None:
    """As Flink 2.3 (oracle)."""
    fails = COPY.format("CAST(CAST(id AS STRING) || 'x' AS INT)", "few")
    assert front(catalog, f"{SYNC} {fails} {AFTER}") == ["FD830"]
    assert tables(catalog) == {"copied"}
    assert [job.status for job in catalog.jobs] == ["failed"]


def test_what_is_known_of_a_job_is_said_before_anything_is_done(catalog: Catalog, front: Front) -> None:
    insert, login = "INSERT INTO void SELECT id FROM few;", "SET 'security.kerberos.krb5-conf.path' = '/no/krb5.conf';"
    assert front(catalog, f"{AFTER} {insert} {login} {insert}") == ["FD851"]
    assert tables(catalog) == set()
    assert catalog.jobs == []


def test_with_dml_sync_each_insert_is_awaited(catalog: Catalog, front: Front) -> None:
    insert = "INSERT INTO void SELECT id FROM few;"
    assert front(catalog, f"{SYNC} {insert} {insert}") == []
    assert [job.status for job in catalog.jobs] == ["finished", "finished"]


def test_an_interrupt_ends_the_job_that_is_awaited(catalog: Catalog) -> None:
    def interrupt() -> None:
        while not catalog.jobs or not any(p.batch for p in catalog.jobs[0].progress):  # the second batch: it is awaited
            threading.Event().wait(0.1)
        _thread.interrupt_main()

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        catalog.execute(f"{SYNC} INSERT INTO void SELECT id FROM ever; {AFTER}")
    assert [job.status for job in catalog.jobs] == ["stopped"]
    assert tables(catalog) == set()
