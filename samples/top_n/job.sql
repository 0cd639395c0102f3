-- The two dearest offers of each product; an offer that is overtaken leaves the table.
CREATE TABLE offers (
  product STRING,
  shop STRING,
  price INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'offers',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE dearest (
  product STRING,
  place BIGINT,
  shop STRING,
  price INT,
  PRIMARY KEY (product, place) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'dearest_offers',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO dearest
SELECT product, place, shop, price
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY price DESC) AS place FROM offers
)
WHERE place <= 2;
