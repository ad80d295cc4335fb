#!/usr/bin/env bash
# Products on all devices at once, on the backend `fake`: a slow one is named as if each had been alone, and what a limit
# doubts is measured again without the others; what warns or may warn once, on that device.
set -uo pipefail
program=$(realpath "$1")
export GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
cat > products.ini <<-INI
	[defaults]
	min_samples = 6
	max_samples = 6
	sample_time = 100us
	[suite matmul]
	precisions = fp32
	sizes = 128
	concurrent = yes
	[limit products]
	metric = matmul.throughput
	outlier_margin = 3 %
INI
sed 's/^outlier_margin = .*/outlier_margin = 10 %\noutlier_margin_warn = 3 %/' products.ini > warning.ini

export GPUPROOF_FAKE="devices=4"
"$program" run products.ini --backend fake --check -o good --no-report > log 2>&1 || { fail "four good devices"; cat log; }
[ "$(grep -c 'Sampled together with 3 other devices' good/result.json)" -ge 1 ] || fail "not sampled together"
[ ! -e good/launch-2 ] || fail "good devices are measured again"

export GPUPROOF_FAKE="devices=4 slow=2:8%"
"$program" run products.ini --backend fake --check -o slow --no-report > log 2>&1
[ $? = 1 ] || { fail "a slow device: not exit code 1"; cat log; }
grep -q 'FAKE-2: fails products' log || { fail "the slow device is not named"; cat log; }
grep -q '"together": \[' slow/result.json || fail "what was sampled together at first is not kept"
grep -q 'Sampled together' slow/run.jsonl || fail "not sampled together at first"
for launch in 2 3 4 5; do
	[ -s slow/launch-$launch/result.json ] || fail "launch $launch is missing"
	! grep -q 'Sampled together' slow/launch-$launch/result.json || fail "launch $launch is not of each device by itself"
done

# asks FILE EXPRESSION EXPECTED: of the result r, its case c and its check k of device 2
asks() {
	local found
	found=$(python3 -c "
import json, sys
r = json.load(open('$1'))
c = next(c for c in r['cases'] if c['device'] == 'fake:2')
k = next(k for k in (r.get('judgement') or {'checks': [{'devices': 'fake:2', 'limit': 'products'}]})['checks'] if k['devices'] == 'fake:2' and k['limit'] == 'products')
m = c['metrics']['matmul.throughput']
print($2)")
	[ "$found" = "$3" ] || fail "$1: $2 is $found, not $3"
}
once() { # DIR: one launch more, of device 2 alone
	[ -s "$1/launch-2/result.json" ] && [ ! -e "$1/launch-3" ] || fail "$1: not one launch more"
	asks "$1/launch-2/result.json" "[c['device'] for c in r['cases']]" "['fake:2']"
	asks "$1/launch-2/result.json" "c.get('together')" None
}

# A device that is slow while others work is not so by itself: the warning goes, both figures stay.
export GPUPROOF_FAKE="devices=4 slow=2:4% crowd=only"
"$program" run warning.ini --backend fake --check -o crowd --no-report > log 2>&1 || { fail "slow in a crowd: exit code $?"; cat log; }
grep -q '1 case again, without other devices' log || { fail "the second measurement is not told"; cat log; }
once crowd
asks crowd/result.json "k['verdict']" PASS
asks crowd/result.json "len(m['together']), round(100 * (1 - m['together'][0] / m['value']))" "1 4"
asks crowd/result.json "c.get('together')" None
asks crowd/result.json "'measured by itself; ' in k['reason'] and 'while other devices worked too' in k['reason']" True
asks crowd/result.json "c['notes'].count('measured again by itself')" 1
# A check of all launches by their folders comes to the same.
"$program" check crowd --limits warning.ini > log 2>&1 || { fail "check of the pooled result: exit code $?"; cat log; }

# So on each node of several.
export GPUPROOF_FAKE="devices=8 slow=2:4% crowd=only"
"$program" run warning.ini --set run.backend=fake --check -o nodes --no-report --simulate-nodes 2 > log 2>&1 || { fail "two nodes: exit code $?"; cat log; }
[ -s nodes/nodes/n1/launch-2/result.json ] && [ ! -e nodes/nodes/n1/launch-3 ] && [ ! -e nodes/nodes/n2/launch-2 ] ||
	fail "not one launch more, on the node of the slow device alone"
sed -i 's/"n1\/fake:2"/"fake:2"/' nodes/result.json
asks nodes/result.json "k['verdict']" PASS
asks nodes/result.json "round(100 * (1 - m['together'][0] / m['value']))" 4

# Several launches are confirmed by as many.
export GPUPROOF_FAKE="devices=4 slow=2:4% crowd=only"
"$program" run warning.ini --backend fake --check -o many --no-report --launches 2 > log 2>&1 || { fail "two launches: exit code $?"; cat log; }
[ -s many/launch-4/result.json ] && [ ! -e many/launch-5 ] || fail "two launches are not confirmed by two"
asks many/result.json "len(m['launches']), len(m['together']), k['launches'], k['verdict']" "2 2 2 PASS"

# One that is slow by itself keeps its warning.
export GPUPROOF_FAKE="devices=4 slow=2:6%"
"$program" run warning.ini --backend fake --check -o warned --no-report > log 2>&1 || { fail "a warning: exit code $?"; cat log; }
once warned
asks warned/result.json "k['verdict'], k['launches']" "WARN 1"
# A figure that may warn, by its uncertainty, is measured again too; one that may not is not.
export GPUPROOF_FAKE="devices=4 slow=2:2.6%"
"$program" run warning.ini --backend fake --check -o near --no-report > log 2>&1 || { fail "near the margin: exit code $?"; cat log; }
once near
export GPUPROOF_FAKE="devices=4 slow=2:1%"
"$program" run warning.ini --backend fake --check -o far --no-report > log 2>&1 || { fail "far from the margin: exit code $?"; cat log; }
[ ! -e far/launch-2 ] || fail "what cannot warn is measured again"
# Two devices are both measured again: the faster one had rests.
export GPUPROOF_FAKE="devices=2 slow=1:6%"
"$program" run warning.ini --backend fake --check -o two --no-report > log 2>&1 || { fail "two devices: exit code $?"; cat log; }
grep -q '2 cases again, without other devices' log || { fail "not both of two devices are measured again"; cat log; }
[ "$(grep -c '"together": \[' two/result.json)" -ge 2 ] && [ ! -e two/launch-3 ] || fail "not both of two devices have two figures"
# Measured one after the other there is nothing to measure again.
export GPUPROOF_FAKE="devices=4 slow=2:6%"
"$program" run warning.ini --backend fake --check -o apart --no-report --set matmul.concurrent=no > log 2>&1
[ ! -e apart/launch-2 ] || fail "a warning of a device by itself is measured again"
exit $((failures > 0))
