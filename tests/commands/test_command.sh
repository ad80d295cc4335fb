#!/usr/bin/env bash
# [suite command]: programs that are no part of gpuproof, from the config to the page: where their figures come from, how they are
# verified, what is said of those that fail, and that nothing of them is left running.
set -euo pipefail
gpuproof=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
	echo "$1"
	shift
	for file; do sed "s/^/  /" "$file"; done
	exit 1
}

# A line for each case: id, status, value of its first metric, unit, number of samples, reason.
cat >cases.py <<'END'
import json, sys
for case in json.load(open(sys.argv[1]))["cases"]:
    metric = next(iter(case["metrics"].values()), {"value": 0, "unit": "-", "n": 0})
    name = next(iter(case["metrics"]), "-")
    print(case["id"], case["status"], name, "%.6g" % metric["value"], metric["unit"], metric["n"], case["reason"], sep="|")
END
has() { grep -qE "$1" cases || fail "no case is like '$1'" cases; }

mkdir tools
cat >tools/bench <<'END'
#!/bin/sh
# bench SIZE THREADS: reports a rate, and what it was given.
echo "speed:  $1.5 MB/s"
printf '%s\n' "$2" "$CUDA_VISIBLE_DEVICES" "$GREETING" >seen
END
chmod +x tools/bench
cat >tools/good.ini <<'END'
[run]
backend = host
[defaults]
max_time = 30ms
settle_time = 0s
min_samples = 6
[suite command]
command = ./bench {size:bytes} "{size} {mode} {{mode}} \" '"
environment = GREETING={mode} OTHER='a b'
size = 1KiB..4KiB *2
mode = fast, slow
regex = ^speed: +([0-9.]+) MB/s$$
metric = speed
unit = MB/s
title = speed of <b>
expect = ^speed
[suite command wall]
command = true
warmup = 0
[suite command all]
command = printf '1 ms\n2 ms\n3 ms\n'
regex = ([0-9]+) ms
matches = all
metric = step
unit = ms
[suite command json]
command = printf '{"runs":[{"name":"a/1","t":1.5},{"name":"b","t":"2.5"}]}'
json = runs[name={which}].t
which = a/1, b
metric = run
unit = us
[suite command exact]
command = echo 5
regex = ([0-9])
metric = counted
unit = B
kind = exact
[suite command hash]
command = printf abc
sha256 = ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
[suite command file]
command = sh -c 'printf abc >made; exit 3'
exit_code = 3
output = made
sha256 = ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
[limit fast]
metric = command.speed
where = size:>=2KiB, mode:fast
min = 1 GB/s
END
"$gpuproof" config validate tools/good.ini >out 2>&1 || fail "not valid" out
"$gpuproof" run tools/good.ini --dry-run >out 2>&1
grep -qF "    ./bench 4096 '4KiB slow {mode} \" '\\'''" out || fail "the command line is missing" out
CUDA_VISIBLE_DEVICES=7 "$gpuproof" run tools/good.ini --check --quiet -o good >out 2>&1 || fail "the run failed" out
python3 cases.py good/result.json >cases
has '^command/1KiB/fast@host:0\|OK\|command.speed\|1.0245e\+09\|B/s\|'
has '^command/4KiB/slow@host:0\|OK\|command.speed\|4.0965e\+09\|B/s\|'
has '^command:wall@host:0\|OK\|command.time\|[^|]*\|s\|'
has '^command:all@host:0\|OK\|command.step\|0.002\|s\|'
has '^command:json/a/1@host:0\|OK\|command.run\|1.5e-06\|s\|'
has '^command:json/b@host:0\|OK\|command.run\|2.5e-06\|s\|'
has '^command:hash@host:0\|OK\|'
has '^command:file@host:0\|OK\|'
python3 - <<'END' || fail "what decides a figure is not in the result"
import json
kinds = {case["id"]: [metric.get("kind") for metric in case["metrics"].values()]
         for case in json.load(open("good/result.json"))["cases"]}
told = [kinds["command:wall@host:0"], kinds["command:exact@host:0"], kinds["command/1KiB/fast@host:0"]]
raise SystemExit(told != [["host"], ["exact"], [None]])
END
"$gpuproof" export result good --anonymise -o anonymous.json >out 2>&1 || fail "not anonymous" out
grep -q './bench' anonymous.json && fail "an anonymous result tells the program"
"$gpuproof" check anonymous.json >out 2>&1 || fail "the anonymous result is not accepted" out
# A program of the CPU sees the GPUs as the run does, and the whole of one argument.
printf "4KiB slow {mode} \" '\n7\nslow\n" | cmp -s - tools/seen || fail "what the program has seen" tools/seen
grep -q 'exit code 3, SHA-256 of the output file, of [0-9]* starts' good/result.json || fail "how it was verified is missing"
grep -qF 'speed of <b>' good/report.html && fail "a title is on the page as it is"
grep -qF 'speed of &lt;b&gt;' good/report.html || fail "the title is missing on the page"
[ ! -e good/outputs ] || fail "output of what went well is kept"
# By the result alone, and in turns: two programs, each next to its own config.
"$gpuproof" check good >out 2>&1 || fail "the result is not accepted" out
cp -r tools slower
sed -i 's/speed:  $1.5/speed:  1.1/' slower/bench
"$gpuproof" run tools/good.ini --against slower/good.ini --launches 2 --quiet -o turns >out 2>&1 || fail "in turns" out
grep -qE 'REGRESSED +command/4KiB/fast' out || fail "the slower program is not found" out
"$gpuproof" history --db nights.db add turns/a turns/b >out 2>&1 || "$gpuproof" history add --db nights.db turns/a turns/b >out 2>&1 || fail "no history" out

# A program that fails has its reason, costs its own case alone, and leaves its output.
cat >bad.ini <<'END'
[run]
backend = host
[defaults]
max_time = 30ms
settle_time = 0s
min_samples = 2
[suite command code]
command = sh -c 'echo "<script>alert(1)</script>"; echo "<img src=x> last" >&2; exit 3'
[suite command signal]
command = sh -c 'kill -SEGV $$$$'
[suite command gone]
command = ./nothing
[suite command slow]
command = sh -c 'sleep 987 & trap "" TERM; sleep 986'
timeout = 100ms
[suite command two]
command = printf '1 s\n2 s\n'
regex = ([0-9]+) s
metric = step
unit = s
[suite command none]
command = echo nothing
regex = ([0-9]+) s
metric = step
unit = s
[suite command text]
command = echo 1,5 s
regex = ([0-9,]+) s
metric = step
unit = s
[suite command expect]
command = echo wrong
expect = ^right$$
[suite command json]
command = echo wrong
json = a
metric = step
unit = s
[suite command hash]
command = printf abd
sha256 = ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
[suite command stale]
command = true
output = bad.ini
sha256 = ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
[suite command long]
command = sh -c 'yes | head -c 6000000; exit 1'
[suite command leaves]
command = sh -c 'sleep 985 >&- 2>&- & echo'
END
touch -d '1 hour ago' bad.ini
"$gpuproof" run bad.ini --quiet -o bad >out 2>&1 || true
python3 cases.py bad/result.json >cases
has '^command:code@host:0\|FAILED\|.*exited with code 3; expected 0; last output: <img src=x> last; outputs/command_code_host_0.stdout; outputs/'
has '^command:signal@host:0\|ERROR\|.*killed by signal 11'
has "^command:gone@host:0\|ERROR\|.*cannot start './nothing' in '.': No such file"
has '^command:slow@host:0\|ERROR\|.*killed with its child processes after timeout = 100ms'
has '^command:two@host:0\|ERROR\|.*finds 2 values in standard output; set matches = all'
has '^command:none@host:0\|ERROR\|.*finds no value in standard output'
has "^command:text@host:0\|ERROR\|.*'1,5' is not a number"
has '^command:expect@host:0\|FAILED\|.*does not match expect = \^right\$'
has '^command:json@host:0\|ERROR\|.*not valid JSON'
has '^command:hash@host:0\|FAILED\|.*SHA-256 of standard output is a52d159f'
has '^command:stale@host:0\|FAILED\|.*the program did not write output'
has '^command:long@host:0\|FAILED\|'
has '^command:leaves@host:0\|OK\|'
grep -q '^<script>alert(1)</script>$' bad/outputs/command_code_host_0.stdout || fail "the output is not kept"
[ "$(stat -c %s bad/outputs/command_long_host_0.stdout)" -lt 1100000 ] || fail "more than 1 MiB is kept"
grep -q '6000000 bytes of output; this file has the first 524288 and the last 524288' bad/outputs/command_long_host_0.stdout || fail "the gap is not told"
grep -qE '<script>alert|<img src=x' bad/report.html && fail "output is on the page as it is"
running() { pgrep -f '^sleep 98[5-7]$' >/dev/null; }
running && fail "what a program had started still runs"

# A stop and the death of the worker end the program with all that it has started.
printf '[run]\nbackend = host\n[suite command]\ncommand = sh -c "sleep 986 & sleep 987"\n' >long.ini
begin() {
	"$gpuproof" run long.ini --quiet -o "$1" >out 2>&1 &
	conductor=$!
	for _ in $(seq 600); do running && return; sleep 0.05; done
	fail "the program did not start" out
}
ended() {
	for _ in $(seq 600); do running || return 0; sleep 0.05; done
	fail "$1 left what the program had started" out
}
begin stopped
kill -TERM $conductor
wait $conductor && fail "a stopped run ends well" out
ended "a stop"
python3 cases.py stopped/result.json >cases
has '^command@host:0\|SKIPPED\|.*\|interrupted$'
begin killed
pkill -KILL -P $conductor
ended "the death of its worker"
wait $conductor || true
