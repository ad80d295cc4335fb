/*
 * Which nodes are paired: every two leaf switches once, and again where rounds leave some, or all,
 * as suspects; and the switch that is at fault instead of its nodes.
 */
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
#include "fleet/rounds/parts.h"
#include "fleet/rounds/topology.h"
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
	*r = (struct rounds){ .config = config, .count = nodes, .door = { .say = say } };
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
		free(r->members[i].leaf);
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

/* Near the margin is better than beyond it: the accused meet these. */
static void without_a_proven_node_the_accused_meet_those_near(void **state)
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

static void nodes_that_are_all_accused_meet_each_other(void **state)
{
	struct config config;
	struct rounds r;

	(void)state;
	confirm((double[NODES]){ 0.1, 0.2, 0.1, 0.1 }, &r, &config);
	assert_int_equal(r.group_count, 2);
	assert_int_equal(r.note_count, 1);
	assert_int_equal(r.notes[0].severity, SEVERITY_WARNING);
	assert_non_null(strstr(r.notes[0].text, "none of 4 nodes is proven to be sound"));
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

#define LEAF 4
#define LEAVES 4

static const char by_leaves[] =
	"[run]\nbackend = host\n[suite pairs]\npatterns = all_rails\nsizes = "
	"1MiB\ndirections = both\nrounds = leaves\n";

/* Nodes of switch `slow_leaf` are half as fast with other switches, `slow_node` with all. */
static void play_leaves(struct rounds *r, size_t slow_leaf, size_t slow_node)
{
	bool met[LEAVES][LEAVES] = { { false } };

	for (int round = 1; round <= LEAVES - 1; round++) {
		size_t(*pairs)[2] = xcalloc(r->count, sizeof(*pairs));
		size_t count = rounds_pair_leaves(r, (size_t)round, pairs);

		assert_int_equal(count, LEAF * LEAVES / 2);
		for (size_t i = 0; i < count; i++) {
			size_t a = pairs[i][0], b = pairs[i][1];
			bool slow = a / LEAF == slow_leaf || b / LEAF == slow_leaf ||
				    a == slow_node || b == slow_node;

			assert_true(a / LEAF != b / LEAF);
			met[a / LEAF][b / LEAF] = met[b / LEAF][a / LEAF] = true;
			add_case(&r->found, a, b, "1MiB", slow ? 0.5e9 : 1e9);
		}
		free(pairs);
	}
	for (size_t a = 0; a < LEAVES; a++)
		for (size_t b = 0; b < LEAVES; b++)
			assert_true(met[a][b] || a == b);
}

static const struct finding *find(const struct result *result, const char *subject)
{
	for (size_t i = 0; i < result->postflight_count; i++)
		if (strcmp(result->postflight[i].subject, subject) == 0)
			return &result->postflight[i];
	return NULL;
}

static void a_switch_is_at_fault_instead_of_its_nodes(void **state)
{
	struct config config;
	struct result all = { 0 };
	struct rounds r;

	(void)state;
	open(&r, &config, by_leaves, LEAF * LEAVES);
	for (size_t i = 0; i < r.count; i++)
		r.members[i].leaf = xasprintf("leaf%zu", i / LEAF);
	play_leaves(&r, 2, 1);
	rounds_collect(&r, &all);
	assert_non_null(find(&all, "switch leaf2"));
	assert_int_equal(find(&all, "switch leaf2")->severity, SEVERITY_ERROR);
	assert_non_null(strstr(find(&all, "switch leaf2")->text, "4 of its 4 nodes"));
	assert_int_equal(find(&all, "node n1")->severity, SEVERITY_ERROR);
	/* Its nodes are neither accused nor shown to be sound. */
	assert_int_equal(find(&all, "node n8")->severity, SEVERITY_WARNING);
	assert_non_null(
		strstr(find(&all, "node n11")->text, "not told apart from its switch leaf2"));
	assert_int_equal(all.postflight_count, 2 + LEAF);
	result_release(&all);
	finish(&r, &config);
}

/* Random pairs have partners under the same switch too: they accuse nodes alone. */
static void random_pairs_accuse_no_switch(void **state)
{
	struct config config;
	struct result all = { 0 };
	struct rounds r;

	(void)state;
	open(&r, &config, text, LEAF * LEAVES);
	for (size_t i = 0; i < r.count; i++)
		r.members[i].leaf = xasprintf("leaf%zu", i / 2);
	for (size_t a = 0; a < r.count; a++)
		for (size_t b = a + 1; b < r.count; b++)
			add_case(&r.found, a, b, "1MiB", a / 2 == 1 || b / 2 == 1 ? 0.5e9 : 1e9);
	rounds_collect(&r, &all);
	assert_null(find(&all, "switch leaf1"));
	assert_int_equal(find(&all, "node n2")->severity, SEVERITY_ERROR);
	assert_int_equal(find(&all, "node n3")->severity, SEVERITY_ERROR);
	result_release(&all);
	finish(&r, &config);
}

/* Nothing is measured, and that is said, where no switch is known. */
static void leaves_need_a_topology(void **state)
{
	struct config config;
	struct rounds r;

	(void)state;
	open(&r, &config, by_leaves, NODES);
	r.stage = STAGE_PAIRS;
	assert_false(rounds_make(&r));
	assert_int_equal(r.note_count, 1);
	assert_non_null(strstr(r.notes[0].text, "topology of [fleet] tells of fewer"));
	finish(&r, &config);
}

static void lists_of_hosts(void **state)
{
	(void)state;
	assert_true(topology_lists("n1", "n1"));
	assert_false(topology_lists("n1", "n10"));
	assert_false(topology_lists("n10", "n1"));
	assert_true(topology_lists("a,n[1-3,7],b", "n7"));
	assert_true(topology_lists("a, n[1-3,7] b", "b"));
	assert_false(topology_lists("n[1-3,7]", "n4"));
	assert_true(topology_lists("gpu[01-16]-ib", "gpu09-ib"));
	assert_false(topology_lists("gpu[01-16]-ib", "gpu9-ib"));
	assert_false(topology_lists("gpu[01-16]-ib", "gpu09"));
	assert_false(topology_lists("n[1-3]", "n01"));
	assert_true(topology_lists("r[1-2]n[1-4]", "r2n3"));
	assert_false(topology_lists("r[1-2]n[1-4]", "r3n3"));
	assert_false(topology_lists("", "n1"));
	assert_false(topology_lists("n[1-3", "n1"));
}

static void files_of_switches(void **state)
{
	static const char *const names[] = { "n1", "n2", "n3", "login" };
	char path[] = "/tmp/test_rounds_XXXXXX", *leaves[4] = { NULL };
	struct error err = ERROR_NONE;
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");

	(void)state;
	fputs("# two leaves\nSwitchName=leaf1 Nodes=n[1-2] LinkSpeed=100\n\nleaf2: n3 n4\n"
	      "SwitchName=spine Switches=leaf[1-2]\n",
	      f);
	fflush(f);
	assert_int_equal(topology_read(path, names, 4, leaves, &err), STATUS_OK);
	assert_string_equal(leaves[0], "leaf1");
	assert_string_equal(leaves[1], "leaf1");
	assert_string_equal(leaves[2], "leaf2");
	assert_null(leaves[3]);
	for (size_t i = 0; i < 4; i++)
		free(leaves[i]);
	fputs("nonsense\n", f);
	fclose(f);
	assert_int_equal(topology_read(path, NULL, 0, NULL, &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, ":6: neither 'SwitchName="));
	error_clear(&err);
	f = fopen(path, "w");
	fputs("SwitchName=leaf:1 Nodes=n1\n", f);
	fclose(f);
	assert_int_equal(topology_read(path, NULL, 0, NULL, &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, ":1: 'leaf:1' cannot be the name of a switch"));
	error_clear(&err);
	unlink(path);
	assert_int_equal(topology_read(path, NULL, 0, NULL, &err), STATUS_IO);
	error_clear(&err);
	assert_int_equal(topology_read("none", NULL, 0, NULL, &err), STATUS_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_suspect_meets_a_proven_node),
		cmocka_unit_test(without_a_proven_node_the_accused_meet_those_near),
		cmocka_unit_test(nodes_that_are_all_accused_meet_each_other),
		cmocka_unit_test(sound_nodes_are_not_measured_again),
		cmocka_unit_test(a_switch_is_at_fault_instead_of_its_nodes),
		cmocka_unit_test(random_pairs_accuse_no_switch),
		cmocka_unit_test(leaves_need_a_topology),
		cmocka_unit_test(lists_of_hosts),
		cmocka_unit_test(files_of_switches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
