"""A catalog with the tables that shell tests talk about."""

from __future__ import annotations

from flinkddl.api import Catalog

DDL = """
CREATE TABLE pageviews (user_id BIGINT, page_id BIGINT, viewtime TIMESTAMP(3), user_region STRING,
  WATERMARK FOR viewtime AS viewtime - INTERVAL '2' SECOND
) WITH ('connector' = 'kafka', 'topic' = 'pageviews', 'properties.bootstrap.servers' = 'b:1', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset');
CREATE TABLE `odd name` (`select` INT, plain STRING) WITH ('connector' = 'blackhole');
CREATE VIEW per_region AS SELECT user_region, COUNT(*) AS pv FROM pageviews GROUP BY user_region;
CREATE DATABASE other;
CREATE TABLE other.orders (id INT, amount DECIMAL(10, 2)) WITH ('connector' = 'print');
"""


def catalog() -> Catalog:
    made = Catalog()
    made.execute(DDL)
    return made
