-- expect: FD320
ADD JAR '/opt/flink/lib/flink-sql-connector-kafka-3.1.0.jar';
CREATE TABLE t (a INT) WITH ('connector' = 'datagen');
SELECT a FROM t;
