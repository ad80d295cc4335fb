#!/usr/bin/env bash
# gpuproof check --as nagios|npd: one line, and the exit codes of these programs, also when there is nothing to judge.
set -u
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export GPUPROOF_BACKENDS=${GPUPROOF_BACKENDS:-$(dirname "$program")/tests/backends}
failed=0

expect() { # PROGRAM CODE TEXT ARGUMENTS...
	local as=$1 code=$2 text=$3 got
	shift 3
	"$program" check --as "$as" "$@" >out 2>err
	got=$?
	[ $got = "$code" ] || { echo "check --as $as $*: exit code $got, not $code"; cat out err; failed=1; }
	[ "$(wc -l <out)" = 1 ] || { echo "check --as $as $*: not one line:"; cat out; failed=1; }
	grep -qF -- "$text" out || { echo "check --as $as $*: '$text' is missing in"; cat out; failed=1; }
	[ "$as" != npd ] || [ "$(wc -c <out)" -le 81 ] || { echo "npd cuts this line:"; cat out; failed=1; }
}

cat >own.ini <<'END'
[run]
backend = fake
[suite transfer]
directions = h2d, d2h
memories = pinned
sizes = 1MiB
min_samples = 10
max_samples = 10
[suite matmul]
sustained_time = 0s
sizes = 64
precisions = fp32
min_samples = 10
max_samples = 10
END
GPUPROOF_FAKE='devices=8' "$program" run own.ini -o good -q >log 2>&1 || { echo "good: exit code $?"; cat log; exit 1; }
GPUPROOF_FAKE='devices=8 wrong=5' "$program" run own.ini -o wrong -q >/dev/null 2>&1
printf '[limit link]\nmetric = transfer.bandwidth\nmin = 1 MB/s\n' >wide.ini
sed 's/1 MB/900 TB/' wide.ini >tight.ini
sed '$aseverity = warn' tight.ini >warn.ini
printf '[limit gone]\nmetric = stream.bandwidth\nmin = 1 GB/s\n' >gone.ini

expect nagios 0 'GPUPROOF OK: ACCEPTED: ' good -l wide.ini
expect nagios 0 ' | passed=' good -l wide.ini
expect nagios 1 'GPUPROOF WARNING: ACCEPTED: GPU fake:0 is more than 99 % below the limit in both directions of copies between host and GPU (pcie-degraded); GPU fake:1 ' good -l warn.ini
expect nagios 2 'GPUPROOF CRITICAL: REJECTED: GPU fake:0 is more than 99 % below the limit in both directions of copies between host and GPU (pcie-degraded)' good -l tight.ini
expect nagios 2 'pcie-degraded' good -l warn.ini --strict
# A wrong result is told before what is only slow.
expect nagios 2 'GPUPROOF CRITICAL: REJECTED: GPU fake:5 computed or copied wrong data (gpu-wrong-result); GPU fake:0 ' wrong -l tight.ini
expect nagios 3 'GPUPROOF UNKNOWN: INCONCLUSIVE: the node: no case in this run matches this limit (not-judged)' good -l gone.ini
expect nagios 3 'UNKNOWN: no verdict' nowhere
expect nagios 3 'UNKNOWN: no verdict' good -l nowhere.ini
expect nagios 3 'UNKNOWN: no verdict' good --no-such-option
expect npd 0 'OK: ' good -l wide.ini
expect npd 0 'WARNING: ' good -l warn.ini
expect npd 1 'CRITICAL: fake:5 gpu-wrong-result' wrong -l wide.ini
expect npd 2 'UNKNOWN: ' good -l gone.ini
expect npd 2 'UNKNOWN: no verdict' nowhere
# A job that no longer runs leaves its last verdict there: accepted is none when it is too old, rejected is still one.
expect nagios 0 'GPUPROOF OK: ACCEPTED: ' good -l wide.ini --max-age 26h
sed 's/"finished": "[^"]*"/"finished": "2026-01-01T00:00:00Z"/' good/result.json >old.json
expect nagios 3 'UNKNOWN: the newest result is ' old.json -l wide.ini --max-age 26h
expect nagios 3 ' old; --max-age allows 26 h; ACCEPTED' old.json -l wide.ini --max-age 26h
expect nagios 0 'OK' old.json -l wide.ini
expect nagios 0 'OK' old.json -l wide.ini --max-age 99999999h
expect nagios 2 'CRITICAL: the newest result is ' old.json -l tight.ini --max-age 26h
expect npd 2 'UNKNOWN: the newest result is ' old.json -l wide.ini --max-age 26h
sed 's/"finished": "[^"]*"/"finished": ""/; s/"started": "[^"]*"/"started": ""/' good/result.json >undated.json
expect nagios 3 'UNKNOWN: the result contains no time of measurement' undated.json -l wide.ini --max-age 26h
expect nagios 3 'UNKNOWN: no verdict' good --max-age 0h
"$program" check good --max-age 26h >out 2>err
[ $? = 2 ] && grep -q 'needs --as' err || { echo "--max-age without --as:"; cat out err; failed=1; }
# A judgement that the run left, and the files that check writes in addition, without a second line.
"$program" check good -l tight.ini -o kept.json >/dev/null
expect nagios 2 'CRITICAL' kept.json
expect nagios 2 'CRITICAL' good -l tight.ini -o again.json --report page.html
[ -s again.json ] && [ -s page.html ] || { echo "-o and --report wrote nothing"; failed=1; }
"$program" check good --as icinga 2>err
[ $? = 2 ] && grep -q 'use nagios or npd' err || { echo "another program is taken:"; cat err; failed=1; }
"$program" check good --as npd --json >out 2>err
[ $? = 2 ] && grep -q 'cannot be combined with --json' err || { echo "--as with --json:"; cat out err; failed=1; }
exit $failed
