#!/bin/sh
# Installs Debian packages that some tests need, if a program of theirs is missing: debian_packages.sh "PROGRAM …" PACKAGE …
# Where that is not possible, one line says what to install, and the tests are skipped with the reason.
PATH="$PATH:/usr/sbin:/sbin"
missing=
for program in $1; do
    command -v "$program" >/dev/null || missing="$missing $program"
done
[ -z "$missing" ] && exit 0
shift
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null 2>&1
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 && exit 0
fi
echo "not installed:$missing. Their tests are skipped; on Debian, as root: apt-get install $*" >&2
