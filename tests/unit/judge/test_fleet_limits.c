/*
 * `fleet = 3 %`: every device against all of its model on all nodes. Simulated fleets, seeded, say
 * how often a slow node is found and a healthy one accused; GPUPROOF_SIMULATE=20 makes twenty times
 * as many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "judge_fixture.h"
#include "random.h"

#define BETWEEN 0.005 /* standard deviation between healthy devices */
#define NOISE 0.01    /* and between launches of one */
#define EXTENSION 4   /* further launches of a suspect, at most ROUNDS times */
#define ROUNDS 4
#define SPEED 55e9
#define LIMIT "metric = transfer.bandwidth\nfleet = 3 %\nlaunch_spread = 1 %\n"

/* `per_node` devices on each node. */
static void fleet_init(struct result *r, size_t devices, size_t per_node)
{
	node_init(r, devices, "NVIDIA H200");
	for (size_t i = 0; i < devices; i++)
		snprintf(r->devices[i].id, sizeof(r->devices[i].id), "n%zu/cuda:%zu", i / per_node,
			 i % per_node);
}

static void fleet_add(struct result *r, size_t i, double value)
{
	struct case_result *c = node_add(r, i, value, 0.0005);
	const char *id = r->devices[i].id;

	free(c->id);
	free(c->device);
	free(c->devices[0]);
	c->id = xasprintf("transfer/h2d/pinned/512MiB@%s", id);
	c->device = xstrdup(id);
	c->devices[0] = xstrdup(id);
	c->node = xstrndup(id, strcspn(id, "/"));
}

static void judge_launches(const char *limit, const struct result *launches, size_t count,
			   struct verdicts *v)
{
	struct limits limits;

	memset(v, 0, sizeof(*v));
	limits_from(&limits, limit);
	judge_machine_results(
		&(struct judge_input){ .results = launches, .count = count, .limits = &limits }, v);
	verdicts_finish(v);
	judge_limits_release(&limits);
}

static enum verdict verdict_of(const struct verdicts *v, const char *device)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->checks[i].comparison == LIKE_FLEET &&
		    strcmp(v->checks[i].devices, device) == 0)
			return v->checks[i].verdict;
	return VERDICT_ERROR;
}

struct counts {
	size_t slow, found, passed, healthy, accused, suspects, undecided;
};

/* A fleet of one device per node, of which every `every`th is `slow`. */
static void accept_fleet(size_t nodes, size_t every, double slow, struct counts *counts)
{
	struct result launches[1 + EXTENSION * ROUNDS];
	double *speeds = xcalloc(nodes, sizeof(*speeds));
	struct verdicts v;
	size_t count = 1;

	fleet_init(&launches[0], nodes, 1);
	for (size_t i = 0; i < nodes; i++) {
		speeds[i] = SPEED * exp(BETWEEN * normal()) * (i % every == 1 ? 1 - slow : 1);
		fleet_add(&launches[0], i, speeds[i] * exp(NOISE * normal()));
	}
	judge_launches(LIMIT, launches, 1, &v);
	for (int round = 0; round < ROUNDS; round++) {
		size_t suspects = 0;

		for (int more = 0; more < EXTENSION; more++)
			fleet_init(&launches[count + (size_t)more], nodes, 1);
		for (size_t i = 0; i < nodes; i++) {
			if (!judge_wants_more(&v, launches[0].cases[i].id, ""))
				continue;
			suspects++;
			for (int more = 0; more < EXTENSION; more++)
				fleet_add(&launches[count + (size_t)more], i,
					  speeds[i] * exp(NOISE * normal()));
		}
		counts->suspects += suspects;
		if (!suspects) {
			for (int more = 0; more < EXTENSION; more++)
				result_release(&launches[count + (size_t)more]);
			break;
		}
		count += EXTENSION;
		verdicts_release(&v);
		judge_launches(LIMIT, launches, count, &v);
	}
	for (size_t i = 0; i < v.count; i++) {
		enum verdict verdict = v.checks[i].verdict;
		bool is_slow = strtoul(v.checks[i].devices + 1, NULL, 10) % every == 1;

		if (v.checks[i].comparison != LIKE_FLEET)
			continue;
		*(is_slow ? &counts->slow : &counts->healthy) += 1;
		counts->found += is_slow && verdict == VERDICT_FAIL;
		counts->passed += is_slow && verdict == VERDICT_PASS;
		counts->accused += !is_slow && verdict == VERDICT_FAIL;
		counts->undecided += !is_slow && verdict == VERDICT_INCONCLUSIVE;
	}
	verdicts_release(&v);
	for (size_t i = 0; i < count; i++)
		result_release(&launches[i]);
	free(speeds);
}

static struct counts simulate(size_t nodes, size_t every, double slow, size_t fleets)
{
	const char *factor = getenv("GPUPROOF_SIMULATE");
	struct counts counts = { 0 };

	seed = 20261123;
	fleets *= factor ? strtoul(factor, NULL, 10) : 1;
	for (size_t i = 0; i < fleets; i++)
		accept_fleet(nodes, every, slow, &counts);
	print_message("%5zu nodes, 1 of %zu %2.0f %% slow: found %.2f %% of %zu, passed %.2f %%; "
		      "healthy accused %zu of %zu, undecided %.4f %%, measured again %.2f %%\n",
		      nodes, every, 100 * slow, 100 * (double)counts.found / (double)counts.slow,
		      counts.slow, 100 * (double)counts.passed / (double)counts.slow,
		      counts.accused, counts.healthy,
		      100 * (double)counts.undecided / (double)counts.healthy,
		      100 * (double)counts.suspects / (double)(counts.healthy + counts.slow));
	return counts;
}

/* Promise of a run on nodes: no healthy one is accused, slow ones are found, whatever the size. */
static void test_blame(void **state)
{
	static const struct {
		size_t nodes, every, fleets;
		double slow, least;
	} rows[] = {
		{ 16, 10, 400, 0.10, 0.999 },   { 128, 10, 60, 0.10, 0.999 },
		{ 1024, 100, 12, 0.10, 0.999 }, { 16, 10, 400, 0.05, 0.96 },
		{ 128, 10, 60, 0.05, 0.96 },    { 1024, 100, 20, 0.05, 0.96 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct counts c =
			simulate(rows[i].nodes, rows[i].every, rows[i].slow, rows[i].fleets);

		assert_true((double)c.found >= rows[i].least * (double)c.slow);
		/* 0.001 %: the smallest number that this many healthy ones can show. */
		assert_true((double)c.accused <= ceil(1e-5 * (double)c.healthy) - 1 + 1e-9);
		assert_true((double)c.undecided <= 0.001 * (double)c.healthy);
	}
}

/* A slow node is named against the other nodes, though its own devices agree with each other. */
static void test_slow_node(void **state)
{
	struct result r;
	struct verdicts v;

	(void)state;
	fleet_init(&r, 32, 4);
	for (size_t i = 0; i < 32; i++)
		fleet_add(&r, i, SPEED * (i / 4 == 5 ? 0.9 : 1) * (1 + 0.0001 * (double)(i % 7)));
	judge_launches("metric = transfer.bandwidth\nfleet = 3 %\noutlier_margin = 2 %\n", &r, 1,
		       &v);
	assert_int_equal(verdict_of(&v, "n5/cuda:2"), VERDICT_FAIL);
	assert_int_equal(verdict_of(&v, "n4/cuda:2"), VERDICT_PASS);
	assert_int_equal(v.overall, VERDICT_FAIL);
	for (size_t i = 0; i < v.count; i++) {
		const struct verdict_check *c = &v.checks[i];

		if (c->comparison == LIKE_IDENTICAL) {
			assert_int_equal(c->verdict, VERDICT_PASS);
			assert_non_null(strstr(c->reason, "median of 3 identical devices"));
		} else if (strcmp(c->devices, "n5/cuda:2") == 0) {
			assert_string_equal(c->bound_text, "fleet = 3 %");
			assert_non_null(strstr(c->reason, "the median of 31 devices of the same "
							  "model on 8 nodes"));
		}
	}
	verdicts_release(&v);
	result_release(&r);
}

/* One machine is no fleet: that is skipped and never passed. */
static void test_one_node(void **state)
{
	struct result r;
	struct verdicts v;

	(void)state;
	fleet_init(&r, 4, 4);
	for (size_t i = 0; i < 4; i++)
		fleet_add(&r, i, SPEED);
	judge_launches(LIMIT, &r, 1, &v);
	assert_int_equal(verdict_of(&v, "n0/cuda:1"), VERDICT_SKIP);
	assert_int_not_equal(v.overall, VERDICT_PASS);
	verdicts_release(&v);
	result_release(&r);
}

/* Another model is another fleet, and `where = node:` selects nodes by pattern. */
static void test_model_and_node(void **state)
{
	struct result r;
	struct verdicts v;

	(void)state;
	fleet_init(&r, 20, 2);
	for (size_t i = 0; i < 20; i++) {
		if (i >= 10)
			snprintf(r.devices[i].name, sizeof(r.devices[i].name), "NVIDIA L4");
		fleet_add(&r, i, i >= 10 ? SPEED / 3 : SPEED);
	}
	judge_launches(LIMIT, &r, 1, &v);
	assert_int_equal(v.counts[VERDICT_PASS], 20);
	verdicts_release(&v);
	judge_launches(LIMIT "where = node:n[0-2]|n4\n", &r, 1, &v);
	assert_int_equal(v.counts[VERDICT_PASS], 8);
	assert_int_equal(verdict_of(&v, "n3/cuda:0"), VERDICT_ERROR);
	verdicts_release(&v);
	result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blame),
		cmocka_unit_test(test_slow_node),
		cmocka_unit_test(test_one_node),
		cmocka_unit_test(test_model_and_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
