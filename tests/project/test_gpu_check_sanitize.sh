#!/usr/bin/env bash
# usage: test_gpu_check_sanitize.sh PROGRAM
# ci/gpu-check --sanitize: every check of kernels by every tool, and that a report, a check that failed, did not run or did
# not end, and a tool without a summary are not clean. Scripts stand in for compute-sanitizer and gpuproof-gpu-check.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/bin "$folder"/tools
cat >"$folder"/bin/gpuproof-gpu-check <<'END'
#!/usr/bin/env bash
[ "$*" != "--list kernels" ] || { printf '%s\n' scale soak_table; exit; }
[ "$1 $2 $3" = "--small on --only" ] || exit 2
[ "${CASE:-} $4" != "none =scale" ] || exit 0
[ "${CASE:-} $4" != "fails =scale" ] || { echo "scale                    cuda:0   FAIL  off (1 ms)"; exit 1; }
echo "${4#=}                    cuda:0   PASS  (1 ms)"
END
cat >"$folder"/tools/compute-sanitizer <<'END'
#!/usr/bin/env bash
tool=$2
shift 6
word=ERROR
[ "$tool" != racecheck ] || word=RACECHECK
"$@" || exit
case "${CASE:-} $tool ${*: -1}" in
"hazard racecheck =scale") echo "========= Error: Potential WAR hazard detected"; echo "========= RACECHECK SUMMARY: 2 hazards"; exit 9 ;;
"hangs memcheck =scale") sleep 5 ;;
"silent initcheck =scale") exit 0 ;;
esac
echo "========= $word SUMMARY: 0 errors"
END
chmod +x "$folder"/bin/* "$folder"/tools/*
export PATH=$folder/tools:$PATH SECONDS_EACH=30

check() { # expected code, expected line (extended regular expression), arguments
	local code=0 wanted=$1 line=$2
	shift 2
	"$root"/ci/gpu-check --sanitize "$folder"/bin "$@" >"$folder"/log 2>&1 || code=$?
	if [ "$code" -ne "$wanted" ] || ! grep -Eq "$line" "$folder"/log; then
		cat "$folder"/log
		echo "expected exit $wanted, got $code; expected /$line/"
		exit 1
	fi
}
check 0 '^8 of 8 clean'
check 0 '^racecheck +soak_table +clean'
check 0 '^4 of 4 clean' scale
TOOLS="memcheck racecheck" check 0 '^4 of 4 clean'
CASE=hazard check 1 '^racecheck +scale +REPORTS: 2 hazards'
CASE=hazard check 1 '^7 of 8 clean'
CASE=fails check 1 '^memcheck +scale +ENDED with 1: scale .*FAIL'
CASE=none check 1 '^synccheck +scale +NOTHING CHECKED'
CASE=silent check 1 '^initcheck +scale +NO SUMMARY'
SECONDS_EACH=1 CASE=hangs check 1 '^memcheck +scale +NOT FINISHED in 1 s'
