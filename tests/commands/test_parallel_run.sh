#!/usr/bin/env bash
# The suite `parallel` through the whole program on shares of the CPU: what is planned, what is skipped
# and why, and that every split that runs is verified and reports its figures.
set -euo pipefail
gpuproof=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "FAILED: $*"; exit 1; }

cat > "$dir/splits.ini" <<'INI'
[run]
backend = host
host_devices = 3
[suite parallel]
layers = 40,64,56,48,10
batch = 48
devices = 1,2,3,4,8
microbatches = 1,4
bucket = 1KiB,1MiB
precision = fp32,bf16_mixed
iterations = 12
sample_time = 100us
INI

refused() { # value of layers, words
	local status=0
	"$gpuproof" run "$dir/splits.ini" --set "parallel.layers=$1" --dry-run > "$dir/said" 2>&1 || status=$?
	[ $status = 2 ] || fail "layers = $1: exit $status instead of 2"
	grep -q "$2" "$dir/said" || fail "layers = $1: $(cat "$dir/said")"
}
"$gpuproof" run "$dir/splits.ini" --set parallel.width=1 --dry-run > "$dir/said" 2>&1 && fail "width = 1"
grep -q 'width: 1; the last width is the number of classes and must be at least 2' "$dir/said" || fail "width = 1: $(cat "$dir/said")"
"$gpuproof" run "$dir/splits.ini" --set parallel.width=16,32 --set parallel.batch=24,48 --set parallel.modes=ddp \
	--set parallel.devices=2 --set parallel.bucket=1MiB --set parallel.precision=fp32 --dry-run > "$dir/plan"
[ "$(grep -c '^parallel/fp32/.*width=' "$dir/plan")" = 4 ] || fail "two widths and two batches: $(cat "$dir/plan")"
refused 10 'layers: 1 widths; allowed: 2 to 65'
refused 10,1 'number of classes and must be at least 2'
# Logits in chunks are a transformer's, and shares of all rows are scattered at once.
# aliasing: off is a case of its own where it makes a difference, and on is named nowhere.
cat > "$dir/aliasing.ini" <<'INI'
[run]
backend = host
host_devices = 2
[suite parallel]
model = mlp, transformer
hidden = 32
heads = 2
sequence = 24
vocabulary = 90
layers = 128,128,128,128
batch = 64
modes = single, ddp, gpipe
devices = 1,2
microbatches = 4
aliasing = on, off
iterations = 3
sample_time = 100us
[suite trainmem]
model = mlp, transformer
hidden = 32
heads = 2
sequence = 24
vocabulary = 90
layers = 128,128,128,128
batch = 64
aliasing = off, on
INI
"$gpuproof" run "$dir/aliasing.ini" -o "$dir/aliasing" --quiet || fail "aliasing ended with $?"
python3 - "$dir/aliasing/result.json" <<'PY'
import json, sys
cases = [c for c in json.load(open(sys.argv[1]))["cases"] if c["device"] == "host:0"]
of = {}
for c in cases:
    p = c["parameters"]
    assert p.get("aliasing", "off") == "off", p
    of.setdefault((c["suite"], p.get("mode"), p.get("model", "mlp")), {})[p.get("aliasing", "on")] = c["metrics"]
assert len(of) == 8 and sum(map(len, of.values())) == len(cases) == 14, [c["id"] for c in cases]
for (suite, mode, model), m in of.items():
    if (mode == "gpipe" or suite == "trainmem") and model == "mlp":
        assert set(m) == {"on"}, (suite, mode, model, set(m))
        continue
    memory = {k: m[k][f"{suite}.memory"]["value"] for k in m}
    assert memory["off"] > memory["on"], (suite, mode, model, memory)
    shared = f"{suite}.memory_shared"
    assert shared not in m["off"] and (suite == "trainmem" or m["on"][shared]["value"] > 0), (suite, mode, model)
PY
"$gpuproof" run "$dir/splits.ini" --set parallel.loss_chunks=2 --dry-run > "$dir/said" 2>&1 && fail "loss_chunks of an mlp"
grep -q 'loss_chunks applies only to model = transformer, but model is mlp' "$dir/said" || fail "loss_chunks: $(cat "$dir/said")"
grep -v layers "$dir/splits.ini" > "$dir/chunks.ini"
"$gpuproof" run "$dir/chunks.ini" --set parallel.model=transformer --set parallel.hidden=64 --set parallel.heads=2 \
	--set parallel.sequence=16 --set parallel.vocabulary=256 --set parallel.loss_chunks=2 --set parallel.precision=fp32 \
	--set parallel.modes=tensor,tensor_sequence --set parallel.devices=2 --dry-run > "$dir/plan"
[ "$(grep -c 'skipped: .*loss_chunks does not work with tensor_sequence' "$dir/plan")" = 1 ] || fail "loss_chunks: $(cat "$dir/plan")"
for scale in 0.5 huge 1e9; do
	"$gpuproof" run "$dir/splits.ini" --set "parallel.loss_scale=$scale" --dry-run > "$dir/said" 2>&1 && fail "loss_scale = $scale"
	grep -q 'allowed: dynamic, none, or 1 to' "$dir/said" || fail "loss_scale = $scale: $(cat "$dir/said")"
done

"$gpuproof" run "$dir/splits.ini" --dry-run > "$dir/plan"
# Per precision: single; ddp with two buckets and layer_split with two micro-batch counts on 2, 3, 4
# and 8 devices, of which three exist.
[ "$(grep -c '^parallel/' "$dir/plan")" = 34 ] || { cat "$dir/plan"; fail "34 cases were expected"; }
grep -q 'ddp/4/.*needs 4 devices, and backend host has 3' "$dir/plan" || fail "four of three devices not skipped"
grep -q 'layer_split/8/.*more devices than the model has layers' "$dir/plan" || fail "8 stages of 4 layers"

# One layer cannot be cut by tensor parallelism: three equal copies are no split.
for bad in tensor:'needs at least two layers' hybrid:'the model has only one layer'; do
	"$gpuproof" run "$dir/splits.ini" --set parallel.layers=48,12 --set parallel.modes=${bad%%:*} --set parallel.devices=3 \
		--set parallel.hybrid=1x3x1 --set parallel.precision=fp32 --dry-run > "$dir/plan"
	grep -q "skipped: .*${bad#*:}" "$dir/plan" || fail "one layer by $bad: $(cat "$dir/plan")"
done

"$gpuproof" run "$dir/splits.ini" -o "$dir/out" --quiet || fail "run ended with $?"
python3 - "$dir/out/result.json" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
def text(c, name):
    p = c["parameters"][name]
    return str(p["text"] if isinstance(p, dict) else p)
done = [c for c in cases if c["status"] != "SKIPPED"]
assert len(done) == 18, [c["id"] for c in done]
for c in done:
    m, mode = c["metrics"], text(c, "mode")
    assert c["status"] == "OK", (c["id"], c["reason"])
    assert c["verification"]["done"] and c["verification"]["error"] <= c["verification"]["tolerance"]
    assert m["parallel.step_time"]["value"] > 0 and m["parallel.memory"]["value"] > 0, c["id"]
    split = {"parallel.speedup", "parallel.efficiency", "parallel.exposed_communication",
             "parallel.communication_time", "parallel.idle", "parallel.overlap"}
    assert split <= set(m) if mode != "single" else not split & set(m), (c["id"], sorted(m))
    pipeline = {"parallel.bubble_schedule", "parallel.update_time"}
    assert pipeline <= set(m) if mode == "layer_split" else not pipeline & set(m), (c["id"], sorted(m))
    if mode != "single":
        step, scheduled, compute, exposed = (m["parallel." + n]["value"] for n in (
            "step_time", "schedule_time", "compute_time", "exposed_communication"))
        assert abs(exposed - max(0, step - scheduled)) < 1e-12 and scheduled > 0.999 * compute, (c["id"], m)
    if mode == "layer_split":
        assert 0 <= m["parallel.bubble_schedule"]["value"] < 1 and "in theory, for equal stages" in c["notes"], (c["id"], c["notes"])
    assert ("microbatches" in c["parameters"]) == (mode == "layer_split"), c["id"]
    assert ("bucket" in c["parameters"]) == (mode == "ddp"), c["id"]
    parts = {k: v["value"] for k, v in m.items() if k.startswith("parallel.memory_")}
    assert sum(parts.values()) - 2 * parts.get("parallel.memory_shared", 0) == m["parallel.memory"]["value"], c["id"]
bubbles = {c["metrics"]["parallel.bubble_model"]["value"] for c in done
           if text(c, "mode") == "layer_split" and text(c, "microbatches") == "4"}
assert bubbles == {1 / 5, 2 / 6}, bubbles
PY
# Every way to split, and what only some of them know.
cat > "$dir/all.ini" <<'INI'
[run]
backend = host
host_devices = 2
[suite parallel]
layers = 40,64,56,48,10
batch = 48
devices = 2
modes = ddp,layer_split,gpipe,1f1b,1f1b_eager,tensor,zero1,zero2,zero3,dp_naive,hybrid
hybrid = 1x2x1, 2x1x1
timeline = yes
microbatches = 4
iterations = 6
sample_time = 100us
INI
# Predictions are made of what these measure in the same run.
{ cat "$dir/all.ini"; cat <<'INI'
[suite matmul]
precisions = fp32
sizes = 64
max_time = 20ms
[suite stream]
operations = triad
precisions = fp32
sizes = 1MiB
max_time = 20ms
[suite collective]
operations = all_reduce, all_gather, reduce_scatter, broadcast, reduce, send_recv
devices = 2
sizes = 4KiB, 64KiB
max_time = 20ms
INI
} > "$dir/rates.ini"
"$gpuproof" run "$dir/rates.ini" -o "$dir/all" --quiet || fail "all modes: run ended with $?"
"$gpuproof" run "$dir/all.ini" --set parallel.modes=dp_naive --set parallel.loss_on=replica \
	-o "$dir/replica" --quiet || fail "loss on the replicas: run ended with $?"
"$gpuproof" run "$dir/all.ini" --set parallel.modes=single,ddp --set parallel.devices=1,2 \
	--set parallel.accumulate=3 --set parallel.recompute=segments:2 -o "$dir/again" --quiet ||
	fail "accumulation and recomputation: run ended with $?"
"$gpuproof" run "$dir/all.ini" --set parallel.accumulate=3 --dry-run > "$dir/plan"
[ "$(grep -c 'accumulate works with single, ddp and zero1' "$dir/plan")" = 4 ] &&
	[ "$(grep -c 'a pipeline accumulates over its micro-batches' "$dir/plan")" = 6 ] ||
	fail "four modes do not accumulate, six have micro-batches"
"$gpuproof" run "$dir/all.ini" --set parallel.recompute=sqrt --dry-run > "$dir/plan"
[ "$(grep -c 'recompute does not work with zero3' "$dir/plan")" = 2 ] || fail "two modes do not recompute"
# Transports between partitions of the CPU: the usual one first, by name where it was asked for; a missing one says so.
"$gpuproof" run "$dir/all.ini" --set parallel.modes=single,ddp,1f1b --set parallel.devices=1,2 \
	--set parallel.transport=auto,nccl,peer_copy,host_copy,shared_memory -o "$dir/ways" --quiet ||
	fail "transports: run ended with $?"
"$gpuproof" run "$dir/all.ini" --set parallel.transport=pigeon --dry-run > "$dir/said" 2>&1 && fail "transport = pigeon"
grep -q "auto, nccl, shared_memory, peer_copy, host_copy" "$dir/said" || fail "transport = pigeon: $(cat "$dir/said")"
# A step as a graph: one device's on the host as well. However long samples are to be, a gated one holds no more steps as
# graphs than by calls.
"$gpuproof" run "$dir/all.ini" --set parallel.modes=single,ddp,1f1b --set parallel.devices=1,2 \
	--set parallel.launch=stream,graph --set parallel.sample_time=10s -o "$dir/graph" --quiet || fail "graphs: run ended with $?"
# Steps of ZeRO 1 run on into the next: several a sample, where others need one only.
"$gpuproof" run "$dir/all.ini" --set parallel.modes=ddp,zero1 --set parallel.devices=2 --set parallel.sample_time=1us \
	-o "$dir/on" --quiet || fail "steps that run on: run ended with $?"
for bad in recompute=segments:0 recompute=some hybrid=2x2 hybrid=2x2x2; do
	"$gpuproof" run "$dir/all.ini" --set "parallel.$bad" --dry-run > "$dir/said" 2>&1 && fail "$bad"
	grep -q 'allowed: none, pointwise, layer, sqrt\|allowed: data x tensor x pipeline\|2x2x2 needs 8 devices' "$dir/said" ||
		fail "$bad: $(cat "$dir/said")"
done
python3 - "$dir/all/result.json" "$dir/again/result.json" <<'PY'
import json, sys
cases, again = (json.load(open(path))["cases"] for path in sys.argv[1:])
memory, wire = {}, {}
for c in cases + again:
    assert c["status"] == "OK" and c["verification"]["done"], (c["id"], c["status"], c["reason"])
cases = [c for c in cases if c["suite"] == "parallel"]
for c in cases:
    mode = c["parameters"]["mode"]
    mode = mode["text"] if isinstance(mode, dict) else mode
    grid = c["parameters"].get("hybrid")
    if grid:
        mode = grid["text"] if isinstance(grid, dict) else grid
    memory[mode] = {k[len("parallel.memory_"):]: v["value"] for k, v in c["metrics"].items()}
    wire[mode] = c["metrics"]["parallel.wire_bytes"]["value"]
assert len(memory) == 12
for c in cases:
    m = {k[len("parallel."):]: v["value"] for k, v in c["metrics"].items()}
    # b* = (n-1)/n e F / (2 beta), d* = (n-1) e F / (2 beta), n = 2
    assert m["critical_batch"] > 0 and abs(m["critical_width"] / m["critical_batch"] - 2) < 1e-9, c["id"]
    assert c["timeline"] and 0 <= m["bubble"] <= 1, c["id"]
    # Phases add up to the case's time, but for what the worker does around a case.
    phases = {p["name"]: p["seconds"] for p in c["phases"]}
    assert abs(sum(phases.values()) - c["seconds"]) < 0.05 + 0.1 * c["seconds"], (c["id"], c["seconds"], phases)
    assert phases["samples"] > 0 and phases["reference"] > 0 and phases["autotuning"] > 0, phases
assert memory["2x1x1"]["parameters"] == memory["ddp"]["parameters"] > memory["1x2x1"]["parameters"]
assert wire["2x1x1"] == wire["ddp"] and wire["1x2x1"] == wire["tensor"], wire
state = lambda mode: memory[mode]["gradients"] + memory[mode]["optimizer"]
assert state("ddp") > state("zero1") > state("zero2") == state("zero3"), memory
assert memory["zero3"]["parameters"] < memory["zero2"]["parameters"] == memory["zero1"]["parameters"]
assert memory["1f1b"]["activations"] < memory["gpipe"]["activations"], memory
assert wire["zero1"] == wire["zero2"] < wire["zero3"] < 1.5 * wire["zero2"], wire
PY
# One model and batch begin with the same weights and rows however they are split, in whatever precision, and in both suites:
# the first loss is one number. Another seed of the run, another batch: another number.
cat > "$dir/losses.ini" <<'INI'
[run]
backend = host
host_devices = 4
seed = 7
[suite parallel]
layers = 32,64,48,64,10
batch = 48
modes = single,ddp,zero1,zero2,zero3,layer_split,gpipe,1f1b,1f1b_eager,tensor,dp_naive,hybrid
devices = 1,4
hybrid = 2x1x2,1x2x2,2x2x1
microbatches = 3
precision = fp32,fp64,bf16_mixed
iterations = 3
sample_time = 50us
[suite parallel other]
layers = 32,64,48,64,10
batch = 24
modes = single
[suite trainmem]
layers = 32,64,48,64,10
batch = 48
max_samples = 3
min_samples = 3
INI
"$gpuproof" run "$dir/losses.ini" -o "$dir/losses" --quiet || fail "first losses: run ended with $?"
"$gpuproof" run "$dir/losses.ini" --set run.seed=8 --set parallel.modes=single --set parallel.precision=fp32 \
	-o "$dir/losses8" --quiet || fail "first losses, another seed: run ended with $?"
python3 - "$dir/losses/result.json" "$dir/losses8/result.json" <<'PY'
import json, sys
def losses(path):
    all = {}
    for c in json.load(open(path))["cases"]:
        assert c["status"] == "OK", (c["id"], c["status"], c["reason"])
        all[c["id"]] = c["metrics"][c["suite"] + ".loss"]["value"]
    return all
seven, eight = (losses(path) for path in sys.argv[1:])
other = [v for id, v in seven.items() if id.startswith("parallel:other/")]
same = {id: v for id, v in seven.items() if not id.startswith("parallel:other/")}
fp64 = [v for id, v in same.items() if "/fp64/48/single/" in id]
assert len(other) == len(fp64) == 1 and len(same) == 3 * (1 + 10 + 3) + 4, sorted(same)
for id, v in same.items():
    allowed = 1e-12 if "/fp64/" in id else 2e-3 if "/bf16_mixed/" in id else 1e-6
    assert abs(v / fp64[0] - 1) <= allowed, (id, v, fp64[0])
assert abs(other[0] / fp64[0] - 1) > 1e-3, other
for v in eight.values():
    assert abs(v / fp64[0] - 1) > 1e-3 and abs(v / other[0] - 1) > 1e-3, (v, fp64[0], other)
PY
python3 - "$dir/ways/result.json" <<'PY'
import json, sys
cases = {c["id"].split("@")[0].split("/", 3)[3]: c for c in json.load(open(sys.argv[1]))["cases"]}
assert len(cases) == 1 + 2 * 5, sorted(cases)
assert "ransport" not in cases["single/1"]["notes"]
for name, said in (("ddp/2/25MiB", "shared_memory"), ("ddp/2/25MiB/host_copy", "host_copy"),
                   ("1f1b/2/4", "shared_memory"), ("1f1b/2/4/shared_memory", "shared_memory")):
    assert cases[name]["status"] == "OK", cases[name]["reason"]
    assert f"Transport between devices: {said}." in cases[name]["notes"], cases[name]["notes"]
for name in ("ddp/2/25MiB/nccl", "1f1b/2/4/peer_copy"):
    assert cases[name]["status"] == "SKIPPED" and "host:0 is not a GPU" in cases[name]["reason"], cases[name]
PY
python3 - "$dir/on/result.json" <<'PY'
import json, sys
cases = {c["parameters"]["mode"]: c for c in json.load(open(sys.argv[1]))["cases"]}
batch = {m: c["samples"]["parallel.step_time"]["batch"] for m, c in cases.items()}
assert batch == {"ddp": 1, "zero1": 4}, batch
assert cases["zero1"]["samples"]["parallel.communication_time"]["batch"] == 1, cases["zero1"]["samples"]
PY
python3 - "$dir/graph/result.json" <<'PY'
import json, sys
cases = {c["id"].split("@")[0].split("/", 3)[3]: c for c in json.load(open(sys.argv[1]))["cases"]}
assert sorted(cases) == ["1f1b/2/4", "1f1b/2/4/graph", "ddp/2/25MiB", "ddp/2/25MiB/graph", "single/1", "single/1/graph"], sorted(cases)
assert cases["single/1/graph"]["status"] == "OK" and "were bitwise equal" in cases["single/1/graph"]["notes"], cases["single/1/graph"]
batches = [cases[name]["samples"]["parallel.step_time"]["batch"] for name in ("single/1", "single/1/graph")]
assert 1 < batches[1] == batches[0] < 512, batches
assert cases["single/1"]["status"] == "OK" and "were bitwise equal" not in cases["single/1"]["notes"]
assert "cannot contain events" in cases["ddp/2/25MiB/graph"]["reason"], cases["ddp/2/25MiB/graph"]
assert "launch = graph works only with single and ddp" in cases["1f1b/2/4/graph"]["reason"], cases["1f1b/2/4/graph"]
PY
echo "18 splits and every mode measured"

# A set-up of minutes, stopped: it ends within seconds, with a result and a report.
started=$SECONDS
timeout -s INT -k 20 2 env --default-signal=INT "$gpuproof" run "$dir/all.ini" --set parallel.layers=512,512,512,10 \
	--set parallel.batch=4096 --set parallel.verify_flops=1e14 --set parallel.modes=ddp -o "$dir/stopped" > "$dir/said" 2>&1 && fail "not stopped"
[ $((SECONDS - started)) -le 12 ] || fail "a stop took $((SECONDS - started - 2)) s"
grep -q "1 SKIPPED (1 interrupted)" "$dir/said" || fail "the case that was stopped: $(cat "$dir/said")"
[ -s "$dir/stopped/report.html" ] || fail "no report after a stop: $(cat "$dir/said")"
python3 - "$dir/stopped/result.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["run"]["state"] == "interrupted" and [c["status"] for c in r["cases"]] == ["SKIPPED"], r["cases"]
assert "interrupted" in r["cases"][0]["reason"], r["cases"]
PY
# Gain by overlapping: with and without, where a mode can do without; no case is measured twice for it.
cat > "$dir/overlap.ini" <<'INI'
[run]
backend = host
host_devices = 2
[suite parallel]
layers = 40,64,64,10
batch = 48
devices = 1,2
modes = single,ddp,tensor,zero1
overlap = on,off
iterations = 3
sample_time = 100us
timeline = yes
INI
"$gpuproof" run "$dir/overlap.ini" -o "$dir/overlap" --quiet || fail "with and without overlap: $?"
python3 - "$dir/overlap/result.json" "$dir/overlap/report.html" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
seen = {(c["parameters"]["mode"], c["parameters"].get("overlap", "on")): c for c in cases}
assert len(seen) == len(cases) == 7 and ("single", "off") not in seen, [c["id"] for c in cases]
for (mode, overlap), c in seen.items():
    skipped = (mode, overlap) == ("zero1", "off")
    assert c["status"] == ("SKIPPED" if skipped else "OK"), (c["id"], c["status"], c["reason"])
    assert not skipped or c["reason"] == "overlap = off works only with ddp and tensor", c["reason"]
    assert c["id"].split("@")[0].endswith("/overlap=off") == (overlap == "off"), c["id"]
assert "DDP, 2 devices, without overlap" in open(sys.argv[2]).read().replace("bucket 25\u00a0MiB, ", ""), "not named"
PY
