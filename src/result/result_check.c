#include "result/result_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "result/json/json_fields.h"
#include "result/outcome.h"
#include "result/verdict.h"

/* Relative; far below any measurement, far above rounding errors in sums of a few numbers. */
#define ROUNDING 1e-9

#define MEMBER(parent, member) (&(struct json_path){ parent, member, 0 })
#define ELEMENT(parent, i) (&(struct json_path){ parent, NULL, i })

struct id {
	const char *id;
	size_t index;
};

static int result_check_by_id(const void *a, const void *b)
{
	const struct id *x = a, *y = b;
	int order = strcmp(x->id, y->id);

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* `ids` in document order; sorts them. `list`: the array whose elements have the id as `member`. */
static enum status result_check_ids(struct id *ids, size_t count, const char *list,
				    const char *member, struct error *err)
{
	const struct json_path top = { NULL, list, 0 };
	const struct id *second = NULL, *first = NULL;

	for (size_t i = 0; i < count; i++)
		if (!*ids[i].id)
			return json_fields_path_error(MEMBER(ELEMENT(&top, i), member), err,
						      "is empty");
	if (count)
		qsort(ids, count, sizeof(*ids), result_check_by_id);
	for (size_t i = 1; i < count; i++)
		if (strcmp(ids[i - 1].id, ids[i].id) == 0 &&
		    (!second || ids[i].index < second->index)) {
			second = &ids[i];
			first = &ids[i - 1];
		}
	if (!second)
		return STATUS_OK;
	return json_fields_path_error(MEMBER(ELEMENT(&top, second->index), member), err,
				      "'%.200s' is repeated; first in %s[%zu]", second->id, list,
				      first->index);
}

static enum status result_check_unit(const char *unit, const struct json_path *path,
				     struct error *err)
{
	char known[256];

	if (units_known(unit))
		return STATUS_OK;
	return json_fields_path_error(MEMBER(path, "unit"), err,
				      "'%.60s' is not a valid unit; allowed: %s", unit,
				      units_all(known, sizeof(known)));
}

/* Checks `low` <= `value` <= `high` as far as they are known (not NaN); `what` names the value. */
static enum status result_check_interval(double low, double value, double high, const char *what,
					 const struct json_path *path, struct error *err)
{
	double slack = ROUNDING * fabs(value);

	if (isnan(value) && (isfinite(low) || isfinite(high)))
		return json_fields_path_error(MEMBER(path, isfinite(low) ? "low" : "high"), err,
					      "the interval has no %s", what);
	if (low > value + slack)
		return json_fields_path_error(MEMBER(path, "low"), err, "%g is above the %s %g",
					      low, what, value);
	if (high < value - slack)
		return json_fields_path_error(MEMBER(path, "high"), err, "%g is below the %s %g",
					      high, what, value);
	return STATUS_OK;
}

/* Checks the number of samples of a metric. */
static enum status result_check_n(const struct metric_value *m, const struct case_result *c,
				  const struct json_path *path, struct error *err)
{
	const struct series *series = *m->series ? case_series(c, m->series) : NULL;

	if (*m->series && !series)
		return json_fields_path_error(MEMBER(path, "series"), err,
					      "the case has no sample series '%.100s'", m->series);
	if (series && series->statistics.n != m->n)
		return json_fields_path_error(MEMBER(path, "n"), err,
					      "%zu, but series '%.100s' has %zu samples", m->n,
					      m->series, series->statistics.n);
	if (m->n == 0 && !isnan(m->value))
		return json_fields_path_error(MEMBER(path, "n"), err,
					      "0; a value needs at least one sample");
	return STATUS_OK;
}

static enum status result_check_series(const struct series *s, bool samples_left_out,
				       const struct json_path *all, struct error *err)
{
	const struct json_path here = { all, s->name, 0 };
	const struct json_path statistics = { &here, "statistics", 0 };

	if (!*s->name)
		return json_fields_path_error(all, err, "the name is empty");
	if (s->count != s->statistics.n && (s->count || !samples_left_out))
		return json_fields_path_error(MEMBER(&statistics, "n"), err,
					      "%zu, but there are %zu samples", s->statistics.n,
					      s->count);
	if (!s->batch && s->count)
		return json_fields_path_error(MEMBER(&here, "batch"), err,
					      "0; a sample contains at least one operation");
	if (result_check_unit(s->unit, &here, err) != STATUS_OK)
		return STATUS_USAGE;
	for (size_t i = 0; i < s->count; i++)
		if (!isfinite(s->samples[i]))
			return json_fields_path_error(ELEMENT(MEMBER(&here, "values"), i), err,
						      "a sample must be a finite number");
	return result_check_interval(s->statistics.low, s->statistics.median, s->statistics.high,
				     "median", &statistics, err);
}

/* Checks that the arrays of a quantity over time have equal lengths, if present. */
static enum status result_check_quantity(const struct time_quantity *q,
					 const struct json_path *quantities, struct error *err)
{
	const size_t counts[] = { q->lowest_count, q->mean_count, q->highest_count };
	const struct json_path here = { quantities, q->name, 0 };
	size_t length = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		if (counts[i] && length && counts[i] != length)
			return json_fields_path_error(&here, err,
						      "lowest, mean and highest have different "
						      "lengths: "
						      "%zu, %zu and %zu numbers",
						      counts[0], counts[1], counts[2]);
		length = counts[i] ? counts[i] : length;
	}
	return result_check_unit(q->unit, &here, err);
}

static enum status result_check_watches(const struct case_result *c, const struct json_path *path,
					struct error *err)
{
	const struct json_path watches = { path, "watches", 0 };

	for (size_t i = 0; i < c->watch_count; i++) {
		const struct json_path watch = { &watches, c->watches[i].device, 0 };
		const struct json_path quantities = { &watch, "quantities", 0 };

		for (size_t j = 0; j < c->watches[i].quantity_count; j++)
			if (result_check_quantity(&c->watches[i].quantities[j], &quantities, err) !=
			    STATUS_OK)
				return STATUS_USAGE;
	}
	return STATUS_OK;
}

static enum status result_check_energy(const struct case_result *c, const struct json_path *path,
				       struct error *err)
{
	const struct json_path windows = { path, "energy_windows", 0 };

	for (size_t i = 0; i < c->energy_count; i++) {
		const struct energy_record *e = &c->energy[i];

		if (!(0 <= e->began && e->began < e->ended) || e->first_update < e->began ||
		    e->last_update > e->ended || e->first_update > e->last_update)
			return json_fields_path_error(ELEMENT(&windows, i), err,
						      "times are not in ascending order");
		if (!(e->low <= e->joules && e->joules <= e->high))
			return json_fields_path_error(ELEMENT(&windows, i), err,
						      "joules is outside the interval from low to "
						      "high");
	}
	return STATUS_OK;
}

static int result_check_by_device(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Index of the second of two equal devices; 0: none. Sorts, as a case may have 65,536 devices. */
static size_t result_check_repeated_device(const struct case_result *c)
{
	const char **sorted = xcalloc(c->device_count, sizeof(*sorted)), *repeated = NULL;
	size_t index = 0;

	for (size_t i = 0; i < c->device_count; i++)
		sorted[i] = c->devices[i];
	qsort(sorted, c->device_count, sizeof(*sorted), result_check_by_device);
	for (size_t i = 1; i < c->device_count && !repeated; i++)
		if (strcmp(sorted[i - 1], sorted[i]) == 0)
			repeated = sorted[i];
	free(sorted);
	for (size_t i = c->device_count; repeated && !index && i-- > 0;)
		if (strcmp(c->devices[i], repeated) == 0)
			index = i;
	return index;
}

static enum status result_check_case_devices(const struct case_result *c,
					     const struct json_path *path, struct error *err)
{
	const struct json_path devices = { path, "devices", 0 };
	const char *failed = c->failed_device ? c->failed_device : "";
	/* The failed device, if any, is one of the case's and belongs to the failed rank. */
	bool known = !*failed && c->failed_rank < 0;
	size_t repeated;

	for (size_t i = 0; i < c->device_count; i++)
		if (strcmp(c->devices[i], failed) == 0)
			known = c->failed_rank < 0 || (size_t)c->failed_rank == i;
	if (!*c->id)
		return json_fields_path_error(MEMBER(path, "id"), err, "is empty");
	if (!*c->suite)
		return json_fields_path_error(MEMBER(path, "suite"), err, "is empty");
	if (!c->device_count)
		return json_fields_path_error(&devices, err, "a case needs at least one device");
	if (strcmp(c->device, c->devices[0]) != 0)
		return json_fields_path_error(MEMBER(path, "device"), err,
					      "'%.60s' is not the first entry of devices, '%.60s'",
					      c->device, c->devices[0]);
	repeated = result_check_repeated_device(c);
	if (repeated)
		return json_fields_path_error(ELEMENT(&devices, repeated), err,
					      "'%.60s' is repeated", c->devices[repeated]);
	if (!known)
		return json_fields_path_error(MEMBER(path, "failed_device"), err,
					      "'%.60s' is not in devices, or belongs to another "
					      "rank",
					      c->failed_device);
	return STATUS_OK;
}

static enum status result_check_case(const struct case_result *c, bool samples_left_out,
				     const struct json_path *path, struct error *err)
{
	const struct json_path metrics = { path, "metrics", 0 }, all = { path, "samples", 0 };

	if (result_check_case_devices(c, path, err) != STATUS_OK)
		return STATUS_USAGE;
	for (size_t i = 0; i < c->parameter_count; i++) {
		const struct case_parameter *p = &c->parameters[i];

		if (*p->unit && !units_known(p->unit))
			return json_fields_path_error(MEMBER(MEMBER(path, "parameter_units"),
							     p->name),
						      err, "'%.60s' is not a valid unit", p->unit);
	}
	for (size_t i = 0; i < c->series_count; i++)
		if (result_check_series(&c->series[i], samples_left_out, &all, err) != STATUS_OK)
			return STATUS_USAGE;
	for (size_t i = 0; i < c->metric_count; i++) {
		const struct metric_value *m = &c->metrics[i];
		const struct json_path here = { &metrics, m->name, 0 };

		if (!*m->name)
			return json_fields_path_error(&metrics, err, "the name is empty");
		if (result_check_unit(m->unit, &here, err) != STATUS_OK ||
		    result_check_n(m, c, &here, err) != STATUS_OK ||
		    result_check_interval(m->low, m->value, m->high, "value", &here, err) !=
			    STATUS_OK)
			return STATUS_USAGE;
	}
	for (size_t i = 0; i < c->timeline_count; i++)
		if (c->timeline[i].span_count % 3)
			return json_fields_path_error(
				MEMBER(ELEMENT(MEMBER(path, "timeline"), i), "spans"), err,
				"%zu numbers; allowed: a multiple of three, because a span has "
				"three",
				c->timeline[i].span_count);
	if (result_check_energy(c, path, err) != STATUS_OK)
		return STATUS_USAGE;
	return result_check_watches(c, path, err);
}

enum status case_result_check(const struct case_result *c, struct error *err)
{
	return result_check_case(c, false, NULL, err);
}

static int result_check_by_id_alone(const void *key, const void *id)
{
	return strcmp(key, ((const struct id *)id)->id);
}

/* The sorted node id before the '/' of `device`; NULL: none. */
static const struct id *result_check_node_of_device(const struct id *nodes, size_t count,
						    const char *device)
{
	const char *slash = strchr(device, '/');
	char name[64];

	if (!slash || (size_t)(slash - device) >= sizeof(name))
		return NULL;
	memcpy(name, device, (size_t)(slash - device));
	name[slash - device] = '\0';
	return bsearch(name, nodes, count, sizeof(*nodes), result_check_by_id_alone);
}

/* Counts the cases of each node: those on its devices only, and all that have one of them. */
static void result_check_count_on_nodes(const struct result *r, const struct id *nodes, size_t *own,
					size_t *all)
{
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];
		const struct id *first = NULL, *node = NULL;
		bool several = false;

		for (size_t d = 0; d < c->device_count; d++) {
			const struct id *before = node;

			node = result_check_node_of_device(nodes, r->node_count, c->devices[d]);
			first = first ? first : node;
			several = several || node != first;
			if (node && node != before)
				all[node->index]++;
		}
		if (first && !several)
			own[first->index]++;
	}
}

static enum status result_check_node_counts(const struct result *r, const struct id *nodes,
					    struct error *err)
{
	const struct json_path list = { NULL, "nodes", 0 };
	size_t *own = xcalloc(r->node_count, sizeof(*own));
	size_t *all = xcalloc(r->node_count, sizeof(*all));

	result_check_count_on_nodes(r, nodes, own, all);
	for (size_t i = 0; i < r->node_count && err->status == STATUS_OK; i++) {
		const struct result_node *n = &r->nodes[i];
		const struct json_path *here = ELEMENT(&list, i);

		if (n->finished > n->planned)
			json_fields_path_error(MEMBER(here, "finished"), err,
					       "%zu, but %zu cases were planned", n->finished,
					       n->planned);
		else if (n->finished != own[i])
			json_fields_path_error(MEMBER(here, "finished"), err,
					       "%zu, but there are %zu cases of %s", n->finished,
					       own[i], n->name);
		else if (n->status == NODE_OK && !all[i])
			json_fields_path_error(MEMBER(here, "status"), err,
					       "OK, but %s has no case", n->name);
	}
	free(own);
	free(all);
	return err->status;
}

/* "suite/case@n1/cuda:0" is a case of n1. */
static enum status result_check_node_of_id(const struct result *r, const struct id *nodes,
					   size_t index, struct error *err)
{
	const struct json_path cases = { NULL, "cases", 0 };
	const struct case_result *c = &r->cases[index];
	const char *at = strrchr(c->id, '@');
	const struct id *named;

	if (!at || !strchr(at, '/') || !c->device_count)
		return STATUS_OK;
	named = result_check_node_of_device(nodes, r->node_count, at + 1);
	if (named && named == result_check_node_of_device(nodes, r->node_count, c->devices[0]))
		return STATUS_OK;
	return json_fields_path_error(MEMBER(ELEMENT(&cases, index), "id"), err,
				      "'%.200s' is not on the node of its device %.100s", c->id,
				      c->devices[0]);
}

/* Checks that nodes, their devices and their cases agree. */
static enum status result_check_nodes(const struct result *r, struct error *err)
{
	const struct json_path devices = { NULL, "devices", 0 };
	struct id *nodes = xcalloc(r->node_count + 1, sizeof(*nodes));

	for (size_t i = 0; i < r->node_count; i++)
		nodes[i] = (struct id){ r->nodes[i].name, i };
	result_check_ids(nodes, r->node_count, "nodes", "name", err);
	for (size_t i = 0; i < r->device_count && err->status == STATUS_OK; i++)
		if (strchr(r->devices[i].id, '/') &&
		    !result_check_node_of_device(nodes, r->node_count, r->devices[i].id))
			json_fields_path_error(MEMBER(ELEMENT(&devices, i), "id"), err,
					       "'%.100s' is not on a node of the result",
					       r->devices[i].id);
	for (size_t i = 0; i < r->case_count && r->node_count && err->status == STATUS_OK; i++)
		result_check_node_of_id(r, nodes, i, err);
	if (r->node_count && err->status == STATUS_OK)
		result_check_node_counts(r, nodes, err);
	free(nodes);
	return err->status;
}

/* Rejects an ACCEPTED verdict if a check was made of another value than its case has. */
static enum status result_check_judged_value(const struct result *r, const struct id *cases,
					     size_t index, const struct json_path *verdict,
					     struct error *err)
{
	const struct verdict_check *check = &r->judgement->checks[index];
	const struct id *found = bsearch(check->case_id, cases, r->case_count, sizeof(*cases),
					 result_check_by_id_alone);
	double slack = ROUNDING * fabs(check->value);
	const struct metric_value *m;

	if (!found || !*check->metric || !isfinite(check->value))
		return STATUS_OK;
	m = case_metric(&r->cases[found->index], check->metric);
	if (m && fabs(m->value - check->value) <= slack)
		return STATUS_OK;
	/* A limit may judge the worst launch. */
	for (size_t i = 0; m && i < m->launch_count; i++)
		if (fabs(m->launches[i] - check->value) <= slack)
			return STATUS_OK;
	return json_fields_path_error(verdict, err,
				      "%s, although checks[%zu] judged another value of %.100s "
				      "than "
				      "cases[%zu] has",
				      verdict_fields_name(r->judgement->overall), index,
				      check->metric, found->index);
}

/* Rejects an ACCEPTED verdict that a check, a device or a case contradicts. */
static enum status result_check_accepted(const struct result *r, const struct id *cases,
					 const struct json_path *verdict, struct error *err)
{
	const struct verdicts *v = r->judgement;

	for (size_t i = 0; i < v->count; i++)
		if (!v->checks[i].accepted)
			return json_fields_path_error(verdict, err,
						      "%s, although checks[%zu] is not accepted",
						      verdict_fields_name(v->overall), i);
	for (size_t d = 0; d < v->device_count; d++)
		for (size_t i = 0; i < v->devices[d].aspect_count; i++)
			if (verdict_aspect_is_missing(&v->devices[d].aspects[i]))
				return json_fields_path_error(verdict, err,
							      "%s, although "
							      "devices[%zu].aspects[%zu] was "
							      "not judged",
							      verdict_fields_name(v->overall), d,
							      i);
	for (size_t i = 0; i < r->case_count; i++)
		if (result_outcome_case_is_wrong(&r->cases[i]))
			return json_fields_path_error(verdict, err,
						      "%s, although the result of cases[%zu] is "
						      "wrong",
						      verdict_fields_name(v->overall), i);
	for (size_t i = 0; i < v->count && err->status == STATUS_OK; i++)
		result_check_judged_value(r, cases, i, verdict, err);
	return err->status;
}

/* `devices`: ids of all devices, sorted. */
static void result_check_cases(const struct result *r, const struct id *devices, struct error *err)
{
	for (size_t i = 0; i < r->case_count && err->status == STATUS_OK; i++) {
		const struct case_result *c = &r->cases[i];
		const struct json_path *here = ELEMENT(MEMBER(NULL, "cases"), i);

		result_check_case(c, r->samples_left_out, here, err);
		/* The devices of a multi-node case may be far apart. */
		for (size_t d = 0; d < c->device_count && err->status == STATUS_OK; d++)
			if (!bsearch(c->devices[d], devices, r->device_count, sizeof(*devices),
				     result_check_by_id_alone))
				json_fields_path_error(ELEMENT(MEMBER(here, "devices"), d), err,
						       "'%.60s' is not in devices of the result",
						       c->devices[d]);
	}
}

enum status result_check(const struct result *r, struct error *err)
{
	const struct json_path *planned = MEMBER(MEMBER(NULL, "run"), "planned");
	const struct json_path *verdict = MEMBER(MEMBER(NULL, "judgement"), "verdict");
	const struct verdicts *v = r->judgement;
	struct id *devices = xcalloc(r->device_count + 1, sizeof(*devices));
	struct id *cases = xcalloc(r->case_count + 1, sizeof(*cases));

	if (!r->planned)
		json_fields_path_error(planned, err, "0; a run has at least one planned case");
	else if (r->case_count > r->planned)
		json_fields_path_error(planned, err, "%zu, but there are %zu cases", r->planned,
				       r->case_count);
	for (size_t i = 0; i < r->device_count; i++)
		devices[i] = (struct id){ r->devices[i].id, i };
	for (size_t i = 0; i < r->case_count; i++)
		cases[i] = (struct id){ r->cases[i].id, i };
	if (err->status == STATUS_OK &&
	    result_check_ids(devices, r->device_count, "devices", "id", err) == STATUS_OK &&
	    result_check_nodes(r, err) == STATUS_OK &&
	    result_check_ids(cases, r->case_count, "cases", "id", err) == STATUS_OK && v) {
		if (v->overall == VERDICT_SKIP || v->overall == VERDICT_ERROR)
			json_fields_path_error(verdict, err, "%s is not a verdict of a run",
					       verdict_fields_name(v->overall));
		else if (v->overall == VERDICT_PASS || v->overall == VERDICT_WARN)
			result_check_accepted(r, cases, verdict, err);
	}
	result_check_cases(r, devices, err);
	free(devices);
	free(cases);
	return err->status;
}
