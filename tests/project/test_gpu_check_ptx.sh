#!/usr/bin/env bash
# usage: test_gpu_check_ptx.sh PROGRAM
# ci/gpu-check --ptx: its table of kernels by architectures, and that one wrong, missing or unlaunched cell, a failed check or
# a missing module fails it. A script stands in for gpuproof-gpu-check: there is no GPU here.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/bin/backends "$folder"/bin/ptx/{35,61,70}
touch "$folder"/bin/backends/cuda{11,13}.so "$folder"/bin/ptx/{35,61,70}/cuda11.so
# Answers as the program does; $CELLS holds lines of "architecture module kernel cell" that are to be different, cell NONE:
# no such line.
cat >"$folder"/bin/gpuproof-gpu-check <<'END'
#!/usr/bin/env bash
while [ $# -gt 0 ]; do
	case $1 in
	--backend) module=$2 ;;
	--emulate) architecture=$2 ;;
	--coverage) file=$2 ;;
	esac
	shift 2
done
[ "${NO_GPU:-}" = "" ] || { echo "gpu-check: no GPU to check: none"; exit 77; }
cell() { # kernel, usual cell
	local line
	line=$(grep "^$architecture $module $1 " <<<"${CELLS:-}") || line="x x x $2"
	line=${line#* * * }
	[ "$line" = NONE ] || printf '%s\t%s\t%s\n' "$1" "one code for all" "$line"
}
{
	cell fill right
	if [ "$module" = cuda11 ]; then cell gemm "- (no cuBLAS for cuda11)"; else cell gemm right; fi
} >"$file"
echo "fill_elements            cuda:0   PASS  fine (1 ms)"
[ "${BAD:-}" != "$architecture $module" ] || { echo "gemm_small               cuda:0   FAIL  off (1 ms)"; exit 1; }
END
chmod +x "$folder"/bin/gpuproof-gpu-check

check() { # expected code, expected line (extended regular expression)
	local code=0
	"$root"/ci/gpu-check --ptx "$folder"/bin >"$folder"/log 2>&1 || code=$?
	if [ "$code" -ne "$1" ] || ! grep -Eq "$2" "$folder"/log; then
		cat "$folder"/log
		echo "expected exit $1, got $code; expected /$2/"
		exit 1
	fi
}
check 0 '^2 paths, 5 architectures, 0 cells that are not as they should be'
check 0 '^gemm: one code for all +right \(cuda13\) +right \(cuda13\) +right \(cuda13\) +right \(cuda13\) +right \(cuda13\)'
check 0 '^6.1 by cuda13: 1 checks passed, 0 skipped, 0 failed'
CELLS="6.0 cuda13 gemm WRONG" check 1 'right \(cuda13\) +right \(cuda13\) +WRONG \(cuda13\) +right'
CELLS="7.0 cuda11 fill NOT LAUNCHED" check 1 ', 1 cells that'
CELLS="3.7 cuda11 fill NONE" check 1 '^fill.* right +EMPTY +right'
BAD="6.1 cuda11" check 1 '^6.1 by cuda11: 1 checks passed, 0 skipped, 1 failed'
NO_GPU=1 check 77 'no GPU to check'
rm "$folder"/bin/ptx/61/cuda11.so
check 1 'no .*/ptx/61/cuda11.so; build it'
