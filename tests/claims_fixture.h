/* Results made to order for the tests of claims: a case for each term, on a device that the term asks for. */
#ifndef GPUPROOF_TESTS_CLAIMS_FIXTURE_H
#define GPUPROOF_TESTS_CLAIMS_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/claims/claims.h"

/* The id of the result's device of that name and backend, which is added where there is none. */
static inline const char *fixture_device(struct result *result, const char *name,
					 const char *backend, int links)
{
	struct device_info *d;

	for (size_t i = 0; i < result->device_count; i++)
		if (strcmp(result->devices[i].name, name) == 0)
			return result->devices[i].id;
	/* Ids stay where they are: no fixture has more devices. */
	if (!result->devices)
		result->devices = xcalloc(8, sizeof(*result->devices));
	d = &result->devices[result->device_count];
	snprintf(d->id, sizeof(d->id), "%.8s:%zu", backend, result->device_count++);
	snprintf(d->backend, sizeof(d->backend), "%s", backend);
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->nvlink_count = links;
	return d->id;
}

/* The device that a term is about: of its model, or a GPU with NVLink. */
static inline const char *fixture_device_for(struct result *result, const char *where)
{
	const char *model = strstr(where, "model:");
	char name[64] = "NVIDIA H200";

	if (model)
		snprintf(name, sizeof(name), "Tesla %.*s", (int)strcspn(model + 6, ","), model + 6);
	return fixture_device(result, name, "cuda", 18);
}

static inline void fixture_parameters(struct case_result *c, const char *text)
{
	char *where = xstrdup(text), *rest = where, *pair;

	c->parameters = xcalloc(8, sizeof(*c->parameters));
	while ((pair = strsep(&rest, ","))) {
		char *colon = strchr(pair += strspn(pair, " "), ':');

		if (!colon || strncmp(pair, "model:", 6) == 0)
			continue;
		*colon = '\0';
		if (strcmp(pair, "label") == 0) {
			c->label = xstrdup(colon + 1);
			continue;
		}
		c->parameters[c->parameter_count].name = xstrdup(pair);
		c->parameters[c->parameter_count++].text = xstrdup(colon + 1);
	}
	free(where);
}

/* A case as `where` describes it, on the device, with the one metric: bytes, which are exact. */
static inline struct case_result *fixture_case_on(struct result *result, const char *device,
						  const struct claim_term *term, double value)
{
	struct case_result *c = result_add_case(result);

	c->suite = xstrndup(term->metric, strcspn(term->metric, "."));
	c->id = xasprintf("%s/%zu", c->suite, result->case_count);
	c->device = xstrdup(device);
	c->devices = xcalloc(1, sizeof(*c->devices));
	c->devices[0] = xstrdup(device);
	c->device_count = 1;
	fixture_parameters(c, term->where);
	c->metrics = xcalloc(1, sizeof(*c->metrics));
	c->metrics[0] = (struct metric_value){ .name = xstrdup(term->metric),
					       .unit = xstrdup("B"),
					       .value = value,
					       .low = NAN,
					       .high = NAN };
	c->metric_count = c->metric_capacity = 1;
	return c;
}

static inline struct case_result *fixture_case(struct result *result, const struct claim_term *term,
					       double value)
{
	return fixture_case_on(result, fixture_device_for(result, term->where), term, value);
}

/* The cases of one measurement whose value is `value`, of one result. */
static inline void fixture_measure(struct result *result, const struct claim_measure *m,
				   double value)
{
	if (m->complement)
		value = 1 - value;
	fixture_case(result, &m->a, value * (m->b.metric ? 4 : 1) * (m->c.metric ? 0.5 : 1));
	if (m->b.metric)
		fixture_case(result, &m->b, 4);
	if (m->c.metric)
		fixture_case(result, &m->c, 0.5);
}

static inline void fixture_fact(struct result *result, const char *name, const char *value)
{
	result->environment = xrealloc(result->environment, result->environment_count + 1,
				       sizeof(*result->environment));
	result->environment[result->environment_count++] =
		(struct fact){ xstrdup(name), xstrdup(value) };
}

static inline void fixture_release(struct result *results, size_t count)
{
	for (size_t i = 0; i < count; i++)
		result_release(&results[i]);
}

/* The verdict alone. */
static inline enum claim_verdict fixture_judge(const struct result *results, size_t count,
					       const struct claim *claim)
{
	struct claim_evidence evidence[CLAIM_MEASURES];
	enum claim_verdict verdict = claim_judge(results, count, claim, evidence);

	claim_evidence_release(evidence);
	return verdict;
}

#endif
