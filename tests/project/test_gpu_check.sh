#!/usr/bin/env bash
# usage: test_gpu_check.sh PROGRAM
# Where there is a GPU the CUDA backend passes its checks; where there is none, gpuproof-gpu-check says why and exits 77.
set -uo pipefail
check=$(dirname "$1")/gpuproof-gpu-check
output=$("$check" 2>&1)
code=$?
echo "$output"
[ -e /dev/nvidiactl ] && exit "$code"

if [ "$code" -ne 77 ]; then
	echo "expected exit 77 without a GPU, got $code"
	exit 1
fi
if ! grep -Eq 'no GPU to check: (cuda[0-9]+: cudaGetDeviceCount: cudaError[A-Za-z]+: .*/dev/nvidiactl|cuda: unknown backend)' <<<"$output"; then
	echo "the reason is not told"
	exit 1
fi

# Every device in a process of its own: each says what is wrong with it, and one that dies does not take the others along.
GPUPROOF_BACKENDS=$(dirname "$1")/tests/backends; export GPUPROOF_BACKENDS
if [ -e "$GPUPROOF_BACKENDS/fake.so" ]; then
	output=$(GPUPROOF_FAKE="devices=3 fail@device_open" "$check" --backend fake 2>&1)
	[ $? -eq 1 ] && [ "$(grep -c '^open .*[012] .*FAIL .*device_open' <<<"$output")" -ge 4 ] || { echo "$output"; echo "three devices that do not open"; exit 1; }
	# Sums over many ranks are exact in every precision, also in BF16 with its 8 significant bits.
	output=$(GPUPROOF_FAKE="devices=8" "$check" --backend fake --only collectives 2>&1)
	[ $? -eq 0 ] && [ "$(grep -c '^collectives .*PASS .*of 8 over' <<<"$output")" -eq 24 ] || { echo "$output"; echo "collectives of eight"; exit 1; }
	output=$(GPUPROOF_FAKE="devices=2 segfault@stream_create" "$check" --backend fake 2>&1)
	[ $? -eq 1 ] && [ "$(grep -c 'ended by signal 11' <<<"$output")" -ge 3 ] || { echo "$output"; echo "two devices whose processes die"; exit 1; }
fi
exit 77
