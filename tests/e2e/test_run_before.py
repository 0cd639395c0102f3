"""``flinkddl run -i``: scripts that have their tables in another file, on the session of these tests and Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.cli import run
from flinkddl.cli.common import start_catalog
from flinkddl.cli.main import main

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka
KAFKA = (
    "WITH ('connector' = 'kafka', 'topic' = '{}', 'properties.bootstrap.servers' = '${{SERVERS}}', 'format' = 'json',\n"
    "  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset');\n"
)


def test_two_scripts_with_their_tables_in_a_third(
    spark: SparkSession,
    admin: KafkaAdmin,
    new_topic: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def opened(args: argparse.Namespace) -> Catalog:
        catalog = Catalog(spark, views=False)
        catalog.state = start_catalog(args)
        return catalog

    monkeypatch.setattr(run, "open_catalog", opened)  # the session of the tests; nothing else is another
    topics = {name: new_topic(name) for name in ("a", "b", "c")}
    folder = tmp_path / "common"
    folder.mkdir()
    tables = [f"CREATE TABLE {n} (id INT, name STRING) {KAFKA.format(t)}" for n, t in topics.items()]
    (folder / "1_tables.sql").write_text("".join(tables))
    (folder / "2_views.sql").write_text("CREATE VIEW big AS SELECT id, UPPER(name) AS name FROM a WHERE id > 1;\n")
    scripts = {
        "fill": "INSERT INTO a VALUES (1, 'x'), (2, 'y'), (3, 'z');\n",
        "copy": "INSERT INTO b SELECT id, name FROM big;\n",
        "count": "INSERT INTO c SELECT id + 10, name FROM a;\n",
    }
    for name, text in scripts.items():
        (tmp_path / f"{name}.sql").write_text(text)
    given = ["-D", f"SERVERS={admin.servers}", "-i", str(folder), "--quiet"]
    for i, names in enumerate((["fill"], ["copy", "count"])):
        paths = [str(tmp_path / f"{name}.sql") for name in names]
        assert main(["run", *given, "--checkpoint", str(tmp_path / str(i)), *paths]) == 0
    catalog = Catalog(spark, views=False)
    catalog.execute_all("".join(tables), variables={"SERVERS": admin.servers})
    read = {n: sorted(tuple(r) for r in catalog.execute(f"SELECT * FROM {n}").collect()) for n in ("b", "c")}
    assert read == {"b": [(2, "Y"), (3, "Z")], "c": [(11, "x"), (12, "y"), (13, "z")]}
