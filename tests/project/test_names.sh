#!/usr/bin/env bash
# Pages and verdicts name no suite, key or metric; and the script that says so notices when they do.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)

"$top/ci/check-names"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/src/{report/view,judge,history,export,cli} "$tree"/suites/shared
echo 'SUITE(transfer)' >"$tree"/suites/suites.def
printf '\t{ .name = "directions",\n\t  .parameter = "direction",\n' >"$tree"/suites/transfer.c
cat >"$tree"/src/report/view/view.c <<'END'
#include "transfer.h"
/* A comment may say "transfer", and "direction" too,
   on several lines: "transfer.bandwidth". */
static const char *names[] = { "transfer", /* as here */ "else" };
void view(void)
{
	tree_text(map, "direction", case_word(c, "direction"));
	tree_textf(map,
		   "direction", "%s", "transfers"); // "transfer"
	if (strcmp(m->name, "transfer.bandwidth") == 0)
		view_text(map, "transfer", "a transfer.");
}
END
printf 'const char *a = "a \\"quoted\\" word", *b = "directions";\n' >"$tree"/src/judge/judge.h
echo 'const char *a = "direction", *b = "transfer";' >"$tree"/src/cli/main.c
cat >"$tree"/expected <<'END'
src/cli/main.c:1: "transfer" is a suite
src/judge/judge.h:1: "directions" is a key of a suite
src/report/view/view.c:10: "transfer.bandwidth" is a metric
src/report/view/view.c:4: "transfer" is a suite
src/report/view/view.c:7: "direction" is a key of a suite
END
if "$top/ci/check-names" "$tree" >"$tree"/found; then
	echo "ci/check-names accepts a broken tree"
	exit 1
fi
LC_ALL=C sort "$tree"/found | diff -u "$tree"/expected -
