#!/usr/bin/env bash
# A function's name leads to one place; and the script that says so notices when it does not.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 to read the names with"; exit 77; }

"$top/ci/check-functions"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/src/{base,plan,export/formats,device} "$tree"/suites/alloc "$tree"/kernels "$tree"/cmake
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
static int plan_clock_by_time(const void *a, const void *b)
{
	return 0;
}
static int plan_read_clock(int fd)
{
	return fd;
}
static void clock(const char *format,
		  int wide)
{
	plan_read_clock(wide);
}
void clock_start(struct clock *c)
{
	struct clock *clock = c;

	qsort(c, 1, 1, plan_clock_by_time);
	use(clock, "plan_read_clock", 1);
}
void begin_all(int first)
{
	clock("", first);
}
END
cat >"$tree"/src/plan/clock.c <<'END'
struct clock {
	int add;
};
static int plan_clock_by_time(const void *a, const void *b)
{
	return 1;
}
static int plan_read_clock(int fd)
{
	return fd + 1;
}
static void clock(int a)
{
	bsearch(&a, &a, 1, 1, plan_clock_by_time);
	plan_read_clock(a);
}
static void plan_clock_start(void)
{
}
static int plan_visit_clock_entries(void *context)
{
	return 0;
}
static int plan_clocks_fill(void)
{
	return each(plan_visit_clock_entries);
}
END
# The words of a file's name: those that the folder says may be left out if no other file has the rest.
printf 'static int plan_read_clock(int fd)\n{\n\treturn 2;\n}\n' >"$tree"/src/plan/plan_clock_file.c
printf 'static int plan_file_clock(int fd)\n{\n}\nstatic int file_read(int fd)\n{\n}\n' >"$tree"/src/plan/plan_file.c
printf 'static int strategy_open(void)\n{\n}\nstatic int close_it(void)\n{\n}\n' >"$tree"/src/plan/strategies.c
printf 'static int quoted(void)\n{\n}\nstatic int csv_quoted(void)\n{\n}\n' >"$tree"/src/export/formats/export_csv.c
printf 'static int table_row(void)\n{\n}\nstatic int csv_table_row(void)\n{\n}\n' >"$tree"/src/export/formats/export_csv_table.c
{
	printf 'static int plan_visit_clock_entries(int a)\n{\n}\nstatic int alloc_long_one(int a)\n{\n'
	printf '\ta++;\n%.0s' {1..12}
	printf '}\n'
} >"$tree"/suites/alloc.c
printf 'static void alloc_long_one(void)\n{\n}\nstatic void take(void)\n{\n}\n' >"$tree"/suites/alloc/take.c
# Kernels: attributes come before the name, and forms of one function share theirs.
printf '__global__ void __launch_bounds__(F(2), 1)\n\tmove(int a)\n{\n}\ntemplate <int N>\nstatic void scale_move(int a)\n{\n}\nstatic void scale_move(float a)\n{\n}\n' >"$tree"/kernels/scale.cu
# Names that rows make, and those of the interface of plug-ins.
printf 'OPERATION(stream->device, move, (struct stream *stream), (stream))\n' >"$tree"/src/device/backend.def
printf 'KERNEL(zoom)\n' >"$tree"/kernels/kernels.def
printf 'void host_move(void)\n{\n}\nstatic void zoom_run(void)\n{\n}\nstatic void host_turn(void)\n{\n}\n' >"$tree"/src/device/copy.c
printf 'set(suite_headers\n\tplan/point.h\n)\n' >"$tree"/cmake/plugin.cmake
printf 'struct node {\n\tint a;\n};\nint node_find(struct node *n);\nint look_up(int a);\n' >"$tree"/src/plan/point.h
printf 'int node_find(struct node *n)\n{\n}\nint look_up(int a)\n{\n}\n' >"$tree"/src/plan/cases.c
cat >"$tree"/expected <<'END'
kernels/scale.cu:1: move() does not say "scale"
src/base/clock.c:13: clock() stands in src/plan/clock.c as well
src/base/clock.c:25: begin_all() does not say "clock"
src/base/clock.h:1: struct clock stands in src/plan/clock.c as well
src/device/copy.c:7: host_turn() does not say "copy"
src/export/formats/export_csv.c:1: quoted() does not say "export csv"
src/export/formats/export_csv.c:4: csv_quoted() does not say "export csv"
src/export/formats/export_csv_table.c:1: table_row() does not say "csv table"
src/plan/cases.c:4: look_up() does not begin with the subject of src/plan/point.h
src/plan/clock.c:12: clock() does not say "plan clock"
src/plan/clock.c:12: clock() stands in src/base/clock.c as well
src/plan/clock.c:1: struct clock stands in src/base/clock.h as well
src/plan/clock.c:20: plan_visit_clock_entries() stands in suites/alloc.c as well
src/plan/clock.c:8: plan_read_clock() stands twice in its room
src/plan/plan_clock_file.c:1: plan_read_clock() does not say "clock file"
src/plan/plan_clock_file.c:1: plan_read_clock() stands twice in its room
src/plan/plan_file.c:4: file_read() does not say "plan file"
src/plan/strategies.c:4: close_it() does not say "strategies"
suites/alloc.c:1: plan_visit_clock_entries() does not say "alloc"
suites/alloc.c:4: alloc_long_one() stands in suites/alloc/take.c as well
suites/alloc/take.c:1: alloc_long_one() does not say "take"
suites/alloc/take.c:1: alloc_long_one() stands twice in its room
END
code=0
"$top/ci/check-functions" "$tree" >"$tree"/found || code=$?
[ "$code" = 1 ] || { echo "ci/check-functions accepts a broken tree"; exit 1; }
LC_ALL=C sort "$tree"/found | diff -u <(LC_ALL=C sort "$tree"/expected) -
