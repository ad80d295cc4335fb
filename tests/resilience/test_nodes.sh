#!/usr/bin/env bash
# A run on several nodes, simulated on this machine: each node that is killed, stopped, refused or without disk is named
# with its reason, the others are measured to the end, and --resume continues what is missing.
set -u
gpuproof=$(realpath "$1")
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/../fixtures/processes.sh"
dir=$(mktemp -d)
failures=0
trap 'kill -9 $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
GPUPROOF_BACKENDS=$(dirname "$gpuproof")/tests/backends; export GPUPROOF_BACKENDS
unset SLURM_JOB_ID SLURM_STEP_NUM_TASKS OMPI_COMM_WORLD_SIZE PMI_SIZE MV2_COMM_WORLD_SIZE FLUX_JOB_SIZE

fail() { echo "FAIL: $*"; failures=$((failures + 1)); [ $failures -lt 12 ] || exit 1; }
# expect TEXT FILE WHAT
expect() { grep -qF -- "$1" "$2" || { fail "$3: no '$1' in:"; sed 's/^/    /' "$2"; }; }
# json FILE EXPRESSION: of the result r
json() { python3 -c 'import json,sys; r=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
same() { [ "$1" = "$2" ] || fail "$3: '$1' instead of '$2'"; }
statuses() { json "$1/result.json" '" ".join(n["name"] + "=" + n["status"] for n in r["nodes"])'; }
# Waits until a file has that many lines with a text.
await_lines() { # FILE COUNT [TEXT]
	for _ in $(seq 1200); do
		[ "$(grep -cF -- "${3:-}" "$1" 2>/dev/null)" -ge "$2" ] 2>/dev/null && return 0
		sleep 0.02
	done
	fail "$1 never had $2 lines with '${3:-}'"
}
# Starts a run of nodes in the background, and waits until each holds in its third case and n1 has said so: begin DIR OPTIONS...
begin() {
	local to=$1 node
	shift
	rm -f go
	GPUPROOF_FAKE="hold@event_record:70 until=$dir/go" "$gpuproof" run long.ini -o "$to" --no-report "$@" >"$to.out" 2>"$to.err" &
	conductor=$!
	for node in $(seq "$2"); do await_lines "$to/nodes/n$node/run.jsonl" 3; done
	await_lines "$to/status.json" 1 "n1: transfer/h2d/pinned/256KiB"
}
finish() { touch go; wait "$conductor"; code=$?; }
# Every node still there has heard of the end: 2 of them.
heard() { await_lines "$1/agents.log" 2 "stopping within"; }

cat >short.ini <<-'INI'
	[run]
	backend = fake
	[defaults]
	max_time = 50ms
	[suite transfer]
	directions = h2d
	sizes = 64KiB, 1MiB
	[limit bandwidth]
	metric = transfer.bandwidth
	min = 1 MB/s
INI
# Each case records 28 events: the third one holds.
cat >long.ini <<-'INI'
	[run]
	backend = fake
	[fleet]
	silent_after = 2s
	[defaults]
	min_samples = 10
	max_samples = 10
	[suite transfer]
	directions = h2d
	memories = pinned
	sizes = 64KiB, 128KiB, 256KiB, 512KiB, 1MiB
INI

# All nodes whole.
"$gpuproof" run short.ini -o whole --simulate-nodes 3 --check >whole.out 2>whole.err
same $? 0 "exit code of a whole run"
same "$(statuses whole)" "n1=OK n2=OK n3=OK" "statuses"
expect "n3/fake:0" whole/result.json "devices have their node's name"
same "$(json whole/result.json 'sorted({c["node"] for c in r["cases"]})')" "['n1', 'n2', 'n3']" "nodes of cases"
same "$(json whole/result.json 'len(r["cases"]) == r["run"]["planned"] == 3 * json.load(open("whole/nodes/n2/result.json"))["run"]["planned"]')" True "cases"
same "$(json whole/result.json 'r["judgement"]["verdict"] in ("PASS", "WARN")')" True "verdict"
grep -q GPUPROOF_AGENT_TOKEN whole/agents.log && fail "the token is in a log"

# One node's result is as it was: it knows no nodes.
"$gpuproof" run short.ini -o one -q --no-report >/dev/null 2>&1
grep -qE '"nodes?":|\[fleet\]' one/result.json && fail "the result of one machine speaks of nodes"

# Two conductors in one folder.
"$gpuproof" run short.ini -o whole --simulate-nodes 2 >again.out 2>&1
same $? 2 "exit code of a second run in a folder"
expect "already contains a run" again.out "second run"

# kill -9 of an agent: lost with the case that was in flight, the others continue; a passed verdict is impossible.
begin agent --simulate-nodes 3
# While it runs, an agent wakes to say once a second that it is alive, and to hear the same: it takes no time from a sample.
slept() { sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$(agent $conductor n2)/status"; }
before=$(slept) since=$(date +%s%N)
sleep 0.5
times=$(($(slept) - before)) most=$((3 + 5 * ($(date +%s%N) - since) / 1000000000))
[ $times -le $most ] || fail "an agent woke $times times, more than $most"
# Each process says in `ps` what it is, where the kernel lets it.
title() { tr '\0' ' ' <"/proc/$1/cmdline" | sed 's/ *$//'; }
node=$(children "$(agent $conductor n2)")
if [ "$(title "$(agent $conductor n2)")" = "gpuproof: agent n2" ]; then
	same "$(title "$node")" "gpuproof: conductor of node n2" "title of a node's conductor"
	same "$(for p in $(children "$node"); do title "$p"; done)" "gpuproof: worker fake:0" "title of a worker"
	same "$(title "$conductor" | cut -d' ' -f2-3)" "run long.ini" "the command line of the conductor"
else
	zcat /proc/config.gz 2>/dev/null | grep -q '^CONFIG_CHECKPOINT_RESTORE=y' && fail "title of an agent: '$(title "$(agent $conductor n2)")'"
fi
kill -9 "$(agent $conductor n1)"
"$gpuproof" run --resume agent >second.out 2>&1
expect "another gpuproof" second.out "a second conductor"
finish
same $code 4 "exit code with a lost node"
same "$(statuses agent)" "n1=LOST n2=OK n3=OK" "an agent was killed"
expect "the agent died" agent.err "reason"
same "$(json agent/result.json 'r["nodes"][0]["lost_at"].startswith("transfer/h2d/pinned/")')" True "lost_at"
same "$(json agent/result.json 'r["nodes"][0]["finished"] >= 1 and sum(c["node"] == "n1" for c in r["cases"]) == r["nodes"][0]["finished"]')" True "what the lost node had finished is kept"
"$gpuproof" check agent --limits short.ini >agent.check 2>&1 && fail "a run with a lost node is accepted"
expect "n1 is LOST" agent.check "check"

# A node that was begun with another config is refused by name, and the others continue.
cp -r agent config
sed -i '1s/512KiB/768KiB/g' config/nodes/n1/run.jsonl
"$gpuproof" run --resume config --no-report >config.out 2>config.err
same $? 4 "exit code with another config"
same "$(statuses config)" "n1=ERROR n2=OK n3=OK" "another config"
expect "was started with a different config than the run in " config.err "another config"

# --resume takes up the missing cases of the missing node, and no other.
cp agent/nodes/n2/run.jsonl n2.before
"$gpuproof" run --resume agent --no-report >resume.out 2>resume.err
same $? 0 "exit code of the continued run"
same "$(statuses agent)" "n1=OK n2=OK n3=OK" "continued"
cmp -s agent/nodes/n2/run.jsonl n2.before || fail "n2 was measured again"
same "$(json agent/result.json 'r["run"]["state"], len(r["cases"]) == r["run"]["planned"]')" "('complete', True)" "continued"

# SIGSTOP of an agent: silent, so lost within silent_after.
begin silent --simulate-nodes 2
kill -STOP "$(agent $conductor n1)"
finish
same $code 4 "exit code with a silent node"
same "$(statuses silent)" "n1=LOST n2=OK" "an agent was stopped"
expect "the agent sent no message for 2 s" silent.err "reason"

# SIGSTOP of the node's own conductor: its agent notices.
begin stopped --simulate-nodes 2
mapfile -t stopped < <(children "$(agent $conductor n2)")
kill -STOP "${stopped[@]}"
finish
same "$(statuses stopped)" "n1=OK n2=ERROR" "the node's conductor was stopped"
expect "stopped by signal 19" stopped.err "reason"

# kill -9 of a worker: its case is an error, its node continues.
begin worker --simulate-nodes 2
process=$(agent $conductor n2)
while [ -n "$(children "$process")" ]; do process=$(children "$process" | tr ' ' '\n' | head -n1); done
kill -9 "$process"
finish
same "$(statuses worker)" "n1=OK n2=OK" "a worker was killed"
same "$(json worker/result.json 'all(c["node"] == "n2" for c in r["cases"] if c["status"] == "ERROR" or c.get("lost_workers"))')" True "only n2 is concerned"
same $code 4 "exit code with a worker killed"

# status.json says how all nodes ended, and --events has the whole run.
"$gpuproof" run short.ini -o events --no-report --simulate-nodes 2 --events lines >events.out 2>&1
same $? 0 "exit code with events"
same "$(python3 -c 'import json; print(sum("testStepStart" in json.loads(l).get("testRunArtifact", json.loads(l).get("testStepArtifact", {})) for l in open("lines")))')" \
	"$(json events/result.json 'len(r["cases"])')" "steps among the events"
"$gpuproof" watch events >watch.out 2>&1
same $? 0 "watch of a whole run"
expect "2 nodes: 2 done, 0 running, 0 not connected yet, 0 lost" watch.out "watch"
"$gpuproof" watch agent >watch.out 2>&1
expect "3 nodes: 3 done" watch.out "watch of a continued run"
"$gpuproof" watch silent >watch.out 2>&1
same $? 4 "watch of a run with a lost node"
expect "2 nodes: 1 done, 0 running, 0 not connected yet, 1 lost" watch.out "watch of a lost node"

# kill -9 of the conductor: agents end, journals stay, --resume finishes.
begin conductor --simulate-nodes 2
agents="$(agent $conductor n1) $(agent $conductor n2)"
for _ in $(seq 100); do
	"$gpuproof" watch conductor --once >watch.out 2>&1 && grep -q "2 running" watch.out && break
	sleep 0.1
done
expect "2 nodes: 0 done, 2 running, 0 not connected yet, 0 lost" watch.out "watch of a run on nodes"
kill -9 "$conductor"
await_lines conductor/agents.log 2 "lost the connection to the conductor"
finish
for p in $agents; do
	for _ in $(seq 200); do [ -e "/proc/$p" ] || break; sleep 0.05; done
	[ ! -e "/proc/$p" ] || fail "agent $p outlives its conductor"
done
expect "lost the connection to the conductor" conductor/agents.log "agents"
"$gpuproof" run --resume conductor --no-report >/dev/null 2>conductor.err2
same $? 0 "exit code after the conductor was killed"
same "$(statuses conductor)" "n1=OK n2=OK" "after the conductor was killed"

# A request to end: all nodes stop after their sample.
begin stop --simulate-nodes 2
kill -TERM "$conductor"
heard stop
finish
same $code 143 "exit code after SIGTERM"
same "$(json stop/result.json 'r["run"]["state"]')" interrupted "state after SIGTERM"
expect "gpuproof run --resume stop" stop.err "how to continue"

# A launcher of one's own: a node without disk, one with a wrong token, one that dies before it calls.
cat >launch.sh <<-'SH'
	#!/bin/bash
	GPUPROOF_AGENT_NODE=good "$@" &
	(ulimit -f 8; GPUPROOF_AGENT_NODE=full "$@") &
	GPUPROOF_AGENT_NODE=wrong GPUPROOF_AGENT_TOKEN=$(printf '0%.0s' {1..64}) "$@" &
	GPUPROOF_AGENT_NODE=good "$@" &
	wait
SH
chmod +x launch.sh
"$gpuproof" run short.ini -o launched --no-report --launch ./launch.sh --set fleet.nodes=4 >launched.out 2>launched.err
same $? 4 "exit code of a launcher's nodes"
same "$(statuses launched)" "full=ERROR good=OK unknown-1=LOST unknown-2=LOST" "nodes of a launcher"
expect "with the node name wrong: wrong token" launched.err "wrong token"
expect "full: ERROR: " launched.err "full disk"
grep -E '^gpuproof: full: ERROR: .*(File too large|cannot write)' -q launched.err || fail "the reason of the full disk"
expect "already has an agent" launched/agents.log "two agents of one node"

# None calls: one line says so for all of them, and one check.
"$gpuproof" run short.ini -o uncalled --no-report --check --launch false --set fleet.nodes=20 >uncalled.out 2>uncalled.err
same $? 1 "exit code of nodes that never call"
same "$(grep -c 'never connected' uncalled.err) $(grep -c '^LOST .*never connected' uncalled.out) $(grep -c 'are LOST: the agent of the node never connected' uncalled.out)" "1 1 1" \
	"nodes lost for one reason: $(cat uncalled.out uncalled.err)"
expect "unknown-8 and 12 more: LOST: the agent of the node never connected" uncalled.err "names of many"

# Another build, and what is no agent: refused by name; the address is open to all of this machine.
cat >other.sh <<-'SH'
	#!/bin/bash
	GPUPROOF_AGENT_NODE=good "$@" &
	port=${GPUPROOF_AGENT_ADDRESS##*:}
	exec 3<>"/dev/tcp/127.0.0.1/$port" 4<>"/dev/tcp/127.0.0.1/$port"
	printf '%-64s%-63s\n{"kind":"hello","protocol":1,"build":"0.0.1","node":"old"}\n' "$GPUPROOF_AGENT_TOKEN" old >&3
	head -n1 <&3
	printf 'GET / HTTP/1.0\r\n\r\n' >&4
	cat <&4
	wait
SH
chmod +x other.sh
"$gpuproof" run short.ini -o other --no-report --launch ./other.sh >other.out 2>other.err
same $? 4 "exit code with another build"
same "$(statuses other)" "good=OK old=ERROR" "another build"
expect "the agent is gpuproof 0.0.1" other.err "another build"
expect "install the same version on all nodes" other/agents.log "the other build is told"

# Fewer than min_nodes: the rest is stopped.
begin few --simulate-nodes 3 --set 'fleet.min_nodes=100 %'
kill -9 "$(agent $conductor n1)"
heard few
finish
same $code 4 "exit code with too few nodes"
expect "min_nodes requires 3" few.err "too few nodes"
same "$(json few/result.json 'r["run"]["state"]')" incomplete "state with too few nodes"

# A dry run says what the nodes would do, and what that costs.
"$gpuproof" run fabric --backend host --simulate-nodes 5 --dry-run >dry.out 2>&1
same $? 0 "exit code of a dry run"
grep -qE "^5 nodes like this one: 5 agents on this machine" dry.out || fail "nodes of a dry run: $(cat dry.out)"
grep -qE "^random pairs  +3  +6 " dry.out || fail "pairs of a dry run: $(cat dry.out)"
grep -qE "^groups of 2 nodes  +2  +3 " dry.out || fail "groups of a dry run: $(cat dry.out)"
grep -qE "node-hours" dry.out || fail "costs of a dry run: $(cat dry.out)"
"$gpuproof" run fabric --backend host --dry-run >dry.out 2>&1
same $? 0 "exit code of a dry run without nodes"
expect "Unknown number of nodes: [fleet]: no Slurm allocation" dry.out "a dry run without nodes"

# Refusals.
"$gpuproof" agent >agent.out 2>&1
same $? 2 "an agent by hand"
SLURM_STEP_NUM_TASKS=2 "$gpuproof" run short.ini -o copies >copies.out 2>&1
same $? 2 "copies"
expect "srun has started 2 copies" copies.out "copies"
[ ! -e copies ] || fail "a copy has begun a run"
expect "gpuproof run fleet in the batch script, without srun" copies.out "the right command for srun"
for launcher in OMPI_COMM_WORLD_SIZE:mpirun PMI_SIZE:mpirun MV2_COMM_WORLD_SIZE:mpirun FLUX_JOB_SIZE:flux; do
	env "${launcher%:*}=4" "$gpuproof" run short.ini -o copies >copies.out 2>&1
	same $? 2 "copies by ${launcher%:*}"
	expect "${launcher#*:} has started 4 copies" copies.out "copies by ${launcher%:*}"
	[ ! -e copies ] || fail "a copy has begun a run"
done
expect "gpuproof run fleet --launch 'flux run --nodes=4 --tasks-per-node=1'" copies.out "the right command for flux"
OMPI_COMM_WORLD_SIZE=1 "$gpuproof" run short.ini -o single --no-report >single.out 2>&1
same $? 0 "one copy is a run"
"$gpuproof" run short.ini -o none --set fleet.launcher=auto >none.out 2>&1
same $? 2 "no way to reach nodes"
expect "simulate-nodes" none.out "no way to reach nodes"
printf 'a\nb\na\n' >hosts
"$gpuproof" run short.ini -o hosts.run --hosts hosts >hosts.out 2>&1
same $? 2 "a host twice"
expect "hosts:3: a is listed twice" hosts.out "a host twice"
"$gpuproof" run short.ini -o bad --simulate-nodes 2 --set fleet.min_nodes=many >bad.out 2>&1
same $? 2 "min_nodes"

# Findings of doctor about a node's device count in the verdict, under the name that the device has now.
echo 0 >rows
GPUPROOF_FAKE="devices=2 rows=$dir/rows" \
	"$gpuproof" run short.ini -o rows.run --check --simulate-nodes 2 >rows.out 2>&1
expect "the run: remapped rows n2/fake:1: " rows.out "remapped rows of a node"
for list in preflight postflight; do
	same "$(json rows.run/result.json "sum(f['subject'] == 'remapped rows n2/fake:1' for f in r['$list'])")" 1 "$list of a node"
done
expect "cause: gpu-memory-error" rows.out "cause of a node's finding"

# Limits select by the backend, and by what a device is called on its node.
sed '$a where = backend:fake, device:fake:0' short.ini >where.ini
GPUPROOF_FAKE=devices=2 \
	"$gpuproof" run where.ini -o where.run --check --simulate-nodes 1 >where.out 2>&1
same "$(json where.run/result.json "sorted({c['devices'] for c in r['judgement']['checks'] if c['verdict'] == 'PASS'})")" \
	"['n1/fake:0']" "devices that a limit selects"

# A node that is set up otherwise than most is named with what differs.
cat >drift.sh <<-'SH'
	#!/bin/bash
	for node in d1 d2 d4; do GPUPROOF_AGENT_NODE=$node "$@" & done
	NCCL_ALGO=Ring GPUPROOF_AGENT_NODE=d3 "$@" &
	wait
SH
chmod +x drift.sh
"$gpuproof" run short.ini -o drift --check --no-report --launch ./drift.sh --set fleet.nodes=4 >drift.out 2>drift.err
expect "drift of env NCCL_ALGO on d3: Ring; missing on 3 of 4 nodes" drift.out "drift"
same "$(json drift/result.json "[c['devices'] for c in r['judgement']['checks'] if 'drift of' in c['reason']]")" "['d3/fake:0']" \
	"device of the node that drifted"
grep -q "drift of " whole/result.json && fail "nodes that are alike drift"
sed -i 's/NCCL_ALGO=Ring/GPUPROOF_FAKE="vbios=96.00.61.00.01"/' drift.sh
GPUPROOF_FAKE="vbios=96.00.74.00.01" \
	"$gpuproof" run short.ini -o vbios --no-report --launch ./drift.sh --set fleet.nodes=4 >vbios.out 2>&1
same "$(statuses vbios)" "d1=OK d2=OK d3=OK d4=OK" "each node has all of its own devices"
expect "drift of VBIOS of Scripted device on d3" vbios/result.json "drift of firmware"
expect "96.00.61.00.01, but 96.00.74.00.01 on 3 of 4 nodes" vbios/result.json "drift of firmware"

# A slow node is found by its fleet, though it is alone with its device; what one launch does not decide is measured again on
# the nodes concerned, and no other.
sed "s/^directions/memories = pinned\n&/; /^.limit/,\$d" short.ini >fleet.ini
printf '[limit fleet]\nmetric = transfer.bandwidth\nfleet = 3 %%\nlaunch_spread = 0.2 %%\n' >>fleet.ini
fleet() { # DIR SLOWNESS: node n3 is that much slower
	GPUPROOF_FAKE="devices=4 slow=2:$2" \
		"$gpuproof" run fleet.ini -o "$1" --check --no-report --simulate-nodes 4 >"$1.out" 2>"$1.err"
}
fails() { json "$1/result.json" "sorted({c['devices'] for c in r['judgement']['checks'] if c['verdict'] == 'FAIL'})"; }
fleet slow "10%"
same $? 1 "exit code with a slow node"
same "$(fails slow)" "['n3/fake:2']" "the slow node"
expect "worse than the median of 3 devices of the same model on 4 nodes" slow/result.json "reason of the slow node"
expect "4 more launches" slow.err "suspects are measured again"
[ -e slow/nodes/n3/launch-5/run.jsonl ] || fail "n3 was not measured again"
[ ! -e slow/nodes/n3/launch-6 ] && [ ! -e slow/nodes/n3/confirm ] || fail "n3 was measured more often than its verdict asks for"
[ ! -e slow/nodes/n1/launch-2 ] || fail "n1 was measured again, which is no suspect"
same "$(json slow/result.json "sorted({c['launches'] for c in r['judgement']['checks'] if c['devices'] == 'n3/fake:2' and c['comparison'] == 'fleet'})")" \
	"[5]" "launches of a suspect"
fleet even "0%"
same $? 0 "exit code of an even fleet"
same "$(fails even)" "[]" "an even fleet"

# Commands that drain what was found, and nothing from outside that a shell would take.
"$gpuproof" fleet drain slow >drain.out 2>drain.err
same $? 0 "exit code of drain"
grep -qxE "scontrol update NodeName=n3 State=DRAIN Reason='gpuproof: pcie-degraded: n3/fake:2 fails .limit fleet. and 1 more'" drain.out ||
	fail "drain: $(cat drain.out drain.err)"
same "$(wc -l <drain.out)" 1 "nodes to drain"
"$gpuproof" fleet drain silent >drain.out 2>&1
expect "scontrol update NodeName=n1 State=DRAIN Reason='gpuproof: lost at transfer/" drain.out "a lost node"
"$gpuproof" fleet drain even >drain.out 2>drain.err
expect "no reason to drain any of the 4 nodes" drain.err "an even fleet"
[ ! -s drain.out ] || fail "a good node is drained"
"$gpuproof" fleet drain one >drain.out 2>&1
same $? 2 "drain of one machine"
sed "s/the agent sent no message for 2 s/\$(touch hacked)'; touch hacked; '/" silent/result.json >evil.json
"$gpuproof" fleet drain evil.json >drain.out 2>&1
PATH=$dir/none:/usr/bin:/bin sh drain.out >/dev/null 2>&1
[ ! -e hacked ] || fail "a reason reached the shell"
expect "lost at" drain.out "a reason with characters of a shell"
sed 's/"n1"/"n1;touch hacked"/g' silent/result.json >evil.json
"$gpuproof" fleet drain evil.json >drain.out 2>&1
same $? 2 "a name with characters of a shell"

# A node whose results stay on a disk of its own was not measured, whatever its agent says.
cat >elsewhere.sh <<-SH
	#!/bin/sh
	GPUPROOF_AGENT_NODE=n1 "\$@" &
	export GPUPROOF_AGENT_NODE=n2
	mkdir -p "$dir/elsewhere/nodes/n2"
	unshare -rm sh -c 'mount -t tmpfs none "$dir/elsewhere/nodes/n2" && exec "\$@"' x "\$@" &
	wait
SH
chmod +x elsewhere.sh
if unshare -rm mount -t tmpfs none "$dir" 2>/dev/null; then
	"$gpuproof" run short.ini -o elsewhere --launch ./elsewhere.sh --set fleet.nodes=2 --check --no-report >elsewhere.out 2>&1
	same $? 4 "exit code with results elsewhere"
	same "$(statuses elsewhere)" "n1=OK n2=ERROR" "results elsewhere"
	same "$(json elsewhere/result.json '[(n["planned"], n["finished"]) for n in r["nodes"]], r["run"]["planned"], r["run"]["state"]')" \
		"([(4, 4), (4, 0)], 8, 'incomplete')" "what is missing"
	expect "the results of the node are not in $dir/elsewhere/nodes/n2; check that all nodes share this directory" elsewhere/result.json "where they should be"
else
	echo "not tried: results elsewhere, since no name space can be made here"
fi
# The same of an agent that only says that it is done.
cat >says.py <<-'PY'
	import json, os, re, socket, sys
	host, port = os.environ["GPUPROOF_AGENT_ADDRESS"].split(",")[-1].rsplit(":", 1)
	s = socket.create_connection((host, int(port)))
	s.sendall((os.environ["GPUPROOF_AGENT_TOKEN"].ljust(64) + "n1".ljust(63) + "\n" + json.dumps({"kind": "hello",
	           "protocol": int(sys.argv[1]), "build": sys.argv[2], "node": "n1"}) + '\n{"kind":"done","state":"complete"}\n').encode())
	while s.recv(65536):
	    pass
PY
protocol=$(sed -n 's/.*define FLEET_PROTOCOL //p' "$source/src/fleet/wire/message.h")
printf '#!/bin/sh\nexec python3 says.py %s "%s"\n' "$protocol" "$("$gpuproof" version | cut -d' ' -f2)" >says.sh && chmod +x says.sh
"$gpuproof" run short.ini -o says --launch ./says.sh --set fleet.nodes=1 --no-report >says.out 2>&1
same $? 4 "exit code of a node that only says so"
same "$(statuses says)" "n1=ERROR" "a node that only says that it is done"

# Only the interface that was asked for listens; callers without the token are closed, counted and not parsed; a text is a line.
cat >hostile.py <<-'PY'
	import json, os, re, socket, sys, threading
	host, port = os.environ["GPUPROOF_AGENT_ADDRESS"].split(",")[0].rsplit(":", 1)
	token = os.environ["GPUPROOF_AGENT_TOKEN"]
	where = [l.split()[1] for l in open("/proc/net/tcp") if l.split()[1].endswith(":%04X" % int(port)) and l.split()[3] == "0A"]
	open("listens", "w").write(" ".join(where))
	call = lambda: socket.create_connection((host, int(port)))
	silent = [call() for _ in range(300)]
	for i in range(40):
	    s = call()
	    try:
	        s.sendall(("0" * 64 + "stranger".ljust(63) + "\n").encode() + b"x" * 2000000 * (i == 0))
	    except OSError:
	        pass
	s = call()
	def say(text):
	    s.sendall(text.encode())
	say(token.ljust(64) + "n1".ljust(63) + "\n" + json.dumps({"kind": "hello", "protocol": int(sys.argv[1]), "build": sys.argv[2], "node": "n1"}) + "\n")
	say(json.dumps({"kind": "failed", "text": "no disk\nleft\u202e " + "x" * 100000}) + "\n")
	try:
	    while s.recv(65536):
	        pass
	except OSError:
	    pass
PY
printf '#!/bin/sh\nexec python3 hostile.py %s "%s"\n' "$protocol" "$("$gpuproof" version | cut -d' ' -f2)" >hostile.sh && chmod +x hostile.sh
"$gpuproof" run short.ini -o hostile --launch ./hostile.sh --set fleet.nodes=1 --set fleet.interface=lo --no-report >hostile.out 2>hostile.err
same $? 4 "exit code of a node that fails"
same "$(cut -d: -f1 listens)" "0100007F" "the interface that listens"
same "$(json hostile/result.json 'r["nodes"][0]["reason"][:14], len(r["nodes"][0]["reason"]) < 600')" "('no disk left? ', True)" "a reason is one line"
expect "connections with a wrong token, the last from 127.0.0.1" hostile.err "strangers are counted"
[ "$(grep -c 'token' hostile.err)" -le 4 ] || fail "a line for each stranger: $(grep -c token hostile.err)"
"$gpuproof" run short.ini -o nowhere --launch ./hostile.sh --set fleet.nodes=1 --set fleet.interface=nowhere0 --no-report >nowhere.out 2>nowhere.err
same $? 2 "exit code of an interface that is not there"
expect "interface nowhere0 does not exist or has no IPv4 or global IPv6 address; interfaces: " nowhere.err "interfaces are named"

# IPv6: conductor, hub and mesh listen on the address that was asked for alone, and nodes meet there.
cat >listeners.py <<-'PY'
	import os, sys, time
	run, seen = int(sys.argv[1]), set()
	def family():
	    parents, found = {}, {run}
	    for p in filter(str.isdigit, os.listdir("/proc")):
	        try:
	            parents[int(p)] = int(open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()[1])
	        except OSError:
	            pass
	    while new := {p for p, parent in parents.items() if parent in found} - found:
	        found |= new
	    return found
	while os.path.exists(f"/proc/{run}/fd") and open(f"/proc/{run}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
	    sockets = set()
	    for p in family():
	        try:
	            sockets |= {os.readlink(f"/proc/{p}/fd/{fd}") for fd in os.listdir(f"/proc/{p}/fd")}
	        except OSError:
	            pass
	    rows = [line.split() for name in ("tcp", "tcp6") for line in open("/proc/net/" + name)]
	    seen |= {row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}
	    time.sleep(0.005)
	print(" ".join(sorted({s.split(":")[0] for s in seen})), len(seen) >= 1)
PY
printf '#!/bin/sh\nGPUPROOF_AGENT_NODE=n1 "$@" &\nGPUPROOF_AGENT_NODE=n2 "$@" &\nwait\n' >two.sh && chmod +x two.sh
cat >six.ini <<-'INI'
	[run]
	backend = host
	[defaults]
	max_time = 30ms
	[suite collective]
	operations = all_reduce, broadcast
	sizes = 64KiB
	nodes = all
INI
if grep -q '^0\{31\}1 ' /proc/net/if_inet6 2>/dev/null; then
	"$gpuproof" run six.ini -o six --launch ./two.sh --set fleet.nodes=2 --set fleet.interface=::1 --no-report >six.out 2>&1 &
	conductor=$!
	python3 listeners.py $conductor >six.listens 2>six.err
	wait $conductor
	same $? 0 "exit code over IPv6: $(cat six.out)"
	same "$(statuses six)" "n1=OK n2=OK" "nodes over IPv6"
	same "$(json six/result.json 'sum(c["status"] == "OK" for c in r["cases"])')" 2 "cases of both nodes over IPv6"
	same "$(cat six.listens)" "00000000000000000000000001000000 True" "what listens over IPv6: $(cat six.err)"
else
	echo "not tried: IPv6, since ::1 is no address of this machine"
fi

# A journal without its first line, of a node that was killed or had no disk: the node begins anew, the others keep what they have.
"$gpuproof" run short.ini -o torn --simulate-nodes 2 --no-report -q >/dev/null 2>&1
rm torn/result.json torn/nodes/n2/result.json torn/nodes/n2/summary.json
cp torn/nodes/n1/run.jsonl kept
for content in '' '{"journal":1,"pl'; do
	printf '%s' "$content" >torn/nodes/n2/run.jsonl
	"$gpuproof" run --resume torn --no-report >torn.out 2>&1
	same $? 0 "resume with a torn journal: $(cat torn.out)"
	same "$(statuses torn)" "n1=OK n2=OK" "resume with a torn journal"
	cmp -s torn/nodes/n1/run.jsonl kept || fail "a whole node was measured again"
	rm torn/nodes/n2/result.json torn/nodes/n2/summary.json
done

# Hosts that would be one node, addresses, and names that Slurm takes for all nodes are refused by name.
for hosts in 'node1.a node1.b|:2: node1 is listed twice (only the part before the first dot counts)' '10.0.0.1 10.0.0.2|:1: 10.0.0.1 is an address' \
	'fd00::1 fd00::2|:1: fd00::1 is an address' "ALL n2|:1: invalid host name 'ALL'" "n[1-2]|:1: invalid host name 'n[1-2]'"; do
	tr ' ' '\n' <<<"${hosts%%|*}" >hosts
	"$gpuproof" run short.ini -o hosted --hosts hosts >hosted.out 2>&1
	same $? 2 "hosts ${hosts%%|*}"
	expect "${hosts#*|}" hosted.out "hosts ${hosts%%|*}"
done
sed 's/"n1"/"ALL"/g; s#n1/#ALL/#g' silent/result.json >evil.json
"$gpuproof" fleet drain evil.json >drain.out 2>&1
same $? 2 "a node that Slurm takes for all of them"

# Ids name the nodes: no anonymised result with them leaves the machine.
"$gpuproof" export result few --anonymise -o few.anonymised >anonymised.out 2>&1
same $? 3 "several nodes anonymised"
expect "cannot be anonymised" anonymised.out "several nodes anonymised"
[ ! -e few.anonymised ] || fail "an anonymised result with names of nodes"
[ $failures = 0 ] || echo "$failures failures"
exit $((failures > 0))
