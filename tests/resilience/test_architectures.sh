#!/usr/bin/env bash
# usage: test_architectures.sh PROGRAM
# Every suite (but selftest, which needs a real clock) on devices with the abilities of each architecture (the fake backend stands in for them): which cases are
# skipped, why, which way products take and what joins devices, against tests/architectures/*.txt. GPUPROOF_UPDATE_EXPECTED=1 writes them.
set -euo pipefail
program=$1
here=$(cd "$(dirname "$0")/.." && pwd)
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder"/all.ini <<'END'
[run]
backend = fake
telemetry = 0s
case_limit = 300s
[defaults]
min_samples = 5
max_samples = 6
max_time = 10ms
sample_time = 1us
[suite launch]
[suite alloc]
sizes = 4KiB
[suite transfer]
sizes = 4KiB
[suite stream]
sizes = 4KiB
operations = copy
[suite matmul]
sustained_time = 0s
precisions = fp64, fp32, tf32, fp16, bf16, fp16_acc16, fp8, int8
sizes = 32
implementations = blas, simt, half2, tensor
[suite matmul batch]
sustained_time = 0s
precisions = fp16
sizes = 32
batch = 3
[suite peak]
sustained_time = 0s
precisions = fp64, fp32, fp16, tf32, bf16, fp8, int8
size = 64KiB
steps = 1
[suite parallel]
sustained_time = 0s
layers = 8, 16, 4
batch = 16
devices = 1
modes = single
precision = fp32, tf32, fp16_storage, fp16_mixed, bf16_mixed
END
cat >"$folder"/two.ini <<'END'
[run]
backend = fake
telemetry = 0s
case_limit = 300s
[defaults]
min_samples = 5
max_samples = 6
max_time = 10ms
sample_time = 1us
[suite collective]
devices = 2
operations = all_reduce
precisions = fp32, fp16, bf16
sizes = 4KiB
[suite parallel]
sustained_time = 0s
layers = 8, 16, 4
batch = 16
devices = 2
modes = ddp, 1f1b
microbatches = 2
precision = fp32, fp16_mixed
END
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends; export GPUPROOF_BACKENDS

replay() { # file, words of the fake device, config, more options
	local expected=$here/architectures/$1.txt
	GPUPROOF_FAKE="memory=256MiB $2" "$program" run "$folder"/$3.ini "${@:4}" -o "$folder/$1" --no-report >"$folder/log" 2>&1 || {
		cat "$folder/log"
		echo "$1: exit code $?"
		exit 1
	}
	# Once per kind of case: sizes and devices in the id do not matter here.
	python3 - "$folder/$1/result.json" >"$folder/$1.txt" <<-'END'
		import json, re, sys
		result = json.load(open(sys.argv[1]))
		d = result["devices"][0]
		print("compute capability %d.%d%s: %s" % (d["capability_major"], d["capability_minor"],
		      ", emulated on " + d["emulated_on"] if d["emulated_on"] else "", " ".join(sorted(d["capabilities"]))))
		seen = set()
		for c in result["cases"]:
		    line = "%s: %s%s" % (c["id"].split("@")[0], c["status"], "".join("; " + p for p in c.get("paths", [])))
		    over = re.search(r"Transport between (?:the )?devices: (\w+(, between stages \w+)?)", c["notes"])
		    if over:
		        line += "; over " + over.group(1)
		    if c["reason"]:
		        line += "; " + re.sub(r"fake:\d", "fake", c["reason"])
		    if line not in seen and c["status"] != "OK" or c.get("paths") or over:
		        print(line)
		    seen.add(line)
		print("%d cases OK" % sum(c["status"] == "OK" for c in result["cases"]))
	END
	[ -z "${GPUPROOF_UPDATE_EXPECTED:-}" ] || { mkdir -p "$here/architectures"; cp "$folder/$1.txt" "$expected"; }
	diff -u "$expected" "$folder/$1.txt" || exit 1
}
for capability in 3.7 6.0 6.1 7.0; do
	replay "$capability" "capability=$capability" all
done
# NCCL has no code for Kepler any more: copies join two of them, as they do when one is emulated.
replay 3.7.two "devices=2 capability=3.7" two
replay 6.1.two "devices=2 capability=6.1" two
replay 3.7.emulated.two "devices=2 capability=9.0" two --set "run.emulate_capability=3.7"
tail -n +2 "$here/architectures/3.7.two.txt" | diff - <(tail -n +2 "$folder/3.7.emulated.two.txt") ||
	{ echo "two emulated 3.7 differ from two 3.7"; exit 1; }
# The same by the run key, on a device that can more.
replay emulated "capability=9.0" all --set "run.emulate_capability=6.1"
tail -n +2 "$here/architectures/6.1.txt" | diff - <(tail -n +2 "$folder/emulated.txt") ||
	{ echo "emulated 6.1 differs from 6.1"; exit 1; }
