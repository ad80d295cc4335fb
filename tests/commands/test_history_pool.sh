#!/usr/bin/env bash
# gpuproof history trend and report of a job that runs each night on one of six runners, whose GPUs are 2 % apart and come
# and go: a change of the code is told of the pool, a change of one GPU is not, and a new GPU is none.
set -u
program=$(realpath "$1")
tests=$(realpath "$(dirname "$0")/..")
command -v python3 >/dev/null || { echo "no python3 to make nights with"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
unset GPUPROOF_DB
complain() { echo "$*"; failed=1; }

# make.py STEP BROKEN: 60 nights, and ten more with STEP; from the 40th on the GPU GPU-7 is slower by BROKEN.
cat >make.py <<'E'
import datetime, json, math, random, sys
step, broken = float(sys.argv[1]), float(sys.argv[2])
random.seed(6)
runners, level = list(range(6)), {}
for night in range(70):
	if night and night % 7 == 0:
		runners[(night // 7 - 1) % 6] = 5 + night // 7
	gpu = random.choice(runners)
	x = level.setdefault(gpu, random.gauss(0, .02)) + random.gauss(0, .005)
	x += math.log1p(-step) * (night >= 60) + math.log1p(-broken) * (gpu == 7 and night >= 40)
	v, uuid = 4.4e12 * math.exp(x), f"GPU-{gpu}"
	day = (datetime.date(2026, 1, 1) + datetime.timedelta(days=night)).isoformat()
	print(json.dumps({"run": f"{night:08x}", "started": f"{day}T01:00:00Z", "host": f"runner{gpu}",
		"devices": [{"id": "cuda:0", "machine": uuid, "model": "H100", "serial": f"S{gpu}", "slot": "0000:10:00.0"}],
		"figures": [{"case": "stream/triad@cuda:0", "metric": "stream.bandwidth", "section": "stream", "point": "stream/triad",
			"model": "H100", "machine": uuid, "unit": "B/s", "better": "higher", "value": v, "low": v * .999, "high": v * 1.001}]}))
E
history() { # NAME STEP BROKEN
	python3 make.py "$2" "$3" | python3 "$tests/fixtures/nights.py" "$tests/data/quick_h200.json" "$1"
	"$program" history add "$1" --db "$1.db" >/dev/null 2>err || complain "no history $1: $(cat err)"
}
expect() { # CODE WORD ARGUMENTS...
	local code=$1 word=$2 got
	shift 2
	"$program" "$@" >out 2>err
	got=$?
	[ $got -eq "$code" ] || complain "$*: exit code $got, not $code: $(cat out err)"
	grep -qE -- "$word" out err || complain "$*: '$word' is missing in $(cat out err)"
}

history quiet 0 0
expect 0 '^Pool of [67] GPUs in the last 20 days \(1[0-9] since 2026-01-01\), H100: 1 metric, GPUs [1-4]\.[0-9] % apart; no change common to these GPUs$' \
	history trend --db quiet.db --fail-on change
grep -q '0 new changes' out && grep -q '^Cannot tell yet for single GPUs' out || complain "quiet pool: $(cat out)"

history slow 0.03 0
expect 1 '^Pool of [67] GPUs .*; stream/triad stream.bandwidth [23]\.[0-9] % worse since 2026-0[23]-' history trend --db slow.db --fail-on change
grep -qE 'NEW 2026-0(2-28|3-0[1-5]): .* worse, on all GPUs of the pool' out || complain "slow pool: $(cat out)"
"$program" history trend --db slow.db --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
pool, = t["pools"]
change, = pool["changes"]
assert pool["gpus_of_last_nights"] in (6, 7) and pool["gpus"] > 9 and pool["figures"] == 70 and 0.01 < pool["gpus_apart"] < 0.04, pool
assert change["found"] == "in the pool" and change["state"] == "NEW" and 1.02 < change["ratio"] < 1.04, change
assert t["new_changes_for_the_worse"] == 1, t["new_changes_for_the_worse"]' || complain "trend --json of a pool"
expect 1 '' history report --db slow.db -o slow.html --fail-on change
grep -q 'Pool of [67] GPUs' slow.html || complain "the page does not name the pool"
"$program" history acknowledge 'new kernel' --db slow.db --case stream/triad --state expected --by anna >out 2>&1 || complain "acknowledge: $(cat out)"
expect 0 'ACKNOWLEDGED' history trend --db slow.db --fail-on change

python3 make.py 0 0 | sed -n 1,9p | python3 "$tests/fixtures/nights.py" "$tests/data/quick_h200.json" few
"$program" history add few --db few.db >/dev/null 2>&1
expect 0 'a change common to these GPUs' history trend --db few.db
grep -q '^Cannot tell yet' out || complain "few nights: $(cat out)"

history broken 0 0.2
"$program" history trend --db broken.db >out
grep -q 'no change common to these GPUs' out || complain "one slow GPU is told of the pool: $(cat out)"
exit $failed
