#!/usr/bin/env bash
# Dependencies point one way and each library has one door; and the script that says so notices when they don't.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)

"$top/ci/check-layers"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/src/{base,device,report/view,report/chart,cli,plan,new} "$tree"/{suites,kernels}
# Prototypes: of a function of another folder, of several lines, of its own folder, and of a macro's that no file defines; what a
# comment or a string says is none.
cat >"$tree"/src/report/view/view.h <<'END'
/*
int in_a_comment(void);
*/
const char *of_chart(const struct a *a,
		     void (*each)(int));
int of_view(void);
int of_a_macro(void);
#define CALL(x) int of_chart_as_well(void);
static inline int of_the_header(void)
{
	return of_cli("(;");
}
END
printf 'const char *of_chart(const struct a *a,\n\t\t     void (*each)(int))\n{\n}\nint of_view(void)\n{\n}\nint in_a_comment(void)\n{\n}\nint of_chart_as_well(void)\n{\n}\n' \
	>"$tree"/src/report/chart/lines.c
printf 'static int of_chart(void)\n{\n}\nint of_view(void)\n{\n}\n' >"$tree"/src/report/view/counts.c
printf 'int of_cli(const char *s)\n{\n}\n' >"$tree"/src/cli/print.c
touch "$tree"/src/base/text.h "$tree"/src/device/backend.h "$tree"/src/plan/config.h
printf '#include "report/view/view.h"\n#include "base/text.h"\n#include <jansson.h>\n' >"$tree"/src/report/view/view.c
printf '#include "base/text.h"\n#include "report/view/view.h"\n#include "device/backend.h"\n' >"$tree"/src/report/chart/chart.c
printf '#include <stdio.h>\n#include "plan/config.h"\n#include <ini.h>\n' >"$tree"/src/plan/config.c
printf '# include <cuda_runtime_api.h>\n#include "cli/gone.h"\n' >"$tree"/src/cli/main.c
touch "$tree"/src/plan/shim.cpp "$tree"/src/new/new.c
touch "$tree"/suites/{a..y}.txt "$tree"/kernels/{a..z}.txt
cat >"$tree"/expected <<'END'
src/cli/main.c:1: <cuda_runtime_api.h> may be included in src/device/cuda kernels only
src/cli/main.c:2: there is no "cli/gone.h" (paths start at src/ or at the top)
src/new/new.c: no rule for this folder in ci/check-layers
src/plan/config.c:1: a file includes its own header first
src/plan/shim.cpp: C++ is for src/report's template shim only
src/report/chart/chart.c:3: src/report/chart must not include src/device/backend.h
src/report/view/view.h:4: declares of_chart(), which src/report/chart defines
kernels: has 26 files, which is more than 25: divide it by subject
END
if "$top/ci/check-layers" "$tree" >"$tree"/found; then
	echo "ci/check-layers accepts a broken tree"
	exit 1
fi
diff -u "$tree"/expected "$tree"/found
