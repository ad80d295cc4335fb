#!/usr/bin/env bash
# gpuproof check: exit codes, where limits come from, what is printed.
set -u
program=$(realpath "$1")
here=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# expect CODE WORD ARGUMENTS...: the exit code, and WORD in stdout or, for 2 and 3, stderr
expect() {
	local code=$1 word=$2 got
	shift 2
	"$program" check "$@" >out 2>err
	got=$?
	if [ $got -ne "$code" ]; then
		echo "check $*: exit code $got, not $code"; cat out err; failed=1
	fi
	if ! grep -qF -- "$word" "$([ "$code" -eq 2 ] || [ "$code" -eq 3 ] && echo err || echo out)"; then
		echo "check $*: '$word' is missing in"; cat out err; failed=1
	fi
}

cat >own.ini <<'END'
[run]
backend = host
[suite alloc]
allocators = pageable
operations = alloc
states = reused
sizes = 64KiB
min_samples = 10
max_samples = 20
max_time = 20ms
[limit slow]
metric = alloc.latency
max = 10 s
origin = a test
END
"$program" run own.ini -o run -q >/dev/null || { echo "run own.ini: exit code $?"; exit 1; }
printf '[limit tight]\nmetric = alloc.latency\nmax = 1ns\n' >tight.ini
printf '[limit tight]\nmetric = alloc.latency\nmax = 1ns\nseverity = warn\n' >warn.ini
printf '[limit gone]\nmetric = transfer.bandwidth\nmin = 1 GB/s\n' >gone.ini
printf '[limit bad]\nmetric = alloc.latncy\nmax = 1ns\n' >bad.ini
printf '[run]\nseed = 1\n' >none.ini
printf '[limit base]\nmetric = alloc.latency\nmax = 50 * baseline\n' >base.ini

expect 2 'no RESULT given'
expect 2 "unknown option '--limit'; did you mean '--limits'?" run --limit x
expect 3 'nothing.json' nothing.json
# The run's own limits, with the places where they stand.
expect 0 'ACCEPTED: the only check passed.' run
expect 0 'own.ini:13' run/result.json --all
expect 0 'a test' run --all
# A result may come from an untrusted source: its config reads neither the environment nor a file.
export GPUPROOF_TEST_SECRET=hunter2
sed 's/origin = a test/origin = $GPUPROOF_TEST_SECRET/' run/result.json >secret.json
expect 2 'must not use environment variables' secret.json
grep -q hunter2 out err && { echo "check: a result's config reads the environment"; failed=1; }
sed 's|"text": "\[run\]|"text": "include = /etc/passwd\\n[run]|' run/result.json >include.json
expect 2 'a config stored in a result must not include other files' include.json
# From a file.
expect 1 'REJECTED: 0 of 1 check passed; 1 failed. Worst: ' run --limits tight.ini
expect 1 'at most 1.000 ns' run -l tight.ini
expect 1 'tight.ini:3' run -l tight.ini
# Each check that did not pass has a cause, and what to do about it is said once; the topic explains every cause.
expect 1 'cause: limit-violated' run -l tight.ini
expect 1 '  Compare with identical devices' run -l tight.ini
expect 1 '"cause": "limit-violated"' run -l tight.ini --json
sed -n 's/^CAUSE([A-Z_]*, "\([a-z-]*\)".*/\1/p' "$here/src/result/causes/causes.def" >causes
[ -s causes ] || { echo "causes.def has no causes"; failed=1; }
"$program" help causes >topic
while read -r cause; do
	grep -q "^$cause: " topic || { echo "help causes does not explain $cause"; failed=1; }
done <causes
expect 0 '1 WARN' run -l warn.ini
expect 1 '1 WARN' run -l warn.ini --strict
expect 4 'no case in this run matches this limit' run -l gone.ini
expect 2 "bad.ini:2: [limit bad] metric = alloc.latncy: unknown metric 'alloc.latncy' (did you mean 'alloc.latency'?)" run -l bad.ini
expect 2 'none.ini: no [limit NAME] section; a file of limits needs one' run -l none.ini
expect 2 'no such file' run -l nowhere.ini
# Shipped ones know no allocation: nothing was judged.
expect 4 'no check could be evaluated' run -l generic
# Limits that no case is about are one line.
[ "$(grep -c 'no case in this run matches this limit' out)" = 1 ] && grep -q '^SKIP .*pcie, pcie-both, ' out ||
	{ echo 'limits without a case are not one line:'; cat out; failed=1; }
grep -q 'Add a limit (gpuproof help limits)' out || { echo "check: how to get limits is not said:"; cat out; failed=1; }
expect 4 'the limit needs a baseline; add --baseline RESULT' run -l base.ini
expect 4 'the baseline is the run itself' run -l base.ini --baseline run
sed 's/"id": "[0-9a-f]\{16\}"/"id": "before"/' run/result.json >before.json
expect 0 'baseline =' run -l base.ini --baseline before.json --all
# A baseline of another device, or measured another way, bounds nothing.
sed 's/"name": "[^"]*"/"name": "Tesla K80"/' before.json >k80.json
expect 4 "the baseline was measured on 'Tesla K80'" run -l base.ini --baseline k80.json
# Names of shipped limits, and what is near.
expect 2 "h20: no such file, and no shipped limits of this name (did you mean 'h200'?); shipped: " run --limits h20
expect 2 'nowhere.ini: no such file' run --limits nowhere.ini
# A usage error is short: the message is not pushed off the screen by explanations.
expect 2 'More: gpuproof help check' --limit x
[ "$(wc -l <err)" -le 4 ] || { echo 'a long usage error:'; cat err; failed=1; }
[ "$("$program" check run --help | head -1)" = 'check results against limits: accepted or rejected' ] ||
	{ echo '--help after an operand does not help'; failed=1; }

# Several results of one machine are launches.
sed 's/"id": "[0-9a-f]\{16\}"/"id": "another launch"/' run/result.json >launch.json
"$program" check run launch.json --json >out.json || failed=1
grep -q '"launches": *2' out.json || { echo "two results are not pooled:"; cat out.json; failed=1; }
# Each launch has the limits of its own config, whichever comes first; one without (verdict = trend) is judged by none.
sed -e 's/^backend = host/&\nverdict = trend/' -e '/^\[limit/,$d' own.ini >trend.ini
"$program" run trend.ini -o trend -q >/dev/null || { echo "run trend.ini: exit code $?"; failed=1; }
expect 0 'NOT JUDGED: no limits' trend
for order in 'trend run' 'run trend'; do
	# shellcheck disable=SC2086 # two results
	expect 0 'ACCEPTED: the only check passed.' $order
	grep -q '^limits: own.ini;' out || { echo "check $order: whose limits:"; cat out; failed=1; }
	# shellcheck disable=SC2086
	"$program" check $order --json >order.json
	grep -c '"device": "host:0"' order.json >devices
	[ "$(cat devices)" = 1 ] || { echo "check $order: $(cat devices) judgements of host:0"; failed=1; }
done
sed 's/max = 10 s/max = 1 ns/' own.ini >strict.ini
"$program" run strict.ini -o strict -q >/dev/null || { echo "run strict.ini: exit code $?"; failed=1; }
for order in 'strict run trend' 'run trend strict' 'trend strict run'; do
	# shellcheck disable=SC2086
	expect 1 'REJECTED: 1 of 2 checks passed; 1 failed. Worst: ' $order
	grep -q '^limits: .*own.ini' out && grep -q '^limits: .*strict.ini' out || { echo "check $order: whose limits:"; cat out; failed=1; }
done
# With several machines a check on the node says which.
sed 's/"hostname": "[^"]*"/"hostname": "elsewhere"/; s/"id": "another launch"/"id": "a third"/' launch.json >other.json
printf '[limit count]\nmetric = node.devices\nmin = 2\n' >count.ini
expect 1 'other.json' other.json run launch.json -l count.ini
[ "$(grep -c '^FAIL *The node of run/result.json: node.devices is 1; the limit is at least 2' out)" = 1 ] || { echo "check: which machine fails is not said:"; cat out; failed=1; }
sed 's/"suite": "alloc"/"suite": "transfer"/; s/"alloc\.latency"/"transfer.latency"/g' other.json >link.json
printf '[limit link]\nmetric = transfer.latency\nmax = 10 s\nallow_skipped = no\n' >link.ini
expect 4 'link.json host:0' link.json run -l link.ini
expect 1 'other.json' other.json run launch.json -l count.ini
grep -q 'launch.json' out && { echo "check: a launch is taken for a machine:"; cat out; failed=1; }
# One that is named twice, by a link to the latest for one, is no second launch.
ln -s run latest
expect 2 'latest/result.json and run/result.json are the same run; name each launch only once' run latest
expect 2 'name each launch only once' run --baseline run --baseline latest
# The judgement is kept where -o says, and told from there: the limits' file is no longer needed.
expect 1 'kept.json' run -l tight.ini -o kept.json
rm -f gone-tight.ini && mv tight.ini gone-tight.ini
expect 1 'REJECTED: 0 of 1 check passed; 1 failed. Worst: ' kept.json
grep -q 'limits: tight.ini' out || { echo "check: whose limits they were is not said:"; cat out; failed=1; }
grep -q 'REJECTED: 0 of 1' kept.json || { echo "the sentence is not in the result"; failed=1; }
# Other limits judge anew, and say so.
printf '[limit wide]\nmetric = alloc.latency\nmax = 10 s\n' >wide.ini
expect 0 'ACCEPTED: the only check passed.' kept.json -l wide.ini
grep -q 'this verdict uses the limits wide.ini. The verdict stored in the result, with the limits tight.ini, is: REJECTED: ' err ||
	{ echo "check: judged anew without a word:"; cat err; failed=1; }
# Strictness is added to what is kept, and never taken away.
expect 0 'kept.json' run -l warn.ini -o kept.json
expect 1 '1 WARN' kept.json --strict
expect 2 '--output writes the result of one machine' run launch.json -o both.json
expect 2 'name another file' run -o run/result.json
# A judgement that says more than its checks is refused.
sed '/^ "judgement"/,$s/"verdict": "WARN",$/"verdict": "PASS",/; s/"accepted": true/"accepted": false/' kept.json >forged.json
expect 2 'judgement.verdict: PASS, although checks[0] is not accepted' forged.json
python3 - <<'PY'
import json
r = json.load(open("kept.json"))
r["cases"][0].update(status="FAILED", reason="a word is wrong")
json.dump(r, open("wrong.json", "w"))
PY
expect 2 'judgement.verdict: WARN, although the result of cases[0] is wrong' wrong.json
# The judgement belongs to the values of the file, not to those of another run.
python3 - <<'PY'
import json
r = json.load(open("kept.json"))
r["judgement"]["checks"][0]["value"] *= 1.01
json.dump(r, open("other.json", "w"))
r["judgement"]["checks"][0]["value"] /= 1.01
del r["cases"][0]["metrics"]["alloc.latency"]
json.dump(r, open("gone.json", "w"))
PY
# A limit may judge the worst of several launches.
python3 - <<'PY'
import json
r = json.load(open("kept.json"))
metric = r["cases"][0]["metrics"]["alloc.latency"]
value = metric["value"]
metric["launches"] = [value, value * 1.02]
r["judgement"]["checks"][0]["value"] = value * 1.02
json.dump(r, open("worst.json", "w"))
r["judgement"]["checks"][0]["value"] = value * 1.03
json.dump(r, open("beyond.json", "w"))
PY
expect 2 'judged another value of alloc.latency' beyond.json
"$program" check worst.json >out 2>err
grep -q 'judged another value' err && { echo "check: the worst launch is another value:"; cat err; failed=1; }
# A cause of a newer program is derived again, so that no output tells of a check that passed.
for cause in x-new ''; do
	expect 1 'unknown.json' run -l "$PWD/gone-tight.ini" -o unknown.json
	sed -i "s/\"cause\": \"[a-z-]*\"/\"cause\": \"$cause\"/" unknown.json
	"$program" export prometheus unknown.json >unknown.prom && grep -q 'cause="[a-z]' unknown.prom ||
		{ echo "check: a cause '$cause' is lost"; cat unknown.prom; failed=1; }
done
for file in other.json gone.json; do
	expect 2 'judgement.verdict: WARN, although checks[0] judged another value of alloc.latency than cases[0] has' $file
done
# Names of one's own limits do not leave the house with it.
"$program" export result kept.json --anonymise >published.json || failed=1
grep -q 'warn.ini\|\[limit tight\]' published.json && { echo "check: limits of one's own survive --anonymise"; failed=1; }
expect 0 '1 WARN' published.json
# run --check leaves it in the result; a run without it says that nothing was judged.
"$program" run own.ini -o judged --check >out 2>&1 || { echo "run --check: exit code $?"; failed=1; }
grep -q '^ "judgement": {' judged/result.json || { echo "run --check keeps no judgement"; failed=1; }
grep -q '<p class="answer">ACCEPTED: ' judged/report.html || { echo "the report does not tell the verdict"; failed=1; }
"$program" run own.ini -o figures >out 2>&1
grep -q '^No limits applied. ' out || { echo "run without --check: $(cat out)"; failed=1; }
grep -q '"judgement"' figures/result.json && { echo "a run without --check has a judgement"; failed=1; }
"$program" run --resume figures --check >out 2>&1
grep -q '^ACCEPTED: ' out && grep -q '"judgement"' figures/result.json || { echo "resume --check: $(cat out)"; failed=1; }
"$program" run --resume figures >out 2>&1
grep -q '^ACCEPTED: ' out || { echo "resume of a judged run: $(cat out)"; failed=1; }
if command -v python3 >/dev/null; then
	python3 -m json.tool out.json >/dev/null || failed=1
	# A terminal gets whole words, and the verdict as its last line, in bold.
	python3 - "$program" <<-'PYTHON' || failed=1
		import fcntl, os, pty, re, struct, sys, termios
		pid, fd = pty.fork()
		if pid == 0:
		    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
		    os.environ.pop("NO_COLOR", None)
		    os.execv(sys.argv[1], [sys.argv[1], "check", "run", "--limits", "gone-tight.ini"])
		text = b""
		try:
		    while chunk := os.read(fd, 4096):
		        text += chunk
		except OSError:
		    pass
		os.waitpid(pid, 0)
		lines = text.decode().replace("\r", "").rstrip("\n").split("\n")
		plain = [re.sub("\033\\[[0-9;]*m", "", line) for line in lines]
		wide = [line for line in plain if len(line) > 60]
		if wide or not any(line.startswith("\033[1;31mREJECTED: ") for line in lines[-5:]):
		    print("check at a terminal:", wide, lines[-2:])
		    sys.exit(1)
	PYTHON
fi
exit $failed
