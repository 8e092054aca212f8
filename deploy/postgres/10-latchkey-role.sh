#!/bin/bash
# Runs once, when the database is created. Creates the role that the service uses. It owns nothing; `latchkey migrate` grants
# it only what it needs.
set -euo pipefail
psql --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" \
  --set=password="$(cat /run/secrets/latchkey_password)" <<'SQL'
create role latchkey login password :'password';
revoke all on database latchkey from public;
revoke create on schema public from public;
grant connect on database latchkey to latchkey;
SQL
