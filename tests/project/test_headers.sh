#!/usr/bin/env bash
# Each header compiles alone as C17 and C++17; and the script that says so notices when one doesn't.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)

"$top/ci/check-headers"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
echo 'size_t needs_stddef(void);' >"$tree"/incomplete.h
printf '#include <stddef.h>\nstatic inline char *c_only(void *p) { char *q = p; return q; }\n' >"$tree"/c_only.h
for header in incomplete:C17 c_only:C++17; do
	if "$top/ci/check-headers" "$tree/${header%:*}.h" >"$tree"/found; then
		echo "ci/check-headers accepts ${header%:*}.h"
		exit 1
	fi
	grep -q "${header%:*}.h does not compile alone as ${header#*:}:" "$tree"/found || { cat "$tree"/found; exit 1; }
done
