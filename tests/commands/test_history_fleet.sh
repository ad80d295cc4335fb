#!/usr/bin/env bash
# gpuproof history for many nodes: folders of results, merge.
set -u
program=$(realpath "$1")
data=$(realpath "$(dirname "$0")/../data")
command -v python3 >/dev/null || { echo "no python3 to make nights with"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
unset GPUPROOF_DB

expect() { # CODE WORD ARGUMENTS...
	local code=$1 word=$2 got
	shift 2
	"$program" "$@" >out 2>err
	got=$?
	[ $got -eq "$code" ] || { echo "$*: exit code $got, not $code"; cat out err; failed=1; }
	[ -z "$word" ] || grep -qF -- "$word" out err || { echo "$*: '$word' is missing in"; cat out err; failed=1; }
}

complain() {
	echo "$*"
	failed=1
}

# Twelve nights of four nodes: half of each node's as folders of runs, half as files.
python3 - "$data/quick_h200.json" <<'END'
import copy, json, os, sys
night = json.load(open(sys.argv[1]))
night["cases"] = night["cases"][:12]
night["run"]["planned"] = 12
for node in range(4):
	for day in range(12):
		n = copy.deepcopy(night)
		n["run"].update(id=f"{node:04x}{day:04x}", started=f"2026-03-{day + 1:02}T01:00:00Z")
		n["environment"]["hostname"] = f"node{node}"
		for d in n["devices"]:
			d.update(uuid=f"GPU-{node}-{d['index']}", serial=f"S{node}{d['index']}")
		where = f"fleet/node{node}/{day:02}" if day % 2 else f"fleet/node{node}"
		os.makedirs(where, exist_ok=True)
		json.dump(n, open(f"{where}/result.json" if day % 2 else f"{where}/{day:02}.json", "w"))
END

expect 0 'whole.db: 48 added, 0 replaced, 0 already stored, 0 rejected' history add fleet --db whole.db
expect 0 'whole.db: 0 added, 0 replaced, 48 already stored, 0 rejected' history add fleet --db whole.db
mkdir -p empty/deeper
expect 2 'empty: no result.json in this directory' history add empty --db whole.db
# One that is no result does not keep the others out, and is told.
mkdir mixed
cp fleet/node0/00.json mixed/a.json
echo '{}' >mixed/b.json
cp fleet/node1/00.json mixed/c.json
expect 2 'mixed.db: 2 added, 0 replaced, 0 already stored, 1 rejected' history add mixed --db mixed.db
grep -qF 'mixed/b.json' err || complain "add: the refused file is not named"

# A GPU is named with its host, slot and serial number, also one that moved.
expect 0 'GPU-2-0: node2, cuda:0, ' history trend --all --db whole.db
grep -qF 'serial S20' out || complain "trend: no serial number"
expect 0 'GPU-2-0: node2, cuda:0, ' history show --case @cuda --db whole.db
expect 0 '' history report --db whole.db -o whole.html
grep -qF 'GPU-2-0: node2, cuda:0, ' whole.html || complain "report: no host of a GPU"
sed 's/"GPU-2-0"/"GPU-1-0"/; s/"00020000"/"ff"/; s/2026-03-01T/2026-03-20T/' fleet/node2/00.json >moved.json
cp whole.db moved.db
expect 0 '' history add moved.json --db moved.db
expect 0 'GPU-1-0: node2, cuda:0, ' history trend --all --db moved.db
grep -qF 'previously in node1' out || complain "trend: does not say that a GPU was in another host"
"$program" history trend --all --json --db moved.db >moved.trend
python3 -c 'import json
s = [s for s in json.load(open("moved.trend"))["series"] if s["machine"] == "GPU-1-0"]
assert s and all((x["host"], x["host_before"]) == ("node2", "node1") for x in s), s' || complain "trend --json: not the hosts"

# Shards of the nodes, merged in another order, are the one history.
expect 0 '' history annotate 2026-03-05 'new riser' --acknowledge --db whole.db
for node in 3 1 0 2; do
	expect 0 '' history add fleet/node$node --db shard$node.db
done
expect 0 'merged.db: 48 added, 0 replaced, 0 already stored, 0 rejected' history merge shard2.db shard0.db shard3.db shard1.db --db merged.db
expect 0 'merged.db: 0 added, 0 replaced, 48 already stored' history merge whole.db --db merged.db
expect 0 '' history merge whole.db --db merged.db
for db in whole merged; do
	"$program" history trend --all --all-metrics --json --db $db.db >$db.trend || complain "trend of $db.db: exit code $?"
	"$program" history show --db $db.db >$db.nights || complain "show of $db.db: exit code $?"
done
python3 -c 'import json
whole, merged = ({(s["case"], s["metric"], s["machine"]): {k: v for k, v in s.items() if k != "series"} for s in json.load(open(f))["series"]}
	for f in ("whole.trend", "merged.trend"))
assert whole and whole == merged, [(whole[k], merged.get(k)) for k in whole if whole[k] != merged.get(k)][:1]' || complain "merge: another trend than that of the results"
sort whole.nights >whole.sorted
sort merged.nights | cmp -s - whole.sorted || complain "merge: shards are not the one history: $(diff whole.nights merged.nights | head)"
[ "$(grep -c 'new riser' merged.nights)" -eq 1 ] || complain "merge: the note is not there once: $(cat merged.nights)"
expect 2 'whole.db' history merge whole.db --db whole.db
exit $failed
