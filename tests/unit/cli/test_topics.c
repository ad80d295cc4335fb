/* Help topics say what the code does: their figures are the code's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "history/change_points.h"
#include "history/trend_prior.h"
#include "report/claims/claims.h"
#include "result/statistics.h"

#define LONGEST 65536

/* The topic's text with each run of white space as one space. */
static char *words_of(const char *name)
{
	char *path = xasprintf("%s/../docs/topics/%s.txt", TESTS_DIR, name);
	char *text = xcalloc(1, LONGEST), *to = text;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_in_range(fread(text, 1, LONGEST - 1, file), 1, LONGEST - 2);
	fclose(file);
	free(path);
	for (const char *s = text; *s; s++)
		if (!strchr(" \n\t", *s))
			*to++ = *s;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	*to = '\0';
	return text;
}

static void expect(const char *text, char *words)
{
	if (!strstr(text, words))
		fail_msg("\"%s\" is not in the topic", words);
	free(words);
}

static void verdicts_of_the_trend(void **state)
{
	char *text = words_of("verdicts");

	(void)state;
	expect(text, xasprintf("a change (%g %% or more, %d nights)", 100 * CHANGE_MAGNITUDE,
			       CHANGE_MIN_SEGMENT));
	expect(text, xasprintf("odds exceed %.0f to 1", exp(TREND_ODDS)));
	expect(text, xasprintf("Above %d series", TREND_ODDS_SERIES));
	free(text);
}

static void verdicts_of_claims(void **state)
{
	char *text = words_of("verdicts");
	char *claims = strstr(text, "report --claims");

	(void)state;
	assert_non_null(claims);
	for (int v = 0; v < CLAIM_VERDICTS; v++)
		expect(claims, xasprintf(" %s ", claim_verdict_name((enum claim_verdict)v)));
	free(text);
}

static void noise_of_samples(void **state)
{
	char *text = words_of("sampling");

	(void)state;
	expect(text, xasprintf("exceeds %g %% of the median, their interquartile range %g %%, "
			       "their drift %g %%",
			       100 * noise_limits_default.mad, 100 * noise_limits_default.iqr,
			       100 * noise_limits_default.drift));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts_of_the_trend),
		cmocka_unit_test(verdicts_of_claims),
		cmocka_unit_test(noise_of_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
