#!/usr/bin/env bash
# The smallest suite of CONTRIBUTING.md out of tree: built against what `cmake --install` gives suites, loaded, measured, judged,
# compared, and drawn where its library is gone; and libraries that are refused.
set -euo pipefail
gpuproof=$(realpath "$1")
build=$(dirname "$gpuproof")
source=$(cd "$(dirname "$0")/../.." && pwd)
command -v cmake >/dev/null && command -v cc >/dev/null || { echo "needs cmake and cc"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
	echo "$1"
	shift
	for file; do sed "s/^/  /" "$file"; done
	exit 1
}

DESTDIR='' cmake --install "$build" --prefix "$dir/prefix" --component development >install.log || fail "not installed" install.log
include=prefix/include/gpuproof
# Only headers that a suite needs, and all of them.
printf '#include "%s"\n' plan/suites/plugin.h measure/run.h suites/shared/buffers.h >all.c
cc -D_GNU_SOURCE -I"$include" -MM all.c | tr ' \\' '\n\n' | sed -n "s,^$include/,,p" | LC_ALL=C sort >needed
find "$include" -type f -printf '%P\n' | LC_ALL=C sort >installed
cmp -s needed installed || { diff needed installed >difference || true; fail "headers needed (<) and installed (>)" difference; }

mkdir mine
sed -n '/^```c$/,/^```$/{/^```/!p}' "$source/CONTRIBUTING.md" >mine/memset.c
cat >mine/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.21)
project(mine LANGUAGES C)
find_package(gpuproof REQUIRED)
gpuproof_add_suite(memset memset.c)
END
cmake -S mine -B mine/build -DCMAKE_PREFIX_PATH="$dir/prefix" >configure.log 2>&1 || fail "not configured" configure.log
cmake --build mine/build >build.log 2>&1 || fail "not built" build.log

# A path is taken from the folder of the config, wherever the program runs.
cat >mine/mine.ini <<'END'
[run]
backend = host
launches = 2

[suite memset]
library = build/memset.so
sizes = 64KiB..4MiB *4
max_time = 20ms

[limit fill]
metric = memset.bandwidth
where = size:>=1MiB
min = 1 MB/s

[limit never]
metric = memset.bandwidth
where = size:64KiB
min = 10000 TB/s
END
"$gpuproof" config validate mine/mine.ini >out 2>&1 || fail "not valid" out
"$gpuproof" config keys memset >out 2>&1 && fail "a suite that is not built in has keys without its config" out
"$gpuproof" run mine/mine.ini --dry-run >out
grep -q '^memset/1MiB@host:0' out || fail "no case" out
"$gpuproof" run mine/mine.ini --set memset.max_time=30ms --check --quiet -o a >out 2>&1 || [ $? = 1 ] || fail "the run" out
"$gpuproof" run mine/mine.ini --against mine/mine.ini --quiet -o both >out 2>&1 || fail "the run in turns" out
grep -q 'every byte read' a/result.json || fail "not verified"

# Without the library: verdict, page and comparison from the result alone.
mv mine/build/memset.so memset.so
"$gpuproof" check a >out 2>&1 && fail "10000 TB/s was reached" out
grep -q 'fill.*PASS\|checks: 1 PASS' out || grep -q PASS out || fail "no check passed" out
"$gpuproof" report a -o page.html >out 2>&1 || fail "no page" out
grep -q '<th[^>]*>bandwidth' page.html || fail "no metric on the page"
grep -q '<svg' page.html || fail "no chart on the page"
"$gpuproof" compare both/a both/b --all >out 2>&1 || fail "no comparison" out
grep -q 'memset/1MiB' out || fail "the comparison lacks the suite" out
"$gpuproof" run --resume a --quiet >out 2>&1 && fail "a run without its library is continued" out
grep -q 'cannot load the shared object' out || fail "the reason is missing" out
mv memset.so mine/build/memset.so

refused() { # library, section, words of the message
	printf '[run]\nbackend = host\n\n[suite %s]\nlibrary = %s\n' "$2" "$1" >refused.ini
	"$gpuproof" config validate refused.ini >out 2>&1 && fail "$1 was not refused" out
	grep -q "^refused.ini:5: \[suite $2\] library = [^ ]*: .*$3" out || fail "not '$3' in line 5" out
	[ "$(wc -l <out)" = 1 ] || fail "more than one line about it" out
}
refused nothing.so memset 'cannot load the shared object'
refused mine/mine.ini memset 'cannot load the shared object'
refused mine/build/memset.so other "contains the suite 'memset', but the section names 'other'"
plug() { # name of the object, then sources
	cc -std=gnu17 -D_GNU_SOURCE -shared -fPIC -I"${abi:-$include}" -I"$include" -o "$1.so" "${@:2}"
}
echo 'int nothing;' >nothing.c
plug stray nothing.c
refused stray.so memset 'does not export gpuproof_suite_plugin'
# Built against the headers of another version; the suite itself would be read wrong.
mkdir -p other/plan/suites
sed 's/SUITE_ABI 0x/SUITE_ABI 0xf/; s/0xf\(.......\)./0xf\1/' "$include/plan/suites/suite_abi.h" >other/plan/suites/suite_abi.h
cp "$include/plan/suites/plugin.h" other/plan/suites/
printf '#include "plan/suites/plugin.h"\nSUITE(memset)\n' >line.c
abi=other plug older line.c mine/memset.c
refused older.so memset 'built for interface f[0-9a-f]*, but this gpuproof has [0-9a-f]*'
# A suite that would end the program when it records its metric.
sed 's/"memset.bandwidth", "B\/s"/"memset.bandwidth", "furlongs"/' mine/memset.c >unit.c
plug unit line.c unit.c
refused unit.so memset "has the unknown unit 'furlongs'"
sed 's/"sizes", NULL/"size", NULL/' mine/memset.c >axis.c
plug axis line.c axis.c
refused axis.so memset 'the axis size is not'
printf '[suite transfer]\nlibrary = mine/build/memset.so\n' >built_in.ini
"$gpuproof" config validate built_in.ini >out 2>&1 && fail "a built-in suite has a library" out
grep -q "has no key 'library'" out || fail "the reason is missing" out
printf '[suite cpoy]\nsizes = 1MiB\n' >unknown.ini
"$gpuproof" config validate unknown.ini >out 2>&1 && fail "an unknown suite is valid" out
grep -q "unknown.ini:1: \[suite cpoy\]: unknown suite 'cpoy'" out || fail "the reason is missing" out
