#!/usr/bin/env bash
# A conductor of many nodes, whose agents are fake: the slow, the dead, the silent and the drifting one are named, and no other.
set -u
gpuproof=$1
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
failures=0
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
unset SLURM_JOB_ID SLURM_STEP_NUM_TASKS OMPI_COMM_WORLD_SIZE PMI_SIZE
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }
same() { [ "$1" = "$2" ] || fail "$3: '$1' instead of '$2'"; }
# json EXPRESSION: of the result r
document=many/result.json
json() { python3 -c 'import json,sys; r=json.load(open(sys.argv[2])); print(eval(sys.argv[1]))' "$1" "$document"; }

cat >many.ini <<-'INI'
	[run]
	backend = fake
	[suite transfer]
	directions = h2d, d2h
	memories = pinned
	sizes = 1MiB, 4MiB
	[limit fleet]
	metric = transfer.bandwidth
	fleet = 3 %
INI
GPUPROOF_BACKENDS=$(dirname "$gpuproof")/tests/backends "$gpuproof" run many.ini -o one --simulate-nodes 1 --no-report -q \
	>one.out 2>&1 || { cat one.out; exit 1; }
printf '#!/bin/sh\nexec python3 "%s" 90 "%s"\n' "$here/fake_agents.py" "$dir/one/nodes/n1" >launch.sh
chmod +x launch.sh
"$gpuproof" run many.ini -o many --no-report -q --launch ./launch.sh --set fleet.nodes=90 --set fleet.silent_after=5s >many.out 2>many.err
same $? 4 "exit code with lost nodes"
same "$(json '[n["name"] + "=" + n["status"] for n in r["nodes"] if n["status"] != "OK"]')" "['f00030=LOST', 'f00045=LOST']" "lost nodes"
same "$(json '[n["lost_at"] for n in r["nodes"] if n["name"] == "f00045"]')" "['case in flight']" "where a node died"
grep -q "f00030: LOST.*the agent sent no message for 5 s" many.err || fail "the silent node: $(cat many.err)"
"$gpuproof" check many --limits many.ini -o judged.json >check.out 2>&1
same $? 1 "exit code of the check"
document=judged.json
same "$(json 'sorted({c["devices"] for c in r["judgement"]["checks"] if c["verdict"] == "FAIL" and c["devices"]})')" "['f00007/fake:0']" "the slow node"
same "$(json '[c["devices"] for c in r["judgement"]["checks"] if "drift of" in c["reason"]]')" "['f00022/fake:0']" "the drifting node"
same "$("$gpuproof" fleet drain judged.json 2>/dev/null | sed 's/.*NodeName=\([^ ]*\).*/\1/' | tr '\n' ' ')" "f00007 f00030 f00045 " "nodes to drain"
[ $failures = 0 ] || { echo "$failures failures"; tail -n 5 many/agents.log; }
exit $((failures > 0))
