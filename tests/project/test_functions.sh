#!/usr/bin/env bash
# A function's name leads to one place; and the script that says so notices when it does not.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 to read the names with"; exit 77; }

"$top/ci/check-functions"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/src/{base,plan,export} "$tree"/suites
# Names that may stand twice: short statics in two rooms, and comparators.
cat >"$tree"/src/base/clock.h <<'END'
struct clock {
	int seconds;
};
void clock_start(struct clock *c);
void begin_all(int first);
END
cat >"$tree"/src/base/clock.c <<'END'
#include "base/clock.h"
/* static int commented(void)
{
} */
static int by_time(const void *a, const void *b)
{
	return 0;
}
static int read_it(int fd)
{
	return fd;
}
static void add(const char *format,
		int wide)
{
	read_it(wide);
}
void clock_start(struct clock *c)
{
	struct clock *add = c;

	qsort(c, 1, 1, by_time);
	use(add, "read_it", 1);
}
void begin_all(int first)
{
	add("", first);
}
END
cat >"$tree"/src/plan/plan.c <<'END'
struct clock {
	int add;
};
static int by_time(const void *a, const void *b)
{
	return 1;
}
static int read_it(int fd)
{
	return fd + 1;
}
static void add(int a)
{
	bsearch(&a, &a, 1, 1, by_time);
	read_it(a);
}
static void clock_start(void)
{
}
static int visit_one(void *context)
{
	return 0;
}
static int fill(void)
{
	return each(visit_one);
}
END
printf 'static int read_it(int fd)\n{\n\treturn 2;\n}\n' >"$tree"/src/plan/ini.c
{
	printf 'static int visit_one(int a)\n{\n}\nstatic int long_one(int a)\n{\n'
	printf '\ta++;\n%.0s' {1..12}
	printf '}\n'
} >"$tree"/src/export/csv.c
printf 'static void long_one(void)\n{\n}\n' >"$tree"/suites/copy.c
cat >"$tree"/expected <<'END'
src/base/clock.c:13: add() stands in src/plan/plan.c as well
src/base/clock.c:18: clock_start() stands in src/plan/plan.c as well
src/base/clock.c:25: begin_all() does not begin with the subject of src/base/clock.h
src/base/clock.h:1: struct clock stands in src/plan/plan.c as well
src/export/csv.c:4: long_one() stands in suites/copy.c as well
src/plan/ini.c:1: read_it() stands twice in its room
src/plan/plan.c:12: add() stands in src/base/clock.c as well
src/plan/plan.c:17: clock_start() stands in src/base/clock.c as well
src/plan/plan.c:1: struct clock stands in src/base/clock.h as well
src/plan/plan.c:20: visit_one() stands in src/export/csv.c as well
src/plan/plan.c:8: read_it() stands twice in its room
END
if "$top/ci/check-functions" "$tree" >"$tree"/found; then
	echo "ci/check-functions accepts a broken tree"
	exit 1
fi
LC_ALL=C sort "$tree"/found | diff -u <(LC_ALL=C sort "$tree"/expected) -
