CREATE TABLE events (
    ctime TIMESTAMP,
    category VARCHAR,
    shop VARCHAR,
    uid VARCHAR
) WITH (
    'connector.type' = 'filesystem',
    'connector.path' = 'file:///data/in/events.csv',
    'connector.property-version' = '1',
    'format.type' = 'csv',
    'format.property-version' = '1',
    'format.derive-schema' = 'true',
    'format.fields.0.name' = 'ctime',
    'format.fields.0.type' = 'TIMESTAMP',
    'format.fields.1.name' = 'category',
    'format.fields.1.type' = 'VARCHAR',
    'format.fields.2.name' = 'shop',
    'format.fields.2.type' = 'VARCHAR',
    'format.fields.3.name' = 'uid',
    'format.fields.3.type' = 'VARCHAR'
);
CREATE TABLE seen (
    shop VARCHAR,
    uid VARCHAR
) WITH (
    'connector.type' = 'filesystem',
    'connector.path' = 'file:///data/out/seen',
    'format.type' = 'csv',
    'format.field-delimiter' = ';' -- the other office wants it so
);
INSERT INTO seen SELECT shop, uid FROM events WHERE uid IS NOT NULL;
