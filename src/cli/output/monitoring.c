#include "cli/output/monitoring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define NPD_LONGEST 80 /* node-problem-detector cuts messages there unless told otherwise */

enum state { STATE_OK, STATE_WARNING, STATE_CRITICAL, STATE_UNKNOWN, STATE_COUNT };

static const struct {
	const char *name, *word;
	int codes[STATE_COUNT];
} programs[MONITORING_COUNT] = {
	[MONITORING_NAGIOS] = { "nagios", "GPUPROOF ", { 0, 1, 2, 3 } },
	[MONITORING_NPD] = { "npd", "", { 0, 0, 1, 2 } },
};

bool monitoring_named(const char *name, enum monitoring *as)
{
	for (int i = MONITORING_NAGIOS; i < MONITORING_COUNT; i++)
		if (strcmp(programs[i].name, name) == 0) {
			*as = (enum monitoring)i;
			return true;
		}
	return false;
}

static enum state state_of(const struct verdicts *v)
{
	if (!v)
		return STATE_UNKNOWN;
	if (verdicts_accepted(v))
		return v->counts[VERDICT_WARN] ? STATE_WARNING : STATE_OK;
	return v->wrong || v->overall == VERDICT_FAIL ? STATE_CRITICAL : STATE_UNKNOWN;
}

/* True for the checks that the state is about. */
static bool is_told(const struct verdict_check *c, enum state state)
{
	if (state == STATE_CRITICAL)
		return c->verdict == VERDICT_FAIL || (c->verdict == VERDICT_WARN && !c->accepted);
	if (state == STATE_WARNING)
		return c->verdict == VERDICT_WARN;
	return state == STATE_UNKNOWN && !c->accepted;
}

static bool is_repeated(const struct verdicts *v, size_t i, enum state state)
{
	for (size_t j = 0; j < i; j++)
		if (is_told(&v->checks[j], state) && v->checks[j].cause == v->checks[i].cause &&
		    strcmp(v->checks[j].devices, v->checks[i].devices) == 0)
			return true;
	return false;
}

/*
 * "cuda:3 gpu-slow-memory; cuda:5 gpu-wrong-result": wrong results first. Where no check is to
 * blame, the sentence.
 */
static char *devices_and_causes(const struct verdicts *v, enum state state)
{
	struct text out = TEXT_EMPTY;

	for (int wrong = 1; wrong >= 0; wrong--)
		for (size_t i = 0; i < v->count; i++) {
			const struct verdict_check *c = &v->checks[i];

			if (c->wrong != wrong || !is_told(c, state) || is_repeated(v, i, state))
				continue;
			text_addf(&out, "%s%s%s%s", out.length ? "; " : "", c->devices,
				  *c->devices ? " " : "", cause_name(c->cause));
		}
	return out.length ? text_detach(&out) : xstrdup(v->sentence);
}

/* One line of ASCII: '|' would begin Nagios' figures. */
static void make_harmless(char *line)
{
	for (; *line; line++)
		if (*line < ' ' || *line > '~' || *line == '|')
			*line = '?';
}

int monitoring_print(enum monitoring as, const struct verdicts *v, const char *why)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };
	enum state state = state_of(v);
	char *what = v ? devices_and_causes(v, state) : xstrdup(why);
	char *line = xasprintf("%s%s: %s", programs[as].word, words[state], what);

	make_harmless(line);
	if (as == MONITORING_NPD && strlen(line) > NPD_LONGEST)
		snprintf(line + NPD_LONGEST - 3, 4, "...");
	fputs(line, stdout);
	if (as == MONITORING_NAGIOS && v)
		printf(" | passed=%zu warned=%zu failed=%zu undecided=%zu", v->counts[VERDICT_PASS],
		       v->counts[VERDICT_WARN], v->counts[VERDICT_FAIL],
		       v->counts[VERDICT_INCONCLUSIVE] + v->counts[VERDICT_ERROR] +
			       v->counts[VERDICT_SKIP]);
	putchar('\n');
	free(what);
	free(line);
	return programs[as].codes[state];
}
