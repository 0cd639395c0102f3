-- The sink's promise as an option of the table; readers that ask for committed records see each row once.
CREATE TABLE events (
  id INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'events_in',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE events_out (
  id INT,
  squared INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'events_out',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'sink.semantic' = 'exactly-once',
  'sink.transactional-id-prefix' = 'sample',
  'format' = 'json'
);

INSERT INTO events_out SELECT id, id * id FROM events;
