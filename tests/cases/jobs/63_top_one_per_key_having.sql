-- expect: fine
CREATE TABLE games (player STRING, points INT, season INT) WITH ('connector' = 'kafka', 'topic' = 'm', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE best (season INT, player STRING, points INT, PRIMARY KEY (season) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'best', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE regulars (player STRING, n BIGINT, PRIMARY KEY (player) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'regulars', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO best SELECT season, player, points FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY season ORDER BY points DESC) AS rn FROM games) t WHERE rn = 1;
INSERT INTO regulars SELECT player, COUNT(*) FROM games GROUP BY player HAVING COUNT(*) BETWEEN 10 AND 1000;
