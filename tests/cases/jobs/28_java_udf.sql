-- expect: FD402
CREATE FUNCTION geo_hash AS 'com.acme.flink.GeoHash' LANGUAGE JAVA;
CREATE TABLE positions (lat DOUBLE, lon DOUBLE) WITH ('connector' = 'datagen');
CREATE TABLE cells (cell STRING) WITH ('connector' = 'print');
INSERT INTO cells SELECT geo_hash(lat, lon) FROM positions;
