#!/usr/bin/env bash
# `model = convnet` and `model = resnet` of the suite `parallel` through the whole program: errors name file, line, key, value
# and what is allowed; splits that cannot compute them are skipped with the reason, the others are verified.
set -euo pipefail
gpuproof=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "FAILED: $*"; exit 1; }

cat > "$dir/images.ini" <<'INI'
[run]
backend = host
host_devices = 2
[suite parallel]
model = convnet, resnet
image = 32
channels = 4
classes = 9
batch = 8
devices = 1,2
modes = single,ddp,tensor
convolution = plain,depthwise
recompute = layer
iterations = 3
sample_time = 100us
search_time = 0
blocks = 18
INI
# The number of convolutions and the name of a ResNet are the same key.
"$gpuproof" run "$dir/images.ini" -o "$dir/out" > "$dir/said" 2>&1 && fail "18 convolutions halve 32 pixels"
grep -qF 'images.ini:17: blocks: 18; allowed for model = convnet: 1 to 12' "$dir/said" || fail "$(cat "$dir/said")"
sed -i '$d' "$dir/images.ini"
"$gpuproof" run "$dir/images.ini" -o "$dir/out" --quiet || fail "images ended with $?"
python3 - "$dir/out/result.json" "$dir/out/report.html" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
page = open(sys.argv[2]).read()
assert len(cases) == 12, [c["id"] for c in cases]
assert len({c["id"] for c in cases}) == 12
for c in cases:
    model, mode = c["parameters"]["model"], c["parameters"]["mode"]
    if mode == "tensor":
        assert c["status"] == "SKIPPED" and f"model = {model} works only with single" in c["reason"], (c["id"], c["reason"])
        continue
    assert c["status"] == "OK", (c["id"], c["reason"])
    assert ("depthwise" in c["id"]) == (c["parameters"]["convolution"] == "depthwise"), c["id"]
    value = {name: m["value"] for name, m in c["metrics"].items()}
    assert 0 < value["parallel.gradient_error"] < 1e-4, c["id"]
    # A class guessed among 9: ln 9 and some.
    assert 1.5 < value["parallel.loss"] < 8, (c["id"], value["parallel.loss"])
    assert abs(value["parallel.throughput"] * value["parallel.step_time"] - 8) < 0.01, c["id"]
# Depthwise convolutions have fewer weights: the parameters' memory says so.
memory = {c["id"]: c["metrics"]["parallel.memory_parameters"]["value"] for c in cases if c["status"] == "OK"}
for name in memory:
    if "depthwise" in name:
        assert memory[name] < memory[name.replace("/depthwise", "")], name
assert "channels 4, image 32, classes 9" in page and "hidden 1024" not in page and "1000-2000-1000-10" not in page
PY

refused() { # message, INI text
	printf '[run]\nbackend = host\n[suite parallel]\n%b' "$2" > "$dir/bad.ini"
	"$gpuproof" run "$dir/bad.ini" -o "$dir/bad" > "$dir/said" 2>&1 && fail "accepted: $2"
	grep -qF "$1" "$dir/said" || fail "instead of '$1': $(cat "$dir/said")"
}
refused 'bad.ini:5: blocks: 20; allowed for model = resnet: 18, 34, 50, 101, 152' 'model = resnet\nblocks = 20\n'
refused 'bad.ini:5: image: 4; allowed with model = convnet and blocks = 3' 'model = convnet\nimage = 4\n'
refused 'bad.ini:5: classes: 1; allowed: at least 2' 'model = resnet\nclasses = 1\n'
refused 'bad.ini:5: hidden applies only to model = transformer, but model is resnet' 'model = resnet\nhidden = 32\n'
refused 'bad.ini:4: image applies only to model = convnet and resnet, but model is mlp' 'image = 32\n'
refused 'bad.ini:4: blocks applies only to model = transformer, convnet and resnet, but model is mlp' 'blocks = 2\n'
refused 'bad.ini:5: blocks: 70; allowed for model = transformer: 1 to 62' 'model = transformer\nblocks = 70\n'

# Memory of a step: grows with the batch, is less with parts, recomputed layers and depthwise convolutions; a search ends.
cat > "$dir/memory.ini" <<'INI'
[run]
backend = host
[suite trainmem]
model = convnet
image = 16
channels = 8
blocks = 2
batch = 16, 32
segments = 0, 4
max_time = 10ms
[suite trainmem parts]
model = convnet
image = 16
channels = 8
blocks = 2
batch = 16
accumulate = 2
max_time = 10ms
[suite trainmem resnet]
model = resnet
image = 32
channels = 4
classes = 10
batch = 16
convolution = plain, depthwise
studies = step, alternating, logical_devices
max_time = 10ms
[suite trainmem search]
model = convnet
studies = largest_batch
memory_limit = 160MiB
memory_reserve = 32MiB
INI
"$gpuproof" run "$dir/memory.ini" -o "$dir/memory" --quiet || fail "memory of images ended with $?"
python3 - "$dir/memory/result.json" <<'PY'
import json, sys
cases = {c["id"].split("@")[0]: c for c in json.load(open(sys.argv[1]))["cases"]}
def metric(id, name):
    assert cases[id]["status"] == "OK", (id, cases[id]["reason"])
    return cases[id]["metrics"]["trainmem." + name]["value"]
step = "trainmem/step/fp32/%d/arena%s/convnet"
def memory(batch, how=""): return metric(step % (batch, how), "memory_activations")
# FP32 values of an image: two convolutions, their pools, the linear layer and the logits; and a double of loss.
each = 4 * (16 * 16 * 8 + 8 * 8 * 8 + 8 * 8 * 16 + 4 * 4 * 16 + 16 + 10) + 8
for batch in 16, 32:
    # The logits are written when everything else is there, but the peak is in backward.
    assert 0.9 * each * batch < memory(batch) < 1.02 * each * batch, (memory(batch), each * batch)
    assert memory(batch, "/segments=4") < 0.8 * memory(batch)
    assert metric(step % (batch, "/segments=4"), "gradient_error") < 1e-5
assert metric("trainmem:parts/step/fp32/16/arena/accumulate=2/convnet", "memory_activations") < 0.52 * memory(16)
assert metric("trainmem:resnet/step/fp32/16/arena/resnet/depthwise", "memory_parameters") < \
    metric("trainmem:resnet/step/fp32/16/arena/resnet", "memory_parameters")
assert metric("trainmem:resnet/alternating/fp32/16/arena/resnet", "gradient_error") < 1e-5
skipped = [c["reason"] for id, c in cases.items() if "logical" in id]
assert skipped and all("other models support step, largest_batch and alternating" in r for r in skipped), skipped
assert metric("trainmem:search/largest_batch/fp32/arena/160MiB/convnet", "largest_batch") >= 8
PY
printf '[run]\nbackend = host\n[suite trainmem]\nimage = 16\n' > "$dir/bad.ini"
"$gpuproof" run "$dir/bad.ini" -o "$dir/bad" > "$dir/said" 2>&1 && fail "image without a model of images"
grep -qF 'bad.ini:4: image applies only to model = convnet and resnet, but model is mlp' "$dir/said" || fail "$(cat "$dir/said")"
