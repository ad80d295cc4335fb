/* Which nodes are paired again where rounds of pairs leave some, or all, as suspects. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "fleet/rounds/parts.h"

#define NODES 4

static const char text[] = "[run]\nbackend = host\n[suite pairs]\npatterns = all_rails\nsizes = "
			   "1MiB\ndirections = both\nmargin = 3 %\n";

static void say(void *context, const char *what)
{
	(void)context;
	(void)what;
}

static void add_word(struct case_result *c, const char *name, const char *word)
{
	c->parameters = xrealloc(c->parameters, c->parameter_count + 1, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] = (struct case_parameter){
		.name = xstrdup(name), .text = xstrdup(word), .number = NAN, .unit = xstrdup("")
	};
}

static void add_case(struct result *result, size_t a, size_t b, const char *size, double value)
{
	struct case_result *c = result_add_case(result);

	case_result_init(c);
	c->suite = xstrdup("pairs");
	c->label = xstrdup("");
	c->id = xasprintf("pairs/%s@n%zu+n%zu", size, a, b);
	c->reason = xstrdup("");
	c->status = CASE_OK;
	c->devices = xcalloc(2, sizeof(*c->devices));
	c->devices[0] = xasprintf("n%zu/host:0", a);
	c->devices[1] = xasprintf("n%zu/host:0", b);
	c->device_count = 2;
	add_word(c, "size", size);
	c->metrics = xcalloc(1, sizeof(*c->metrics));
	c->metrics[c->metric_count++] = (struct metric_value){ .name = xstrdup("pairs.bandwidth"),
							       .unit = xstrdup("B/s"),
							       .better = BETTER_HIGHER,
							       .headline = true,
							       .value = value,
							       .low = NAN,
							       .high = NAN,
							       .series = xstrdup("") };
}

/* Each node is `slow[node]` slower than the others in sizes of its own. */
static void confirm(const double *slow, struct rounds *r, struct config *config)
{
	static const char *const sizes[NODES] = { "1MiB", "2MiB", "4MiB", "8MiB" };
	struct text errors = TEXT_EMPTY;

	assert_int_equal(config_parse(config, "pairs", text, strlen(text), NULL, 0, &errors),
			 STATUS_OK);
	*r = (struct rounds){
		.config = config, .count = NODES, .door = { .say = say }, .stage = STAGE_CONFIRM
	};
	r->members = xcalloc(NODES, sizeof(*r->members));
	pairing_open(&r->pairing, NODES, 1);
	for (size_t i = 0; i < NODES; i++) {
		struct member *m = &r->members[i];

		m->name = xasprintf("n%zu", i);
		m->devices = xcalloc(1, sizeof(*m->devices));
		m->device_count = 1;
		snprintf(m->devices->id, sizeof(m->devices->id), "n%zu/host:0", i);
		snprintf(m->devices->backend, sizeof(m->devices->backend), "host");
		for (size_t a = 0; a < NODES; a++)
			for (size_t b = a + 1; b < NODES; b++)
				add_case(&r->found, a, b, sizes[i],
					 a == i || b == i ? 1e9 * (1 - slow[i]) : 1e9);
	}
	rounds_make(r);
	text_release(&errors);
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
	for (size_t i = 0; i < NODES; i++) {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_suspect_meets_a_proven_node),
		cmocka_unit_test(without_a_proven_node_the_accused_meet_those_near),
		cmocka_unit_test(nodes_that_are_all_accused_meet_each_other),
		cmocka_unit_test(sound_nodes_are_not_measured_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
