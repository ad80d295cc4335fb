/*
 * Members of a result that contradict each other are refused wherever they stand: on the first, a
 * middle and the last node, case and check of a run on several nodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "result/result_check.h"
#include "result/result_fields.h"
#include "sample_result.h"

#define NODES 3
#define OTHERS 2 /* cases and devices of the sample, on no node */

static void put(char **text, const char *value)
{
	char *copy = xstrdup(value);

	free(*text);
	*text = copy;
}

/* Case and device i + OTHERS are on node i, "n0" to "n2"; check i passed by that case. */
static void sample_nodes(struct result *r)
{
	struct error err = ERROR_NONE;
	struct verdicts *v;
	char *line, node[8];

	sample_result(r);
	assert_int_equal(r->case_count, OTHERS);
	assert_int_equal(r->device_count, OTHERS);
	line = case_result_to_json(&r->cases[1]);
	r->devices = xrealloc(r->devices, OTHERS + NODES, sizeof(*r->devices));
	for (size_t i = 0; i < NODES; i++) {
		struct case_result *c = result_add_case(r);

		assert_int_equal(case_result_from_json(c, line, strlen(line), &err), STATUS_OK);
		snprintf(node, sizeof(node), "n%zu", i);
		case_put_on_node(c, node);
		c->status = CASE_OK;
		assert_int_equal(c->device_count, 1);
		c->metrics = xcalloc(1, sizeof(*c->metrics));
		c->metric_count = c->metric_capacity = 1;
		c->metrics[0] = (struct metric_value){ .name = xstrdup("peak.throughput"),
						       .unit = xstrdup("FLOP/s"),
						       .value = 10,
						       .low = (double)NAN,
						       .high = (double)NAN,
						       .n = 1,
						       .series = xstrdup("") };
		ARRAY_GROW(r->nodes, r->node_count, r->node_capacity);
		r->nodes[r->node_count++] = (struct result_node){
			xstrdup(node), NODE_OK, xstrdup(""), xstrdup(""), 1, 1
		};
		r->devices[r->device_count] = r->devices[0];
		snprintf(r->devices[r->device_count++].id, sizeof(r->devices[0].id), "%s",
			 c->devices[0]);
	}
	free(line);
	r->planned = r->case_count;
	for (size_t i = 0; i < OTHERS; i++)
		r->cases[i].status = CASE_SKIPPED;
	if (r->judgement) {
		verdicts_release(r->judgement);
		free(r->judgement);
	}
	v = r->judgement = xcalloc(1, sizeof(*v));
	v->overall = VERDICT_PASS;
	for (size_t i = 0; i < NODES; i++) {
		struct verdict_check *check = verdicts_add(v);

		check->verdict = VERDICT_PASS;
		check->accepted = true;
		check->value = 10;
		put(&check->case_id, r->cases[OTHERS + i].id);
		put(&check->metric, "peak.throughput");
	}
}

typedef void change_fn(struct result *r, size_t i);

/* CHANGE(name, statement): the statement for node, case c and check k of number i. */
#define CHANGE(name, statement)                                     \
	static void name(struct result *r, size_t i)                \
	{                                                           \
		struct result_node *n = &r->nodes[i];               \
		struct case_result *c = &r->cases[OTHERS + i];      \
		struct verdict_check *k = &r->judgement->checks[i]; \
		struct device_info *d = &r->devices[OTHERS + i];    \
                                                                    \
		(void)n, (void)c, (void)k, (void)d;                 \
		statement;                                          \
	}

CHANGE(no_change, )
CHANGE(less_planned, n->planned = 0)
CHANGE(more_finished, n->planned = n->finished = 2)
CHANGE(none_finished, n->finished = 0)
CHANGE(more_planned, n->planned = 7)
CHANGE(case_of_another_node, put(&c->id, i ? "peak/x@n0/cuda:0" : "peak/x@n2/cuda:0");
       k->value = (double)NAN)
CHANGE(case_of_no_node, put(&c->id, "peak/x@n9/cuda:0"); k->value = (double)NAN)
CHANGE(device_of_no_node, strcpy(d->id, "n9/cuda:0"))
CHANGE(device_of_a_long_name, memset(d->id, 'n', 62); strcpy(d->id + 50, "/cuda:0"))
CHANGE(not_accepted, k->accepted = false)
CHANGE(higher_judged, k->value = 10.1)
CHANGE(lower_judged, k->value = 9.9)
CHANGE(another_metric, put(&k->metric, "peak.other"))
CHANGE(rounded, k->value = 10 * (1 + 1e-12))
CHANGE(of_no_case, put(&k->case_id, "peak/y@n0/cuda:0"); k->value = 5)
CHANGE(of_no_metric, put(&k->metric, ""); k->value = 5)
CHANGE(of_no_value, k->value = (double)NAN)
CHANGE(failed, c->status = CASE_FAILED)
CHANGE(error_above_tolerance, c->verification.done = true; c->verification.error = 2;
       c->verification.tolerance = 1)
CHANGE(error_at_tolerance, c->verification.done = true; c->verification.error = 1;
       c->verification.tolerance = 1)
CHANGE(unknown_device, snprintf(d->id, sizeof(d->id), "n%zu/cuda:9", i))

static void add_launches(struct result *r, size_t i, double value)
{
	struct metric_value *m = r->cases[OTHERS + i].metrics;

	m->launches = xcalloc(3, sizeof(double));
	memcpy(m->launches, ((double[]){ 8, 10, 12 }), 3 * sizeof(double));
	m->launch_count = 3;
	r->judgement->checks[i].value = value;
}

CHANGE(lowest_launch, add_launches(r, i, 8))
CHANGE(highest_launch, add_launches(r, i, 12))
CHANGE(below_the_launches, add_launches(r, i, 7.9))
CHANGE(above_the_launches, add_launches(r, i, 12.1))

/* %zu, if any, is `first` + number of the node. */
static const struct {
	change_fn *change;
	const char *message; /* NULL: the result makes sense */
	size_t first;
} rows[] = {
	{ no_change, NULL, 0 },
	{ more_planned, NULL, 0 },
	{ less_planned, "nodes[%zu].finished: 1, but 0 cases were planned", 0 },
	{ more_finished, "nodes[%zu].finished: 2, but there are 1 cases of n", 0 },
	{ none_finished, "nodes[%zu].finished: 0, but there are 1 cases of n", 0 },
	{ case_of_another_node, "cases[%zu].id: 'peak/x@n", OTHERS },
	{ case_of_no_node, "cases[%zu].id: 'peak/x@n9/cuda:0' is not on the node of its device n",
	  OTHERS },
	{ device_of_no_node, "devices[%zu].id: 'n9/cuda:0' is not on a node of the result",
	  OTHERS },
	{ device_of_a_long_name, "devices[%zu].id: 'nnn", OTHERS },
	{ not_accepted, "judgement.verdict: PASS, although checks[%zu] is not accepted", 0 },
	{ higher_judged,
	  "PASS, although checks[%zu] judged another value of peak.throughput than cases[", 0 },
	{ lower_judged, "although checks[%zu] judged another value of peak.throughput", 0 },
	{ another_metric, "although checks[%zu] judged another value of peak.other", 0 },
	{ rounded, NULL, 0 },
	{ of_no_case, NULL, 0 },
	{ of_no_metric, NULL, 0 },
	{ of_no_value, NULL, 0 },
	{ lowest_launch, NULL, 0 },
	{ highest_launch, NULL, 0 },
	{ below_the_launches, "although checks[%zu] judged another value", 0 },
	{ above_the_launches, "although checks[%zu] judged another value", 0 },
	{ failed, "judgement.verdict: PASS, although the result of cases[%zu] is wrong", OTHERS },
	{ error_above_tolerance, "although the result of cases[%zu] is wrong", OTHERS },
	{ error_at_tolerance, NULL, 0 },
	{ unknown_device, "cases[%zu].devices[0]: 'n", OTHERS },
};

static void checks_as(const struct result *r, const char *message, size_t row)
{
	struct error err = ERROR_NONE;
	enum status status = result_check(r, &err);

	if (message ? status != STATUS_USAGE || !strstr(err.message, message) : status != STATUS_OK)
		fail_msg("row %zu: '%s' instead of '%s'", row, err.message, message ? message : "");
}

static void every_place_is_checked(void **state)
{
	(void)state;
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++)
		for (size_t i = 0; i < NODES; i++) {
			char message[200];
			struct result r;

			sample_nodes(&r);
			rows[row].change(&r, i);
			if (rows[row].message)
				snprintf(message, sizeof(message), rows[row].message,
					 rows[row].first + i);
			checks_as(&r, rows[row].message ? message : NULL, row);
			/* A REJECTED run may have any of these checks; its nodes still agree. */
			r.judgement->overall = VERDICT_FAIL;
			if (rows[row].message && strstr(rows[row].message, "although"))
				checks_as(&r, NULL, row);
			result_release(&r);
		}
}

/* A node that ended well has a case, if only one together with other nodes. */
static void a_node_needs_a_case_to_be_ok(void **state)
{
	struct result r;

	(void)state;
	sample_nodes(&r);
	/* The case of n2 becomes one of n0 and n1. */
	case_result_release(&r.cases[--r.case_count]);
	r.judgement->count--;
	r.nodes[2].planned = 1;
	r.nodes[2].finished = 0;
	checks_as(&r, "nodes[2].status: OK, but n2 has no case", 0);
	r.nodes[2].status = NODE_LOST;
	checks_as(&r, NULL, 1);
	/* The case of n1 runs on n1 and n2 instead: it is of both, and of neither alone. */
	r.nodes[2].status = NODE_OK;
	r.cases[OTHERS + 1].devices = xrealloc(r.cases[OTHERS + 1].devices, 2, sizeof(char *));
	r.cases[OTHERS + 1].devices[1] = xstrdup("n2/cuda:1");
	strcpy(r.devices[OTHERS + 2].id, "n2/cuda:1");
	r.cases[OTHERS + 1].device_count = 2;
	checks_as(&r, "nodes[1].finished: 1, but there are 0 cases of n1", 2);
	r.nodes[1].finished = 0;
	checks_as(&r, NULL, 3);
	result_release(&r);
}

/* The verdict of the run, aspects that were promised, and the failed device of a case. */
static void verdict_and_failed_device(void **state)
{
	static const struct {
		int rank;
		const char *device;
		bool right;
	} failed[] = { { -1, "", true },       { 0, "", false },        { -1, "cuda:0", true },
		       { -1, "cuda:1", true }, { -1, "cuda:2", false }, { 0, "cuda:0", true },
		       { 1, "cuda:1", true },  { 0, "cuda:1", false },  { 1, "cuda:0", false },
		       { 1, "cuda:2", false } };
	struct aspect_judgement *aspect;
	struct result r;

	(void)state;
	sample_nodes(&r);
	for (int overall = 0; overall < VERDICT_COUNT; overall++) {
		r.judgement->overall = (enum verdict)overall;
		checks_as(&r,
			  overall == VERDICT_SKIP || overall == VERDICT_ERROR
				  ? "is not a verdict of a run"
				  : NULL,
			  (size_t)overall);
	}
	for (int overall = 0; overall < 2; overall++) {
		r.judgement->overall = overall ? VERDICT_WARN : VERDICT_PASS;
		for (size_t i = 0; i < 2 && !overall; i++)
			verdict_device_judgement_add(verdicts_add_device(r.judgement),
						     ASPECT_MEMORY);
		aspect = &r.judgement->devices[1].aspects[0];
		for (int bits = 0; bits < 4; bits++) {
			aspect->promised = bits & 1;
			aspect->judged = bits & 2;
			checks_as(&r,
				  bits == 1 ? "although devices[1].aspects[0] was not judged"
					    : NULL,
				  (size_t)bits);
		}
	}
	assert_int_equal(r.cases[0].device_count, 2);
	for (size_t i = 0; i < ARRAY_SIZE(failed); i++) {
		r.cases[0].failed_rank = failed[i].rank;
		put(&r.cases[0].failed_device, failed[i].device);
		checks_as(&r, failed[i].right ? NULL : "cases[0].failed_device: '", i);
	}
	result_release(&r);
}

/* The updates of a counter lie within its window, and its joules within their interval. */
static void windows_of_energy_are_in_order(void **state)
{
	static const struct {
		struct energy_record e;
		const char *message;
	} windows[] = {
		{ { NULL, 0, 2, 0, 2, 5, 5, 5 }, NULL },
		{ { NULL, 0, 2, 1, 1, 5, 4, 6 }, NULL },
		{ { NULL, 0, 2, (double)NAN, (double)NAN, 5, 4, 6 }, NULL },
		{ { NULL, 2, 2, 2, 2, 5, 4, 6 }, "times are not in ascending order" },
		{ { NULL, -1, 2, 1, 1, 5, 4, 6 }, "times are not in ascending order" },
		{ { NULL, 1, 2, .5, 1.5, 5, 4, 6 }, "times are not in ascending order" },
		{ { NULL, 1, 2, 1.5, 2.5, 5, 4, 6 }, "times are not in ascending order" },
		{ { NULL, 1, 2, 1.6, 1.5, 5, 4, 6 }, "times are not in ascending order" },
		{ { NULL, 0, 2, 1, 1, 3, 4, 6 }, "joules is outside" },
		{ { NULL, 0, 2, 1, 1, 7, 4, 6 }, "joules is outside" },
		{ { NULL, 0, 2, 1, 1, (double)NAN, 4, 6 }, "joules is outside" },
	};
	struct result r;

	(void)state;
	sample_nodes(&r);
	assert_true(r.cases[0].energy_count > 0);
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		struct energy_record *e = &r.cases[0].energy[r.cases[0].energy_count - 1];
		char *name = e->name;

		*e = windows[i].e;
		e->name = name;
		checks_as(&r, windows[i].message, i);
	}
	result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_is_checked),
		cmocka_unit_test(a_node_needs_a_case_to_be_ok),
		cmocka_unit_test(verdict_and_failed_device),
		cmocka_unit_test(windows_of_energy_are_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
