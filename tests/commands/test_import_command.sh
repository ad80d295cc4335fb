#!/usr/bin/env bash
# gpuproof import and report --reference: other tools' files with data sheets and published figures.
set -euo pipefail
program=$1
data=$(cd "$(dirname "$0")/.." && pwd)/data/import
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
	echo "$1"
	exit 1
}
refuses() { # expected exit code, pattern, arguments...
	local code=0
	"$program" "${@:3}" >out 2>&1 || code=$?
	[ "$code" -eq "$1" ] || fail "${*:3}: exit code $code, not $1"
	grep -F -- "$2" out >/dev/null || fail "${*:3} does not say: $2"
}

"$program" import nvbandwidth "$data"/nvbandwidth.json -o links.json >out
grep "^links.json: 16 cases on 2 devices$" out >/dev/null
grep "^links.json: not imported, for there is nothing like it here: memory_of_tomorrow_ce$" out >/dev/null
"$program" import nccl-text "$data"/nccl_old.txt --collective all_reduce -o reduce.json >/dev/null
"$program" import babelstream "$data"/babelstream.csv --device "Tesla K80" -o memory.json >/dev/null
# A file does not say how long a case took: its wrong result is told without a time.
"$program" import nccl-text "$data"/nccl.txt -o wrong.json >/dev/null
"$program" report wrong.json -o wrong.html >/dev/null
grep -F 'on cuda:0 + cuda:1</span>' wrong.html >/dev/null || fail "a problem of an import: $(grep -o 'on cuda:0 + cuda:1[^<]*' wrong.html)"
[ "$("$program" import --list-formats | wc -l)" -eq 6 ] || fail "not six formats"

# Imported results are results: one page of several, with whatever else is known.
"$program" report links.json reduce.json memory.json --reference=p100-sxm2,v100-sxm2 --baseline k80 -o page.html >/dev/null
for words in "Against other GPUs" "imported: nvbandwidth v0.8" "P100 SXM2" "K80 <small>1×</small>" 'title="imported"'; do
	grep -F -- "$words" page.html >/dev/null || fail "the page does not say: $words"
done
! grep -F "Titan V" page.html >/dev/null || fail "a GPU that was not asked for"
"$program" report links.json -o plain.html >/dev/null
! grep -F "Against other GPUs" plain.html >/dev/null || fail "a comparison that was not asked for"

refuses 2 "nccl_old.txt:10: which collective ran is not known" import nccl-text "$data"/nccl_old.txt
refuses 2 "there is no format 'excel' to import; there are" import excel nowhere.json
refuses 2 "did you mean 'babelstream'" import babelstrem "$data"/babelstream.csv
refuses 3 "nvbandwidth: No such file" import nvbandwidth
refuses 2 "which FILE?" import

# Without a format the file tells: the same bytes as with it. What none reads is told by the one that got furthest.
for file in nvbandwidth=nvbandwidth.json nccl-json=nccl.json nccl-text=nccl.txt babelstream=babelstream.csv \
	deepbench=deepbench_gemm.csv deepbench=deepbench_allreduce.csv google-benchmark=google_benchmark.json; do
	"$program" import "${file%%=*}" "$data/${file#*=}" --device "Tesla K80" -o asked.json >/dev/null || fail "$file"
	"$program" import "$data/${file#*=}" --device "Tesla K80" -o found.json >/dev/null || fail "$file without its format"
	cmp asked.json found.json || fail "$file is another result without its format"
done
refuses 2 "nccl_old.txt:10: which collective ran is not known" import "$data"/nccl_old.txt
echo "no format at all" >none.txt
refuses 2 "none.txt:1: " import none.txt

# Default output of tools, made for people: the message names the option whose output can be imported.
printf 'BabelStream\nVersion: 5.0\nUsing CUDA device NVIDIA H200\nFunction    MBytes/sec  Min (sec)   Max         Average\n' >stream.txt
printf 'nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\nRunning host_to_device_memcpy_ce.\n' >bandwidth.txt
printf -- '---------\nBenchmark              Time             CPU   Iterations\n' >benchmark.txt
refuses 2 "stream.txt:4: this is what babelstream prints for people; run it with --csv" import babelstream stream.txt
refuses 2 "bandwidth.txt:1: this is what nvbandwidth prints for people; run it with -j" import nvbandwidth bandwidth.txt
refuses 2 "benchmark.txt:2: this is what google-benchmark prints for people; run the program with" import google-benchmark benchmark.txt
refuses 2 "import it as nccl-text" import nccl-json "$data"/nccl.txt
refuses 2 "stream.txt:4: this is what babelstream prints for people; run it with --csv" import stream.txt
refuses 2 "bandwidth.txt:1: this is what nvbandwidth prints for people; run it with -j" import bandwidth.txt

# The page of an import says what it has: the file's name, and no time that was not measured.
"$program" report links.json -o named.html >/dev/null
grep -F '<title>Measurement: nvbandwidth.json, 2 × NVIDIA H200</title>' named.html >/dev/null || fail "the title is not the file's name"
! grep -F 'took' <(grep 'class="meta"' named.html) >/dev/null || fail "a time that was not measured"
! grep -F '·  ·' named.html >/dev/null || fail "an empty place in the head of the page"
# An architecture stands for its GPUs.
"$program" report links.json --reference=Pascal,volta -o family.html >/dev/null
for words in "P100 SXM2" "1080 Ti" "Titan V"; do
	grep -F -- "$words" family.html >/dev/null || fail "--reference=Pascal,volta lacks $words"
done
! grep -E "Tesla T4|>T4[< ]" family.html >/dev/null || fail "a GPU of another architecture"
refuses 2 "there is no reference GPU 'k81'; did you mean 'k80'" report links.json --reference=k81

# A row that is there already ends the reading, with or without the format's name; and no error turns the terminal's text around.
{ cat "$data"/nccl.txt; for _ in 1 2 3; do grep '^ *[0-9]' "$data"/nccl.txt; done; echo '8 not read'; } >again.txt
line=$(($(wc -l <"$data"/nccl.txt) + 1))
refuses 2 "again.txt:$line: this row repeats an earlier one" import nccl-text again.txt
refuses 2 "again.txt:$line: this row repeats an earlier one" import again.txt
turned=$(printf 'a\342\200\256b')
printf '[suite pairs %s]\n' "$turned" >turned.ini
printf 'gpu,precision,M,N,K,time_ms\n%s,fp32,1,1,1,1\n' "$turned" >turned.csv
printf '{"context": {}, "benchmarks": [{"%s' "$turned" >turned.json
cp turned.ini "$turned.ini"
for command in "run turned.ini" "config validate turned.ini" "config validate $turned.ini" "run $turned" "$turned" "run --$turned" "list $turned" \
	"import deepbench turned.csv" "import turned.json" "report $turned" "check turned.ini" "help $turned" "export $turned turned.ini" "config keys $turned" "config write $turned"; do
	$program $command >shown 2>&1 </dev/null && fail "$command is taken"
	! grep -q "$(printf '\342\200\256')" shown || fail "$command: $(head -1 shown)"
done
