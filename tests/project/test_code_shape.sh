#!/usr/bin/env bash
# All C, C++ and CUDA files keep 100 columns and the shape of .clang-format (ci/format brings them into it); and the checks
# notice a file that does not.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$top"

# Characters, not bytes; a tab ends at the next multiple of eight.
too_wide() {
	LC_ALL=C.UTF-8 expand -t 8 "$1" | LC_ALL=C.UTF-8 grep -nE '^.{101}' | sed "s|^|$1:|"
}
every_file() {
	find src suites kernels tests \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) | LC_ALL=C sort
}

printf 'int a; /* %084d */\nint b; /* %090d */\n\tint c; /* %076d */\n\tint d; /* %082dé */\n' 0 0 0 0 >"$folder"/wide.c
[ "$(too_wide "$folder"/wide.c | cut -d: -f2 | tr '\n' ' ')" = "2 4 " ] || { echo "the check of columns is wrong"; exit 1; }

every_file >"$folder"/files
[ "$(wc -l <"$folder"/files)" -gt 500 ] || { echo "only $(wc -l <"$folder"/files) files were found"; exit 1; }
while read -r file; do
	too_wide "$file" || true
done <"$folder"/files >"$folder"/wide
[ ! -s "$folder"/wide ] || { cat "$folder"/wide; echo "more than 100 columns"; exit 1; }

# glibc 2.35 has a new version of it, without which the program does not start: base/stats.h has root_sum_square().
calls_hypot() { grep -rnE '[^a-z_]hypotf?\([^)]' "$@"; }
mkdir "$folder"/hypot
printf 'double x = hypot(3, 4);\n' >"$folder"/hypot/called.c
calls_hypot "$folder"/hypot >"$folder"/called || { echo "the check for hypot() is wrong"; exit 1; }
! calls_hypot src suites || { echo "hypot() ties the program to glibc 2.35"; exit 1; }

code=0
printf 'int  main( void ){return 0;}\n' >"$folder"/shapeless.c
cp .clang-format "$folder"
ci/format --check "$folder"/shapeless.c 2>/dev/null || code=$?
[ "$code" != 3 ] || { echo "skipped: columns are right; there is no clang-format 14 for the rest"; exit 77; }
[ "$code" = 1 ] || { echo "ci/format --check accepts a file without shape"; exit 1; }
ci/format "$folder"/shapeless.c
ci/format --check "$folder"/shapeless.c || { echo "ci/format leaves a file without shape"; exit 1; }
ci/format --check 2>"$folder"/said || { grep -E ' (error|warning): ' "$folder"/said | head -40; echo "ci/format puts it right"; exit 1; }
