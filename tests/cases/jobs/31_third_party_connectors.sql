-- expect: FD203
CREATE TABLE mysql_users (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'mysql-cdc', 'hostname' = 'db', 'port' = '3306', 'username' = 'u', 'password' = 'p', 'database-name' = 'd', 'table-name' = 'users');
CREATE TABLE es (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'elasticsearch-7', 'hosts' = 'http://es:9200', 'index' = 'users');
INSERT INTO es SELECT * FROM mysql_users;
