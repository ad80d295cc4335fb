/* Why a measurement of a claim has no reading: the case that is missing, and what became of it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/claims/claims_find.h"
#include "report/view/format.h"

#define LONGEST_REASON 160

/* How near a result comes to having a term. */
enum nearness { NEAR_NOTHING, NEAR_SECTION, NEAR_CASE, NEAR_ELSEWHERE, NEAR_METRIC };

struct nearest {
	enum nearness how;
	const struct result *result;
	const struct case_result *c;
};

/* The words of `where` that name no section and no model: "precision fp32, batch 1024". */
static void add_parameters(struct text *t, const char *where)
{
	size_t before = t->length;

	while (*where) {
		size_t length = strcspn(where, ","), name = strcspn(where, ":");

		if (strncmp(where, "label:", 6) != 0 && strncmp(where, "model:", 6) != 0)
			text_addf(t, "%s%.*s %.*s", t->length > before ? ", " : "", (int)name,
				  where, (int)(length - name - 1), where + name + 1);
		where += length;
		where += strspn(where, ", ");
	}
}

/* The value that `where` gives a name ("label:"); *length: of it. NULL: none. */
static const char *word_of(const char *where, const char *name, size_t *length)
{
	const char *found = strstr(where, name);

	if (!found)
		return NULL;
	found += strlen(name);
	*length = strcspn(found, ",");
	return found;
}

static bool has_section(const struct case_result *c, const struct claim_term *term)
{
	size_t suite = strcspn(term->metric, "."), length = 0;
	const char *label = word_of(term->where, "label:", &length);

	return c->suite && strlen(c->suite) == suite &&
	       memcmp(c->suite, term->metric, suite) == 0 &&
	       (!label ||
		(c->label && strlen(c->label) == length && memcmp(c->label, label, length) == 0));
}

static enum nearness nearness_of(const struct result *result, const struct case_result *c,
				 const struct claim_term *term, enum claim_on on)
{
	if (!claim_is_case(result, c, term))
		return has_section(c, term) ? NEAR_SECTION : NEAR_NOTHING;
	if (c->status != CASE_OK)
		return NEAR_CASE;
	if (!claim_is_on(result, c->device, on))
		return NEAR_ELSEWHERE;
	return NEAR_METRIC;
}

static struct nearest nearest_case(const struct result *results, size_t count,
				   const struct claim_term *term, enum claim_on on)
{
	struct nearest nearest = { .result = results };

	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < results[r].case_count; i++) {
			const struct case_result *c = &results[r].cases[i];
			enum nearness how = nearness_of(&results[r], c, term, on);

			if (how > nearest.how)
				nearest = (struct nearest){ how, &results[r], c };
		}
	return nearest;
}

static void add_section(struct text *t, const struct claim_term *term)
{
	size_t length = 0;
	const char *label = word_of(term->where, "label:", &length);

	text_addf(t, "[suite %.*s%s%.*s]", (int)strcspn(term->metric, "."), term->metric,
		  label ? " " : "", (int)length, label ? label : "");
}

static void describe_end(struct text *t, const struct case_result *c)
{
	char *reason = format_cut(c->reason ? c->reason : "", LONGEST_REASON);

	if (c->status == CASE_SKIPPED)
		text_addf(t, "%s was skipped", c->id ? c->id : "");
	else
		text_addf(t, "%s ended in %s", c->id ? c->id : "", case_status_name(c->status));
	text_addf(t, "%s%s", *reason ? ": " : "", reason);
	free(reason);
}

static void describe_nearest(struct text *t, const struct nearest *n, const struct claim_term *term,
			     enum claim_on on)
{
	struct text parameters = TEXT_EMPTY;

	add_parameters(&parameters, term->where);
	if (n->how == NEAR_CASE) {
		describe_end(t, n->c);
	} else if (n->how == NEAR_ELSEWHERE) {
		text_addf(t, "%s ran on %s, which %s", n->c->id ? n->c->id : "", n->c->device,
			  on == CLAIM_ON_NVLINK ? "reports no active NVLink" : "is no GPU");
	} else if (n->how == NEAR_METRIC) {
		text_addf(t, "%s %s %s", n->c->id ? n->c->id : "",
			  case_metric(n->c, term->metric) ? "ended before it had settled:"
							  : "does not report",
			  term->metric);
	} else {
		add_section(t, term);
		text_addf(t, "%s%s%s", n->how == NEAR_SECTION ? " has no case" : " was not run",
			  parameters.length ? (n->how == NEAR_SECTION ? " with " : " (") : "",
			  parameters.length ? parameters.data : "");
		text_add(t, parameters.length && n->how != NEAR_SECTION ? ")" : "");
		if (n->result->planned > n->result->case_count)
			text_add(t, "; the run stopped before its end");
	}
	text_release(&parameters);
}

static bool any_is_on(const struct result *results, size_t count, enum claim_on on)
{
	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < results[r].device_count; i++)
			if (claim_is_on(&results[r], results[r].devices[i].id, on))
				return true;
	return false;
}

static bool has_model(const struct result *results, size_t count, const char *model, size_t length)
{
	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < results[r].device_count; i++) {
			const char *name = results[r].devices[i].name;

			if (memmem(name, strlen(name), model, length))
				return true;
		}
	return false;
}

/* A model that none of the results has. */
static bool add_absent_model(struct text *t, const struct result *results, size_t count,
			     const struct claim_term *term)
{
	size_t length = 0;
	const char *model = word_of(term->where, "model:", &length);

	if (!model || has_model(results, count, model, length))
		return false;
	text_addf(t, "%.*s: no result of one is on this page", (int)length, model);
	return true;
}

static const char *absent_device(const struct result *results, size_t count, enum claim_on on)
{
	if (on == CLAIM_ON_ANY || any_is_on(results, count, on))
		return NULL;
	return any_is_on(results, count, CLAIM_ON_GPU)
		       ? "no GPU measured here reports an active NVLink"
		       : "no GPU was measured";
}

static const char *absent_pair(enum claim_across across)
{
	if (across == CLAIM_VERSIONS)
		return "it takes two results of one GPU model with different versions of driver, "
		       "CUDA or system (gpuproof report A B --claims)";
	return "it takes results of two machines (gpuproof report A B --claims)";
}

static bool is_found(const struct result *results, size_t count, const struct claim *claim,
		     const struct claim_measure *m, const struct claim_term *term)
{
	for (size_t r = 0; r < count; r++)
		if (claim_find(&results[r], term, claim->on, m->even_failed, NULL, NULL).c)
			return true;
	return false;
}

static bool term_went_wrong(const struct result *result, const struct claim_term *term)
{
	for (size_t i = 0; term->metric && i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];

		if ((c->status == CASE_ERROR || c->status == CASE_FAILED) &&
		    claim_is_case(result, c, term))
			return true;
	}
	return false;
}

bool claim_went_wrong(const struct result *results, size_t count,
		      const struct claim_measure *measure)
{
	for (size_t r = 0; r < count; r++)
		if (term_went_wrong(&results[r], &measure->a) ||
		    term_went_wrong(&results[r], &measure->b) ||
		    term_went_wrong(&results[r], &measure->c))
			return true;
	return false;
}

char *claim_why_missing(const struct result *results, size_t count, const struct claim *claim,
			const struct claim_measure *measure)
{
	const struct claim_term *terms[] = { &measure->a, &measure->b, &measure->c };
	const char *device = absent_device(results, count, claim->on);
	struct text t = TEXT_EMPTY;

	for (size_t i = 0; i < ARRAY_SIZE(terms) && terms[i]->metric && !t.length; i++)
		add_absent_model(&t, results, count, terms[i]);
	if (!t.length && device)
		text_add(&t, device);
	for (size_t i = 0; i < ARRAY_SIZE(terms) && terms[i]->metric && !t.length; i++) {
		struct nearest n;

		if (is_found(results, count, claim, measure, terms[i]))
			continue;
		n = nearest_case(results, count, terms[i], claim->on);
		describe_nearest(&t, &n, terms[i], claim->on);
	}
	if (!t.length)
		text_add(&t,
			 measure->across >= CLAIM_VERSIONS
				 ? absent_pair(measure->across)
				 : "its cases ran on different devices, or one of them is zero");
	return text_detach(&t);
}
