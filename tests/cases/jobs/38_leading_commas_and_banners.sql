-- expect: fine
--------------------------------------------------------------------------------
-- SOURCE; the semicolon and the 'quote' of this banner belong to nobody
--------------------------------------------------------------------------------
create table ods_log
(
    `id`        bigint
  , `state`     string        -- it's a keyword elsewhere
  , `value`     double
  , location    string
  , status      int
  , `ts`        timestamp(3)
  , watermark for `ts` as `ts` - interval '3' second
)
with
(
    'connector' = 'kafka'
  , 'topic' = 'ods_log'
  , 'properties.bootstrap.servers' = 'broker:9092'
  , 'scan.startup.mode' = 'latest-offset'
  , 'format' = 'json'
)
;
/* SINK
 * don't split here; nor here; */
create table dws_log ( state string, location string, total double, primary key (state, location) not enforced ) with
( 'connector' = 'upsert-kafka', 'topic' = 'dws_log', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json' )
;
insert into dws_log select state, location, sum(`value`) as total from ods_log where status <> 404 group by state, location
