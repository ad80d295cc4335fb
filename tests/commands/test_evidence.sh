#!/usr/bin/env bash
# gpuproof evidence: an archive that tar unpacks and sha256sum verifies, equal for equal files, never over an input.
set -euo pipefail
program=$(realpath "$1")
data=$(cd "$(dirname "$0")/../data" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset GPUPROOF_POPULATION

fail() {
	echo "$1"
	exit 1
}
# refuse CODE WORD ARGUMENTS...
refuse() {
	local code=0 wanted=$1 word=$2
	shift 2
	"$program" evidence "$@" >out 2>&1 || code=$?
	[ "$code" -eq "$wanted" ] && grep -qF -- "$word" out || fail "evidence $*: exit code $code: $(cat out)"
}

# A result of another machine: no facts of this one.
mkdir delivered
cp "$data"/acceptance_h200_x2.json delivered/result.json
echo '{"journal": "of the run"}' >delivered/run.jsonl
cp -r delivered before
"$program" evidence delivered -o n017.tar.gz >out || fail "evidence: $(cat out)"
[ "$(cat out)" = n017.tar.gz ] || fail "what is printed: $(cat out)"
mkdir unpacked
tar -C unpacked -xzf n017.tar.gz
inside=$(ls unpacked)
[[ $inside =~ ^evidence-[0-9a-z-]+$ ]] || fail "the folder is '$inside'"
(cd "unpacked/$inside" && sha256sum --strict --quiet -c SHA256SUMS) || fail "sums are wrong"
ls "unpacked/$inside" | LC_ALL=C sort >names
printf '%s\n' SHA256SUMS acceptance.html result.json run.jsonl summary.txt | diff - names || fail "the files"
[ "$(wc -l <"unpacked/$inside/SHA256SUMS")" -eq 4 ] || fail "a file has no sum"
cmp "unpacked/$inside/result.json" delivered/result.json
cmp "unpacked/$inside/run.jsonl" delivered/run.jsonl
diff -r before delivered || fail "the run was changed"
"$program" check delivered --json >verdict.json
python3 - "unpacked/$inside" <<'PYTHON'
import json, sys
folder = sys.argv[1]
summary, result = open(folder + "/summary.txt").read(), json.load(open(folder + "/result.json"))
sentence = json.load(open("verdict.json"))["sentence"]
assert sentence in summary, (sentence, summary)
for device in result["devices"]:
    assert device["serial"] in summary and device["uuid"] in summary and device["serial"] in open(folder + "/acceptance.html").read()
assert "No doctor.txt and no kernel.log" in summary, summary
PYTHON
# Equal files give equal bytes, at any time and place.
sleep 1
cp -r delivered elsewhere
"$program" evidence elsewhere/result.json -o again.tar.gz >/dev/null
cmp n017.tar.gz again.tar.gz || fail "the archive is not reproducible"
tar --numeric-owner -tvzf n017.tar.gz | grep -qv ' 0/0 ' && fail "owners differ: $(tar --numeric-owner -tvzf n017.tar.gz)"

# A result of this machine: doctor's findings, and the kernel log or why it is not there.
cat >own.ini <<'END'
[run]
backend = host
[suite alloc]
allocators = pageable
operations = alloc
states = reused
sizes = 64KiB
min_samples = 10
max_samples = 20
max_time = 20ms
END
"$program" run own.ini -o here -q >/dev/null
"$program" evidence here -o here.tar.gz >/dev/null
mkdir own
tar -C own -xzf here.tar.gz
inside=own/$(ls own)
(cd "$inside" && sha256sum --strict --quiet -c SHA256SUMS)
grep -q 'gpuproof run quick\|No device' "$inside"/doctor.txt || fail "doctor.txt: $(cat "$inside"/doctor.txt)"
if [ -e "$inside"/kernel.log ]; then
	grep -q '^kernel.log: lines of .* about GPUs' "$inside"/summary.txt || fail "summary.txt: $(cat "$inside"/summary.txt)"
else
	grep -q 'No kernel.log: ' "$inside"/summary.txt || fail "summary.txt: $(cat "$inside"/summary.txt)"
fi
grep -q '"id"' "$inside"/run.jsonl || fail "the journal"

# A hostile id stays in the folder that it is unpacked in.
sed 's/"id": "run-2210374b27eb"/"id": "..\/..\/x"/' delivered/result.json >hostile.json
cmp -s hostile.json delivered/result.json && fail "the id is another one now"
"$program" evidence hostile.json -o hostile.tar.gz >/dev/null
tar -tzf hostile.tar.gz | grep -q '\.\.' && fail "names: $(tar -tzf hostile.tar.gz)"

refuse 2 'expected one RESULT' -o x.tar.gz
refuse 2 'no name for the archive' delivered
refuse 3 'nowhere' nowhere -o x.tar.gz
echo '{}' >no.json
refuse 2 'not a gpuproof result' no.json -o x.tar.gz
refuse 2 'name another file' delivered -o delivered/result.json
refuse 2 'name another file' delivered -o delivered/run.jsonl
diff -r before delivered || fail "an input was replaced"
refuse 3 'nowhere/x.tar.gz' delivered -o nowhere/x.tar.gz
[ ! -e x.tar.gz ] || fail "a refused archive is there"
# A full disk leaves nothing, and what was there before stays.
cp n017.tar.gz kept.tar.gz
code=0
(trap '' XFSZ && ulimit -f 8 && "$program" evidence delivered -o kept.tar.gz) >out 2>&1 || code=$?
[ "$code" -eq 3 ] && cmp -s n017.tar.gz kept.tar.gz || fail "a full disk: exit code $code: $(cat out)"
[ -z "$(find . -maxdepth 1 -name '*kept.tar.gz*' ! -name kept.tar.gz)" ] || fail "a part is left: $(ls -a)"
