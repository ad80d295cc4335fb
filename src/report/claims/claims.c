#include "report/claims/claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/claims/claims_find.h"
#include "report/claims/claims_value.h"

const char *claim_verdict_name(enum claim_verdict verdict)
{
	static const char *const names[CLAIM_VERDICTS] = {
		[CLAIM_HOLDS] = "holds",
		[CLAIM_FAILS] = "does not hold",
		[CLAIM_DEPENDS] = "depends",
		[CLAIM_UNDECIDED] = "undecided",
		[CLAIM_PARTIAL] = "tested in part",
		[CLAIM_UNTESTED] = "not tested",
	};

	return names[verdict];
}

bool claim_is_decisive(const struct claim_measure *measure)
{
	return measure->a.metric &&
	       !(isinf(measure->low) && isinf(measure->high) && measure->low < 0);
}

static enum claim_verdict judge_reading(const struct claim_measure *m,
					const struct claim_reading *r)
{
	if (r->low >= m->low && r->high <= m->high)
		return CLAIM_HOLDS;
	return r->high < m->low || r->low > m->high ? CLAIM_FAILS : CLAIM_UNDECIDED;
}

/* Verdict by the number of readings for each outcome; without any: untested. */
static enum claim_verdict agreement(const size_t of[CLAIM_VERDICTS])
{
	if (of[CLAIM_HOLDS] && of[CLAIM_FAILS])
		return CLAIM_DEPENDS;
	if (of[CLAIM_UNDECIDED])
		return CLAIM_UNDECIDED;
	if (of[CLAIM_HOLDS])
		return CLAIM_HOLDS;
	return of[CLAIM_FAILS] ? CLAIM_FAILS : CLAIM_UNTESTED;
}

static void judge_measure(const struct result *results, size_t count, const struct claim *claim,
			  const struct claim_measure *m, struct claim_evidence *e)
{
	size_t of[CLAIM_VERDICTS] = { 0 };

	claim_read(results, count, claim, m, e);
	for (size_t i = 0; i < e->count; i++) {
		e->readings[i].verdict = judge_reading(m, &e->readings[i]);
		of[e->readings[i].verdict]++;
	}
	e->verdict = agreement(of);
	if (!e->count && claim_is_decisive(m) &&
	    (!m->where_possible || claim_went_wrong(results, count, m)))
		e->missing = claim_why_missing(results, count, claim, m);
}

static enum claim_verdict sum_up(const struct claim *claim, const struct claim_evidence *evidence)
{
	size_t of[CLAIM_VERDICTS] = { 0 };
	bool missing = false;
	enum claim_verdict verdict;

	for (size_t i = 0; i < CLAIM_MEASURES; i++) {
		if (!claim_is_decisive(&claim->measures[i]))
			continue;
		missing = missing || evidence[i].missing;
		for (size_t k = 0; k < evidence[i].count; k++)
			of[evidence[i].readings[k].verdict]++;
	}
	verdict = agreement(of);
	return missing && verdict != CLAIM_UNTESTED && verdict != CLAIM_DEPENDS ? CLAIM_PARTIAL
										: verdict;
}

enum claim_verdict claim_judge(const struct result *results, size_t count,
			       const struct claim *claim,
			       struct claim_evidence evidence[CLAIM_MEASURES])
{
	for (size_t i = 0; i < CLAIM_MEASURES; i++) {
		evidence[i] = (struct claim_evidence){ .verdict = CLAIM_UNTESTED };
		if (claim->measures[i].a.metric)
			judge_measure(results, count, claim, &claim->measures[i], &evidence[i]);
	}
	return sum_up(claim, evidence);
}

void claim_evidence_release(struct claim_evidence evidence[CLAIM_MEASURES])
{
	for (size_t i = 0; i < CLAIM_MEASURES; i++) {
		free(evidence[i].readings);
		free(evidence[i].missing);
		evidence[i] = (struct claim_evidence){ 0 };
	}
}
