CREATE TABLE pays (
    createTime VARCHAR,
    rt AS TO_TIMESTAMP(createTime),
    payAmount DOUBLE,
    provinceId INT,
    WATERMARK FOR rt AS rt - INTERVAL '2' SECOND
) WITH (
    'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'pays',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
    'connector.startup-mode' = 'latest-offset', 'format.type' = 'json'
);
CREATE TABLE by_province (
    province INT PRIMARY KEY,
    pay_amount DOUBLE
) WITH (
    'connector.type' = 'jdbc',
    'connector.url' = 'jdbc:postgresql://pg/pay', 'connector.table' = 'by_province',
    'update-mode' = 'upsert'
);
INSERT INTO by_province SELECT provinceId, SUM(payAmount) FROM pays GROUP BY provinceId;
