#!/usr/bin/env bash
# gpuproof history for many nodes: folders of results, spool, export, import, merge.
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

expect 0 'whole.db: 48 added, 0 replaced, 0 there already, 0 refused' history add fleet --db whole.db
expect 0 'whole.db: 0 added, 0 replaced, 48 there already, 0 refused' history add fleet --db whole.db
mkdir -p empty/deeper
expect 2 'empty: there is no result in this folder' history add empty --db whole.db
# One that is no result does not keep the others out, and is told.
mkdir mixed
cp fleet/node0/00.json mixed/a.json
echo '{}' >mixed/b.json
cp fleet/node1/00.json mixed/c.json
expect 2 'mixed.db: 2 added, 0 replaced, 0 there already, 1 refused' history add mixed --db mixed.db
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
grep -qF 'before in node1' out || complain "trend: does not say that a GPU was in another host"
"$program" history trend --all --json --db moved.db >moved.trend
python3 -c 'import json
s = [s for s in json.load(open("moved.trend"))["series"] if s["machine"] == "GPU-1-0"]
assert s and all((x["host"], x["host_before"]) == ("node2", "node1") for x in s), s' || complain "trend --json: not the hosts"

# Shards of the nodes, merged in another order, are the one history.
expect 0 '' history annotate 2026-03-05 'new riser' --acknowledge --db whole.db
for node in 3 1 0 2; do
	expect 0 '' history add fleet/node$node --db shard$node.db
done
"$program" history export --db whole.db >whole.jsonl || complain "export: exit code $?"
[ "$(wc -l <whole.jsonl)" -eq 50 ] || complain "export: $(wc -l <whole.jsonl) lines, not a header, 48 nights and a note"
python3 -c 'import json, sys
for line in open("whole.jsonl"): json.loads(line)
night = json.loads(open("whole.jsonl").readlines()[1])
assert night["host"] == "node0" and night["devices"][0]["serial"] == "S00" and night["devices"][0]["slot"], night["devices"]
assert night["figures"][0]["point"] and night["figures"][0]["section"], night["figures"][0]' || complain "export: not what a night is"
expect 0 'merged.db: 48 added, 0 replaced, 0 there already, 0 refused' history merge shard2.db shard0.db shard3.db shard1.db --db merged.db
expect 0 'merged.db: 0 added, 0 replaced, 48 there already' history merge whole.db --db merged.db
expect 0 '' history merge whole.db --db merged.db
expect 0 '' history export --db merged.db -o merged.jsonl
cmp -s whole.jsonl merged.jsonl || complain "merge: shards are not the one history"
expect 0 '' history import whole.jsonl --db imported.db
"$program" history import - --db imported.db <whole.jsonl 2>/dev/null || complain "import -: exit code $?"
expect 0 '' history export --db imported.db -o imported.jsonl
cmp -s whole.jsonl imported.jsonl || complain "import: not what was exported"
cat whole.jsonl whole.jsonl >twice.jsonl
expect 0 'twice.db: 48 added, 0 replaced, 48 there already' history import twice.jsonl --db twice.db
for db in whole imported; do
	"$program" history trend --all --all-metrics --json --db $db.db >$db.trend || complain "trend of $db.db: exit code $?"
done
python3 -c 'import json
whole, imported = ({(s["case"], s["metric"], s["machine"]): (s["median"], s["nights"]) for s in json.load(open(f))["series"]}
	for f in ("whole.trend", "imported.trend"))
assert whole and whole == imported' || complain "import: another trend than that of the results"
expect 2 'whole.db' history merge whole.db --db whole.db

# A damaged export takes nothing in, and names the place.
head -c 3000 whole.jsonl >cut.jsonl
expect 2 'the file ends within a line' history import cut.jsonl --db cut.db
sed '3s/"started":"[^"]*"/"started":"soon"/' whole.jsonl >soon.jsonl
expect 2 'soon.jsonl:3' history import soon.jsonl --db cut.db
sed '2s/"epoch":[0-9]*/"epoch":9/' whole.jsonl >epoch.jsonl
expect 2 'figures[0].epoch: 9 of' history import epoch.jsonl --db cut.db
sed '1s/"version":1/"version":2/' whole.jsonl >newer.jsonl
expect 2 'newer.jsonl:1: version 2' history import newer.jsonl --db cut.db
expect 2 'quick_h200.json:1' history import "$data/quick_h200.json" --db cut.db
"$program" history export --db cut.db >out || complain "export of an empty history: exit code $?"
[ "$(wc -l <out)" -eq 1 ] || complain "damaged exports left something in the history"

# Many writers without a lock, while readers take in and are killed.
for node in 0 1 2 3; do
	for night in fleet/node$node/*; do
		"$program" history add "$night" --spool --db spooled.db 2>/dev/null || complain "add --spool $night: exit code $?"
	done &
done
for i in 1 2 3 4 5 6; do
	timeout -s KILL 0.0$((i * 3)) "$program" history show --db spooled.db >/dev/null 2>&1
	sleep 0.05
done
wait
cp whole.jsonl spooled.db.spool/damaged.jsonl
sed -i '4s/"run"/"ran"/' spooled.db.spool/damaged.jsonl
expect 0 'damaged.jsonl' history show --db spooled.db
[ -e spooled.db.spool/damaged.jsonl.refused ] || complain "spool: a damaged night is not set aside"
# Writers that were killed leave half a night: one of last week goes, with a word; one of now may still be at work.
head -c 300 whole.jsonl >spooled.db.spool/0123456789abcdef.jsonl.aB3xYz
touch -d '8 days ago' spooled.db.spool/0123456789abcdef.jsonl.aB3xYz spooled.db.spool/damaged.jsonl.refused
head -c 300 whole.jsonl >spooled.db.spool/fedcba9876543210.jsonl.aB3xYz
head -n 2 whole.jsonl >spooled.db.spool/again.jsonl
expect 0 'spooled.db.spool: 1 half-written night of writers that were killed removed' history show --db spooled.db
[ ! -e spooled.db.spool/0123456789abcdef.jsonl.aB3xYz ] || complain "spool: half a night of last week stays"
[ -e spooled.db.spool/fedcba9876543210.jsonl.aB3xYz ] || complain "spool: a night that is being written was removed"
[ -e spooled.db.spool/damaged.jsonl.refused ] || complain "spool: a refused night was removed"
[ "$(find spooled.db.spool -name '*.jsonl' | wc -l)" -eq 0 ] || complain "spool: nights were left"
"$program" history export --db spooled.db 2>err >spooled.jsonl || complain "export: exit code $?"
[ -s err ] && complain "spool: what was refused is told again: $(cat err)"
head -49 whole.jsonl | cmp -s - spooled.jsonl || complain "spool: nights were lost, or are there twice"
exit $failed
