#!/usr/bin/env bash
# packaging/recipes: syntax, and options and programs that the build has. None is carried out..
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
recipes=$top/packaging/recipes
command -v python3 >/dev/null || { echo "no python3 to read the recipes with"; exit 77; }
failed=0
complain() { echo "$*"; failed=1; }

count=0
while IFS= read -r option; do
	count=$((count + 1))
	grep -qE "(option\(|set\()$option\b" "$top"/CMakeLists.txt "$top"/cmake/*.cmake || complain "a recipe sets $option, which the build does not have"
done < <(grep -rhoE 'GPUPROOF_[A-Z_]+' "$recipes" | sort -u)
[ $count -ge 3 ] || complain "only $count options were found in the recipes"

python3 - "$recipes" <<'END' || failed=1
import ast, glob, os, sys
recipes = sys.argv[1]
classes = set()
for path in glob.glob(recipes + "/spack/packages/*/package.py"):
    tree = ast.parse(open(path).read(), path)
    classes |= {c.name for c in tree.body if isinstance(c, ast.ClassDef)}
    calls = {c.func.id for c in ast.walk(tree) if isinstance(c, ast.Call) and isinstance(c.func, ast.Name)}
    assert {"version", "license", "depends_on"} <= calls, (path, calls)
assert classes == {"Gpuproof", "Mstch"}, classes
names = {t.id for n in ast.parse(open(recipes + "/easybuild/gpuproof.eb").read()).body if isinstance(n, ast.Assign) for t in n.targets}
assert {"easyblock", "name", "version", "homepage", "description", "toolchain", "sources", "checksums", "sanity_check_paths"} <= names, names
try:
    import yaml
except ImportError:
    sys.exit(0)
meta = yaml.safe_load(open(recipes + "/conda/meta.yaml"))
assert {"package", "source", "build", "requirements", "test", "about"} <= set(meta), meta
assert yaml.safe_load(open(recipes + "/spack/repo.yaml"))["repo"]["namespace"] == "gpuproof"
END

# The shell sections of the definition file.
definition=$recipes/apptainer/gpuproof.def
[ "$(head -n 1 "$definition")" = "Bootstrap: debootstrap" ] || complain "gpuproof.def does not begin with its bootstrap"
for section in setup post test runscript; do
	text=$(awk -v section="%$section" '$1 ~ /^%/ { inside = $1 == section; next } inside' "$definition")
	[ -n "$text" ] || complain "gpuproof.def has no %$section"
	sh -n -c "$text" || complain "gpuproof.def: %$section is no shell"
	! command -v shellcheck >/dev/null || shellcheck -s sh - <<<"$text" || complain "gpuproof.def: shellcheck of %$section"
done
for file in spack/packages/gpuproof/package.py easybuild/gpuproof.eb conda/meta.yaml; do
	grep -q '@SHA256@' "$recipes/$file" || complain "$file has no place for the sum of the archive"
done
exit $failed
