#!/usr/bin/env bash
# The version names the commit that was built, in `version`, in `version --json` and in each result; the change log
# begins with the version in work.
set -euo pipefail
gpuproof=$(realpath "$1")
source=$(cd "$(dirname "$0")/../.." && pwd)
fail() { echo "test_version: $*" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

project=$(sed -n 's/^project(gpuproof VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
version=$("$gpuproof" version)
version=${version#gpuproof }
[[ $version =~ ^$project(-[0-9]+-g[0-9a-f]{7,})?(-dirty)?$ ]] || fail "'$version' is no version of $project"
told=$("$gpuproof" version --json | python3 -c 'import json, sys; v = json.load(sys.stdin); print(v["gpuproof"], *v["backends"])')
[[ $told =~ ^"$version host"( cuda[0-9]+)*$ ]] || fail "version --json says '$told'"

printf '[run]\nbackend = host\n[suite launch]\n' >"$scratch/one.ini"
"$gpuproof" run "$scratch/one.ini" --no-report -o "$scratch/run" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "the run failed"; }
# The format of a history is that of the file it writes.
"$gpuproof" history add "$scratch/run" --db "$scratch/history.db" 2>/dev/null
"$gpuproof" version --json | python3 -c 'import json, sqlite3, sys
v, found = json.load(sys.stdin), sqlite3.connect(sys.argv[1]).execute("PRAGMA user_version").fetchone()[0]
sys.exit(not (v["history_version"] == found >= 6))' "$scratch/history.db" ||
	fail "version --json: not the version of a history"
python3 - "$scratch/run/result.json" "$version" <<'E' || fail "the result does not carry $version"
import json, sys
sys.exit(json.load(open(sys.argv[1]))["gpuproof"]["version"] != sys.argv[2])
E

newest=$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' "$source/CHANGELOG.md" | head -n 1)
[ "$newest" = "$project" ] || fail "CHANGELOG.md begins with $newest, the project's version is $project"

# Output of cmake/version.cmake for a tag, for commits after it, for changed files, and for a source package.
made() {
	cmake -DSOURCE="$scratch/tree" -DOUTPUT="$scratch/version.c" -DPROJECT_VERSION=9.9.9 -P "$source/cmake/version.cmake"
	sed -n 's/.*"\([^"]*\)";$/\1/p' "$scratch/version.c"
}
if ! command -v git >/dev/null; then
	echo "not tried: versions of a git tree, since git is not here"
	exit 0
fi
git="git -C $scratch/tree -c user.name=test -c user.email=test@example.org -c commit.gpgsign=false"
mkdir "$scratch/tree"
[ "$(made)" = 9.9.9 ] || fail "a tree without git: '$(made)'"
$git init -q
echo 'project(gpuproof VERSION 9.9.9)' >"$scratch/tree/CMakeLists.txt"
$git add . && $git commit -qm first
[[ $(made) =~ ^9\.9\.9-0-g[0-9a-f]{7}$ ]] || fail "a tree without a tag: '$(made)'"
$git tag v1.2.0
[ "$(made)" = 1.2.0 ] || fail "a tag: '$(made)'"
$git commit -q --allow-empty -m second
[[ $(made) =~ ^1\.2\.0-1-g[0-9a-f]{7}$ ]] || fail "a commit after a tag: '$(made)'"
echo >>"$scratch/tree/CMakeLists.txt"
[[ $(made) =~ ^1\.2\.0-1-g[0-9a-f]{7}-dirty$ ]] || fail "a changed file: '$(made)'"
echo 1.3.0 >"$scratch/tree/VERSION"
[ "$(made)" = 1.3.0 ] || fail "a source package: '$(made)'"
