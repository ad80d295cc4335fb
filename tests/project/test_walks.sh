#!/usr/bin/env bash
# docs/walks.md: every `file:name` is there, defined and not merely mentioned.
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

# The frames of the first walk: each calls the next one, or what its text names after a dash.
body() { # file, name
	awk -v name="$2" '!inside && /^[a-z]/ && !/;$/ && $0 ~ "[ *]" name "\\(" { inside = 1 } inside; inside && /^}/ { exit }' "$1"
}
calls() { # file, name, the next one's name
	body "$1" "$2" | tail -n +2 | grep -qE "(^|[^a-z_])$3\("
}
frames=$(sed -nE '/^\| Frame/,/^$/s/^\| [0-9]+ \| `([^`]+)` \| (.*) \|$/\1 \2/p' docs/walks.md | sed -E 's/^([^ ]+) .* - `([^`]+)`$/\1 \2/; t; s/ .*//')
[ "$(wc -l <<<"$frames")" -ge 10 ] || { echo "docs/walks.md has no frames"; exit 1; }
before='' through=''
while read -r step table; do
	name=${step#*:}
	case $step in *.def:*) name=backend_$name ;; esac
	case $before in
		'' | *.def:*) ;;
		*) calls "${before%:*}" "${before#*:}" "${through:-$name}" ||
			{ echo "docs/walks.md: $before does not call ${through:-$name}"; failed=1; } ;;
	esac
	before=$step through=$table
done <<<"$frames"
if calls src/run/conductor.c conduct supervise || ! calls src/run/conductor.c conduct conductor_run_workers; then
	echo "the check of calls takes what is not there, or misses what is"
	failed=1
fi

if defines src/plan/plan.c plan_buil || defines src/plan/plan.c section_setting || defines src/measure/run.h run_ || defines src/device/backend.def OPERATION; then
	echo "the check takes what is not there"
	failed=1
fi
exit $failed
