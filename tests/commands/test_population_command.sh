#!/usr/bin/env bash
# gpuproof population: a site's own good cards, and what check makes of them.
set -u
program=$(realpath "$1")
data=$(dirname "$(realpath "$0")")/../data
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset GPUPROOF_POPULATION
failed=0

expect() { # CODE WORD COMMAND...: the exit code, and WORD in what is printed
	local code=$1 word=$2 got
	shift 2
	"$program" "$@" >out 2>&1
	got=$?
	if [ $got -ne "$code" ] || ! grep -qF -- "$word" out; then
		echo "$*: exit code $got, expected $code and '$word':"; cat out; failed=1
	fi
}

expect 2 'no action given. Actions: add or show' population
expect 2 'add needs RESULT...' population add
expect 3 'nothing.json' population add nothing.json
# The shipped ones: two groups of H200s, 2 % apart.
expect 0 '59     4.486 TB/s, 4.394 TB/s to 4.597 TB/s' population show
expect 2 'no-such.ini: no such file' population show no-such.ini

# A node of 8 with bandwidths of their own, of an unknown model.
node() { # run id, factor
	python3 - "$data/quick_h200.json" "$1" "$2" <<'END'
import copy, json, sys
r = json.load(open(sys.argv[1]))
f = float(sys.argv[3])
r["run"]["id"] = sys.argv[2]
one, cases = r["devices"][0], [c for c in r["cases"] if c["suite"] == "stream" and c["device"] == "cuda:0"]
r["devices"], r["cases"] = [], []
for i in range(8):
    d = dict(one, id="cuda:%d" % i, index=i, uuid="GPU-%s-%d" % (sys.argv[2], i), name="NVIDIA H300")
    r["devices"].append(d)
    for c in cases:
        c = copy.deepcopy(c)
        c["id"] = c["id"].replace("cuda:0", d["id"])
        c["device"], c["devices"] = d["id"], [d["id"]]
        for m in c["metrics"].values():
            if m["unit"] == "B/s":
                for k in ("value", "low", "high"):
                    m[k] *= f * (1 + 0.002 * (i % 3))
        r["cases"].append(c)
r["run"]["planned"] = len(r["cases"])
json.dump(r, sys.stdout)
END
}
command -v python3 >/dev/null || { echo "skipped in part: no python3 to make results with"; exit $failed; }
node good 1 >good.json && node slow 0.94 >slow.json && node like 1.001 >like.json || exit 1
grep -q '"uuid": "GPU-good-3"' good.json || { echo "the results look otherwise"; exit 1; }
printf '[limit m]\nmetric = stream.bandwidth\nwhere = operation:read\noutlier_margin = 2 %%\npopulation = 3 %%\n' >m.ini

# The model is unknown: the sentence says so.
expect 0 'compared only with the data sheet' check slow.json -l m.ini
# The run lacks nothing by that, also for who takes warnings and skips for failures.
expect 0 'values for these limits: m' check slow.json -l m.ini --strict
# 8 cards held for good: a node that is slow as a whole is rejected, one like them is not.
expect 0 '8 GPUs added' population add good.json
grep -q 'gpuproof-population.ini now contains 8 GPUs' out || { echo "where it is, is not said:"; cat out; failed=1; }
expect 0 'NVIDIA H300' population show
expect 1 'than the median of 8 reference GPUs' check slow.json -l m.ini
grep -q '9 FAIL' out || { echo "not all 8 GPUs and their median fail:"; cat out; failed=1; }
expect 0 '17 PASS' check like.json -l m.ini
# The same cards again are no new ones; a node is not its own yardstick.
expect 0 '0 GPUs added, 8 updated' population add good.json
expect 0 'compared only with the data sheet' check good.json -l m.ini
# Elsewhere, by name; a name that is wrong is no file that is missing.
mv gpuproof-population.ini mine.ini
expect 0 'compared only with the data sheet' check slow.json -l m.ini
GPUPROOF_POPULATION=mine.ini expect 1 '9 FAIL' check slow.json -l m.ini
GPUPROOF_POPULATION=gone.ini expect 2 'gone.ini: no such file' check slow.json -l m.ini
printf '\n[card GPU-x]\nmodle = A\n' >>mine.ini
GPUPROOF_POPULATION=mine.ini expect 2 "unknown key 'modle' in [card]; keys: model" check slow.json -l m.ini

# A result that is not good, not whole or not told apart is refused, and the file stays as it was.
node bad 0.3 >bad.json
expect 2 'bad.json: these GPUs cannot be reference GPUs, because [limit memory] fails' population add bad.json -o p.ini
sed 's/"state": "complete"/"state": "interrupted"/' good.json >part.json
expect 2 'part.json: the run is interrupted; only a complete run can be added' population add part.json -o p.ini
sed 's/"uuid": "[^"]*"/"uuid": ""/g; s/"serial": "[^"]*"/"serial": ""/g' good.json >nameless.json
expect 2 'no device has a UUID' population add nameless.json -o p.ini
# The text of a result cannot write lines of its own into the file.
sed 's/"uuid": "GPU-good-3"/"uuid": "x]\\n[card y"/' good.json >lines.json
expect 2 "invalid UUID" population add lines.json -o p.ini
sed 's/"name": "NVIDIA H300"/"name": "A\\nmodel = B"/' good.json >lines.json
expect 2 "or name" population add lines.json -o p.ini
[ ! -e p.ini ] || { echo "a refused result was added"; failed=1; }
expect 2 'good.json and good.json are the same run' population add good.json good.json -o p.ini
expect 2 'good.json' population add good.json -o good.json
exit $failed
