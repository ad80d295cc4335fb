#!/usr/bin/env bash
# In a container that may use less memory than the machine has, a case that needs more is skipped with the reason instead
# of being killed. Needs the right to make a control group.
set -euo pipefail
gpuproof=$(realpath "$1")
dir=$(mktemp -d)
group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	[ -w "$root/cgroup.procs" ] || continue
	group=$root/gpuproof-test-$$
	mkdir "$group" 2> /dev/null && break || group=
done
trap 'rm -rf "$dir"; [ -z "$group" ] || rmdir "$group"' EXIT

fail() { echo "FAILED: $*"; exit 1; }

limit=
for name in memory.limit_in_bytes memory.max; do
	[ -n "$group" ] && [ -e "$group/$name" ] && limit=$group/$name
done
[ -n "$limit" ] && echo 1073741824 2> /dev/null > "$limit" || { echo "skipped: no right to make a control group"; exit 77; }
cat > "$dir/copy.ini" <<'INI'
[run]
backend = fake
[suite transfer]
directions = h2d
engines = ce
memories = pinned
sizes = 1MiB, 2GiB
INI

(
	echo "$BASHPID" > "$group/cgroup.procs"
	GPUPROOF_BACKENDS=$(dirname "$gpuproof")/tests/backends GPUPROOF_FAKE="devices=1 memory=64GiB" \
		"$gpuproof" run "$dir/copy.ini" --dry-run
) > "$dir/said" 2>&1 || fail "dry run in a container of 1 GiB: $(cat "$dir/said")"
grep -q 'of host memory; the machine or container has 1.074 GB' "$dir/said" || fail "$(cat "$dir/said")"
