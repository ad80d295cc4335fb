/* Limits on the nodes of a run on several: devices, losses, drift, ports, and who is at fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "judge_fixture.h"
#include "pair_case.h"
#include "plan/suite.h"
#include "finding_of_subject.h"

static void judge_by(const char *limit, const struct result *r, struct verdicts *v)
{
	struct limits limits;

	memset(v, 0, sizeof(*v));
	limits_from(&limits, limit);
	judge_machine_results(&(struct judge_input){ .results = r, .count = 1, .limits = &limits },
			      v);
	verdicts_finish(v);
	judge_limits_release(&limits);
}

static void nodes_init(struct result *r, size_t nodes, size_t per_node)
{
	struct presentation p = suite_presentation(suite_find("pairs"));

	node_init(r, nodes * per_node, "NVIDIA H200");
	result_present(r, &p);
	for (size_t i = 0; i < nodes * per_node; i++) {
		snprintf(r->devices[i].id, sizeof(r->devices[i].id), "n%zu/cuda:%zu", i / per_node,
			 i % per_node);
		r->devices[i].nic_bandwidth = 50e9;
	}
	for (size_t i = 0; i < nodes; i++) {
		ARRAY_GROW(r->nodes, r->node_count, r->node_capacity);
		r->nodes[r->node_count++] = (struct result_node){ .name = xasprintf("n%zu", i),
								  .reason = xstrdup(""),
								  .lost_at = xstrdup("") };
	}
}

/* The first devices of two nodes; `rail` NULL: all rails. */
static void add_pair(struct result *r, size_t a, size_t b, const char *rail, double value)
{
	struct case_result *c;
	char point[32];

	snprintf(point, sizeof(point), "%s/256MiB", rail ? rail : "all");
	c = pair_add(r, "cuda", a, b, point, value);
	pair_parameter(c, "pattern", rail ? "each_rail" : "all_rails");
	if (rail)
		pair_parameter(c, "rail", rail);
	pair_parameter(c, "round", "1");
}

/* Three nodes that were all in a pair. */
static void three_in_pairs(struct result *r)
{
	nodes_init(r, 3, 1);
	add_pair(r, 0, 1, NULL, 45e9);
	add_pair(r, 1, 2, NULL, 45e9);
}

static void find(struct finding **list, size_t *count, enum severity severity, const char *subject)
{
	*list = xrealloc(*list, *count + 1, sizeof(**list));
	(*list)[*count] = finding_of_subject(severity, subject);
	snprintf((*list)[*count].text, sizeof((*list)[*count].text), "as planted");
	++*count;
}

static const struct verdict_check *check_of(const struct verdicts *v, const char *devices)
{
	for (size_t i = 0; i < v->count; i++)
		if (strcmp(v->checks[i].limit, "run") != 0 &&
		    strcmp(v->checks[i].devices, devices) == 0)
			return &v->checks[i];
	return NULL;
}

static enum verdict only(struct result *r, const char *limit, char *reason, size_t size)
{
	struct verdicts v;
	enum verdict verdict = VERDICT_COUNT;

	judge_by(limit, r, &v);
	for (size_t i = 0; i < v.count; i++)
		if (strcmp(v.checks[i].limit, "run") != 0) {
			assert_int_equal(verdict, VERDICT_COUNT);
			verdict = v.checks[i].verdict;
			snprintf(reason, size, "%s", v.checks[i].reason ? v.checks[i].reason : "");
		}
	verdicts_release(&v);
	return verdict;
}

/* A missing GPU of one node is not made up for by those of the others. */
static void each_node_has_its_devices(void **state)
{
	struct result r;
	char why[256];

	(void)state;
	nodes_init(&r, 3, 4);
	assert_int_equal(only(&r, "metric = node.devices\nmin = 4\n", why, sizeof(why)),
			 VERDICT_PASS);
	r.device_count--;
	assert_int_equal(only(&r, "metric = node.devices\nmin = 4\n", why, sizeof(why)),
			 VERDICT_FAIL);
	assert_string_equal(why, "node n2");
	assert_int_equal(only(&r, "metric = node.devices\nmax = 3\n", why, sizeof(why)),
			 VERDICT_FAIL);
	assert_string_equal(why, "node n0");
	assert_int_equal(only(&r, "metric = node.devices\nmin = 4\nwhere = node:n[01]\n", why,
			      sizeof(why)),
			 VERDICT_PASS);
	r.device_count++;
	result_release(&r);
}

static void ports_losses_and_drift_are_counted(void **state)
{
	struct verdicts v;
	struct result r;
	char why[256];

	(void)state;
	nodes_init(&r, 3, 1);
	assert_int_equal(only(&r, "metric = node.nic_rate\nmin = 50 GB/s\n", why, sizeof(why)),
			 VERDICT_PASS);
	r.devices[1].nic_bandwidth = 25e9;
	assert_int_equal(only(&r, "metric = node.nic_rate\nmin = 50 GB/s\n", why, sizeof(why)),
			 VERDICT_FAIL);
	r.devices[1].nic_bandwidth = 0;
	assert_int_equal(only(&r, "metric = node.nic_rate\nmin = 50 GB/s\n", why, sizeof(why)),
			 VERDICT_ERROR);
	assert_int_equal(only(&r, "metric = node.drift\nmax = 0\n", why, sizeof(why)),
			 VERDICT_PASS);
	find(&r.preflight, &r.preflight_count, SEVERITY_WARNING, "drift of driver n1");
	find(&r.preflight, &r.preflight_count, SEVERITY_WARNING, "drift of kernel n1");
	assert_int_equal(only(&r, "metric = node.drift\nmax = 1\n", why, sizeof(why)),
			 VERDICT_FAIL);
	assert_non_null(strstr(why, "node n1"));
	/* Another finding about the same node is no drift. */
	find(&r.preflight, &r.preflight_count, SEVERITY_WARNING, "shared memory of n1");
	assert_int_equal(only(&r, "metric = node.drift\nmax = 2\n", why, sizeof(why)),
			 VERDICT_PASS);
	assert_int_equal(only(&r, "metric = node.lost\nmax = 0\n", why, sizeof(why)), VERDICT_PASS);
	r.nodes[2].status = NODE_LOST;
	assert_int_equal(only(&r, "metric = node.lost\nmax = 0\n", why, sizeof(why)), VERDICT_FAIL);
	assert_string_equal(why, "node n2");
	judge_by("metric = node.lost\nmax = 0\n", &r, &v);
	assert_string_equal(cause_name(check_of(&v, "")->cause), "run-incomplete");
	verdicts_release(&v);
	/* Two whole nodes have no majority. */
	assert_int_equal(only(&r, "metric = node.drift\nmax = 9\n", why, sizeof(why)),
			 VERDICT_ERROR);
	result_release(&r);
}

/* Only the devices of the node whose setting differs are concerned. */
static void a_drift_concerns_the_devices_of_its_node(void **state)
{
	struct verdicts v;
	struct result r;
	size_t found = 0;

	(void)state;
	nodes_init(&r, 3, 2);
	find(&r.preflight, &r.preflight_count, SEVERITY_WARNING, "drift of driver n1");
	judge_by("metric = node.lost\nmax = 0\n", &r, &v);
	for (size_t i = 0; i < v.count; i++)
		if (strcmp(cause_name(v.checks[i].cause), "node-setting") == 0) {
			assert_string_equal(v.checks[i].devices, "n1/cuda:0,n1/cuda:1");
			found++;
		}
	assert_int_equal(found, 1);
	verdicts_release(&v);
	result_release(&r);
}

#define SUSPECT "metric = node.suspect\nmax = 0\n"

static void is_suspect(const struct verdicts *v, const char *devices, const char *reason)
{
	const struct verdict_check *c = check_of(v, devices);

	assert_int_equal(c->verdict, VERDICT_FAIL);
	assert_string_equal(cause_name(c->cause), "node-network");
	assert_string_equal(c->reason, reason);
	assert_false(judge_check_wants_more(c));
}

/* One finding is of one node, also among names that begin with each other, such as n1 and n10. */
static void a_finding_is_of_one_node(void **state)
{
	(void)state;
	for (size_t slow = 0; slow < 12; slow++) {
		char subject[16];
		struct result r;
		struct verdicts v;

		nodes_init(&r, 12, 1);
		for (size_t a = 0; a < 12; a++)
			for (size_t b = a + 1; b < 12; b++)
				add_pair(&r, a, b, NULL, 45e9);
		snprintf(subject, sizeof(subject), "node n%zu", slow);
		find(&r.postflight, &r.postflight_count, SEVERITY_ERROR, subject);
		judge_by(SUSPECT, &r, &v);
		for (size_t i = 0; i < 12; i++) {
			const struct verdict_check *c = check_of(&v, r.devices[i].id);

			assert_int_equal(c->verdict, i == slow ? VERDICT_FAIL : VERDICT_PASS);
			assert_true(i == slow || strstr(c->reason, ": 11 cases with other nodes"));
		}
		verdicts_release(&v);
		result_release(&r);
	}
}

/* Passed is a node that was looked at; one in no pair is an error, suspects fail. */
static void each_node_is_judged_by_its_pairs(void **state)
{
	struct result r;
	struct verdicts v;

	(void)state;
	nodes_init(&r, 5, 1);
	for (size_t a = 0; a < 4; a++)
		for (size_t b = a + 1; b < 4; b++)
			add_pair(&r, a, b, NULL, 45e9);
	judge_by(SUSPECT, &r, &v);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(check_of(&v, r.devices[i].id)->verdict, VERDICT_PASS);
	assert_int_equal(check_of(&v, "n4/cuda:0")->verdict, VERDICT_ERROR);
	assert_int_equal(v.overall, VERDICT_INCONCLUSIVE);
	verdicts_release(&v);

	r.nodes[4].status = NODE_LOST;
	find(&r.postflight, &r.postflight_count, SEVERITY_ERROR, "node n1");
	find(&r.postflight, &r.postflight_count, SEVERITY_ERROR, "link of n2 and n3");
	find(&r.postflight, &r.postflight_count, SEVERITY_WARNING, "node n0");
	judge_by(SUSPECT, &r, &v);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(check_of(&v, r.devices[i].id)->verdict,
				 i == 1 ? VERDICT_FAIL : VERDICT_PASS);
	/* A warning neither makes it a suspect nor lets it pass. */
	assert_int_equal(check_of(&v, "n0/cuda:0")->verdict, VERDICT_ERROR);
	assert_string_equal(check_of(&v, "n0/cuda:0")->reason, "as planted");
	is_suspect(&v, "n1/cuda:0", "node n1: as planted");
	/* Neither of the two is to be drained for it. */
	is_suspect(&v, "n2/cuda:0,n3/cuda:0", "link of n2 and n3: as planted");
	assert_null(check_of(&v, "n4/cuda:0"));
	/* Said once: by the limit. */
	assert_int_equal(v.counts[VERDICT_FAIL], 2);
	verdicts_release(&v);

	/* Without the limit by the findings, and never as a setting of the node. */
	judge_by("metric = node.lost\nmax = 9\n", &r, &v);
	assert_int_equal(v.counts[VERDICT_FAIL], 2);
	for (size_t i = 0; i < v.count; i++)
		if (v.checks[i].verdict == VERDICT_FAIL)
			assert_string_equal(cause_name(v.checks[i].cause), "node-network");
	for (size_t i = 0; i < v.count; i++)
		assert_true(v.checks[i].accepted == (v.checks[i].verdict == VERDICT_WARN ||
						     v.checks[i].verdict == VERDICT_PASS));
	verdicts_release(&v);
	result_release(&r);
}

#define BOTH "n0/cuda:0,n1/cuda:0"
#define RATE "[limit rails]\nmetric = pairs.bandwidth\nwhere = pattern:all_rails\nmin = "

/* Pairs of two nodes make neither a suspect, however slow they are; a limit judges their link. */
static void two_nodes_are_judged_by_their_link(void **state)
{
	struct result r;
	struct verdicts v;

	(void)state;
	nodes_init(&r, 2, 1);
	add_pair(&r, 0, 1, NULL, 45e9);
	judge_by(SUSPECT, &r, &v);
	assert_int_equal(check_of(&v, BOTH)->verdict, VERDICT_ERROR);
	assert_non_null(strstr(check_of(&v, BOTH)->reason, "do not show which one is slow"));
	assert_int_equal(v.overall, VERDICT_INCONCLUSIVE);
	verdicts_release(&v);
	for (int slow = 0; slow < 2; slow++) {
		judge_by(slow ? SUSPECT RATE "50 GB/s\n" : SUSPECT RATE "40 GB/s\n", &r, &v);
		assert_int_equal(v.overall, slow ? VERDICT_FAIL : VERDICT_PASS);
		assert_int_equal(check_of(&v, BOTH)->verdict, VERDICT_SKIP);
		assert_true(check_of(&v, BOTH)->accepted);
		assert_null(check_of(&v, "n0/cuda:0"));
		assert_null(check_of(&v, "n1/cuda:0"));
		verdicts_release(&v);
	}
	/* Limits on the latency, or above the bandwidth, say nothing about a slow link. */
	judge_by(SUSPECT "[limit latency]\nmetric = pairs.latency\nmax = 1s\n", &r, &v);
	assert_int_equal(check_of(&v, BOTH)->verdict, VERDICT_ERROR);
	verdicts_release(&v);
	judge_by(SUSPECT "[limit rails]\nmetric = pairs.bandwidth\nmax = 90 GB/s\n", &r, &v);
	assert_int_equal(check_of(&v, BOTH)->verdict, VERDICT_ERROR);
	verdicts_release(&v);
	find(&r.postflight, &r.postflight_count, SEVERITY_ERROR, "link of n0 and n1");
	judge_by(SUSPECT, &r, &v);
	assert_int_equal(v.overall, VERDICT_FAIL);
	verdicts_release(&v);
	result_release(&r);
}

/* The rails of one link are compared with each other; two of them show no slow one. */
static void rails_of_two_nodes_are_compared(void **state)
{
	static const struct {
		size_t rails, slow, last; /* number of rails; the slow ones, from slow to last */
		double rate;              /* of the slow ones */
		enum verdict verdict;
	} rows[] = {
		{ 4, 0, 0, 45e9, VERDICT_PASS },  { 4, 2, 2, 41e9, VERDICT_PASS },
		{ 4, 2, 2, 39e9, VERDICT_FAIL },  { 3, 1, 1, 20e9, VERDICT_FAIL },
		{ 2, 1, 1, 20e9, VERDICT_ERROR }, { 4, 1, 3, 27e9, VERDICT_FAIL },
		{ 4, 1, 2, 27e9, VERDICT_FAIL },  { 4, 2, 2, 0, VERDICT_FAIL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result r;
		struct verdicts v;
		char name[24];

		nodes_init(&r, 2, 1);
		for (size_t rail = 0; rail < rows[i].rails; rail++) {
			snprintf(name, sizeof(name), "%zu", rail);
			add_pair(&r, 0, 1, name,
				 rail >= rows[i].slow && rail <= rows[i].last ? rows[i].rate
									      : 45e9);
		}
		judge_by(SUSPECT, &r, &v);
		assert_int_equal(check_of(&v, BOTH)->verdict, rows[i].verdict);
		if (rows[i].verdict == VERDICT_FAIL) {
			snprintf(name, sizeof(name), ": rail %zu is ", rows[i].slow);
			assert_non_null(strstr(check_of(&v, BOTH)->reason, name));
			assert_string_equal(cause_name(check_of(&v, BOTH)->cause), "node-network");
		}
		verdicts_release(&v);
		result_release(&r);
	}
}

/* A limit that allows skips, as the shipped one, says nothing of runs without pairs. */
static void without_pairs_an_allowed_skip_is_no_doubt(void **state)
{
	struct result r;
	struct verdicts v;

	(void)state;
	nodes_init(&r, 3, 1);
	judge_by(SUSPECT "allow_skipped = yes\n", &r, &v);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(check_of(&v, r.devices[i].id)->verdict, VERDICT_SKIP);
		assert_true(check_of(&v, r.devices[i].id)->accepted);
	}
	verdicts_release(&v);
	add_pair(&r, 0, 1, NULL, 45e9);
	judge_by(SUSPECT "allow_skipped = yes\n", &r, &v);
	/* Two met, and nothing judges their link. No skip excuses the third, which met none. */
	assert_int_equal(check_of(&v, BOTH)->verdict, VERDICT_ERROR);
	assert_int_equal(check_of(&v, "n2/cuda:0")->verdict, VERDICT_ERROR);
	assert_false(check_of(&v, "n2/cuda:0")->accepted);
	verdicts_release(&v);
	result_release(&r);
}

/* It takes all of them: the run fails, and no node is held to be the cause. */
static void a_fault_of_all_nodes_is_no_nodes(void **state)
{
	struct result r;
	struct verdicts v;

	(void)state;
	three_in_pairs(&r);
	find(&r.postflight, &r.postflight_count, SEVERITY_ERROR, "nodes n0, n1 and n2");
	judge_by(SUSPECT, &r, &v);
	assert_int_equal(check_of(&v, "n1/cuda:0")->verdict, VERDICT_PASS);
	assert_int_equal(v.counts[VERDICT_FAIL], 1);
	assert_int_equal(v.overall, VERDICT_FAIL);
	verdicts_release(&v);
	result_release(&r);
}

/* A switch that is at fault fails the run, and what is not known of its nodes does not pass. */
static void a_fault_of_a_switch_is_no_nodes(void **state)
{
	struct result r;
	struct verdicts v;

	(void)state;
	three_in_pairs(&r);
	find(&r.postflight, &r.postflight_count, SEVERITY_ERROR, "switch leaf2");
	find(&r.postflight, &r.postflight_count, SEVERITY_WARNING, "node n1");
	judge_by(SUSPECT, &r, &v);
	assert_int_equal(check_of(&v, "n0/cuda:0")->verdict, VERDICT_PASS);
	assert_int_equal(check_of(&v, "n1/cuda:0")->verdict, VERDICT_ERROR);
	assert_int_equal(v.counts[VERDICT_FAIL], 1);
	assert_int_equal(v.overall, VERDICT_FAIL);
	verdicts_release(&v);
	result_release(&r);
}

static void limits_select_rails_and_the_nodes_of_a_pair(void **state)
{
	static const struct {
		const char *where;
		unsigned passed;
	} rows[] = { { "rail:1", 2 },
		     { "rail:>=1", 3 },
		     { "pattern:all_rails", 1 },
		     { "node:n0", 3 },
		     { "node:n2, rail:2", 1 } };
	struct result r;

	(void)state;
	nodes_init(&r, 3, 1);
	add_pair(&r, 0, 1, NULL, 45e9);
	add_pair(&r, 0, 1, "1", 45e9);
	add_pair(&r, 0, 2, "1", 45e9);
	add_pair(&r, 1, 2, "2", 45e9);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *limit = xasprintf("metric = pairs.bandwidth\nwhere = %s\nmin = 40 GB/s\n",
					rows[i].where);
		struct verdicts v;

		judge_by(limit, &r, &v);
		assert_int_equal(v.counts[VERDICT_PASS], rows[i].passed);
		verdicts_release(&v);
		free(limit);
	}
	result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_has_its_devices),
		cmocka_unit_test(ports_losses_and_drift_are_counted),
		cmocka_unit_test(a_drift_concerns_the_devices_of_its_node),
		cmocka_unit_test(a_finding_is_of_one_node),
		cmocka_unit_test(each_node_is_judged_by_its_pairs),
		cmocka_unit_test(two_nodes_are_judged_by_their_link),
		cmocka_unit_test(rails_of_two_nodes_are_compared),
		cmocka_unit_test(without_pairs_an_allowed_skip_is_no_doubt),
		cmocka_unit_test(a_fault_of_all_nodes_is_no_nodes),
		cmocka_unit_test(a_fault_of_a_switch_is_no_nodes),
		cmocka_unit_test(limits_select_rails_and_the_nodes_of_a_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
