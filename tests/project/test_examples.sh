#!/usr/bin/env bash
# ci/examples: files parse, rules fire where they should, and rules and dashboard name metrics that exports have.
set -u
program=$(realpath "$1")
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 to read the examples with"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
examples=$top/ci/examples
failed=0

"$program" check "$top/tests/data/quick_h200_x2.json" -o "$folder/judged.json" >/dev/null
"$program" export prometheus "$folder/judged.json" >"$folder/metrics" || exit 1
python3 - "$examples" "$folder" <<'PYTHON' || failed=1
import glob, json, os, re, sys
examples, folder = sys.argv[1:]
known = set(re.findall(r"^(gpuproof_\w+)", open(os.path.join(folder, "metrics")).read(), re.M))
dashboard = json.load(open(os.path.join(examples, "prometheus/gpuproof-dashboard.json")))
expressions = [t["expr"] for p in dashboard["panels"] for t in p["targets"]]
rules = open(os.path.join(examples, "prometheus/gpuproof-rules.yml")).read()
named = set(re.findall(r"gpuproof_\w+", " ".join(expressions + re.findall(r"expr: (.*)", rules))))
missing = named - known
if missing or len(named) < 8:
    sys.exit(f"no export has {sorted(missing)}; {len(named)} metrics are named")
for path in glob.glob(examples + "/**/*.json", recursive=True):
    json.load(open(path))
for path in glob.glob(examples + "/**/*.py", recursive=True):
    compile(open(path).read(), path, "exec")
try:
    import yaml
    for path in glob.glob(examples + "/**/*.yml", recursive=True):
        list(yaml.safe_load_all(open(path)))
except ImportError:
    pass
with open(os.path.join(folder, "dashboard.yml"), "w") as f:
    f.write("groups:\n  - name: dashboard\n    rules:\n")
    for i, e in enumerate(expressions):
        f.write(f"      - record: panel_{i}\n        expr: {json.dumps(e)}\n")
PYTHON
if command -v promtool >/dev/null; then
	for command in "check rules $folder/dashboard.yml" "check rules $examples/prometheus/gpuproof-rules.yml" \
		"test rules $examples/prometheus/gpuproof-rules-test.yml"; do
		# shellcheck disable=SC2086
		promtool $command >"$folder/out" 2>&1 || { echo "promtool $command:"; cat "$folder/out"; failed=1; }
	done
fi
# An Ansible role and systemd units, where there are the programs that read them.
if command -v ansible-playbook >/dev/null; then
	mkdir -p "$folder/roles"
	cp -r "$examples/ansible" "$folder/roles/gpuproof"
	printf -- '- hosts: all\n  roles: [gpuproof]\n' >"$folder/play.yml"
	ANSIBLE_ROLES_PATH=$folder/roles ANSIBLE_LOCAL_TEMP=$folder/ansible ansible-playbook --syntax-check -i localhost, "$folder/play.yml" \
		>"$folder/out" 2>&1 || { echo "ansible-playbook --syntax-check:"; cat "$folder/out"; failed=1; }
fi
if command -v systemd-analyze >/dev/null; then
	# Its program is where an administrator puts it.
	mkdir "$folder/units"
	sed "s#^ExecStart=[^ ]*#ExecStart=/bin/true#" "$examples/gpuproof-nightly.service" >"$folder/units/gpuproof-nightly.service"
	cp "$examples/gpuproof-nightly.timer" "$folder/units"
	systemd-analyze verify --man=no "$folder"/units/* >"$folder/out" 2>&1
	! grep gpuproof-nightly "$folder/out" || { echo "systemd-analyze verify:"; cat "$folder/out"; failed=1; }
fi
exit $failed
