#!/usr/bin/env bash
# No code searches a text for people; and the script that says so notices when it does.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)

"$top/ci/check-prose"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/src/judge "$tree"/suites
cat >"$tree"/src/judge/ends.c <<'END'
static bool is_hung(const struct case_result *c)
{
	return strncmp(c->reason, "hung: ", 6) == 0;
}

static bool is_noted(const struct case_result *c)
{
	return c->notes &&
	       strstr(c->notes,
		      " launches of ");
}

static bool is_lost(const struct finding *f)
{
	return strcmp(f->subject, "devices") == 0;
}

static bool alike(const struct verdict_check *a, const struct verdict_check *b)
{
	return strcmp(a->reason, b->reason) == 0;
}
END
if "$top/ci/check-prose" "$tree" >"$tree"/found; then
	echo "ci/check-prose accepts a broken tree"
	exit 1
fi
for name in is_hung is_noted is_lost; do
	grep -q "src/judge/ends.c:[0-9]*: $name() searches a text for people" "$tree"/found || { echo "not found: $name"; cat "$tree"/found; exit 1; }
done
! grep -q 'alike()' "$tree"/found || { echo "equal texts may be shown once"; exit 1; }
