from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flinkddl.runtime.machine.cache import log_file
from flinkddl.runtime.machine.java import find_java, trimming
from flinkddl.runtime.session import sessions
from flinkddl.runtime.session.sessions import (
    JOB_SETTINGS,
    KEPT_SETTINGS,
    MALLOC,
    SparkOptions,
    _start_conf,
    job_session,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOT_LISTED = {  # internal or read from elsewhere, so `SET -v` does not show them
    "spark.sql.caseSensitive",
    "spark.sql.catalog.flinkddl",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
}


def test_every_setting_exists_and_is_set_in_a_job_session(spark: SparkSession) -> None:
    job = job_session(spark, {"spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "false"})
    assert {key: job.conf.get(key) for key in JOB_SETTINGS} == dict(JOB_SETTINGS)
    known = {row.key for row in job.sql("SET -v").collect()}
    assert set(JOB_SETTINGS) - known == NOT_LISTED, "a setting that Spark does not know is silently without effect"


def test_what_stays_of_a_checkpoint_is_the_callers_to_say(spark: SparkSession) -> None:
    key, other, _folder_of_jars = KEPT_SETTINGS
    user = spark.newSession()
    user.conf.set(key, "7")
    job = job_session(user, {})
    assert (job.conf.get(key), job.conf.get(other)) == ("7", KEPT_SETTINGS[other])
    assert job_session(spark, {}).conf.get(key) == KEPT_SETTINGS[key]


def test_a_job_setting_does_not_reach_the_parent_session(spark: SparkSession) -> None:
    key = "spark.sql.streaming.statefulOperator.checkCorrectness.enabled"
    before = spark.conf.get(key)
    job_session(spark, {key: "false"})
    assert spark.conf.get(key) == before == "true"


def test_json_keeps_nulls_and_long_base64_is_one_line(spark: SparkSession) -> None:
    job = job_session(spark, {})
    row = job.sql("SELECT to_json(struct(1 AS a, NULL AS b)), base64(CAST(repeat('x', 200) AS BINARY))").first()
    assert row is not None
    assert row[0] == '{"a":1,"b":null}'
    assert "\n" not in row[1]


def test_sparks_log_is_a_file(spark: SparkSession) -> None:
    log = log_file()
    assert log is not None
    assert log.is_file()


def test_java_holds_nothing_that_a_pipe_waits_for(spark: SparkSession) -> None:
    """Its last words (an archive of classes takes it seconds) come after our end."""
    java = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    told = {Path(f"/proc/{java}/fd/{n}").readlink() for n in (1, 2)}
    assert [(path.parent, path.name[:6]) for path in told] == [(log_file().parent, "spark-")]  # type: ignore[union-attr]


@pytest.mark.parametrize(("name", "value"), MALLOC.items())
def test_java_gives_memory_back(spark: SparkSession, name: str, value: str) -> None:
    row = spark.sql(f"SELECT java_method('java.lang.System', 'getenv', '{name}')").first()
    assert row is not None
    assert row[0] == os.environ.get(name, value)


def test_java_is_asked_whether_it_trims(spark: SparkSession) -> None:
    """It is asked before it starts, and the one that runs here was told what it said."""
    told = spark.sparkContext.getConf().get("spark.driver.defaultJavaOptions", "")
    assert [option for option in told.split() if "Trim" in option] == trimming(find_java())


@pytest.mark.parametrize("where", ["spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"])
def test_an_interval_of_the_users_stays_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))  # nobody is asked for an archive of classes
    mine = "-XX:TrimNativeHeapInterval=0"
    conf = _start_conf(SparkOptions(conf={where: mine}), tmp_path / "spark.log")
    told = f"{conf['spark.driver.defaultJavaOptions']} {conf.get('spark.driver.extraJavaOptions', '')}"
    assert re.findall(r"-XX:Trim\S+", told) == [mine]


@pytest.mark.parametrize(
    ("given", "collectors"),
    [
        ({}, ["-XX:+UseParallelGC"]),
        ({"spark.driver.extraJavaOptions": "-Da=b"}, ["-XX:+UseParallelGC"]),
        ({"spark.driver.extraJavaOptions": "-XX:+UseG1GC"}, ["-XX:+UseG1GC"]),
        ({"spark.driver.defaultJavaOptions": "-XX:+UseZGC -Da=b"}, ["-XX:+UseZGC"]),
    ],
)
def test_javas_options_of_the_user_stand_behind_ours(
    tmp_path: Path, given: dict[str, str], collectors: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours are Spark's default options: what a user's spark-defaults.conf says in "extraJavaOptions" counts too."""
    monkeypatch.delenv("JDK_JAVA_OPTIONS")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))  # nobody is asked for an archive of classes
    conf = _start_conf(SparkOptions(conf=given), tmp_path / "spark.log")
    own, extra = conf["spark.driver.defaultJavaOptions"], conf.get("spark.driver.extraJavaOptions", "")
    assert own.startswith("-Dlog4j2.configurationFile=file:")
    assert own.endswith(given.get("spark.driver.defaultJavaOptions", own))
    assert extra == given.get("spark.driver.extraJavaOptions", "")
    assert re.findall(r"-XX:.Use\w+GC\b", f"{own} {extra}") == collectors


@pytest.mark.parametrize(
    ("master", "own"),
    [(None, True), ("local", True), ("local[2]", True), ("local-cluster[2,1,1024]", False), ("spark://h:7077", False)],
)
def test_files_of_this_machine_start_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str | None, own: bool
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))  # nobody is asked for an archive of classes
    conf = _start_conf(SparkOptions(master=master), tmp_path / "spark.log")
    assert ("spark.hadoop.fs.file.impl" in conf) == own
    monkeypatch.setattr(sessions, "functions_jar", lambda: None)
    assert "spark.hadoop.fs.file.impl" not in _start_conf(SparkOptions(master=master), tmp_path / "spark.log")


@pytest.mark.parametrize("where", ["JDK_JAVA_OPTIONS", "spark-defaults.conf"])
def test_a_collector_named_elsewhere_stays_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.delenv("JDK_JAVA_OPTIONS")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert (
        "-XX:+UseParallelGC" in _start_conf(SparkOptions(), tmp_path / "spark.log")["spark.driver.defaultJavaOptions"]
    )
    if where == "spark-defaults.conf":
        (tmp_path / where).write_text("spark.driver.extraJavaOptions -XX:+UseSerialGC\n")
    else:
        monkeypatch.setenv(where, "-XX:+UseSerialGC")
    assert "GC" not in _start_conf(SparkOptions(), tmp_path / "spark.log")["spark.driver.defaultJavaOptions"]


AT_ONCE = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from flinkddl.api import Catalog
from flinkddl.runtime.session.sessions import SparkOptions

catalog, before = Catalog(options=SparkOptions(conf={"spark.driver.memory": "600m"})), os.fstat(2)
with ThreadPoolExecutor(4) as pool:
    forks = list(pool.map(lambda _: catalog.fork(), range(3)))
    others = list(pool.map(lambda _: Catalog(options=SparkOptions()).spark, range(2)))
assert {id(fork.spark) for fork in forks} == {id(catalog.spark)}
assert {other.sparkContext.applicationId for other in others} == {catalog.spark.sparkContext.applicationId}
assert (os.fstat(2).st_dev, os.fstat(2).st_ino) == (before.st_dev, before.st_ino), "stderr is another file now"
print(catalog.execute("SELECT 1 + 1").collect())
catalog.stop()
"""


def test_threads_that_ask_for_spark_at_once_get_the_same(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w") as stderr:
        done = subprocess.run([sys.executable, "-c", AT_ONCE], stdout=subprocess.PIPE, stderr=stderr, text=True)
    assert (done.returncode, done.stdout) == (0, "[(2,)]\n"), (tmp_path / "stderr").read_text()


USERS_OWN = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from flinkddl.runtime.session.sessions import adopt_session, job_session
builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "800m")
own = builder.config("spark.ui.enabled", "false").getOrCreate()
job = job_session(adopt_session(own), {})
options = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}
print(job.readStream.format("kafka").options(**options).load().columns)
try:
    job.sql("SELECT flinkddl.no_such_function(1)")
except Exception as error:
    print("no_such_function" in str(error) and "plugin" not in str(error))
total = "flinkddl.retract_aggregate(1L, 0L, named_struct('sum:0', id)).n.`sum:0`"
print(sorted(r[0] for r in job.sql(f"SELECT {total} FROM range(0, 10, 1, 2) GROUP BY id % 2").collect()))
print(own.conf.get("spark.sql.caseSensitive"))
"""


def test_a_users_own_session_is_given_the_jars_and_keeps_its_settings() -> None:
    done = subprocess.run([sys.executable, "-c", USERS_OWN], capture_output=True, text=True, check=True)
    columns, functions, totals, sensitive = done.stdout.splitlines()
    assert columns == "['key', 'value', 'topic', 'partition', 'offset', 'timestamp', 'timestampType']"
    assert (functions, totals, sensitive) == ("True", "[20, 25]", "false")


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("600m", "FD873: spark-submit was started without flinkddl's jar and Spark's Kafka connector"),
        pytest.param(
            "400m", "[INVALID_DRIVER_MEMORY.SYSTEM_MEMORY] Insufficient driver memory", marks=pytest.mark.slow
        ),
    ],
)
def test_what_spark_submit_was_not_given_is_said(tmp_path: Path, memory: str, said: str) -> None:
    (tmp_path / "main.py").write_text(
        "import sys\nfrom flinkddl.cli.main import main\nsys.exit(main(['run', sys.argv[1]]))\n"
    )
    (tmp_path / "job.sql").write_text(
        "CREATE TABLE a (k INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1');\n"
        "CREATE TABLE b (k INT) WITH ('connector' = 'print');\nINSERT INTO b SELECT k FROM a;\n"
    )
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[1]", "--driver-memory", memory]
    done = subprocess.run(
        [*submit, str(tmp_path / "main.py"), str(tmp_path / "job.sql")],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert said in done.stderr + done.stdout
