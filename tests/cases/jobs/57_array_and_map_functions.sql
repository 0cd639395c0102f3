-- expect: fine
CREATE TABLE baskets (id INT, items ARRAY<STRING>, prices ARRAY<DOUBLE>, attrs MAP<STRING, STRING>) WITH ('connector' = 'kafka', 'topic' = 'b', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE flat (id INT, item STRING, pos INT) WITH ('connector' = 'print');
CREATE TABLE facts (id INT, n INT, first_item STRING, has_milk BOOLEAN, top DOUBLE, names STRING, ks ARRAY<STRING>, colour STRING) WITH ('connector' = 'print');
INSERT INTO flat SELECT id, t.item, t.pos FROM baskets CROSS JOIN UNNEST(items) WITH ORDINALITY AS t (item, pos);
INSERT INTO facts SELECT id, CARDINALITY(items), items[1], ARRAY_CONTAINS(items, 'milk'), ARRAY_MAX(prices), ARRAY_JOIN(items, ', '), MAP_KEYS(attrs), attrs['colour'] FROM baskets;
