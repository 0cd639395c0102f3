"""A folder of a hundred files with every cause that keeps a script out, as a company has it: for ``assess``.

``python -m tests.cli.hundred FOLDER`` writes it.
"""

# ruff: noqa: E501 - a file a line

from __future__ import annotations

import json
import sys
from pathlib import Path

KAFKA = (
    "WITH ('connector' = 'kafka', 'topic' = '{0}', 'properties.bootstrap.servers' = 'b:9092',"
    " 'scan.startup.mode' = 'earliest-offset', 'format' = 'json')"
)
ORDERS = (
    "CREATE TABLE orders (id BIGINT, customer STRING, amount DECIMAL(10, 2), address ROW<city STRING, zip STRING>,\n"
    "  ts TIMESTAMP(3), pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)\n" + KAFKA.format("orders")
)
TOTALS = (
    "CREATE TABLE totals (customer STRING, amount DECIMAL(20, 2), PRIMARY KEY (customer) NOT ENFORCED)\n"
    "  WITH ('connector' = 'upsert-kafka', 'topic' = 'totals', 'properties.bootstrap.servers' = 'b:9092',"
    " 'key.format' = 'json', 'value.format' = 'json')"
)
FLAT = "CREATE TABLE flat (id BIGINT, customer STRING) " + KAFKA.format("flat")
DECLARED = f"{ORDERS};\n{TOTALS};\n{FLAT};\n"
COPY = "INSERT INTO flat SELECT id, customer FROM orders;\n"
SUMS = "INSERT INTO totals SELECT customer, SUM(amount) FROM orders GROUP BY customer;\n"
LAKE = "CREATE TABLE lake{0} (id BIGINT, customer STRING) WITH ('connector' = 'iceberg', 'catalog-name' = 'c');\n"
CDC = "CREATE TABLE cdc{0} (id BIGINT, name STRING, PRIMARY KEY (id)) WITH ('connector' = 'mysql-cdc');\n"
TO_LAKE = "INSERT INTO lake{0} SELECT id, customer FROM orders;\n"
HIVE = "CREATE CATALOG hive WITH ('type' = 'hive', 'hive-conf-dir' = '/etc/hive');\nUSE CATALOG hive;\n"


def _udf(name: str) -> str:
    declared = f"CREATE FUNCTION {name} AS 'com.acme.udf.{name.title()}';\n"
    return f"{DECLARED}{declared}INSERT INTO flat SELECT id, {name}(customer) FROM orders;\n"


SCRIPTS: list[tuple[str, str]] = [
    ("common/ddl.sql", DECLARED),
    # what runs
    *((f"sales/copy_{i}.sql", DECLARED + COPY) for i in range(1, 9)),
    *((f"sales/sums_{i}.sql", DECLARED + SUMS) for i in range(1, 12)),
    *((f"sales/with_common_{i}.sql", COPY) for i in range(1, 8)),
    *((f"sales/variable_{i}.sql", f"{DECLARED}INSERT INTO flat SELECT id + ${{STEP}}, customer FROM orders;") for i in (1, 2)),
    *((f"sales/setting_{i}.sql", f"SET 'pipeline.object-reuse' = 'true';\n{DECLARED}{SUMS}") for i in (1, 2, 3)),
    ("sales/windows.sql", DECLARED + "INSERT INTO totals SELECT customer, SUM(amount) FROM TABLE(TUMBLE(TABLE orders,"
     " DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY customer, window_start, window_end;"),
    # not here
    *((f"lake/into_{i}.sql", DECLARED + LAKE.format(i) + TO_LAKE.format(i)) for i in range(1, 9)),
    *((f"lake/udf_into_{i}.sql", _udf("BIGINT_TO_TS") + LAKE.format(i) + TO_LAKE.format(i)) for i in range(1, 6)),
    *((f"lake/cdc_into_{i}.sql", CDC.format(i) + LAKE.format(i)
       + f"INSERT INTO lake{i} SELECT id, name FROM cdc{i};") for i in range(1, 7)),
    *((f"udf/to_ts_{i}.sql", _udf("BIGINT_TO_TS")) for i in range(1, 8)),
    *((f"udf/geo_{i}.sql", _udf("GEO_HASH")) for i in (1, 2)),
    *((f"hive/catalog_{i}.sql", HIVE + f"INSERT INTO ods.out_{i} SELECT * FROM ods.in_{i};\nSELECT * FROM ods.in_{i};\n")
      for i in range(1, 6)),
    *((f"hive/dialect_{i}.sql", "SET 'table.sql-dialect' = 'hive';\nCREATE TABLE h (id INT) PARTITIONED BY (dt STRING)"
       " STORED AS PARQUET;\nSELECT x FROM y LATERAL VIEW explode(z) t AS x;\n") for i in (1, 2)),
    *((f"cdc/{kind}.sql", f"{FLAT};\nCREATE TABLE c (id BIGINT, name STRING, PRIMARY KEY (id)) WITH"
       f" ('connector' = '{kind}');\nINSERT INTO flat SELECT id, name FROM c;") for kind in ("postgres-cdc", "db2-cdc")),
    ("cdc/legacy.sql", "CREATE TABLE old (id INT) WITH ('connector.type' = 'kafka', 'connector.topic' = 'x',"
     " 'format.type' = 'json');\nSELECT * FROM old;"),
    ("other/jar.sql", "ADD JAR 'udf.jar';\n"),
    ("other/match.sql", DECLARED + "SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY customer ORDER BY ts MEASURES"
     " A.id AS a PATTERN (A B) DEFINE B AS B.id > A.id);"),
    ("other/proctime.sql", DECLARED + "INSERT INTO totals SELECT customer, SUM(amount) FROM TABLE(TUMBLE(TABLE orders,"
     " DESCRIPTOR(pt), INTERVAL '1' HOUR)) GROUP BY customer, window_start, window_end;"),
    ("other/protobuf.sql", f"{ORDERS.replace(chr(39) + 'json' + chr(39), chr(39) + 'protobuf' + chr(39))};\n{FLAT};\n{COPY}"),
    ("other/model.sql", "CREATE MODEL m INPUT (a INT) OUTPUT (b INT) WITH ('provider' = 'openai');"),
    ("other/delete.sql", DECLARED + "DELETE FROM totals WHERE customer = 'x';"),
    # declared elsewhere
    *((f"session/catalog_{i}.sql", f"USE CATALOG prod;\nINSERT INTO d.out_{i} SELECT * FROM d.in_{i};") for i in (1, 2, 3)),
    *((f"session/table_{i}.sql", f"{FLAT};\nINSERT INTO flat SELECT id, customer FROM clicks_of_the_session;") for i in (1, 2)),
    *((f"session/function_{i}.sql", f"{DECLARED}INSERT INTO flat SELECT id, TO_TIMESTAMP_UDF(customer) FROM orders;")
      for i in (1, 2)),
    # wrong in Flink too
    *((f"wrong/column_{i}.sql", DECLARED + "INSERT INTO flat SELECT idd, customer FROM orders;") for i in (1, 2)),
    ("wrong/field.sql", DECLARED + "INSERT INTO flat SELECT id, address.town FROM orders;"),
    ("wrong/option.sql", f"{ORDERS.replace('scan.startup.mode', 'scan.startup.mod')};\n{FLAT};\n{COPY}"),
    ("wrong/connector.sql", f"{ORDERS.replace(chr(39) + 'kafka' + chr(39), chr(39) + 'kafak' + chr(39))};\n{FLAT};\n{COPY}"),
    ("wrong/types.sql", DECLARED + "INSERT INTO flat SELECT customer, id FROM orders;"),
    ("wrong/syntax.sql", "SELEC 1;"),
    ("wrong/sort.sql", DECLARED + "SELECT * FROM orders ORDER BY customer;"),
    ("wrong/sink.sql", DECLARED + "INSERT INTO flat SELECT COUNT(*), customer FROM orders GROUP BY customer;"),
    ("wrong/view.sql", "CREATE VIEW v AS SELECT * FROM nowhere;\nCREATE VIEW w AS SELECT * FROM v;\nSELECT * FROM w;"),
    # SQL in other files
    ("apps/deployment.yaml", "kind: ConfigMap\ndata:\n  job.sql: |\n" + "".join(
        f"    {line}\n" for line in (DECLARED + COPY).splitlines())),
    ("apps/Job.java", "class Job {\n  void run() {\n    env.executeSql(\"\"\"\n        " + ORDERS + "\"\"\");\n"
     "    env.executeSql(\"" + FLAT + "\");\n    env.executeSql(\"INSERT INTO flat \" +\n        \"SELECT id, nope FROM orders\");\n"
     "    env.executeSql(\"INSERT INTO flat SELECT * FROM \" + table);\n  }\n}\n"),
    ("apps/Job.scala", f'val ddl = """{ORDERS}"""\nenv.executeSql(ddl)\nenv.sqlQuery(s"SELECT * FROM $table")\n'),
    ("apps/job.py", f't_env.execute_sql("""\n{ORDERS}\n""")\nt_env.execute_sql("""{FLAT}""")\n'
     't_env.execute_sql("INSERT INTO flat SELECT id, BIGINT_TO_TS(id) FROM orders")\n'),
    ("apps/README.md", f"# Job\n\n```sql\n{DECLARED}{COPY}```\n\n```sh\n$ flink run\n```\n"),
    ("apps/job.ipynb", json.dumps({"cells": [
        {"cell_type": "markdown", "source": ["# Orders\n"]},
        {"cell_type": "code", "source": [f"%%flinksql\n{ORDERS};\n"]},
        {"cell_type": "code", "source": "env.execute_sql('SELECT missing FROM orders')"},
    ]})),
]  # fmt: skip


def compose(folder: Path) -> int:
    """Write the files; return how many they are."""
    for name, text in SCRIPTS:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return len(SCRIPTS)


if __name__ == "__main__":
    print(compose(Path(sys.argv[1])))
