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
# Commands of the jobs pass shellcheck.
if command -v shellcheck >/dev/null && python3 -c 'import yaml' 2>/dev/null; then
	mkdir "$folder/shell"
	python3 - "$examples" "$folder/shell" <<'PYTHON' || failed=1
import os, re, sys, yaml
examples, out = sys.argv[1:]
found = {}
jenkins = open(os.path.join(examples, "Jenkinsfile")).read()
for i, text in enumerate(re.findall(r"\bsh '''\n(.*?)'''", jenkins, re.S) + re.findall(r"sh\(script: '(.*?)'", jenkins)):
    found[f"jenkins-{i}.sh"] = text
for job in yaml.safe_load(open(os.path.join(examples, "gitlab-ci.yml"))).values():
    for key in ("before_script", "script"):
        found[f"gitlab-{key}.sh"] = "\n".join(job[key])
for job in yaml.safe_load(open(os.path.join(examples, "github-workflow.yml")))["jobs"].values():
    for i, step in enumerate(s for s in job["steps"] if "run" in s):
        found[f"github-{i}.sh"] = step["run"]
if len(found) < 7:
    sys.exit(f"too few commands in the examples: {sorted(found)}")
for name, text in found.items():
    # The shell of a runner has these, and ends at the first error.
    head = "#!/bin/sh\nset -e\nNODE_NAME=a NIGHTS=b PREFIX=c GPUPROOF_URL=d GITHUB_STEP_SUMMARY=e\n: $NODE_NAME $NIGHTS $PREFIX $GPUPROOF_URL $GITHUB_STEP_SUMMARY\n"
    open(os.path.join(out, name), "w").write(head + text + "\n")
PYTHON
	shellcheck --severity=style "$folder"/shell/* || failed=1
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
