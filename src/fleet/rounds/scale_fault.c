#include "fleet/rounds/scale_fault.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "plan/suite.h"

/*
 * Points whose usual figure is less than this share of the best point's are bound by latency, which
 * grows with the nodes.
 */
#define SATURATED_SHARE 0.5

static bool is_hung(const struct case_result *c)
{
	return c->status == CASE_ERROR &&
	       (strncmp(c->reason, "hung: ", 6) == 0 || strncmp(c->reason, "slow: ", 6) == 0);
}

static bool same_text(const struct case_parameter *a, const struct case_parameter *b)
{
	return b && strcmp(a->text, b->text) == 0;
}

/* The same but for the number of nodes. */
static bool same_point(const struct case_result *a, const struct case_result *b)
{
	if (strcmp(a->suite, b->suite) != 0 || strcmp(a->label, b->label) != 0 ||
	    a->parameter_count != b->parameter_count)
		return false;
	for (size_t i = 0; i < a->parameter_count; i++)
		if (strcmp(a->parameters[i].name, "nodes") != 0 &&
		    !same_text(&a->parameters[i], case_parameter(b, a->parameters[i].name)))
			return false;
	return true;
}

/* Median of the same point over fewer nodes; NaN: none was measured. */
static double usual_of(const struct result *found, const struct case_result *c, size_t nodes,
		       const char *metric)
{
	double *values = xcalloc(found->case_count + 1, sizeof(*values)), median;
	size_t count = 0;

	for (size_t i = 0; i < found->case_count; i++) {
		const struct case_result *other = &found->cases[i];
		const struct metric_value *m =
			other->status == CASE_OK ? case_metric(other, metric) : NULL;

		if (m && same_point(c, other) && case_node_count(other) < nodes)
			values[count++] = m->value;
	}
	median = count ? median_of(values, count) : (double)NAN;
	free(values);
	return median;
}

static void take(struct scale_fault *out, const struct case_result *c, size_t nodes)
{
	const struct case_parameter *asked = case_parameter(c, "nodes");

	free(out->point);
	free(out->nodes);
	out->point = xasprintf("%.*s", (int)strcspn(c->id, "@"), c->id);
	out->asked = asked ? (int)strtol(asked->text, NULL, 10) : 0;
	out->nodes = xcalloc(nodes, sizeof(*out->nodes));
	out->node_count = 0;
	for (size_t i = 0; i < c->device_count; i++)
		if (!i || !device_ids_share_node(c->devices[i], c->devices[i - 1]))
			snprintf(out->nodes[out->node_count++], sizeof(*out->nodes), "%.*s",
				 (int)device_node_length(c->devices[i]), c->devices[i]);
}

static bool find_hung(const struct result *found, struct scale_fault *out)
{
	size_t fewest = 0;

	for (size_t i = 0; i < found->case_count; i++) {
		size_t nodes = is_hung(&found->cases[i]) ? case_node_count(&found->cases[i]) : 0;

		if (nodes < 3 || (fewest && nodes >= fewest))
			continue;
		fewest = nodes;
		take(out, &found->cases[i], nodes);
	}
	return fewest > 0;
}

/* The usual figures of the points of one section over the most nodes; the best of them. */
static double best_usual(const struct result *found, const struct section *section, size_t most,
			 double *usual)
{
	double best = 0;

	for (size_t i = 0; i < found->case_count; i++) {
		const struct case_result *c = &found->cases[i];

		usual[i] = NAN;
		if (c->status == CASE_OK && strcmp(c->suite, section->suite->name) == 0 &&
		    strcmp(c->label, section->label) == 0 && case_node_count(c) == most)
			usual[i] = usual_of(found, c, most, section->suite->steady);
		best = fmax(best, isnan(usual[i]) ? 0 : usual[i]);
	}
	return best;
}

static size_t most_nodes(const struct result *found)
{
	size_t most = 0, nodes;

	for (size_t i = 0; i < found->case_count; i++)
		if ((nodes = case_node_count(&found->cases[i])) > most)
			most = nodes;
	return most;
}

static void find_slow(const struct result *found, const struct section *section, double margin,
		      double *worst, struct scale_fault *out)
{
	size_t most = most_nodes(found);
	double *usual = xcalloc(found->case_count + 1, sizeof(*usual));
	double best = best_usual(found, section, most, usual);

	for (size_t i = 0; i < found->case_count && most > 2; i++) {
		const struct metric_value *m =
			isnan(usual[i]) ? NULL
					: case_metric(&found->cases[i], section->suite->steady);

		/* Not where the interval, if there is one, reaches what is allowed: noise. */
		if (!m || usual[i] < SATURATED_SHARE * best || !(m->value / usual[i] < *worst) ||
		    m->high >= (1 - margin) * usual[i])
			continue;
		*worst = m->value / usual[i];
		take(out, &found->cases[i], most);
		out->metric = section->suite->steady;
		out->usual = usual[i];
		out->least = (1 - margin) * usual[i];
		out->value = m->value;
		out->unit = m->unit;
	}
	free(usual);
}

bool scale_fault_find(const struct result *found, const struct config *config, double margin,
		      struct scale_fault *out)
{
	double worst = 1 - margin;

	*out = (struct scale_fault){ .asked = 0 };
	if (find_hung(found, out))
		return true;
	for (size_t i = 0; i < config->count; i++)
		if (config->sections[i].suite && config->sections[i].suite->steady)
			find_slow(found, &config->sections[i], margin, &worst, out);
	return out->metric != NULL;
}

void scale_fault_release(struct scale_fault *fault)
{
	free(fault->point);
	free(fault->nodes);
	*fault = (struct scale_fault){ .asked = 0 };
}

enum scale_answer scale_fault_ask(const struct scale_fault *fault, const struct case_result *c)
{
	const struct metric_value *m;

	if (!c)
		return SCALE_UNKNOWN;
	if (is_hung(c))
		return SCALE_SHOWS;
	if (c->status != CASE_OK)
		return SCALE_UNKNOWN;
	if (!fault->metric)
		return SCALE_DOES_NOT;
	m = case_metric(c, fault->metric);
	return !m ? SCALE_UNKNOWN : m->value < fault->least ? SCALE_SHOWS : SCALE_DOES_NOT;
}
