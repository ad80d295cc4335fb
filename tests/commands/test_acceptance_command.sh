#!/usr/bin/env bash
# run --check on a scripted device: what is found before and after it is in the result, the verdict and the page.
set -u
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends
export GPUPROOF_BACKENDS
cd "$folder" || exit 1
failed=0
complain() { echo "$*"; failed=1; }

cat >accept.ini <<'END'
[run]
backend = fake
[defaults]
min_samples = 5
max_samples = 6
[suite transfer]
directions = h2d
memories = pinned
sizes = 1MiB
[limit pcie]
metric = transfer.bandwidth
min = 1 GB/s
[limit devices]
metric = node.devices
min = 2
END

# The last device remaps a row during the run.
echo 0 >rows
GPUPROOF_FAKE="devices=2 rows=$folder/rows" "$program" run accept.ini --set "report.title=Delivery <4711>" --check -q -o changed >out 2>&1
[ $? -eq 0 ] || complain "a warning is accepted: $(cat out)"
grep -q 'after the run: remapped rows fake:1: 1' out || complain "the change is not in the verdict: $(cat out)"
[ "$(tail -n 1 out)" = changed/report.html ] || complain "the report's path is not the last line: $(cat out)"
grep -q '"preflight": \[' changed/result.json || complain "no pre-flight in the result"
grep -q '"remapped rows fake:1", "topic": "remapped rows", "device": "fake:1", "text": "1"' changed/result.json || complain "no post-flight in the result"
for page in acceptance report; do
	grep -qF '<title>Delivery &lt;4711&gt;</title>' changed/$page.html || complain "the title of $page.html is not that of [report]"
done
grep -q 'ACCEPTED' changed/acceptance.html || complain "the page does not say ACCEPTED"
grep -q '<small>serial <code>4711-0001</code></small>' changed/acceptance.html || complain "the page does not show the serial number"
grep -q '<td[^>]*>4711-0000' changed/report.html || complain "the report does not show the serial number"
grep -q 'remapped rows fake:1' changed/acceptance.html || complain "the page does not show the change"
grep -q 'href="acceptance.html"' changed/report.html || complain "the report does not link the verdict"
grep -q 'href="report.html"' changed/acceptance.html || complain "the verdict does not link the report"
"$program" check changed --strict >out
[ $? -eq 1 ] || [ $? -eq 4 ] || grep -q 'REJECTED' out || complain "--strict accepts a warning: $(cat out)"

# Eight devices, of which one is slow and one calculates wrongly: which is which, in one line each, and whether to sign.
cat >node.ini <<'END'
[run]
backend = fake
[defaults]
min_samples = 6
max_samples = 12
[suite transfer]
directions = h2d
memories = pinned
sizes = 1MiB
[suite matmul]
sustained_time = 0s
precisions = fp32
sizes = 64
[limit gpus]
metric = node.devices
min = 8
[limit pcie]
metric = transfer.bandwidth
outlier_margin = 2 %
[limit gemm]
metric = matmul.throughput
outlier_margin = 2 %
END
GPUPROOF_FAKE="devices=8 noise=0.5% slow=3:6% wrong=5" "$program" run node.ini --check -q -o node >out 2>&1
[ $? -eq 5 ] || complain "a wrong device: exit code $?: $(cat out)"
grep -q '^REJECTED: WRONG RESULTS' out || complain "no line says that results are wrong: $(cat out)"
grep -q '^FAIL *GPU fake:5, serial 4711-0005: .* wrong result: ' out || complain "which device is wrong is not said in a line: $(cat out)"
grep -q '^FAIL *GPU fake:3, serial 4711-0003, is 5.* % slower than the median of 7 identical GPUs in copies from the host (' out || complain "which device is slow is not said in a line: $(cat out)"
[ "$(grep -c '^FAIL *GPU ' out)" = 3 ] || complain "one sentence per device and aspect: $(grep 'GPU ' out)"
[ "$(grep -m 1 '^[A-Z]* *GPU ' out | grep -c 'GPU fake:5')" = 1 ] || complain "the wrong device is not first: $(cat out)"
grep -q 'REJECTED' node/acceptance.html && grep -q '4711-0003' node/acceptance.html || complain "the page does not reject, or lacks the serial number"
GPUPROOF_FAKE="devices=7 noise=0.5%" "$program" run node.ini --check -q -o seven >out 2>&1
[ $? -eq 1 ] && grep -q 'node.devices 7, at least 8$' out || complain "a device that is missing: $(cat out)"
grep -q '<td class="number">7<td class="number">at least 8<' seven/acceptance.html || complain "the page does not count devices in whole numbers"
GPUPROOF_FAKE="devices=8 noise=0.5%" "$program" run node.ini --check -q -o sound >out 2>&1
[ $? -eq 0 ] && grep -q '^ACCEPTED: all 17 checks passed' out || complain "eight sound devices: $(cat out)"
sed '/^.limit/,$d' node.ini >none.ini
"$program" check sound --limits none.ini >out 2>&1
[ $? -eq 2 ] && grep -q 'none.ini: no \[limit NAME\] section, so there is nothing to check' out || complain "a file without limits: $(cat out)"
rm sound/result.json
"$program" check sound >out 2>&1
[ $? -eq 3 ] && grep -q 'gpuproof run --resume sound' out || complain "a run without a result: $(cat out)"

# A config that promises a judgement of GPUs measures no CPU in their place, unless --backend host asks for it.
env -u GPUPROOF_BACKENDS CUDA_VISIBLE_DEVICES= "$program" run acceptance --check -q -o blind >out 2>&1
[ $? -eq 3 ] && grep -q 'no GPU is visible. To judge the CPU instead: --backend host' out || complain "acceptance without a GPU: $(cat out)"
[ -e blind/result.json ] && complain "acceptance without a GPU measured something"
env -u GPUPROOF_BACKENDS "$program" run acceptance --check --backend host --dry-run >out 2>&1 || complain "--backend host is refused: $(cat out)"
env -u GPUPROOF_BACKENDS CUDA_VISIBLE_DEVICES= "$program" run acceptance --dry-run >out 2>&1 || complain "a dry run without --check is refused: $(cat out)"

# A run that is not checked says nothing about before and after, and links nothing.
GPUPROOF_FAKE=devices=2 "$program" run accept.ini -q -o plain >/dev/null 2>&1 || complain "plain run"
grep -q preflight plain/result.json && complain "a plain run has a pre-flight"
[ -e plain/acceptance.html ] && complain "a plain run has an acceptance page"

# A device that is there and cannot be described: a run that was to have all is not whole, and never accepted; one that
# named others is.
sed '/limit devices/,$d' accept.ini >pcie.ini
export GPUPROOF_FAKE="devices=2 fail@device_info:2"
"$program" run pcie.ini --check -q -o lost >out 2>&1
[ $? -eq 1 ] || complain "a run without a broken device is accepted: $(cat out)"
grep -q 'fake:1 is present but unusable: fake device_info' out || complain "which device is lost: $(cat out)"
"$program" run pcie.ini -o lost2 >out 2>&1
[ $? -eq 4 ] || complain "a plain run without a broken device: $(cat out)"
grep -q 'fake:1 is present but unusable' out || complain "a plain run does not say what is lost: $(cat out)"
"$program" check lost2 --limits pcie.ini >out
[ $? -eq 1 ] || complain "a result without a broken device is accepted: $(cat out)"
grep -q 'fake:1 is present but unusable' lost2/report.html || complain "the report does not say what is lost"
"$program" run pcie.ini --check --devices 0 -q -o named >out 2>&1
[ $? -eq 0 ] || complain "who named the device that works: $(cat out)"
unset GPUPROOF_FAKE

# A device that is gone when the run has ended: the probe after it is the third to ask for both (the probe before, the worker).
head -c 56 /dev/zero >calls
GPUPROOF_FAKE="devices=2 calls=$folder/calls fail@device_info:6" "$program" run pcie.ini --check -q -o gone >out 2>&1
[ $? -eq 1 ] || complain "a device that is gone afterwards is accepted: $(cat out)"
grep -q 'after the run: device fake:1: lost during the run' out || complain "which device is gone: $(cat out)"

# A process that dies while it opens its devices: the run goes well, and is not accepted.
for n in 3 4 5 6 7 8; do
	rm -rf died
	head -c 56 /dev/zero >calls
	GPUPROOF_FAKE="devices=2 calls=$folder/calls segfault@$n" "$program" run pcie.ini --check -q -o died >out 2>&1
	code=$?
	grep -q '"lost_workers"' died/result.json 2>/dev/null && break
done
[ $code -eq 4 ] || complain "a lost worker is accepted, exit code $code: $(cat out)"
grep -q '^[1-9][0-9]* cases: .* ERROR' out && complain "the lost worker cost a case: $(cat out)"
for file in out died/acceptance.html died/report.html; do
	grep -qi 'a worker process died\|a worker died' $file || complain "$file does not tell of the lost worker"
done
grep -q 'INCONCLUSIVE' died/acceptance.html || complain "a lost worker does not leave it open"
"$program" export junit died | grep -q '<error type="ERROR" message="ERROR: a worker process died' || complain "JUnit does not tell of the lost worker"

# The page later, from the result alone; one device too few.
GPUPROOF_FAKE=devices=1 "$program" run accept.ini --check -q -o one >out 2>&1
[ $? -eq 1 ] || complain "one device of two is accepted: $(cat out)"
"$program" check one --report later.html >out
[ $? -eq 1 ] || complain "check --report: $(cat out)"
[ "$(tail -n 1 out)" = later.html ] || complain "check --report does not print the path: $(cat out)"
grep -q 'REJECTED' later.html || complain "the later page does not say REJECTED"
"$program" check one changed --report both.html >out 2>&1
[ $? -eq 1 ] || complain "a page about two machines: $(cat out)"
grep -q '<h2 id="rejected">' both.html || complain "the page about two machines does not reject one"

# A wrong result rejects, whatever the limits say: the soak with injected bits.
printf '[run]\nbackend = fake\n[suite burn]\nloads = fp32\nsize = 64\nduration = 50ms\nplant = 3\n[limit wrong]\nmetric = burn.wrong\nmax = 1000\n' >burn.ini
"$program" run burn.ini --check -q -o burn >out 2>&1
[ $? -eq 5 ] || complain "wrong words do not end with 5: $(cat out)"
grep -q 'cause: faults-injected' out || complain "injected words are the fault of the device: $(cat out)"
grep -q 'FAKE-0: 3 wrong words' out || complain "the device is not named by its UUID: $(cat out)"
grep -q 'REJECTED' burn/acceptance.html || complain "wrong words do not reject"
exit $failed
