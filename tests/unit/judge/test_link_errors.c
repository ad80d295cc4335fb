/* Tests of NVLink counters: healthy links raise no alarm, a link that stands out does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "judge/judging.h"
#include "judge_fixture.h"
#include "random.h"

#define LINKS 18

static void link_findings(struct finding *list, size_t devices)
{
	for (size_t d = 0; d < devices; d++) {
		char id[32];

		snprintf(id, sizeof(id), "cuda:%zu", d);
		memset(&list[d], 0, sizeof(list[d]));
		finding_set_device(&list[d], FINDING_NVLINK_REPLAYS, id);
		list[d].count = LINKS;
	}
}

/* A node whose links count what `draw` says; `times` more on one of them. */
static void node_with_links(struct result *r, size_t devices, double (*draw)(void), double times)
{
	node_init(r, devices, "NVIDIA H200");
	r->preflight = xcalloc(devices, sizeof(*r->preflight));
	r->postflight = xcalloc(devices, sizeof(*r->postflight));
	r->preflight_count = r->postflight_count = devices;
	link_findings(r->preflight, devices);
	link_findings(r->postflight, devices);
	for (size_t d = 0; d < devices; d++)
		for (size_t k = 0; k < LINKS; k++) {
			double errors = draw() * (d == 1 && k == 5 ? times : 1);

			r->preflight[d].counts[k] = 40;
			r->postflight[d].counts[k] = 40 + (int64_t)errors;
		}
}

/*
 * Errors of a healthy link in an acceptance. Two H100s had 15 to 80 on each of 36 links; here the
 * middle nine of ten have 13 to 100, and one in a thousand more than 240.
 */
static double healthy(void)
{
	return 36 * exp(0.62 * normal() + 0.01);
}

static double silent(void)
{
	return 0;
}

static size_t alarms_of(struct result *r, struct verdicts *v)
{
	memset(v, 0, sizeof(*v));
	judge_link_errors(r, v);
	return v->count;
}

static void healthy_nodes_are_not_warned_of(void **state)
{
	struct verdicts v;
	struct result r;
	size_t alarms = 0, missed = 0;

	(void)state;
	seed = 7;
	for (int node = 0; node < 10000; node++) {
		node_with_links(&r, 8, healthy, 1);
		alarms += alarms_of(&r, &v);
		verdicts_release(&v);
		result_release(&r);
	}
	assert_int_equal(alarms, 0);
	for (int node = 0; node < 1000; node++) {
		node_with_links(&r, 2, healthy, 200);
		missed += alarms_of(&r, &v) != 1;
		verdicts_release(&v);
		result_release(&r);
	}
	assert_true(missed < 50);
}

static void a_link_that_stands_out_is_named_once(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_with_links(&r, 2, silent, 1);
	assert_int_equal(alarms_of(&r, &v), 0);
	r.postflight[1].counts[5] += 5000;
	r.postflight[1].counts[6] += 3000;
	assert_int_equal(alarms_of(&r, &v), 1);
	assert_int_equal(v.checks[0].verdict, VERDICT_WARN);
	assert_string_equal(v.checks[0].devices, "cuda:1");
	assert_string_equal(v.checks[0].reason, "NVLink link 5 had 5000 replays during the run; "
						"the median link of this node had 0");
	verdicts_release(&v);
	/* Over a longer time a link may have as many. */
	node_add(&r, 0, 1e9, 0.01)->seconds = 600;
	assert_int_equal(alarms_of(&r, &v), 0);
	/* None stands out if all links have as many. */
	r.cases[0].seconds = 1;
	for (size_t d = 0; d < 2; d++)
		for (size_t k = 0; k < LINKS; k++)
			r.postflight[d].counts[k] = 4000;
	assert_int_equal(alarms_of(&r, &v), 0);
	result_release(&r);
	/* A counter that was reset says nothing. */
	node_with_links(&r, 2, silent, 1);
	r.preflight[1].counts[5] = 9000;
	r.postflight[1].counts[5] = 8000;
	assert_int_equal(alarms_of(&r, &v), 0);
	result_release(&r);
}

/* The standard's error rate is no alarm, however long the run is; many times as much is. */
static void pcie_replays_have_a_budget(void **state)
{
	struct verdicts v;
	struct result r;
	size_t alarms = 0;

	(void)state;
	seed = 11;
	for (int run = 0; run < 10000; run++) {
		node_init(&r, 1, "NVIDIA H200");
		for (size_t i = 0; i < 25; i++) {
			struct case_result *c = node_add(&r, 0, 1e9, 0.01);

			c->started_seconds = (double)i;
			c->seconds = 1;
			c->before.pcie_replays = c->after.pcie_replays = 4;
			/* One in two seconds, by steps of a tenth. */
			for (int step = 0; step < 10; step++)
				c->after.pcie_replays += uniform() < 0.05;
		}
		alarms += alarms_of(&r, &v);
		verdicts_release(&v);
		if (run == 9999) {
			r.cases[3].after.pcie_replays += 100;
			assert_int_equal(alarms_of(&r, &v), 1);
			assert_string_equal(v.checks[0].devices, "cuda:0");
			assert_int_equal(v.checks[0].verdict, VERDICT_WARN);
			assert_non_null(strstr(v.checks[0].reason, "up to 35 are normal"));
			verdicts_release(&v);
		}
		result_release(&r);
	}
	assert_int_equal(alarms, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_nodes_are_not_warned_of),
		cmocka_unit_test(a_link_that_stands_out_is_named_once),
		cmocka_unit_test(pcie_replays_have_a_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
