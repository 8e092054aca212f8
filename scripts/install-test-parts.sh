#!/bin/bash
# Installs the programs that the tests need and this machine lacks, on Debian and its derivatives, as root.
# With the argument --long, it also installs those of `npm run test:long`.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"

missing=()
need() { # the package, then names or paths of its program, one of which must exist
  local package=$1 program
  shift
  for program in "$@"; do
    command -v "$program" >/dev/null && return
  done
  missing+=("$package")
}

need postgresql initdb /usr/lib/postgresql/*/bin/initdb
need pgbouncer pgbouncer
need redis-server redis-server valkey-server
need nginx nginx
need openssl openssl
need curl curl
need jq jq
need caddy caddy
# The headless shell is Chromium without windows, which take most of the time of a browser test.
if apt-cache show chromium-headless-shell >/dev/null 2>&1; then
  need chromium-headless-shell chromium-headless-shell
else
  need chromium chromium chromium-browser google-chrome
fi
need prometheus promtool
need haproxy haproxy
need oathtool oathtool

if [[ "${1:-}" == --long ]]; then
  need testssl.sh testssl testssl.sh
  need patroni patroni
  need etcd-server etcd
  need buildah buildah
  need debootstrap debootstrap
  need firefox-esr firefox-esr firefox
  # Orca reads the pages of a Chromium with windows.
  need chromium chromium chromium-browser google-chrome
  need orca orca
  need xvfb Xvfb
  need dbus-daemon dbus-run-session
  need xdotool xdotool
  need apache2 apache2
  [[ -e /usr/lib/apache2/modules/mod_auth_openidc.so ]] || missing+=(libapache2-mod-auth-openidc)
  [[ -d /usr/lib/python3/dist-packages/authlib ]] || missing+=(python3-authlib python3-requests)
fi

[[ ${#missing[@]} -eq 0 ]] && exit 0
echo "Installing for the tests: ${missing[*]}"

# The tests start their own servers. Run level 1 keeps Debian from starting its services as well.
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update -q && apt-get install -qy --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  exit 1
fi
