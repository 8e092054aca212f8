#!/bin/bash
# Creates the secrets that deploy/compose.servers.yaml reads, one file each. Existing files are not changed. (compose.yaml, one container,
# needs none.)
#   deploy/make-secrets.sh
# It asks for the address of the mail server, or reads it from standard input; an empty line is none. It can also be the first argument,
# which every user of this machine can see meanwhile.
set -euo pipefail
umask 077
cd "$(dirname "$0")"
mkdir -p secrets/tls
# The containers read these files as another user, so the files are readable and the folder protects them. nginx reads tls/
# as root without capabilities: it can enter a folder of another user only if the folder is open to all.
chmod 700 secrets
chmod 755 secrets/tls

smtp_url=${1-}
if [[ -z "$smtp_url" ]]; then
  if [[ -t 0 ]]; then read -rsp 'Mail server, such as smtp://user:password@mail.example.com:587 (it is not shown; empty: none): ' smtp_url && echo
  else read -r smtp_url || true
  fi
fi

random() { openssl rand -hex "$1"; }
keep() { # name, value
  if [[ ! -e "secrets/$1" ]]; then
    printf '%s\n' "$2" >"secrets/$1"
    chmod 644 "secrets/$1"
  fi
}

keep postgres_password "$(random 24)"
keep latchkey_password "$(random 24)"
keep redis_password "$(random 24)"
keep jwt_secret "$(random 48)"
# PostgreSQL and Redis are in a network of their own on this machine, without encryption: production wants to read that.
keep database_owner_url "postgres://latchkey_owner:$(cat secrets/postgres_password)@postgres:5432/latchkey?sslmode=disable"
keep database_url "postgres://latchkey:$(cat secrets/latchkey_password)@postgres:5432/latchkey?sslmode=disable"
keep redis_url "redis://:$(cat secrets/redis_password)@redis:6379?tls=off"
if [[ -n "$smtp_url" ]]; then
  keep smtp_url "$smtp_url"
  if [[ "$(cat secrets/smtp_url)" != "$smtp_url" ]]; then
    echo "secrets/smtp_url names another mail server and was not changed: edit it, and restart the instances." >&2
    exit 1
  fi
fi
echo "Made what was missing in $(pwd)/secrets. Now the certificate, readable for nginx:"
echo "  install -m 644 fullchain.pem privkey.pem $(pwd)/secrets/tls/"
