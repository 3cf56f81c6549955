-- For the image of PostgreSQL in docker-compose.yml, on an empty volume: the role Carillon connects
-- as. It owns its database, and may nothing else.
\set password `cat "$DATABASE_PASSWORD_FILE"`
CREATE ROLE carillon LOGIN PASSWORD :'password';
CREATE DATABASE carillon OWNER carillon;
