-- kafka source
drop table if exists user_log;
create table user_log (
  user_id VARCHAR
  ,item_id VARCHAR
  ,behavior VARCHAR
  ,ts TIMESTAMP(3)
) with (
  'connector.type' = 'kafka'
  ,'connector.version' = 'universal'
  ,'connector.topic' = 'user_log'
  ,'connector.properties.zookeeper.connect' = 'node1:2181'
  ,'connector.properties.bootstrap.servers' = 'node1:9092'
  ,'connector.properties.group.id' = 'user_log_x'
  ,'connector.startup-mode' = 'group-offsets'
  ,'connector.sink-partitioner' = 'fixed'
  ,'format.type' = 'json'
);
-- kafka sink
drop table if exists user_log_copy;
create table user_log_copy (
  user_id VARCHAR
  ,behavior VARCHAR
  ,ts TIMESTAMP(3)
) with (
  'connector.type' = 'kafka'
  ,'connector.version' = 'universal'
  ,'connector.topic' = 'user_log_copy'
  ,'connector.properties.bootstrap.servers' = 'node1:9092'
  ,'connector.sink-partitioner' = 'round-robin'
  ,'update-mode' = 'append'
  ,'format.type' = 'json'
);
insert into user_log_copy select user_id, behavior, ts from user_log;
