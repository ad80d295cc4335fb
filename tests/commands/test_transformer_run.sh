#!/usr/bin/env bash
# `model = transformer` of the suite `parallel` through the whole program: keys of another model are refused by name, a split
# that cannot compute it is skipped with the reason, the others are verified, and pages say its sizes.
set -euo pipefail
gpuproof=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "FAILED: $*"; exit 1; }

cat > "$dir/decoder.ini" <<'INI'
[run]
backend = host
host_devices = 2
[suite parallel]
model = transformer
hidden = 32
heads = 2
blocks = 2
sequence = 24
vocabulary = 90
batch = 4
devices = 1,2
modes = single,ddp,zero3,tensor,tensor_sequence,1f1b,hybrid,dp_naive
microbatches = 2
hybrid = 1x2x1
precision = fp32,fp64
recompute = layer
iterations = 3
sample_time = 100us
INI
"$gpuproof" run "$dir/decoder.ini" -o "$dir/out" --quiet || fail "a transformer ended with $?"
python3 - "$dir/out/result.json" "$dir/out/report.html" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
page = open(sys.argv[2]).read()
assert len(cases) == 16, [c["id"] for c in cases]
for c in cases:
    assert c["parameters"]["model"] == "transformer" and "width" not in c["parameters"], c["parameters"]
    mode, precision = c["parameters"]["mode"], c["parameters"]["precision"]
    if precision == "fp64" or mode == "dp_naive":
        assert c["status"] == "SKIPPED", (c["id"], c["status"])
        reason = "dp_naive does not support model" if mode == "dp_naive" else "attention is not written for fp64"
        assert reason in c["reason"], (c["id"], c["reason"])
        continue
    assert c["status"] == "OK", (c["id"], c["reason"])
    value = {name: m["value"] for name, m in c["metrics"].items()}
    assert 0 < value["parallel.gradient_error"] < 1e-5, c["id"]
    # A token guessed among 90: ln 90 and a little.
    assert 4 < value["parallel.loss"] < 6, (c["id"], value["parallel.loss"])
    # All but masks of dropout, which the formula has, and some FP32 values, which it has not.
    kept, formula = value["parallel.block_activations"], value["parallel.block_activations_formula"]
    assert 0.8 < kept / formula < 1.2, (c["id"], kept, formula)
    assert formula < value["parallel.block_activations_unfused"], c["id"]
    # Sequences per second, not tokens.
    assert abs(value["parallel.throughput"] * value["parallel.step_time"] - 4) < 0.01, c["id"]
assert "hidden 32, heads 2, sequence 24, vocabulary 90" in page
assert "1000-2000-1000-10" not in page
PY

refused() { # message, INI text
	printf '[run]\nbackend = host\n[suite parallel]\n%b' "$2" > "$dir/bad.ini"
	"$gpuproof" run "$dir/bad.ini" -o "$dir/bad" > "$dir/said" 2>&1 && fail "accepted: $2"
	grep -qF "$1" "$dir/said" || fail "instead of '$1': $(cat "$dir/said")"
}
refused 'bad.ini:4: heads applies only to model = transformer, but model is mlp' 'heads = 2\n'
refused 'bad.ini:5: depth applies only to model = mlp, but model is transformer' 'model = transformer\ndepth = 2\n'
refused "recompute: 'heads'; allowed: none, pointwise, layer" 'recompute = heads\n'
refused 'bad.ini:5: hidden: 100 is not divisible by heads = 3' 'model = transformer\nhidden = 100\nheads = 3\n'

# An effective config writes out the keys of both models; it is what --resume and the nodes of a run read.
printf '[run]\nbackend = host\n[suite parallel]\nmodel = mlp\nmodes = single\nlayers = 8, 8\nbatch = 8\n' > "$dir/mlp.ini"
"$gpuproof" config show "$dir/mlp.ini" > "$dir/effective.ini"
"$gpuproof" run "$dir/effective.ini" --dry-run > "$dir/said" 2>&1 || fail "an effective config is refused: $(cat "$dir/said")"

# Memory of a step: by its plan and by the published formula, less with parts and with blocks computed again; a search ends.
cat > "$dir/memory.ini" <<'INI'
[run]
backend = host
host_devices = 1
[defaults]
min_samples = 3
max_samples = 3
max_time = 20ms
[suite trainmem]
model = transformer
hidden = 32
heads = 2
blocks = 3
sequence = 24
vocabulary = 90
batch = 4
segments = 0, 2, 5
accumulate = 1, 2
verify_flops = 1e6
[suite trainmem cache]
model = transformer
hidden = 32
heads = 2
sequence = 24
vocabulary = 90
batch = 8
precision = bf16_mixed
allocator = caching
studies = step, alternating
verify_flops = 1e6
[suite trainmem largest]
model = transformer
hidden = 32
heads = 2
sequence = 24
vocabulary = 90
studies = largest_batch
memory_limit = 64MiB
memory_reserve = 8MiB
[suite trainmem refused]
model = transformer
studies = largest_width
INI
"$gpuproof" run "$dir/memory.ini" -o "$dir/memory" --quiet || fail "memory of a transformer: $?"
python3 - "$dir/memory/result.json" <<'PY'
import json, sys
cases = {c["id"].split("@")[0]: c for c in json.load(open(sys.argv[1]))["cases"]}
refused = [c["reason"] for c in cases.values() if c["status"] == "SKIPPED"]
assert refused == ["this study needs model = mlp; other models support step, largest_batch and alternating"], refused
assert all(c["status"] == "OK" for c in cases.values() if c["label"] != "refused"), [(i, c["reason"]) for i, c in cases.items()]
def value(id, name):
    return cases[id]["metrics"]["trainmem." + name]["value"]
step = "trainmem/step/fp32/4/arena"
memory = [value(step + s + "/transformer", "memory") for s in ("", "/segments=2", "/segments=5")]
assert memory[0] > memory[1] > memory[2], memory
assert value(step + "/accumulate=2/transformer", "memory") < memory[0]
for id in cases:
    if "/step/" not in id:
        continue
    assert value(id, "memory") == value(id, "predicted"), id
# Samples are sequences: 4 of them, not 96 tokens.
whole = step + "/transformer"
assert abs(value(whole, "throughput") * value(whole, "step_time") - 4) < 0.01
assert 8 < value("trainmem:largest/largest_batch/fp32/arena/64MiB/transformer", "largest_batch") < 10000
PY

# Which split wins, over batch, hidden size and sequence: a map for each sequence.
cat > "$dir/crossover.ini" <<'INI'
[run]
backend = host
host_devices = 2
[suite parallel]
model = transformer
hidden = 32, 128
heads = 0
blocks = 2
sequence = 8, 16
vocabulary = 90
batch = 4, 8
devices = 1, 2
modes = single, ddp, tensor
iterations = 3
sample_time = 100us
verify_flops = 1e6
INI
"$gpuproof" run "$dir/crossover.ini" -o "$dir/crossover" --quiet || fail "a crossover ended with $?"
python3 - "$dir/crossover/result.json" "$dir/crossover/report.html" <<'PY'
import json, re, sys
cases = json.load(open(sys.argv[1]))["cases"]
page = re.sub(r"<[^>]*>", " ", open(sys.argv[2]).read())
assert len(cases) == 24, [c["id"] for c in cases]
# One head of 32 columns does not divide; two heads of 64 do.
assert all((c["status"] == "SKIPPED") == (c["parameters"]["mode"] == "tensor" and c["parameters"]["hidden"] == 32)
           for c in cases), [(c["id"], c["status"], c.get("reason")) for c in cases]
for sequence in "8", "16":
    found = re.search(r"Fastest strategy on 2 devices: [^.]*?\b%s\b[^.]*?, over batch and width: [^.]*? of 4" % sequence, page)
    assert found, (sequence, re.findall(r"Which split wins.{0,200}", page))
PY
