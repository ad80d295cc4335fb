#!/usr/bin/env bash
# Cases of several nodes together, on simulated nodes: collectives over groups, pairs that name a slow node, and each way
# in which a rank or a node can fail in the middle of one.
set -u
gpuproof=$(realpath "$1")
shim=$(dirname "$gpuproof")/tests/slow_node.so
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
# begin NAME [OPTION...]: starts long.ini on three nodes, and waits until a case of all of them is done; in the second one every rank holds.
begin() {
	rm -f go
	GPUPROOF_FAKE="hold@event_record:70 until=$dir/go" "$gpuproof" run long.ini -o "$1" --simulate-nodes 3 --no-report "${@:2}" >"$1.out" 2>"$1.err" &
	conductor=$!
	for _ in $(seq 600); do
		[ -s "$1/nodes/n1/groups.jsonl" ] && return
		kill -0 $conductor 2>/dev/null || break
		sleep 0.05
	done
	fail "$1: no case of several nodes was finished: $(cat "$1.err")"
}
finish() { touch go; wait "$conductor"; code=$?; }
# Continues a run: the case that was not measured is, and each case is in the leader's journal once, as a whole line.
resume() {
	"$gpuproof" run --resume "$1" --no-report >"$1.out" 2>"$1.err"
	same $? 0 "$1: exit code of the continuation"
	same "$(json "$1" '[c["status"] for c in C]')" "['OK', 'OK', 'OK']" "$1: cases"
	same "$(python3 -c 'import json,sys; L=[json.loads(l) for l in open(sys.argv[1])]; C=[l["case"]["id"] for l in L if "case" in l]; print(len(C), len(set(C)))' \
		"$1/nodes/n1/groups.jsonl")" "3 3" "$1: cases in the journal"
}

cat >groups.ini <<-'INI'
	[run]
	backend = host
	[defaults]
	max_time = 30ms
	[suite transfer]
	directions = h2d
	memories = pinned
	sizes = 64KiB
	[suite collective]
	operations = all_reduce, all_gather, reduce_scatter, broadcast, reduce, send_recv, all_to_all
	sizes = 64KiB
	nodes = 2, all, 9
INI
cat >long.ini <<-'INI'
	[run]
	backend = fake
	[fleet]
	silent_after = 2s
	[defaults]
	min_samples = 20
	max_samples = 20
	[suite collective]
	operations = all_reduce
	sizes = 64KiB, 128KiB, 256KiB
	nodes = all
INI
cat >long_pairs.ini <<-'INI'
	[run]
	backend = host
	[fleet]
	silent_after = 500ms
	[defaults]
	max_time = 300s
	target = 0.001 %
	min_samples = 2000
	max_samples = 1000000
	[suite pairs]
	sizes = 64KiB
	directions = forth
	rounds = 1
	confirm = 0
INI

# Every collective over two nodes and over all three, verified; the third node is in a group of two, too.
"$gpuproof" run groups.ini -o groups --simulate-nodes 3 --no-report >groups.out 2>groups.err
same $? 0 "exit code"
same "$(json groups 'sum(c["status"] == "OK" for c in C), sum("nodes=2" in c["id"] for c in C), sum("nodes=all" in c["id"] for c in C)')" "(24, 14, 7)" "cases"
same "$(json groups 'sorted({c["id"].split("@")[1] for c in C if "collective" in c["id"]})')" "['n1+n2', 'n1+n2+n3', 'n2+n3']" "groups"
same "$(json groups 'all(c["verification"]["done"] for c in C)')" True "verified"
same "$(json groups 'len(C) == r["run"]["planned"]')" True "planned"
same "$(json groups '[f["subject"] for f in r["postflight"] if "nodes" in f["subject"]]')" "['nodes = 9']" "a number of nodes that is not there is told"
cp groups/nodes/n1/groups.jsonl before
"$gpuproof" run --resume groups --no-report >/dev/null 2>&1
same $? 0 "resumed"
cmp -s groups/nodes/n1/groups.jsonl before || fail "finished cases were measured again"
grep -rqE '[0-9a-f]{64}' groups/nodes/*/groups.log groups/agents.log && fail "a token is in a log"

# With and without GPUDirect RDMA: a device of the host has neither; ids of the default stay as they are.
cat >direct.ini <<-'INI'
	[run]
	backend = host
	[defaults]
	max_time = 20ms
	[suite collective]
	operations = all_reduce
	nodes = all
	sizes = 64KiB
	gpudirect = off, default, on
INI
"$gpuproof" run direct.ini -o direct --simulate-nodes 2 --no-report >direct.out 2>&1
same "$(json direct '[(c["id"].split("/")[1], c["status"]) for c in C]')" "[('off', 'SKIPPED'), ('nodes=all', 'OK'), ('on', 'SKIPPED')]" "GPUDirect RDMA"
expect "GPUDirect RDMA needs GPU memory, and n1/host:0 is a CPU" direct/result.json "why it is skipped"

# Without nodes there is nothing to do, and the message says what to do.
"$gpuproof" run fabric --set run.backend=host -o none >none.out 2>&1
same $? 2 "exit code without nodes"

# A node whose sends are slow is found and named with the direction; no other one is.
cat >pairs.ini <<-'INI'
	[run]
	backend = host
	[defaults]
	max_time = 60ms
	[suite pairs]
	sizes = 256KiB
	margin = 97 %
INI
if ldd "$gpuproof" | grep -qE 'asan|tsan'; then
	echo "not tried: a slow node, since a sanitizer has to be the first library"
else
	SLOW_NODE=n3 LD_PRELOAD=$shim "$gpuproof" run pairs.ini -o slow --simulate-nodes 4 --check >slow.out 2>slow.err
	[ $? = 1 ] || fail "a run with a slow node is accepted"
	same "$(json slow '[f["subject"] for f in r["postflight"] if f["subject"].startswith(("node", "link"))]')" "['node n3']" "who is accused"
	expect "slow only when it sends" slow.err "direction"
	same "$(json slow 'sorted({c["parameters"]["round"] for c in C})')" "[1, 2, 3, 4, 5]" "rounds, and those of the suspect again"
	# A busy machine can bring other nodes near the margin: these are in further pairs of the rounds.
	same "$(json slow 'sorted({c["parameters"]["round"] for c in C if c["parameters"]["round"] > 3 and "n3" in c["id"].split("@")[1]})')" \
		"[4, 5]" "confirmations are the suspect's"
fi
"$gpuproof" run pairs.ini -o healthy --simulate-nodes 3 --no-report --set pairs.rounds=all >healthy.out 2>healthy.err
same "$(json healthy 'len({c["id"].split("@")[1] for c in C}), all(c["status"] == "OK" for c in C)')" "(3, True)" "every pair of nodes once"

# kill -9 of a rank: the case in flight is an error that names rank and node, the others continue.
begin killed
rank=$(rank_of "$conductor" n2)
kill -9 "$rank"
finish
same $code 4 "exit code with a killed rank"
same "$(json killed 'sum(c["status"] == "ERROR" for c in C), sum(c["status"] == "OK" for c in C)')" "(1, 2)" "one case is lost"
expect "rank 1 (n2/fake:0) killed by signal 9" killed.out "who died"
failed='[(c["end"], c["failed_rank"], c["failed_device"], c["failed_node"]) for c in C if c["status"] == "ERROR"]'
same "$(json killed "$failed")" "[('crashed', 1, 'n2/fake:0', 'n2')]" "where it failed, as members"
printf '{"case":{"suite":"coll' >>killed/nodes/n1/groups.jsonl # as a leader leaves it that is killed while it writes
resume killed

# SIGTERM, of which the leader's agent hears last: its ranks see that others have gone, which is no error of the case.
begin ended --set fleet.silent_after=60s
leader=$(agent "$conductor" n1)
kill -STOP "$leader"
kill -TERM "$conductor"
for _ in $(seq 600); do
	[ "$(wc -l <ended/nodes/n1/groups.jsonl)" = 1 ] || break
	sleep 0.05
done
kill -CONT "$leader"
finish
same $code 143 "exit code after SIGTERM"
resume ended

# SIGSTOP of a rank: found by its own node, within seconds.
begin halted
rank=$(rank_of "$conductor" n3)
kill -STOP "$rank"
finish
expect "rank 2 (n3/fake:0) was stopped by a signal" halted.out "who stands still"
same "$(json halted "$failed")" "[('crashed', 2, 'n3/fake:0', 'n3')]" "one case is lost, and where"

# SIGSTOP of a node's process of a group, which has a rank: its agent ends it, and then sleeps while the other group continues,
# for minutes: it is stopped when the agent was looked at.
"$gpuproof" run long_pairs.ini -o asleep --simulate-nodes 4 --no-report >asleep.out 2>&1 &
conductor=$!
group=
while kill -0 $conductor 2>/dev/null; do
	node=$(agent $conductor n2)
	group=$(children "$node")
	# The log is begun by the process of the group, after that of its own cases has ended.
	[ -e asleep/nodes/n2/groups.log ] && [ -n "$(children "$group")" ] && kill -STOP "$group" && break
done
while [ -d "/proc/$group" ] && kill -0 $conductor 2>/dev/null; do sleep 0.05; done
used() { awk '{ print $14 + $15 }' "/proc/$node/stat"; } # CPU time in ticks; the name has no space
before=$(used) && sleep 1 && ticks=$(($(used) - before))
[ "${ticks:-99}" -le $(($(getconf CLK_TCK) / 5)) ] || fail "an agent used ${ticks:-no known number of} ticks of CPU in a second of waiting"
kill -TERM $conductor
finish
expect "was stopped by signal 19 for 0.5 s" asleep/result.json "why a group ended"

# kill -9 of an agent in the middle: the node is lost, the cases are measured again without it.
begin lost
kill -9 "$(agent "$conductor" n2)"
finish
same $code 4 "exit code with a lost node"
same "$(json lost '" ".join(n["status"] for n in r["nodes"])')" "OK LOST OK" "statuses"
same "$(json lost '{c["id"].split("@")[1] for c in C if c["status"] == "OK"} >= {"n1+n3"}')" True "measured without it"
expect "node n2 was lost: the agent died" lost.out "reason"

[ $failures = 0 ] || exit 1
