#!/usr/bin/env bash
# Every script of the project passes shellcheck's warnings. Skipped where shellcheck is not installed.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
scripts=()
while IFS= read -r -d '' file; do
	IFS= read -r first <"$file" || continue
	case $first in '#!'*sh) scripts+=("$file") ;; esac
done < <(find ci packaging tests .ci -type f ! -name '*.py' -print0 2>/dev/null)
[ ${#scripts[@]} -gt 90 ] || { echo "only ${#scripts[@]} scripts were found"; exit 1; }
exec shellcheck --severity=warning "${scripts[@]}"
