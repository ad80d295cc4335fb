#!/usr/bin/env bash
# gpuproof export ocp and run --events: streams that keep the specification's rules, also of runs that end badly or not at all.
set -u
program=$(realpath "$1")
tests=$(cd "$(dirname "$0")/.." && pwd)
command -v python3 >/dev/null || { echo "no python3 to read the streams with"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export GPUPROOF_BACKENDS=${GPUPROOF_BACKENDS:-$(dirname "$program")/tests/backends}
failed=0

wrong() {
	echo "$*"
	failed=1
}

state() {
	python3 "$tests/commands/ocp_state.py" "$@" >out 2>&1 || wrong "$* breaks the rules: $(cat out)"
}

holds() { # FILE TEXT
	grep -qF -- "$2" "$1" || { wrong "$2 is not in $1:"; tail -5 "$1"; }
}

end_of() {
	sed -n 's/.*"testRunEnd"//p' "$1"
}

cat >own.ini <<'END'
[run]
backend = fake
[suite transfer]
directions = h2d, d2h
memories = pinned
sizes = 1MiB
min_samples = 5
max_samples = 5
[suite matmul]
sustained_time = 0s
sizes = 64
precisions = fp32
min_samples = 5
max_samples = 5
[limit link]
metric = transfer.bandwidth
min = 1 MB/s
[limit gemm]
metric = matmul.throughput
min = 1 kFLOP/s
END
sed 's/min = 1 MB\/s/min = 900 TB\/s/' own.ini >slow.ini

# Accepted, rejected, wrong, unjudged; with two launches, and continued.
GPUPROOF_FAKE='devices=2' "$program" run own.ini --check --events good.ocp -o good -q >log 2>&1 || wrong "good: exit code $? $(cat log)"
holds good.ocp '"testRunEnd":{"status":"COMPLETE","result":"PASS"}'
GPUPROOF_FAKE='devices=2' "$program" run slow.ini --check --launches 2 --events slow.ocp -o slow -q >log 2>&1
[ $? = 1 ] || wrong "slow: another exit code: $(cat log)"
holds slow.ocp '"testRunEnd":{"status":"COMPLETE","result":"FAIL"}'
holds slow.ocp '"verdict":"pcie-degraded","type":"FAIL"'
GPUPROOF_FAKE='devices=2 wrong=1' "$program" run own.ini --check --events wrong.ocp -o wrong -q >log 2>&1
[ $? = 5 ] || wrong "wrong: another exit code: $(cat log)"
holds wrong.ocp '"verdict":"gpu-wrong-result","type":"FAIL"'
holds wrong.ocp '"hardwareInfoId":"fake:1"'
"$program" run own.ini --events unjudged.ocp -o unjudged -q >log 2>&1 || wrong "unjudged: exit code $? $(cat log)"
holds unjudged.ocp '"testRunEnd":{"status":"SKIP","result":"NOT_APPLICABLE"}'
"$program" run --resume unjudged --check --events resumed.ocp -q >log 2>&1 || wrong "resumed: exit code $? $(cat log)"
holds resumed.ocp '"testRunEnd":{"status":"COMPLETE","result":"PASS"}'
state good.ocp slow.ocp wrong.ocp unjudged.ocp resumed.ocp
for run in good slow wrong; do
	"$program" export ocp "$run" >"$run.export" || wrong "export of $run: exit code $?"
	state "$run.export"
	[ "$(end_of "$run.ocp")" = "$(end_of "$run.export")" ] || wrong "$run: stream and export end differently"
done

# A run that is killed has no end, and is right as far as it goes.
GPUPROOF_FAKE='hang@copy:40' "$program" run own.ini --events killed.ocp -o killed -q >/dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do
	grep -q testRunStart killed.ocp 2>/dev/null && break
	sleep 0.1
done
kill -9 "$pid"
wait "$pid" 2>/dev/null
state --killed killed.ocp
! python3 "$tests/commands/ocp_state.py" killed.ocp >/dev/null || wrong "a stream without end passes for whole"

cat >pipe.ini <<'END'
[run]
backend = fake
[suite transfer]
directions = h2d, d2h
memories = pinned
sizes = 4KiB..4MiB *2
max_time = 5ms
END
# A file that cannot be written ends the events, not the run.
"$program" run own.ini --events no/such/folder/x -o nowhere -q >/dev/null 2>err
[ $? = 3 ] || wrong "events in no folder: another exit code"
holds err 'no/such/folder/x'
if [ -w /dev/full ]; then
	"$program" run own.ini --events /dev/full -o full -q >/dev/null 2>err
	[ $? = 3 ] || wrong "events on a full disk: another exit code"
	holds err 'the events are incomplete'
	[ -s full/result.json ] || wrong "a full disk for events cost the result"
fi
# A reader that stops reading, or never came, costs the events and not the run; one that comes late gets all of them.
mkfifo pipe
exec 7<>pipe
GPUPROOF_FAKE='' "$program" run pipe.ini --launches 4 --events pipe -o stopped -q --no-report >log 2>&1
[ $? = 3 ] && grep -q 'the events are incomplete: .*pipe: no process reads the events' log && [ -s stopped/launch-4/result.json ] || wrong "a reader that stopped: $(cat log)"
GPUPROOF_FAKE='' "$program" run pipe.ini --launches 1000 --events pipe -o endless -q --no-report >log 2>&1 &
run=$!
until [ -e endless/launch-2/run.jsonl ]; do kill -0 $run 2>/dev/null || break; sleep 0.05; done
kill -TERM $run
wait $run
[ $? = 143 ] || wrong "a stop without a reader: another exit code: $(cat log)"
exec 7>&-
GPUPROOF_FAKE='' "$program" run pipe.ini --events pipe -o alone -q --no-report >log 2>&1
[ $? = 3 ] && [ -s alone/result.json ] && grep -q 'the events are incomplete' log || wrong "a pipe that was never opened: $(cat log)"
GPUPROOF_FAKE='' "$program" run pipe.ini --launches 1000 --events pipe -o late -q --no-report >log 2>&1 &
run=$!
until [ -e late/launch-2/run.jsonl ]; do kill -0 $run 2>/dev/null || break; sleep 0.05; done
cat pipe >late.ocp &
reader=$!
until [ -s late.ocp ]; do kill -0 $run 2>/dev/null || break; sleep 0.05; done
kill -TERM $run
wait $run
wait $reader
state late.ocp
"$program" run own.ini --events - -o minus -q 2>err && wrong "--events - is taken"
"$program" run own.ini --events x.ocp --against slow.ini -q 2>err && wrong "--events with --against is taken"

# A skipped case is a step with its reason.
printf '[run]\nbackend = fake\n[suite matmul]\nsizes = 64\nprecisions = fp8\n' >skip.ini
GPUPROOF_FAKE='devices=1' "$program" run skip.ini --events skip.ocp -o skip -q >log 2>&1
code=$?
[ $code = 4 ] || wrong "skip: exit code $code $(cat log)"
holds skip.ocp '"message":"no case was measured"'
holds skip.ocp '"message":"fake:0 has no fp8 GEMM"'
holds skip.ocp '"testStepEnd":{"status":"SKIP"}'
state skip.ocp

# A run on several nodes: cases come while others are still measured, each once, skipped ones and those of a lost node too.
cat >nodes.ini <<'END'
[run]
backend = host
[suite stream]
operations = copy, triad
precisions = fp64
sizes = 1MiB, 2MiB, 4MiB
target = 0.01 %
max_time = 700ms
END
unset SLURM_JOB_ID SLURM_STEP_NUM_TASKS OMPI_COMM_WORLD_SIZE PMI_SIZE
"$program" run nodes.ini --simulate-nodes 2 --events nodes.ocp -o nodes -q >log 2>&1 || wrong "nodes: exit code $? $(cat log)"
# The second section takes minutes on any machine, unless the run is stopped.
cat nodes.ini - >long.ini <<'END'
[suite stream long]
operations = copy
precisions = fp64
sizes = 1MiB
min_samples = 100000
max_samples = 100000
sample_time = 10ms
max_time = 600s
END
"$program" run long.ini --simulate-nodes 2 --events long.ocp -o long -q >long.log 2>&1 &
run=$!
early=
while kill -0 $run 2>/dev/null; do
	if grep -q '"testStepStart"' long.ocp 2>/dev/null && ! [ -e long/result.json ]; then
		early=yes
		kill -TERM $run
		break
	fi
	sleep 0.1
done
wait $run
[ "$early" = yes ] || wrong "nodes: no case was in the stream before the run had ended"
state long.ocp
state nodes.ocp
holds nodes.ocp '"testRunEnd":{"status":"SKIP"'
python3 - <<'END' || wrong "nodes: not every case once, with its device"
import json
lines = [json.loads(line) for line in open("nodes.ocp")]
cases = [c["id"] for c in json.load(open("nodes/result.json"))["cases"]]
steps = [l["testStepArtifact"]["testStepStart"]["name"] for l in lines if "testStepStart" in l.get("testStepArtifact", {})]
assert sorted(s for s in steps if "@" in s) == sorted(cases) and len(cases) == 12, (steps, cases)
start = [l["testRunArtifact"]["testRunStart"] for l in lines if "testRunStart" in l.get("testRunArtifact", {})]
assert [h["hardwareInfoId"] for h in start[0]["dutInfo"]["hardwareInfos"]] == ["n1/host:0", "n2/host:0"], start
END

# The checker finds what is wrong: a line left out, and an end that is not allowed.
sed 3d good.ocp >bad.ocp
! python3 "$tests/commands/ocp_state.py" bad.ocp >/dev/null || wrong "a lost line is not found"
sed 's/"PASS"}}}$/"NOT_APPLICABLE"}}}/' good.ocp >bad.ocp
! python3 "$tests/commands/ocp_state.py" bad.ocp >/dev/null || wrong "an end that is not allowed is not found"
exit $failed
