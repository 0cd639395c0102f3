CREATE TABLE src (
    id STRING,
    at_time TIMESTAMP(3)
) WITH (
    'connector.type' = 'kafka',
    'connector.version' = 'universal',
    'connector.topic' = '${TOPIC:-events}',
    'connector.properties.0.key' = 'bootstrap.servers',
    'connector.properties.0.value' = '${SERVERS:-localhost:9092}',
    'format.type' = 'json'
);
CREATE TABLE out_files (id STRING, day_of STRING) WITH (
    'connector.type' = 'filesystem',
    'connector.path' = 'file://${WORK:-/tmp}/out',
    'format.type' = 'csv'
);
INSERT INTO out_files SELECT id, DATE_FORMAT(at_time, 'yyyy-MM-dd') FROM src;
