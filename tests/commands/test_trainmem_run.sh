#!/usr/bin/env bash
# The suite `trainmem` through the whole program on a share of the CPU: every study is planned, carried out and
# verified; wrong limits are named; a search under a limit stays within it.
set -u
gpuproof=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
cat > "$dir/t.ini" <<'INI'
[run]
backend = host
[defaults]
max_time = 20ms
min_samples = 6
[suite trainmem]
layers = 64,128,96,64,10
batch = 256
allocator = arena, malloc, async, caching
[suite trainmem ways]
layers = 64,128,96,64,10
batch = 256
segments = 0, 2
accumulate = 1, 2
offload = none, host
[suite trainmem fragments]
layers = 64,128,96,64,10
studies = alternating, checkerboard
batch = 256
allocator = arena, caching
[suite trainmem search]
layers = 64,128,96,64,10
studies = largest_batch, largest_width
batch = 64
memory_limit = 64MiB, 96MiB
memory_reserve = 1MiB
INI
for limit in 0 12 zero 8GiBs; do
	"$gpuproof" run "$dir/t.ini" --set "trainmem.memory_limit=$limit" --dry-run > "$dir/said" 2>&1 &&
		fail "memory_limit = $limit was accepted"
	grep -q "memory_limit: \"$limit\".*allowed: none, or a size" "$dir/said" || { cat "$dir/said"; fail "limit $limit"; }
done
"$gpuproof" run "$dir/t.ini" -o "$dir/out" --quiet || fail "run ended with $?"
python3 - "$dir/out/result.json" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
skipped = [c for c in cases if c["status"] == "SKIPPED"]
assert [c["reason"] for c in skipped] == (["the device has no stream-ordered memory pool"] +
    ["offload = host and recompute exclude each other"] * 2), [(c["id"], c["reason"]) for c in skipped]
done = [c for c in cases if c not in skipped]
assert len(done) == 3 + 6 + 4 + 4, [c["id"] for c in done]
for c in done:
    assert c["status"] == "OK", (c["id"], c["reason"])
    assert c["verification"]["done"], c["id"]
    m = {k.removeprefix("trainmem."): v["value"] for k, v in c["metrics"].items()}
    if "/step/" in c["id"]:
        assert c["verification"]["error"] <= c["verification"]["tolerance"], c["id"]
        parts = [v for k, v in m.items() if k.startswith("memory_")]
        assert sum(parts) == m["memory"] == m["predicted"], c["id"]
        assert max(m["peak_forward"], m["peak_backward"], m["peak_optimizer"]) == m["memory"], c["id"]
        assert m["leak"] == 0 and m["accounted"] > 0.5, c["id"]
    if "largest" in c["id"]:
        limit = 64 if "/64MiB" in c["id"] else 96
        assert m["memory"] + m["context"] <= limit * 2**20 and m["trials"] <= 6, (c["id"], m)
        assert "The device still works" in c["notes"], c["notes"]
        heads = [k for k, v in c["metrics"].items() if v["headline"]]
        assert len(heads) == 1 and "largest" in heads[0], (c["id"], heads)
PY
[ $? = 0 ] || fail "the result is not as it should be"
# A card that starting alone fills: nothing fits, which is not the same as no limit.
cat > "$dir/none.ini" <<'INI'
[run]
backend = host
[suite trainmem]
layers = 64,128,10
studies = largest_batch, largest_width
batch = 8
memory_limit = 1MiB
memory_reserve = 0B
limit_by = allocator
max_batch = 1024
max_width = 1024
INI
for by in allocator filler; do
	"$gpuproof" run "$dir/none.ini" -o "$dir/none" --set "suite trainmem.limit_by=$by" --quiet --no-report >"$dir/said" 2>&1
	python3 - "$dir/none/result.json" $by <<'PY' || { cat "$dir/said"; fail "a card of 1 MiB"; }
import json, sys
why = {"allocator": "no memory is left for tensors", "filler": "gpuproof does not fill the memory of the host"}[sys.argv[2]]
cases = json.load(open(sys.argv[1]))["cases"]
assert len(cases) == 2
for c in cases:
    assert c["status"] == "SKIPPED", (c["status"], c["metrics"])
    assert why in c["reason"], c["reason"]
PY
	rm -r "$dir/none"
done
# Eighths of a batch that leave a part nothing: such a step would never end, or read beyond its rows.
cat > "$dir/eighths.ini" <<'INI'
[run]
backend = host
case_limit = 5s
[defaults]
max_time = 20ms
min_samples = 6
[suite trainmem]
layers = 64,128,10
studies = alternating
batch = 4, 16, 72, 32
accumulate = 1, 4
INI
"$gpuproof" run "$dir/eighths.ini" -o "$dir/eighths" --quiet --no-report >"$dir/said" 2>&1
python3 - "$dir/eighths/result.json" <<'PY' || { cat "$dir/said"; fail "eighths of a batch"; }
import json, sys
for c in json.load(open(sys.argv[1]))["cases"]:
    batch = int(c["parameters"]["batch"]["text"] if isinstance(c["parameters"]["batch"], dict) else c["parameters"]["batch"])
    parts = 4 if "accumulate=4" in c["id"] else 1
    wanted = "OK" if batch % (8 * parts) == 0 else "SKIPPED"
    assert c["status"] == wanted, (c["id"], c["status"], c["reason"])
PY
# Memory in use when a request was refused tells why; and the host may fetch each step's losses.
cat > "$dir/account.ini" <<'INI'
[run]
backend = host
[defaults]
max_time = 20ms
min_samples = 6
[suite trainmem limits]
layers = 512,512,512,10
studies = largest_batch
allocator = malloc, arena
memory_limit = 64MiB
memory_reserve = 0B
limit_by = allocator
max_batch = 100000
[suite trainmem offloaded]
layers = 512,512,512,512,512,512,10
batch = 2048
offload = host
[suite trainmem losses]
layers = 64,128,10
batch = 32
losses = device, host
INI
# Two axes with a value of the same name are two cases each.
cat >"$dir/same.ini" <<'INI'
[run]
backend = host
[suite trainmem]
layers = 32,32,10
batch = 8
offload = none, host
losses = device, host
INI
[ "$("$gpuproof" run "$dir/same.ini" --dry-run | grep -c '^trainmem/')" = 4 ] || fail "offload and losses have the same ids"
"$gpuproof" run "$dir/account.ini" -o "$dir/account" --quiet --no-report >"$dir/said" 2>&1
# The thread sanitizer's shadow of what was touched counts as the process's memory, too.
shadow=$(ldd "$gpuproof" | grep -c tsan || true)
python3 - "$dir/account/result.json" "$shadow" <<'PY' || { cat "$dir/said"; fail "the memory account of a refusal"; }
import json, sys
seen = 0
for c in json.load(open(sys.argv[1]))["cases"]:
    assert c["status"] == "OK", (c["id"], c["status"], c["reason"])
    m = {k.split(".")[1]: v["value"] for k, v in c["metrics"].items()}
    if "largest_batch" in c["id"]:
        seen += 1
        assert 0.99 <= m["explained"] <= 1.1, (c["id"], m)
        # The budget is the refused trial's own: two processes need different amounts before their first tensor.
        assert 8 << 20 < (m["refused"] + m["refused_reserved"]) / m["explained"] <= 64 << 20, m
        assert "could not be allocated:" in c["notes"], c["notes"]
        # One allocation is refused before the first phase, tensors of their own are in one.
        assert (m["refused_phase"] == 0) == ("arena" in c["id"]), (c["id"], m)
        assert (m["refused_reserved"] == 0) == ("arena" in c["id"]), (c["id"], m)
    elif "offloaded" in c["id"]:
        assert m["host_memory"] > 1e7, (c["id"], m)
        assert sys.argv[2] != "0" or abs(1 - m["accounted"]) < 0.05, (c["id"], m)
    else:
        assert m["losses"] == 32 * 8 and 0 <= m["gradient_error"] < 1e-4, (c["id"], m)
        assert ("slowdown" in m) == c["id"].split("@")[0].endswith("/losses=host"), (c["id"], m)
assert seen == 2
PY
echo ok
