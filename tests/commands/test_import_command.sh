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
grep "^links.json: left out, because gpuproof has no equivalent: memory_of_tomorrow_ce$" out >/dev/null
"$program" import nccl-text "$data"/nccl_old.txt --collective all_reduce -o reduce.json >/dev/null
"$program" import babelstream "$data"/babelstream.csv --device "Tesla K80" -o memory.json >/dev/null
# A file does not say how long a case took: its wrong result is told without a time.
"$program" import nccl-text "$data"/nccl.txt -o wrong.json >/dev/null
"$program" report wrong.json -o wrong.html >/dev/null
grep -F 'on cuda:0 + cuda:1</span>' wrong.html >/dev/null || fail "a problem of an import: $(grep -o 'on cuda:0 + cuda:1[^<]*' wrong.html)"
[ "$("$program" import --list-formats | wc -l)" -eq 12 ] || fail "not twelve formats"

# Imported results are results: one page of several, with whatever else is known.
"$program" report links.json reduce.json memory.json --reference=p100-sxm2,v100-sxm2 --baseline k80 -o page.html >/dev/null
for words in "The same figures, card by card" "◐ <bdi>imported from nvbandwidth v0.8" "P100 SXM2" "times K80"; do
	grep -F -- "$words" page.html >/dev/null || fail "the page does not say: $words"
done
! grep -F "measured here: " page.html || fail "an import is called measured here"
! grep -F "Titan V" page.html >/dev/null || fail "a GPU that was not asked for"
"$program" report links.json -o plain.html >/dev/null
grep -q 'no interval: only single values' plain.html && ! grep -q 'from several launches' plain.html ||
	fail "single values are given an interval"
! grep -F "card by card" plain.html >/dev/null || fail "a comparison that was not asked for"

refuses 2 "nccl_old.txt:10: unknown collective; name it with --collective" import nccl-text "$data"/nccl_old.txt
refuses 2 "--collective: unknown collective 'AllSum'; known: all_reduce" import nccl-text "$data"/nccl_old.txt --collective AllSum
refuses 2 "unknown format 'excel'; known:" import excel nowhere.json
refuses 2 "did you mean 'babelstream'" import babelstrem "$data"/babelstream.csv
refuses 3 "nvbandwidth: No such file" import nvbandwidth
refuses 2 "no FILE given" import

# Without a format a mark of the tool's own tells: the same bytes as with it.
for file in nvbandwidth=nvbandwidth.json nccl-json=nccl.json nccl-text=nccl.txt babelstream=babelstream.csv \
	google-benchmark=google_benchmark.json; do
	"$program" import "${file%%=*}" "$data/${file#*=}" --device "Tesla K80" -o asked.json >/dev/null || fail "$file"
	"$program" import "$data/${file#*=}" --device "Tesla K80" -o found.json >/dev/null || fail "$file without its format"
	cmp asked.json found.json || fail "$file is another result without its format"
done
refuses 2 "nccl_old.txt:10: unknown collective; name it with --collective" import "$data"/nccl_old.txt
echo "no format at all" >none.txt
refuses 2 "none.txt:1: unknown format; import reads nvbandwidth, nccl-json" import none.txt

# Tools that are known and not read: the message says what to do. A file that two formats read is read as the one that is named.
printf -- '---------\nBenchmark              Time             CPU   Iterations\n' >benchmark.txt
printf '[CUDA Bandwidth Test] - Starting...\n' >bandwidth.txt
refuses 2 "benchmark.txt:2: import does not read the output of Google Benchmark; run the program with" import benchmark.txt
refuses 2 "bandwidth.txt:1: import does not read the output of CUDA's bandwidthTest; CUDA has replaced it" import bandwidth.txt
cat "$data"/nccl.txt "$data"/nvbandwidth.json >both.txt
refuses 2 "both.txt:1: the file contains output of nccl-text, and from line 20 output of nvbandwidth; name the format to import" import both.txt
"$program" import nvbandwidth both.txt -o both.json >/dev/null
refuses 2 "standard input:1: unknown format" import - </dev/null

# Files as they come: the same result of all of them.
"$program" import "$data"/nccl.txt -o plain.json >/dev/null
same_as_plain() { # file: the same but for its name and its id
	"$program" import "$1" -o other.json >/dev/null || fail "$1 is not read"
	diff <(sed -E 's/"(id|label|run_id)": "[^"/]*"//g' plain.json) <(sed -E 's/"(id|label|run_id)": "[^"/]*"//g' other.json) >/dev/null || fail "$1 is another result"
}
gzip -c "$data"/nccl.txt >nccl.txt.gz
{ printf '\357\273\277'; cat "$data"/nccl.txt; } >bom.txt
sed 's/$/\r/' "$data"/nccl.txt >crlf.txt
sed 's/^/[1,0]<stdout>:/' "$data"/nccl.txt >tagged.txt
sed 's/^/0: /' "$data"/nccl.txt >labelled.txt
awk '{ printf "2026-11-20T12:00:%02d.%09dZ %s\n", NR % 60, NR * 7919, $0 }' "$data"/nccl.txt >stamped.txt
awk '{ printf "[pod/launcher-%d/mpi] 2026-11-20T12:00:%02dZ \033[32m%s\033[0m\n", 7, NR % 60, $0 }' "$data"/nccl.txt >coloured.txt
awk '{ print "node-4: " $0 } NR % 3 == 0 { print "10-4-3-3:97095:97196 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1]" }' "$data"/nccl.txt >mixed.txt
for file in nccl.txt.gz bom.txt crlf.txt tagged.txt labelled.txt stamped.txt coloured.txt mixed.txt; do same_as_plain $file; done
if command -v zstd >/dev/null; then zstd -q "$data"/nccl.txt -o nccl.txt.zst; same_as_plain nccl.txt.zst; fi
"$program" import - -o other.json <nccl.txt.gz >/dev/null || fail "standard input is not read"
head -c 300 nccl.txt.gz >cut.gz
refuses 2 "cut.gz:1: is a damaged or truncated gzip file" import cut.gz
printf '\377\376#\000' >wide.txt
refuses 2 "wide.txt:1: the file is UTF-16; convert it" import wide.txt
sed 's/node-7/K\xf6ln/' "$data"/nccl.txt >latin.txt
"$program" import latin.txt -o latin.json >/dev/null
grep '"hostname": "Köln"' latin.json >/dev/null || fail "a host's name in Latin-1"

# A folder of logs: each becomes a result, what is not read is told.
mkdir -p logs/more
cp "$data"/nccl.txt logs
cp "$data"/babelstream.csv logs/more
echo nothing >logs/notes.md
refuses 4 "folder: 2 files imported, 1 not readable" import logs -o folder
refuses 4 "logs/notes.md:1: unknown format" import logs -o folder
if ! [ -s folder/nccl.txt.json ] || ! [ -s folder/more_babelstream.csv.json ]; then fail "a folder's results are not there"; fi

# A time makes a night of the history of it, in UTC; a time that is none is told.
"$program" import "$data"/nccl.txt --started "2026-11-20T00:30:00+02:00" -o night.json >/dev/null
grep '"started": "2026-11-19T22:30:00Z"' night.json >/dev/null || fail "--started is not in UTC"
"$program" history add night.json --db nights.db >/dev/null || fail "an import with a time is no night"
refuses 2 "--started: 'yesterday' is not a time" import "$data"/nccl.txt --started yesterday -o night.json

# A file that names no GPU leaves no hole in the title of a page of several.
"$program" import "$data"/dcgm_4.json -o unnamed.json >/dev/null
"$program" report unnamed.json memory.json links.json --reference=k80 -o hole.html >/dev/null
grep -F 'unnamed GPU' <(grep '<title>' hole.html) >/dev/null || fail "the title of a page: $(grep '<title>' hole.html)"

# No import is accepted, whatever it holds.
code=0
"$program" check plain.json >out 2>&1 || code=$?
[ $code -ne 0 ] || fail "check accepts an import: $(head -3 out)"

# The page of an import says what it has: the file's name, and no time that was not measured.
"$program" report links.json -o named.html >/dev/null
grep -F '<title>nvbandwidth.json, 2 × NVIDIA H200' named.html >/dev/null || fail "the title is not the file's name"
! grep -F 'took' <(grep 'class="meta"' named.html) >/dev/null || fail "a time that was not measured"
! grep -F '·  ·' named.html >/dev/null || fail "an empty place in the head of the page"
# An architecture stands for its GPUs.
"$program" report links.json --reference=Pascal,volta -o family.html >/dev/null
for words in "P100 SXM2" "1080 Ti" "Titan V"; do
	grep -F -- "$words" family.html >/dev/null || fail "--reference=Pascal,volta lacks $words"
done
! grep -E "Tesla T4|>T4[< ]" family.html >/dev/null || fail "a GPU of another architecture"
refuses 2 "there is no reference GPU 'k81'; did you mean 'k80'" report links.json --reference=k81

# A row that is there already is a sample; and no error turns the terminal's text around.
{ sed '/Out of bounds/,$d' "$data"/nccl.txt; grep '^ *[0-9]' "$data"/nccl.txt; sed -n '/Out of bounds/,$p' "$data"/nccl.txt; } >again.txt
"$program" import again.txt -o again.json >/dev/null
[ "$(grep -o '"n": 2,' again.json | wc -l)" -ge 18 ] || fail "rows that are there twice are not two samples"
turned=$(printf 'a\342\200\256b')
printf '[suite pairs %s]\n' "$turned" >turned.ini
printf 'gpu,precision,M,N,K,time_ms\n%s,fp32,1,1,1,1\n' "$turned" >turned.csv
printf '{"context": {}, "benchmarks": [{"%s' "$turned" >turned.json
cp turned.ini "$turned.ini"
for command in "run turned.ini" "config validate turned.ini" "config validate $turned.ini" "run $turned" "$turned" "run --$turned" "list $turned" \
	"import babelstream turned.csv" "import turned.json" "report $turned" "check turned.ini" "help $turned" "export $turned turned.ini" "config keys $turned" "config write $turned"; do
	$program $command >shown 2>&1 </dev/null && fail "$command is taken"
	! grep -q "$(printf '\342\200\256')" shown || fail "$command: $(head -1 shown)"
done
