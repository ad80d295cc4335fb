#!/usr/bin/env bash
# Suites over several nodes, on simulated ones: training steps of every dimension, with verified gradients, victims under
# load, and what a rank costs that is killed or stopped in the middle of one.
set -u
gpuproof=$(realpath "$1")
. "$(dirname "$0")/../fixtures/processes.sh"
dir=$(mktemp -d)
failures=0
trap 'kill -9 $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
GPUPROOF_BACKENDS=$(dirname "$gpuproof")/tests/backends
export GPUPROOF_BACKENDS
unset SLURM_JOB_ID SLURM_STEP_NUM_TASKS OMPI_COMM_WORLD_SIZE PMI_SIZE
export OMP_NUM_THREADS=1

fail() { echo "FAIL: $*"; failures=$((failures + 1)); [ $failures -lt 12 ] || exit 1; }
expect() { grep -qF -- "$1" "$2" || { fail "$3: no '$1' in:"; sed 's/^/    /' "$2"; }; }
json() { python3 -c 'import json,sys; r=json.load(open(sys.argv[1] + "/result.json")); C=r["cases"]; print(eval(sys.argv[2]))' "$1" "$2"; }
same() { [ "$1" = "$2" ] || fail "$3: '$1' instead of '$2'"; }
# hit NAME CONFIG SIGNAL NODES CALL: to a rank of n2, while every rank holds in a call of the second case.
hit() {
	rm -f go
	GPUPROOF_FAKE="hold@$5 until=$dir/go" "$gpuproof" run "$2" -o "$1" --simulate-nodes "$4" --no-report >"$1.out" 2>"$1.err" &
	conductor=$!
	for _ in $(seq 1200); do
		[ ! -s "$1/nodes/n1/groups.jsonl" ] && kill -0 $conductor 2>/dev/null || break
		sleep 0.05
	done
	[ -s "$1/nodes/n1/groups.jsonl" ] || fail "$1: no case of several nodes was finished: $(cat "$1.err")"
	kill "-$3" "$(rank_of "$conductor" n2)"
	touch go
	wait "$conductor"
	same $? 4 "$1: exit code"
	same "$(json "$1" 'sum(c["status"] == "ERROR" for c in C), sum(c["status"] == "OK" for c in C) > 1')" "(1, True)" \
		"$1: one case is lost, the others are measured"
}

# Data, tensor and pipeline parallelism over two nodes of two devices, and grids with each dimension over the network.
cat >parallel.ini <<-'INI'
	[run]
	backend = fake
	[defaults]
	max_time = 20ms
	sample_time = 1us
	min_samples = 5
	max_samples = 8
	[suite parallel]
	sustained_time = 0s
	layers = 64, 96, 32, 48, 10
	batch = 32
	modes = ddp, zero3, tensor, 1f1b, hybrid
	hybrid = 2x2x1, 1x2x2
	microbatches = 2
	devices = 2
	nodes = 1, 2
	search_time = 0
	[suite parallel transformer]
	sustained_time = 0s
	model = transformer
	hidden = 32
	heads = 4
	blocks = 1
	sequence = 16
	vocabulary = 50
	batch = 8
	modes = tensor, hybrid
	hybrid = 8x1x1
	microbatches = 2
	devices = 2
	nodes = all
	search_time = 0
INI
GPUPROOF_FAKE=devices=4 "$gpuproof" run parallel.ini -o parallel --simulate-nodes 2 --no-report >parallel.out 2>parallel.err
same $? 0 "exit code: $(cat parallel.err)"
same "$(json parallel '[c["id"].split("/", 4)[4] for c in C if "nodes=2" in c["id"] and c["verification"]["done"] and c["status"] == "OK"]')" \
	"['ddp/4/25MiB@n1+n2', 'zero3/4@n1+n2', 'tensor/4@n1+n2', '1f1b/4/2@n1+n2', 'hybrid/4/2/2x2x1@n1+n2', 'hybrid/4/2/1x2x2@n1+n2']" \
	"over two nodes, with verified gradients"
same "$(json parallel '[c["devices"] for c in C if "nodes=2" in c["id"]][0]')" "['n1/fake:0', 'n1/fake:2', 'n2/fake:1', 'n2/fake:3']" "all devices"
same "$(json parallel '[c["notes"].split("over the network: ")[1].split(".")[0] for c in C if "nodes=2" in c["id"] and "hybrid" in c["id"]]')" \
	"['data parallelism', 'stages']" "what of a grid is over the network"
same "$(json parallel 'sum("nodes" not in c["parameters"] for c in C)')" 8 "cases of each node by itself keep their ids"
same "$(json parallel '[c["status"] for c in C if "parallel:" in c["id"]]')" "['OK', 'SKIPPED']" "a grid that the group does not fill is told"
same "$(json parallel '[c["reason"] for c in C if c["status"] == "SKIPPED"]')" "['the group has 4 devices, and no grid in hybrid has this number']" "why"

# A rank of a training step that is killed, or stopped.
cat >steps.ini <<-'INI'
	[run]
	backend = fake
	[defaults]
	max_time = 60s
	[suite parallel]
	sustained_time = 0s
	layers = 64, 96, 48, 10
	batch = 48, 96, 144
	iterations = 10
	modes = ddp
	devices = 2
	nodes = all
	search_time = 0
INI
hit killed-step steps.ini KILL 3 all_reduce:700
expect "rank 1 (n2/fake:0) killed by signal 9" killed-step.out "who died"
hit halted-step steps.ini STOP 3 all_reduce:700
expect "rank 1 (n2/fake:0) was stopped by a signal" halted-step.out "who stands still"

# Victims and load: four nodes are needed; every one is measured alone and under load, and who is hurt is named.
cat >congestion.ini <<-'INI'
	[run]
	backend = fake
	[defaults]
	max_time = 40ms
	[suite congestion]
	operations = all_reduce
	sizes = 4KiB
	load_size = 256KiB
	congestors = all_to_all, incast, all_reduce, broadcast
	turns = 2
INI
"$gpuproof" run congestion.ini -o congestion --simulate-nodes 4 --no-report >congestion.out 2>congestion.err
same $? 0 "congestion: exit code: $(cat congestion.err)"
same "$(json congestion 'len(C), sum(c["status"] == "OK" and c["verification"]["done"] for c in C)')" "(8, 8)" "congestion: measured and verified"
same "$(json congestion 'all(abs(c["metrics"]["congestion.slowdown"]["value"] - (lambda m: m("congestion.time") / m("congestion.alone"))(lambda s: sum(c["samples"][s]["values"]) / len(c["samples"][s]["values"]))) < 1e-6 for c in C)')" \
	True "congestion: slowdown is mean over mean"
same "$(json congestion 'all(m["low"] is not None and m["low"] <= m["value"] and (m["high"] is None or m["value"] <= m["high"]) for c in C for n, m in c["metrics"].items() if n in ("congestion.slowdown", "congestion.slowdown_p99"))')" True "congestion: intervals"
same "$(json congestion 'sorted({w.split()[0] for c in C for w in c["notes"].split("own operations: ")[1].split(".  ")[0].split(", ")})')" \
	"['n1', 'n2', 'n3', 'n4']" "congestion: victims are named, other ones in the second turn"
same "$(json congestion 'sorted({f["subject"].split(" of ")[1] for l in ("preflight", "postflight") for f in r[l] if f["subject"].startswith("memory of")})')" \
	"['n1', 'n2', 'n3', 'n4']" "congestion: nodes without cases of their own have findings"
[ -e congestion/nodes/n1/adapters.txt ] || fail "no look at adapters after groups"
# Three nodes of load: the receiver of an incast has more to do than a sender, and makes its pieces longer together with them.
"$gpuproof" run congestion.ini -o incast --simulate-nodes 5 --set congestion.congestors=incast --set congestion.turns=1 \
	--set congestion.operations=send_recv --set congestion.sizes=1KiB --set congestion.load_size=4MiB --no-report >/dev/null 2>incast.err
same $? 0 "congestion: an incast of three: $(cat incast.err)"
same "$(json incast '[(c["status"], c["verification"]["done"]) for c in C]')" "[('OK', True)]" "congestion: an incast of three"
"$gpuproof" run congestion.ini -o few --simulate-nodes 3 --check >few.out 2>&1
same "$?" 1 "congestion: too few nodes: exit code: $(cat few.out)"
[ -s few/fleet.html ] || fail "no page of nodes with a case that is skipped: $(cat few.out)"
same "$(json few '{(c["status"], c["reason"]) for c in C}')" \
	"{('SKIPPED', 'congestion needs 4 nodes (2 victims and 2 that create load); the run has 3')}" "congestion: too few nodes"
sed -e 's/turns = 2/turns = 1/' -e 's/, broadcast//' congestion.ini >loaded.ini
hit killed-load loaded.ini KILL 4 memory_alloc:6
expect "rank 1 (n2/fake:0) killed by signal 9" killed-load.out "who died"
hit halted-load loaded.ini STOP 4 memory_alloc:6
expect "rank 1 (n2/fake:0) was stopped by a signal" halted-load.out "who stands still"

# A collective over all nodes in which one hangs costs its case; who it was is for rounds of pairs to say (test_node_groups.sh).
cat >hung.ini <<-'INI'
	[run]
	backend = host
	case_limit = 4s
	[defaults]
	max_time = 60ms
	[suite collective]
	operations = all_reduce
	sizes = 256KiB
	nodes = all
INI
if ldd "$gpuproof" | grep -qE 'asan|tsan'; then
	echo "not tried: a hanging node, since a sanitizer has to be the first library"
else
	HUNG_NODE=n2 LD_PRELOAD=$(dirname "$gpuproof")/tests/slow_node.so "$gpuproof" run hung.ini -o hung --simulate-nodes 4 --no-report >hung.out 2>hung.err
	same $? 4 "a collective that hangs: exit code: $(cat hung.err)"
	same "$(json hung '[(c["status"], c["reason"].startswith("hung: ")) for c in C]')" "[('ERROR', True)]" "a collective that hangs"
	same "$(json hung '[f["subject"] for f in r.get("postflight", []) if f["subject"].startswith(("node ", "link "))]')" "[]" "no node is accused"
fi

[ $failures = 0 ] || exit 1
