#!/usr/bin/env bash
# gpuproof doctor: each check by name with a word, the same as JSON, and an exit code that says whether to continue.
set -euo pipefail
program=$1

fail() {
	echo "$1"
	exit 1
}

text=$("$program" doctor) || fail "the CPU can always be measured, but doctor fails: $?"
for subject in 'device host:0' driver memory 'shared memory' 'disk space' 'cpu governor' OpenBLAS; do
	grep -qE "^[-+.!x]  (ok|note|warning|error|missing) +$subject  +[^ ]" <<<"$text" ||
		fail "doctor says nothing about: $subject"
done
tail -n 1 <<<"$text" | grep -q 'gpuproof run quick' || fail "doctor does not say how to continue"

if command -v python3 >/dev/null; then
	"$program" doctor --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
assert answer["measurable"] is True and answer["devices"] >= 1
states = {"ok", "note", "warning", "error", "missing"}
assert all(check["state"] in states and check["subject"] and check["text"] for check in answer["checks"])
' || fail "doctor --json"
fi

code=0
"$program" doctor --colour >/dev/null 2>&1 || code=$?
[ $code -eq 2 ] || fail "unknown argument: exit code $code, not 2"

# With several modules each device gets the one that has code for it, and doctor says why.
choice=$(GPUPROOF_BACKENDS=$(dirname "$program")/tests/choice "$program" doctor)
for line in '^\+  ok +device choice:0 .*backend choice \(choice13\)' '^\+  ok +device choice:1 .*backend choice \(choice11\)' \
	'^\+  ok +module for choice:0 +choice13: machine code for 9.0' '^\+  ok +module for choice:1 +not choice13: .*; choice11: machine code for 3.7' \
	'^!  warning +module for choice:2 +not choice13: .*; not choice11: '; do
	grep -qE "$line" <<<"$choice" || fail "doctor does not say: $line"
done
override=$(GPUPROOF_BACKENDS=$(dirname "$program")/tests/choice "$program" run quick --backend choice11 --dry-run) ||
	fail "a module cannot be asked for by its name"
grep -q 'choice:0' <<<"$override" || fail "the module that was asked for does not get the devices"

# If a module cannot be opened, that is said and the CPU is still checked.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "no shared object" >"$folder"/broken.so
GPUPROOF_BACKENDS=$folder "$program" doctor | grep -E '^\.  note +backend broken' >/dev/null || fail "a broken module is not named"

# Several nodes have a row each, with a fact in which one differs; fewer than three have no majority.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
program=$(realpath "$program")
cd "$folder"
GPUPROOF_BACKENDS=/nowhere "$program" doctor --fleet --simulate-nodes 3 -o three >three.out 2>&1 || fail "doctor --fleet: $(cat three.out)"
for node in n1 n2 n3; do
	grep -qE "^$node +whole +1 x .* $(uname -r)" three.out || fail "doctor --fleet says nothing of $node: $(cat three.out)"
done
tail -1 three.out | grep -qx '3 of 3 nodes are complete; no differences between nodes' || fail "doctor --fleet: drift: $(cat three.out)"
cat >start <<'SH'
#!/bin/sh
# Starts an agent on each of four nodes; one has a setting that the others have not.
for node in a b c d; do
	[ $node = c ] && export NCCL_ALGO=Ring || unset NCCL_ALGO
	GPUPROOF_AGENT_NODE=$node GPUPROOF_BACKENDS=/nowhere "$@" &
done
wait
SH
chmod +x start
GPUPROOF_BACKENDS=/nowhere "$program" doctor --fleet --launch ./start -o four >four.out 2>&1 || fail "doctor --fleet --launch: $(cat four.out)"
grep -qE '^!  drift of env NCCL_ALGO on c  +Ring; missing on 3 of 4 nodes' four.out &&
	tail -1 four.out | grep -qx '4 of 4 nodes are complete; 1 difference from the majority' || fail "doctor --fleet: no drift: $(cat four.out)"
"$program" doctor --fleet --simulate-nodes 2 -o two >two.out 2>&1 || fail "doctor --fleet of two nodes: $(cat two.out)"
tail -1 two.out | grep -q 'too few to find the node that differs' || fail "two nodes have no majority: $(cat two.out)"
for wrong in '--hosts nowhere' '--fleet --json' '--fleet --simulate-nodes 2 --launch true'; do
	code=0
	"$program" doctor $wrong >said 2>&1 || code=$?
	[ $code -eq 2 ] || fail "doctor $wrong: exit code $code, not 2: $(cat said)"
done
code=0
env -u SLURM_JOB_ID "$program" doctor --fleet -o none >said 2>&1 || code=$?
[ $code -ne 0 ] && grep -q -- --hosts said || fail "doctor --fleet without nodes: $code: $(cat said)"
