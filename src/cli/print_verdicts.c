#include "cli/print_verdicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_SHOWN 50

/* https://no-color.org: present and not empty. */
static bool coloured(void)
{
	const char *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

static void print_name(enum verdict verdict)
{
	static const char *const colours[VERDICT_COUNT] = { "\033[32m", "\033[33m", "\033[31m",
							    "\033[33m", "",         "\033[31m" };
	const char *on = coloured() ? colours[verdict] : "";

	printf("%s%-12s%s ", on, verdict_name(verdict), *on ? "\033[0m" : "");
}

static void print_check(const struct check *c)
{
	char *numbers = check_numbers(c);

	print_name(c->verdict);
	printf("%s: %s%s%s\n", c->limit, *c->case_id ? c->case_id : c->metric, *c->uuid ? " " : "",
	       c->uuid);
	if (*numbers)
		printf("             %s %s\n", c->metric, numbers);
	if (*c->reason)
		printf("             %s\n", c->reason);
	if (*c->bound_text || *c->place || *c->bound_origin)
		printf("             limit: %s%s(%s%s%s)\n", c->bound_text,
		       *c->bound_text ? " " : "", c->place,
		       *c->place && *c->bound_origin ? "; " : "", c->bound_origin);
	free(numbers);
}

static void print_all_of(const struct verdicts *v, enum verdict verdict, bool unlimited)
{
	size_t shown = 0;

	for (size_t i = 0; i < v->count; i++)
		if (v->checks[i].verdict == verdict && (shown++ < MOST_SHOWN || unlimited))
			print_check(&v->checks[i]);
	if (shown > MOST_SHOWN && !unlimited)
		printf("and %zu more %s; --all shows them\n", shown - MOST_SHOWN,
		       verdict_name(verdict));
}

void print_verdicts(const struct verdicts *v, const char *source, bool all)
{
	static const enum verdict order[] = { VERDICT_FAIL, VERDICT_ERROR, VERDICT_INCONCLUSIVE,
					      VERDICT_WARN, VERDICT_SKIP };

	printf("%s\n", v->sentence);
	printf("limits: %s; checks:", source);
	for (int i = 0; i < VERDICT_COUNT; i++)
		if (v->counts[i])
			printf(" %zu %s", v->counts[i], verdict_name((enum verdict)i));
	printf("%s\n", v->count ? "" : " none");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		print_all_of(v, order[i], all);
	if (all)
		print_all_of(v, VERDICT_PASS, true);
}
