#include "cli/output/monitoring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define MOST_REASONS 3 /* in a line for Nagios */
#define NPD_LONGEST 80 /* default length at which node-problem-detector cuts messages */

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

static enum state nagios_state_of(const struct verdicts *v)
{
	if (!v)
		return STATE_UNKNOWN;
	if (verdicts_accepted(v))
		return v->counts[VERDICT_WARN] ? STATE_WARNING : STATE_OK;
	return v->wrong || v->overall == VERDICT_FAIL ? STATE_CRITICAL : STATE_UNKNOWN;
}

/* True for reasons that belong to the state. */
static bool monitoring_reason_explains(const struct verdict_reason *r, enum state state)
{
	if (state == STATE_CRITICAL)
		return r->verdict == VERDICT_FAIL || (r->verdict == VERDICT_WARN && !r->accepted);
	if (state == STATE_WARNING)
		return r->verdict == VERDICT_WARN;
	return state == STATE_UNKNOWN && !r->accepted;
}

/*
 * Nagios: "REJECTED: GPU cuda:3 is 10 % slower ... (gpu-slow-memory); ...". npd, which has less
 * room: "cuda:3 gpu-slow-memory; cuda:5 gpu-wrong-result". Without such a reason, the sentence.
 */
static char *nagios_reasons_in_a_line(const struct verdicts *v, enum state state, bool brief)
{
	struct text out = TEXT_EMPTY;
	size_t count = 0;

	for (size_t i = 0; i < v->reason_count; i++) {
		const struct verdict_reason *r = &v->reasons[i];
		const char *separator = out.length ? "; " : "";

		if (!monitoring_reason_explains(r, state) || (count++ >= MOST_REASONS && !brief))
			continue;
		if (brief)
			text_addf(&out, "%s%s%s%s", separator, r->devices, *r->devices ? " " : "",
				  cause_name(r->cause));
		else
			text_addf(&out, "%s%s (%s)", out.length ? "; " : "", r->headline,
				  cause_name(r->cause));
	}
	if (!out.length)
		return xstrdup(v->sentence);
	if (count > MOST_REASONS && !brief)
		text_addf(&out, "; and %zu more reasons", count - MOST_REASONS);
	if (!brief) {
		char *line = xasprintf("%s: %s", verdicts_word(v), out.data);

		text_release(&out);
		return line;
	}
	return text_detach(&out);
}

/* One line of ASCII; '|' would start Nagios' performance data. */
static void make_harmless(char *line)
{
	for (; *line; line++)
		if (*line < ' ' || *line > '~' || *line == '|')
			*line = '?';
}

int monitoring_print(enum monitoring as, const struct verdicts *v, const char *why)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };
	enum state judged = nagios_state_of(v),
		   state = why && judged != STATE_CRITICAL ? STATE_UNKNOWN : judged;
	char *reasons =
		v ? nagios_reasons_in_a_line(v, judged, as == MONITORING_NPD) : xstrdup(why);
	char *what = v && why ? xasprintf("%s; %s", why, reasons) : xstrdup(reasons);
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
	free(reasons);
	free(line);
	return programs[as].codes[state];
}
