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
