-- expect: fine
CREATE TABLE orders (order_id STRING, customer_id INT, total DOUBLE, proc_time AS PROCTIME())
WITH ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'broker:9092', 'properties.group.id' = 'g', 'scan.startup.mode' = 'group-offsets', 'properties.auto.offset.reset' = 'earliest', 'format' = 'json');
CREATE TABLE customers (id INT, name STRING, country STRING, zip STRING, PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://db:5432/crm', 'table-name' = 'customers', 'username' = 'u', 'password' = 'p');
CREATE TABLE enriched (order_id STRING, total DOUBLE, country STRING, zip STRING) WITH ('connector' = 'print');
INSERT INTO enriched
SELECT o.order_id, o.total, c.country, c.zip
FROM orders AS o JOIN customers FOR SYSTEM_TIME AS OF o.proc_time AS c ON o.customer_id = c.id;
