#!/usr/bin/env bash
# Runs and histories that are killed, stopped, called by strangers, shown bad disks and clocks lose nothing; more of it: ci/chaos.
set -euo pipefail
command -v python3 > /dev/null || { echo "skipped: there is no python3"; exit 77; }
ldd "$1" | grep -qE 'asan|tsan' && { echo "skipped: a sanitizer has to be the first library"; exit 77; }
exec "$(dirname "$0")/../../ci/chaos" --rounds 16 --seed 7 --program "$1"
