/* Pairs of nodes: again where rounds leave some, or all, as suspects. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "fleet/rounds/rounds_internal.h"
#include "pair_case.h"

#define NODES 4

static const char text[] = "[run]\nbackend = host\n[suite pairs]\npatterns = all_rails\nsizes = "
			   "1MiB\ndirections = both\nmargin = 3 %\n";

static void say(void *context, const char *what)
{
	(void)context;
	(void)what;
}

static void add_case(struct result *result, size_t a, size_t b, const char *size, double value)
{
	pair_parameter(pair_add(result, "host", a, b, size, value), "size", size);
}

static void open(struct rounds *r, struct config *config, const char *ini, size_t nodes)
{
	struct text errors = TEXT_EMPTY;

	assert_int_equal(config_parse(config, "pairs", ini, strlen(ini), NULL, 0, &errors),
			 STATUS_OK);
	*r = (struct rounds){ .config = config, .count = nodes, .callbacks = { .say = say } };
	r->members = xcalloc(nodes, sizeof(*r->members));
	pairing_open(&r->pairing, nodes, 1);
	for (size_t i = 0; i < nodes; i++) {
		struct member *m = &r->members[i];

		m->name = xasprintf("n%zu", i);
		m->devices = xcalloc(1, sizeof(*m->devices));
		m->device_count = 1;
		snprintf(m->devices->id, sizeof(m->devices->id), "n%zu/host:0", i);
		snprintf(m->devices->backend, sizeof(m->devices->backend), "host");
	}
	text_release(&errors);
}

/* Each node is `slow[node]` slower than the others in sizes of its own. */
static void confirm(const double *slow, struct rounds *r, struct config *config)
{
	static const char *const sizes[NODES] = { "1MiB", "2MiB", "4MiB", "8MiB" };

	open(r, config, text, NODES);
	r->stage = STAGE_CONFIRM;
	for (size_t i = 0; i < NODES; i++)
		for (size_t a = 0; a < NODES; a++)
			for (size_t b = a + 1; b < NODES; b++)
				add_case(&r->found, a, b, sizes[i],
					 a == i || b == i ? 1e9 * (1 - slow[i]) : 1e9);
	rounds_make(r);
}

static bool is_paired(const struct rounds *r, size_t a, size_t b)
{
	for (size_t i = 0; i < r->group_count; i++) {
		const size_t *m = r->groups[i].members;

		if ((m[0] == a && m[1] == b) || (m[0] == b && m[1] == a))
			return true;
	}
	return false;
}

static void finish(struct rounds *r, struct config *config)
{
	struct result all = { 0 };

	rounds_collect(r, &all);
	result_release(&all);
	for (size_t i = 0; i < r->count; i++) {
		free(r->members[i].name);
		free(r->members[i].devices);
	}
	free(r->members);
	free(r->groups);
	free(r->notes);
	pairing_close(&r->pairing);
	config_release(config);
}

static void a_suspect_meets_a_proven_node(void **state)
{
	struct config config;
	struct rounds r;

	(void)state;
	confirm((double[NODES]){ 0, 0.1, 0, 0 }, &r, &config);
	assert_int_equal(r.group_count, 1);
	assert_true(is_paired(&r, 1, 0) || is_paired(&r, 1, 2) || is_paired(&r, 1, 3));
	assert_int_equal(r.note_count, 0);
	finish(&r, &config);
}

/* One of an odd number has no partner; none is left out twice before all others. */
static void each_of_an_odd_number_sits_out_in_turn(void **state)
{
	enum { ODD = 5 };
	size_t nodes[ODD] = { 0, 1, 2, 3, 4 }, pairs[ODD / 2][2];

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		size_t met[ODD] = { 0 };
		struct pairing p;

		pairing_open(&p, ODD, seed);
		for (size_t round = 1; round <= ODD; round++) {
			assert_int_equal(pairing_random(&p, nodes, ODD, pairs), ODD / 2);
			for (size_t i = 0; i < ODD / 2; i++) {
				met[pairs[i][0]]++;
				met[pairs[i][1]]++;
			}
			for (size_t i = 0; i < ODD; i++)
				assert_true(met[i] + 1 >= round);
		}
		for (size_t i = 0; i < ODD; i++)
			assert_int_equal(met[i], ODD - 1);
		pairing_close(&p);
	}
}

/* Near the margin is better than beyond it: the suspects meet these. */
static void without_a_proven_node_suspects_meet_candidates(void **state)
{
	struct config config;
	struct rounds r;

	(void)state;
	confirm((double[NODES]){ 0.1, 0.02, 0.1, 0.02 }, &r, &config);
	assert_int_equal(r.group_count, 2);
	assert_false(is_paired(&r, 0, 2) || is_paired(&r, 1, 3));
	assert_int_equal(r.note_count, 1);
	finish(&r, &config);
}

static void nodes_that_are_all_suspects_meet_each_other(void **state)
{
	struct config config;
	struct rounds r;

	(void)state;
	confirm((double[NODES]){ 0.1, 0.2, 0.1, 0.1 }, &r, &config);
	assert_int_equal(r.group_count, 2);
	assert_int_equal(r.note_count, 1);
	assert_int_equal(r.notes[0].severity, SEVERITY_WARNING);
	assert_non_null(strstr(r.notes[0].text, "all 4 nodes are suspects"));
	finish(&r, &config);
}

static void sound_nodes_are_not_measured_again(void **state)
{
	struct config config;
	struct rounds r;

	(void)state;
	confirm((double[NODES]){ 0, 0.001, 0, 0 }, &r, &config);
	assert_int_equal(r.group_count, 0);
	assert_int_equal(r.note_count, 0);
	finish(&r, &config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_suspect_meets_a_proven_node),
		cmocka_unit_test(each_of_an_odd_number_sits_out_in_turn),
		cmocka_unit_test(without_a_proven_node_suspects_meet_candidates),
		cmocka_unit_test(nodes_that_are_all_suspects_meet_each_other),
		cmocka_unit_test(sound_nodes_are_not_measured_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
