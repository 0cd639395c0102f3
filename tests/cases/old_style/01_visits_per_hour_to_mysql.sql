-- page visits per hour, kept in MySQL
CREATE TABLE visits (
  visitor VARCHAR,
  page VARCHAR,
  kind VARCHAR,
  ts TIMESTAMP(3)
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = 'universal',
  'connector.topic' = 'visits',
  'connector.startup-mode' = 'earliest-offset',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
  'update-mode' = 'append',
  'format.type' = 'json',
  'format.derive-schema' = 'true'
);

CREATE TABLE visits_per_hour (
  hour_of VARCHAR,
  views BIGINT,
  visitors BIGINT
) WITH (
  'connector.type' = 'jdbc',
  'connector.url' = 'jdbc:mysql://localhost:3306/shop',
  'connector.table' = 'visits_per_hour',
  'connector.username' = 'report',
  'connector.password' = 'report-pw',
  'connector.write.flush.max-rows' = '1'
);

INSERT INTO visits_per_hour
SELECT DATE_FORMAT(ts, 'yyyy-MM-dd HH:00'), COUNT(*), COUNT(DISTINCT visitor)
FROM visits
GROUP BY DATE_FORMAT(ts, 'yyyy-MM-dd HH:00');
