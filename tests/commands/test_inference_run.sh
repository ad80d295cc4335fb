#!/usr/bin/env bash
# Suite `inference`: rows that several devices share, a speedup over one alone, a wrong product that is noticed, and what is
# refused.
set -euo pipefail
program=$1
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends; export GPUPROOF_BACKENDS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0

cat > two.ini <<-INI
	[run]
	backend = host
	host_devices = 2
	[defaults]
	min_samples = 3
	max_samples = 3
	max_time = 20ms
	[suite inference]
	layers = 20, 30, 7
	batch = 64
	devices = 2
INI

fail() { echo "FAILED: $*"; failures=$((failures + 1)); cat log; }
# expect CODE OPTION...
expect() {
	local code=$1 got=0
	shift
	rm -rf out
	"$program" run two.ini -o out --no-report "$@" > log 2>&1 < /dev/null || got=$?
	[ "$got" = "$code" ] || fail "$*: exit code $got, not $code"
}
says() { grep -qF -- "$1" out/result.json || fail "no '$1' in the result"; }
lacks() { ! grep -qF -- "$1" out/result.json || fail "'$1' in the result"; }

for precision in fp32 fp64 fp16_mixed bf16_mixed; do
	expect 0 --set "inference.precision=$precision"
	says '"inference.speedup":'
	says 'outputs of 8 rows per device against double precision'
done
expect 0 --set inference.batch_mode=weak
says '"inference.efficiency":'
# One device has nothing to be compared with.
expect 0 --set inference.devices=1
says '"inference.throughput":'
lacks '"inference.speedup":'
expect 4 --set inference.batch=63
says 'the batch is not divisible by the number of devices'
lacks '"inference.throughput":'

# Products that are wrong on a device are noticed.
export GPUPROOF_FAKE="wrong=0"
expect 5 --backend fake --set run.host_devices=1 --set inference.devices=1
says 'from double precision'

exit $((failures > 0))
