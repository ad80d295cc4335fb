#!/usr/bin/env bash
# docs/walks.md: every `file:name` is there, defined and not merely mentioned; one number takes 15 files at most.
set -euo pipefail
cd "$(dirname "$0")/../.."
failed=0

defines() { # file, name
	case $1 in
		*.c) grep -qE "^[a-z][^;]*\b$2(\(|\[)" "$1" ;;
		*.h) grep -qE "^[a-z][^;]*\b$2(\(| \{|\[)|^	[a-zA-Z_][^;/]*\b$2[,;]|^	$2," "$1" ;;
		*.def) grep -qE "^[A-Z_]+\([^()]*\b$2\b" "$1" ;;
		*) grep -q "{{#$2}}" "$1" ;;
	esac
}

steps=$(grep -oE '`[A-Za-z0-9_./-]+:[A-Za-z0-9_]+`' docs/walks.md | tr -d '`')
[ "$(wc -l <<<"$steps")" -ge 30 ] || { echo "docs/walks.md has $(wc -l <<<"$steps") steps"; exit 1; }
for step in $steps; do
	[ -f "${step%:*}" ] || { echo "docs/walks.md: there is no file ${step%:*}"; failed=1; continue; }
	defines "${step%:*}" "${step#*:}" || { echo "docs/walks.md: ${step%:*} does not define ${step#*:}"; failed=1; }
done
files=$(sed -n '/^## One number/,/^## A new metric/p' docs/walks.md | grep -oE '`[A-Za-z0-9_./-]+:' | sort -u | wc -l)
[ "$files" -ge 10 ] && [ "$files" -le 15 ] || { echo "one number takes $files files"; failed=1; }

if defines src/plan/plan.c plan_buil || defines src/plan/plan.c section_setting || defines src/measure/run.h run_ || defines src/device/backend.def OPERATION; then
	echo "the check takes what is not there"
	failed=1
fi
exit $failed
