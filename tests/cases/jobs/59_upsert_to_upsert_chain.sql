-- expect: fine
CREATE TABLE accounts (id STRING, owner STRING, balance DECIMAL(18, 2), PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector' = 'upsert-kafka', 'topic' = 'accounts', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json', 'sink.buffer-flush.max-rows' = '100', 'sink.buffer-flush.interval' = '1 s');
CREATE TABLE rich (owner STRING, total DECIMAL(38, 2), PRIMARY KEY (owner) NOT ENFORCED)
WITH ('connector' = 'upsert-kafka', 'topic' = 'rich', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE rich_only (owner STRING, total DECIMAL(38, 2), PRIMARY KEY (owner) NOT ENFORCED)
WITH ('connector' = 'upsert-kafka', 'topic' = 'rich_only', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO rich SELECT owner, SUM(balance) FROM accounts GROUP BY owner;
INSERT INTO rich_only SELECT owner, total FROM rich WHERE total > 1000000;
