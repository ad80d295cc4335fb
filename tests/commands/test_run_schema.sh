#!/usr/bin/env bash
# What a real run writes is valid by the schema that the program ships.
set -euo pipefail
program=$1
here=$(cd "$(dirname "$0")/.." && pwd)

python=
for candidate in /usr/bin/python3 python3; do
	if "$candidate" -c 'from jsonschema import Draft7Validator' 2>/dev/null; then
		python=$candidate
		break
	fi
done
if [ -z "$python" ]; then
	echo "skipped: python3-jsonschema is not installed; ci/install-deps installs it"
	exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder"/every_suite.ini <<'END'
[run]
backend = host
host_devices = 2
label = schema ü
[defaults]
min_samples = 5
max_samples = 6
max_time = 10ms
sample_time = 10us
[suite alloc]
sizes = 4KiB
[suite transfer]
sizes = 4KiB
[suite matmul]
sizes = 64
precisions = fp32, tf32
[suite parallel]
layers = 8, 16, 4
batch = 16
devices = 1, 2
END
"$program" run "$folder"/every_suite.ini -o "$folder"/out --quiet
grep -q '"status": "OK"' "$folder"/out/result.json || { echo "no case is OK"; exit 1; }
grep -q '"status": "SKIPPED"' "$folder"/out/result.json || { echo "no case is SKIPPED"; exit 1; }
# With a judgement too, of whatever verdict.
"$program" check "$folder"/out --limits generic -o "$folder"/judged.json >/dev/null || [ $? = 4 ] || [ $? = 1 ]
grep -q '^ "judgement": {' "$folder"/judged.json || { echo "no judgement"; exit 1; }
"$python" "$here"/commands/result_schema.py "$here"/../src/result/result.schema.json "$folder"/out/result.json "$folder"/judged.json
