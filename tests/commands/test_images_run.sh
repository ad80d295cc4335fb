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
grep -qF 'images.ini:17: blocks: 18, allowed of model = convnet are 1 to 12' "$dir/said" || fail "$(cat "$dir/said")"
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
        assert c["status"] == "SKIPPED" and f"model = {model} is for single" in c["reason"], (c["id"], c["reason"])
        continue
    assert c["status"] == "OK", (c["id"], c["reason"])
    assert ("depthwise" in c["id"]) == (c["parameters"]["convolution"] == "depthwise"), c["id"]
    value = {name: m["value"] for name, m in c["metrics"].items()}
    assert 0 < value["parallel.gradient_error"] < 1e-4, c["id"]
    # A class guessed among 9: ln 9 and some.
    assert 1.5 < value["parallel.loss"] < 8, (c["id"], value["parallel.loss"])
    assert abs(value["parallel.throughput"] * value["parallel.step_time"] - 8) < 0.01, c["id"]
    assert "Not predicted: no suite measures convolutions." in c["notes"], c["notes"]
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
refused 'bad.ini:5: blocks: 20, allowed of model = resnet are 18, 34, 50, 101 and 152' 'model = resnet\nblocks = 20\n'
refused 'bad.ini:5: image: 4, allowed of model = convnet with blocks = 3' 'model = convnet\nimage = 4\n'
refused 'bad.ini:5: classes: 1, allowed are at least 2' 'model = resnet\nclasses = 1\n'
refused 'bad.ini:5: hidden is a key of model = transformer, and model is resnet' 'model = resnet\nhidden = 32\n'
refused 'bad.ini:4: image is a key of model = convnet and resnet, and model is mlp' 'image = 32\n'
refused 'bad.ini:4: blocks is a key of model = transformer, convnet and resnet, and model is mlp' 'blocks = 2\n'
refused 'bad.ini:5: blocks: 70, allowed of model = transformer are 1 to 62' 'model = transformer\nblocks = 70\n'
