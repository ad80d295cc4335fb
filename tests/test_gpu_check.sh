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
if ! grep -Eq 'no GPU to check: (cuda[0-9]+: cudaGetDeviceCount: cudaError[A-Za-z]+: .*/dev/nvidiactl|cuda: there is no backend)' <<<"$output"; then
	echo "the reason is not told"
	exit 1
fi
