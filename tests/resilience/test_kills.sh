#!/usr/bin/env bash
# Killed at random moments, a run loses nothing that was finished; more of it: ci/kill-sweep.
exec "$(dirname "$0")/../../ci/kill-sweep" 12 "$1" 7
