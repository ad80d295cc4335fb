#!/usr/bin/env bash
# The largest batch of a split over cards of little memory: as many samples as the plan says and no more, twice as many on
# two cards that share the batch, fewer where they share the model; what is refused says why.
set -euo pipefail
gpuproof=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "FAILED: $*"; exit 1; }

cat > "$dir/dies.ini" <<'INI'
[run]
backend = host
host_devices = 2
[suite parallel dies]
studies = largest_batch
layers = 32, 64, 32, 10
modes = single, ddp, zero3, layer_split
devices = 1, 2
microbatches = 1
batch = 8, 16
memory_limit = 256MiB, 1MiB
memory_reserve = 1MiB
[suite parallel usual]
layers = 32, 64, 32, 10
modes = single
devices = 1
batch = 32
iterations = 10
INI
"$gpuproof" run "$dir/dies.ini" --set 'suite parallel dies.memory_limit=small' --dry-run > "$dir/said" 2>&1 && fail "memory_limit = small"
grep -q 'memory_limit: "small"; allowed: none, or a size' "$dir/said" || fail "memory_limit: $(cat "$dir/said")"

"$gpuproof" run "$dir/dies.ini" -o "$dir/out" --quiet --no-report > "$dir/said" 2>&1 || true
python3 - "$dir/out/result.json" <<'PY'
import json, sys
cases = {c["id"].split("@")[0]: c for c in json.load(open(sys.argv[1]))["cases"]}
usual = cases.pop("parallel:usual/fp32/32/single/1")
assert usual["status"] == "OK" and "parallel.step_time" in usual["metrics"], usual["reason"]
found = {}
for name, c in cases.items():
    mode, limit = name.split("/")[2], name.split("/")[-1]
    m = {k.split(".")[1]: v["value"] for k, v in c["metrics"].items()}
    if limit == "1MiB":
        assert c["status"] == "SKIPPED" and "a batch of" in c["reason"] and "does not fit" in c["reason"], (name, c["status"], c["reason"])
        continue
    assert c["status"] == "OK" and c["verification"]["done"], (name, c["status"], c["reason"])
    assert "step_time" not in m and "does not fit" in c["notes"], (name, m, c["notes"])
    # Within a percent of what the card has left, and never more; context and reserve are what it has not.
    assert 0.98 * m["budget"] < m["memory"] <= m["budget"], (name, m)
    assert m["budget"] + m["context"] <= 255 * 2**20, (name, m)
    assert abs(m["predicted_largest"] / m["largest_batch"] - 1) < 0.01, (name, m)
    found[mode] = m["largest_batch"] / m["budget"]
assert len(cases) == 8 and len(found) == 4, cases.keys()
assert 1.9 < found["ddp"] / found["single"] < 2.1, found
assert 1.9 < found["zero3"] / found["single"] < 2.1, found
assert 1 < found["layer_split"] / found["single"] < 1.9, found
PY
