CREATE TABLE cars (
  car_id STRING,
  car_owner STRING,
  car_speed INT
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = '0.10',
  'connector.topic' = 'cars',
  'connector.properties.bootstrap.servers' = 'kafka:9092',
  'connector.properties.group.id' = 'cars_1',
  'connector.startup-mode' = 'latest-offset',
  'format.type' = 'csv',
  'format.field-delimiter' = '|',
  'format.quote-character' = '''',
  'format.null-literal' = 'n/a',
  'format.ignore-parse-errors' = 'true'
);
CREATE TABLE fast_cars (car_id STRING, car_speed INT) WITH (
  'connector.type' = 'kafka',
  'connector.version' = '0.10',
  'connector.topic' = 'fast_cars',
  'connector.properties.bootstrap.servers' = 'kafka:9092',
  'connector.sink-partitioner' = 'round-robin',
  'format.type' = 'csv'
);
INSERT INTO fast_cars SELECT car_id, car_speed FROM cars WHERE car_speed > 120;
