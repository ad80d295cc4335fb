#!/usr/bin/env bash
# Every file that gpuproof writes, on a disk that is full, fails or does half: an error and its exit code, never half a
# file, nothing lost that was there; and a wall clock that jumps.
set -euo pipefail
program=$(realpath "$1") shim=$(dirname "$(realpath "$1")")/tests/bad_disk.so
here=$(cd "$(dirname "$0")/.." && pwd)
ldd "$program" | grep -qE 'asan|tsan' && { echo "skipped: a sanitizer has to be the first library"; exit 77; }
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends GPUPROOF_FAKE="devices=1" OMP_NUM_THREADS=1; export GPUPROOF_BACKENDS GPUPROOF_FAKE OMP_NUM_THREADS
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

cat > fake.ini <<-INI
	[run]
	backend = fake
	telemetry = 0s
	[defaults]
	min_samples = 2
	max_samples = 2
	sample_time = 1us
	[suite transfer]
	sizes = 4KiB
	directions = h2d, d2h
	memories = pinned
	access = on
INI

# bad "MODE N PART" COMMAND...: sets `code`; `hit` is whether a call was made to fail
bad() {
	local how=$1; shift
	rm -f mark
	code=0
	BAD_DISK=$how BAD_DISK_MARK=$PWD/mark LD_PRELOAD=$shim "$program" "$@" > out 2> err || code=$?
	[ -e mark ] || { fail "$how: no call was made to fail by $*"; cat err; }
}
cases_of() { "$program" export result "$1" 2>/dev/null | grep -o '"status": *"OK"' | wc -l; }

"$program" run fake.ini -o good -q --no-report > out 2> err || { cat err; exit 1; }
[ "$(cases_of good/result.json)" = 2 ] || fail "the run without faults has $(cases_of good/result.json) cases"

# The journal, from its first write to its last: 3 or 4 (incomplete), and --resume makes it whole.
for how in "enospc 1" "enospc 2" "eio 3" "fsync 2" "fsync 3"; do
	rm -rf run
	bad "$how run.jsonl" run fake.ini -o run -q --no-report
	[ $code = 3 ] || fail "journal, $how: exit code $code"
	grep -q run.jsonl err || fail "journal, $how: says $(cat err)"
	if [ "$how" = "enospc 1" ]; then
		"$program" run fake.ini -o run -q --no-report > out 2> err || fail "journal, $how: cannot begin anew: $(cat err)"
	else
		"$program" run --resume run -q --no-report > out 2> err || fail "journal, $how: --resume: $(cat err)"
	fi
	[ "$(cases_of run/result.json)" = 2 ] || fail "journal, $how: lost cases"
done
# A file system without locks costs one warning, and no wait for a lock that no process holds.
rm -rf run
unlocked() { # PART COMMAND...
	bad "nolock 1 $1" "${@:2}"
	[ $code = 0 ] && [ "$(grep -c 'the file system does not support locks' err)" = 1 ] || fail "no locks: ${*:2}: $code: $(cat err)"
}
unlocked run.jsonl run fake.ini -o run -q --no-report
rm run/result.json && sed -i '3,$d' run/run.jsonl
unlocked run.jsonl run --resume run -q --no-report
[ "$(cases_of run/result.json)" = 2 ] || fail "no locks: cases are missing"
unlocked unlocked.db history add run -d unlocked.db
unlocked unlocked.db history add good -d unlocked.db
unlocked unlocked.db history show -d unlocked.db
[ "$(wc -l < out)" = 3 ] || fail "no locks: nights are missing: $(cat out)"
"$program" history show -d unlocked.db > with 2> err && cmp -s out with || fail "no locks: with locks it is another history"
# Half a write is no failure.
rm -rf run
bad "short 2 run.jsonl" run fake.ini -o run -q --no-report
[ $code = 0 ] && [ "$(cases_of run/result.json)" = 2 ] && [ "$(wc -l < run/run.jsonl)" = 3 ] || fail "journal, short: $code"

# The result and the page: whole or not there, never the temporary file.
for how in "enospc 1" "eio 1" "fsync 1" "close 1" "rename 1"; do
	for file in result.json report.html; do
		rm -rf run
		bad "$how $file" run fake.ini -o run -q
		[ $code = 3 ] || fail "$file, $how: exit code $code"
		[ ! -e run/$file ] || fail "$file, $how: there is one"
		compgen -G "run/$file.*" >/dev/null && fail "$file, $how: left $(ls run)"
		"$program" run --resume run -q > out 2> err || fail "$file, $how: --resume: $(cat err)"
		[ "$(cases_of run/result.json)" = 2 ] && tail -c 20 run/report.html | grep -q '</html>' ||
			fail "$file, $how: not whole after --resume"
	done
done
rm -rf run
bad "short 1 result.json" run fake.ini -o run -q --no-report
[ $code = 0 ] && [ "$(cases_of run/result.json)" = 2 ] || fail "result, short: $code"

# Exports keep the file that was there.
for format in junit csv markdown prometheus gbench; do
	echo old > out.txt
	bad "enospc 1 out.txt" export $format good/result.json -o out.txt
	[ $code = 3 ] && [ "$(cat out.txt)" = old ] || fail "export $format: exit code $code, $(head -c 100 out.txt)"
	code=0
	"$program" export $format good/result.json > /dev/full 2> err || code=$?
	[ $code = 3 ] || fail "export $format > /dev/full: exit code $code"
done

# The history: as before, sound, and the night can be added later.
"$program" history add good -d h.db > out 2> err || fail "history add: $(cat err)"
"$program" run fake.ini -o next -q --no-report > out 2> err
for how in "enospc 1 h.db" "eio 2 h.db" "fsync 1 h.db" "enospc 1 h.db-journal"; do
	bad "$how" history add next -d h.db
	[ $code = 3 ] || fail "history, $how: exit code $code"
	[ "$("$program" history show -d h.db | grep -c "^20")" = 1 ] || fail "history, $how: other nights"
done
"$program" history add next -d h.db > out 2> err || fail "history add after failures: $(cat err)"
[ "$("$program" history show -d h.db | grep -c "^20")" = 2 ] || fail "history: not two nights: $("$program" history show -d h.db)"

# Other outputs keep what was there, and leave nothing half: "WHAT FILE COMMAND..."
keeps() {
	local what=$1 file=$2; shift 2
	for how in "enospc 1" "eio 1" "fsync 1" "rename 1" "readonly 1"; do
		mkdir -p "$(dirname "$file")"; echo old > "$file"
		bad "$how $(basename "$file")" "$@"
		[ $code = 3 ] || fail "$what, $how: exit code $code, $(cat err)"
		[ "$(cat "$file")" = old ] || fail "$what, $how: there is $(head -c 100 "$file")"
		[ "$(find "$(dirname "$file")" -name "$(basename "$file").*" | wc -l)" = 0 ] || fail "$what, $how: left something"
		grep -q "$(basename "$file")" err || fail "$what, $how: does not name the file: $(cat err)"
	done
}
cat > limits.ini <<-INI
	[limit pcie]
	metric = transfer.bandwidth
	min = 1 B/s
INI
keeps report page.html report good/result.json -o page.html
keeps "report's style" styled/report.css report good/result.json -o styled/page.html --layout dir
keeps "report of two" two.html report good/result.json next/result.json -o two.html
keeps import theirs.json import nvbandwidth "$here"/data/import/nvbandwidth.json -o theirs.json --device "Tesla V100"
keeps trend trend.html history report -d h.db -o trend.html
keeps "config write" mine.ini config write quick -o mine.ini --force
keeps "verdict" accepted/acceptance.html check good --limits limits.ini --report accepted/acceptance.html

# The whole run on a read-only disk: nothing runs, and the message says where.
bad "readonly 1 /ro" run fake.ini -o ro/run -q
[ $code = 3 ] && grep -qi 'read-only' err || fail "read-only directory: exit code $code, $(cat err)"
ln -s nowhere link
code=0
"$program" run fake.ini -o link -q > out 2> err || code=$?
[ $code = 3 ] && grep -q 'No such file' err || fail "directory that is a link to nowhere: exit code $code, $(cat err)"
"$program" run fake.ini -o third -q --no-report > out 2> err
cp h.db ro.db
bad "readonly 1 ro.db" history add third -d ro.db
[ $code = 3 ] || fail "read-only history: exit code $code, $(cat err)"
cmp -s h.db ro.db || fail "read-only history: it has changed"

# The wall clock goes back a day, or forward ten years, in the middle of the run.
for jump in -86400 315360000; do
	rm -rf run
	CLOCK_JUMP="2 $jump" LD_PRELOAD=$shim "$program" run fake.ini -o run -q > out 2> err || fail "clock $jump: $(cat err)"
	python3 - <<-PY || fail "clock $jump"
		import json
		r = json.load(open("run/result.json"))
		assert 0 <= r["run"]["seconds"] < 600, r["run"]
		assert r["run"]["started"] <= r["run"]["finished"], r["run"]
		for c in r["cases"]:
		    assert c["status"] == "OK" and 0 <= c["seconds"] < 600 and 0 <= c["started"] < 600, c["id"]
		    assert all(v >= 0 for s in c["samples"].values() for v in s["values"]), c["id"]
	PY
	"$program" history add run -d h.db > out 2> err || fail "clock $jump: history add: $(cat err)"
done
"$program" history trend -d h.db > out 2> err || fail "history trend after jumps: $(cat err)"

[ $failures = 0 ] || exit 1
echo "every failing write is an error, and nothing is lost"
