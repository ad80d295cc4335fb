#!/usr/bin/env bash
# Products on all devices at once, on the backend `fake`: a slow one is named as if each had been alone, and what a limit
# doubts is measured again without the others.
set -uo pipefail
program=$(realpath "$1")
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends; export GPUPROOF_BACKENDS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
cat > products.ini <<-INI
	[defaults]
	min_samples = 6
	max_samples = 6
	[suite matmul]
	sustained_time = 0s
	precisions = fp32
	sizes = 128
	concurrent = yes
	[limit gemm]
	metric = matmul.throughput
	outlier_margin = 3 %
INI

export GPUPROOF_FAKE="devices=4"
"$program" run products.ini --backend fake --check -o good --no-report > log 2>&1 || { fail "four good devices"; cat log; }
[ "$(grep -c 'Sampled together with 3 other devices' good/result.json)" -ge 1 ] || fail "not sampled together"
[ ! -e good/launch-2 ] || fail "good devices are measured again"

export GPUPROOF_FAKE="devices=4 slow=2:8%"
"$program" run products.ini --backend fake --check -o slow --no-report > log 2>&1
[ $? = 1 ] || { fail "a slow device: not exit code 1"; cat log; }
grep -q 'GPU fake:2, serial 4711-0002, is' log || { fail "the slow device is not named"; cat log; }
grep -q 'Sampled together' slow/result.json || fail "not sampled together at first"
for launch in 2 3 4 5; do
	[ -s slow/launch-$launch/result.json ] || fail "launch $launch is missing"
	! grep -q 'Sampled together' slow/launch-$launch/result.json || fail "launch $launch is not of each device by itself"
done
exit $((failures > 0))
