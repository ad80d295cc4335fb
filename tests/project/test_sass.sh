#!/usr/bin/env bash
# usage: test_sass.sh PROGRAM
# The machine code of module cuda11: there for each architecture it promises, in no more than 40 MiB, without spills and
# local memory, and with the instructions that make its fast ways fast. Needs toolkit 11.8 (ci/install-cuda11) and the
# module; no GPU.
set -uo pipefail
build=$(dirname "$1")
module=$build/backends/cuda11.so
if [ ! -e "$module" ]; then
	echo "skipped: module cuda11 was not built; ci/install-cuda11 fetches toolkit 11.8"
	exit 77
fi
tools=$(sed -n 's/^cuda11_root:INTERNAL=//p' "$build/CMakeCache.txt")/bin
if [ ! -x "$tools/cuobjdump" ]; then
	echo "skipped: there is no cuobjdump in $tools"
	exit 77
fi
failed=0
fail() { echo "$*"; failed=1; }

size=$(stat -c %s "$module")
[ "$size" -le $((40 << 20)) ] || fail "the module has $size bytes, more than 40 MiB"

usage=$("$tools/cuobjdump" -res-usage "$module" 2>&1)
codes() { awk -v wanted="$1" '/ code:$/ { kind = $2 } /^arch =/ && kind == wanted { print $3 }' <<<"$usage" | sort -u | tr '\n' ' '; }
[ "$(codes elf)" = "sm_35 sm_52 sm_60 sm_61 sm_70 sm_75 sm_80 sm_90 " ] || fail "machine code for: $(codes elf)"
[ "$(codes ptx)" = "sm_35 sm_90 " ] || fail "intermediate code for: $(codes ptx)"

# STACK holds spilled registers and arrays that are not in registers. None before 8.0 but output_gradient's packs (up to 48
# bytes, no spills), two registers of 255 in attention_dkdv_wmma<128> for 7.0, and attention_forward_wmma for 7.5, which
# takes attention_forward_mma; from 8.0 on, where cuda13 serves as soon as the driver is new enough, no more than 48 bytes.
spills=$(awk '/^arch =/ { architecture = $3 } /^ *Function / { name = $2 }
	/REG:/ && ($0 !~ / STACK:0 / || $0 !~ / LOCAL:0 /) { print architecture, name, $1, $2, $4 }' <<<"$usage" |
	grep -vE '^sm_[89]0 .* STACK:(8|16|24|32|40|48) LOCAL:0|^sm_70 _Z19attention_dkdv_wmmaILi128E.* STACK:8 LOCAL:0|^sm_75 _Z22attention_forward_wmmaI.* STACK:8 LOCAL:0|^sm_[0-9]+ _Z15output_gradientI.* STACK:(16|32|48) LOCAL:0')
[ -z "$spills" ] || fail "kernels with spills or local memory:
$spills"
functions=$(grep -c ' Function ' <<<"$usage")
[ "$functions" -ge 500 ] || fail "only $functions kernels were looked at"

# Instructions of one architecture's machine code of one file.
instructions() { "$tools/cuobjdump" -sass -arch "sm_$1" "$build/gpuproof_cuda11/$2.o" | grep -cE "[[:space:]]$3[. ]"; }
expect() { # architecture, file, instruction, at least (0: none)
	local count
	count=$(instructions "$1" "$2" "$3")
	if [ "$4" -eq 0 ]; then
		[ "$count" -eq 0 ] || fail "sm_$1 $2: $count $3, none can be"
	else
		[ "$count" -ge "$4" ] || fail "sm_$1 $2: $count $3, expected at least $4"
	fi
	echo "sm_$1 $2: $count $3"
}
expect 70 gemm_tensor.cu HMMA 64
expect 70 peak_tensor.cu HMMA 64
expect 75 gemm_tensor.cu HMMA 64
expect 80 gemm_tensor.cu HMMA 64
expect 80 gemm_tensor.cu LDGSTS 8
expect 75 attention.cu HMMA 512
expect 80 attention.cu HMMA 512
expect 61 gemm_tensor.cu HMMA 0
expect 61 attention.cu HMMA 0
expect 60 gemm_half2.cu HFMA2 512
expect 61 gemm_half2.cu HFMA2 512
expect 35 gemm_half2.cu HFMA2 0
expect 35 gemm_simt.cu FFMA 1000
echo "$functions kernels, $size bytes"
exit $failed
