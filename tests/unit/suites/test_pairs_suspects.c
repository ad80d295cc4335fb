/*
 * Suspects from random pairs, simulated: speeds of nodes that scatter by 0.5 %, pairs that measure
 * the slower of two with 1 % of noise, one pair in a thousand on a path that is 20 % slower. Slow
 * nodes are found, healthy ones are no suspects, whatever the number of nodes.
 */
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
#include "fleet/rounds/pairing.h"
#include "pair_case.h"
#include "plan/config.h"
#include "plan/plan.h"
#include "result/result.h"
#include "suites/pairs/suspects.h"

#define ROUNDS 3
#define CONFIRM 2

struct fleet {
	size_t count;
	double *speed;
	bool *slow;
	struct result result;
	struct pairing pairing;
	const struct section *section;
	uint64_t state;
};

static double uniform(struct fleet *f)
{
	f->state = f->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(f->state >> 11) * 0x1p-53;
}

static double normal(struct fleet *f)
{
	return sqrt(-2 * log(1 - uniform(f))) * cos(6.283185307179586 * uniform(f));
}

static void add_case(struct result *result, size_t a, size_t b, const char *direction, int round,
		     double value)
{
	struct case_result *c;
	char number[16];

	snprintf(number, sizeof(number), "%d", round);
	c = pair_add(result, "host", a, b, number, value);
	pair_parameter(c, "pattern", "all_rails");
	pair_parameter(c, "direction", direction);
	pair_parameter(c, "round", number);
}

static void measure(struct fleet *f, const size_t (*pairs)[2], size_t count, int round)
{
	for (size_t i = 0; i < count; i++) {
		double a = f->speed[pairs[i][0]], b = f->speed[pairs[i][1]],
		       value = (a < b ? a : b) * (1 + 0.01 * normal(f));

		add_case(&f->result, pairs[i][0], pairs[i][1], "both", round,
			 uniform(f) < 0.001 ? 0.8 * value : value);
	}
}

static void confirm(struct fleet *f, int round, size_t (*pairs)[2])
{
	size_t *suspects = xcalloc(f->count + 1, sizeof(*suspects)), suspect_count = 0;
	size_t *proven = xcalloc(f->count + 1, sizeof(*proven)), proven_count = 0;
	bool *is = xcalloc(f->count + 1, sizeof(*is)), *near = xcalloc(f->count + 1, sizeof(*near));
	struct suspect *found;
	size_t count = pairs_find_suspects(&f->result, f->section, &found);

	for (size_t i = 0; i < count; i++) {
		bool *doubted = found[i].candidate ? near : is;

		doubted[strtoul(found[i].node + 1, NULL, 10)] = true;
		if (*found[i].other)
			doubted[strtoul(found[i].other + 1, NULL, 10)] = true;
	}
	for (size_t i = 0; i < f->count; i++)
		if (is[i])
			suspects[suspect_count++] = i;
		else if (!near[i])
			proven[proven_count++] = i;
	for (size_t i = 0; i < f->count && suspect_count < proven_count; i++)
		if (near[i] && !is[i])
			suspects[suspect_count++] = i;
	measure(f, (const size_t(*)[2])pairs,
		pairing_with(&f->pairing, suspects, suspect_count, proven, proven_count, pairs),
		round);
	free(suspects);
	free(found);
	free(proven);
	free(is);
	free(near);
}

struct score {
	size_t slow, found, healthy, suspects;
};

static void play(size_t nodes, double share, double loss, uint64_t seed, struct score *score)
{
	static const char text[] = "[suite pairs]\n";
	size_t *all = xcalloc(nodes, sizeof(*all)), (*pairs)[2] = xcalloc(nodes, sizeof(*pairs));
	struct fleet f = { .count = nodes, .state = seed * 2654435761u + 1 };
	struct text errors = TEXT_EMPTY;
	struct suspect *suspects;
	struct config config;
	size_t count;

	assert_int_equal(config_parse(&config, "pairs.ini", text, strlen(text), NULL, 0, &errors),
			 STATUS_OK);
	f.section = config_section(&config, "suite", "pairs");
	f.speed = xcalloc(nodes, sizeof(*f.speed));
	f.slow = xcalloc(nodes, sizeof(*f.slow));
	for (size_t i = 0; i < nodes; i++) {
		all[i] = i;
		f.slow[i] = uniform(&f) < share;
		f.speed[i] = 50e9 * (1 + 0.005 * normal(&f)) * (f.slow[i] ? 1 - loss : 1);
	}
	pairing_open(&f.pairing, nodes, seed);
	for (int round = 1; round <= ROUNDS; round++)
		measure(&f, (const size_t(*)[2])pairs,
			pairing_random(&f.pairing, all, nodes, pairs), round);
	for (int round = 1; round <= CONFIRM; round++)
		confirm(&f, ROUNDS + round, pairs);
	count = pairs_find_suspects(&f.result, f.section, &suspects);
	for (size_t i = 0; i < nodes; i++) {
		bool is = false;

		for (size_t k = 0; k < count; k++)
			is = is || (!*suspects[k].other && !suspects[k].candidate &&
				    strtoul(suspects[k].node + 1, NULL, 10) == i);
		score->slow += f.slow[i];
		score->healthy += !f.slow[i];
		score->found += f.slow[i] && is;
		score->suspects += !f.slow[i] && is;
	}
	free(suspects);
	pairing_close(&f.pairing);
	result_release(&f.result);
	config_release(&config);
	text_release(&errors);
	free(f.speed);
	free(f.slow);
	free(all);
	free(pairs);
}

static struct score series(size_t nodes, double share, double loss, int fleets)
{
	struct score score = { 0 };

	for (int i = 0; i < fleets; i++)
		play(nodes, share, loss, (uint64_t)(i + 1) * 1000003, &score);
	printf("%zu nodes, %.0f %% are %.0f %% slow: %zu of %zu found, %zu of %zu healthy ones "
	       "suspects\n",
	       nodes, 100 * share, 100 * loss, score.found, score.slow, score.suspects,
	       score.healthy);
	return score;
}

static void slow_nodes_are_found(void **state)
{
	struct score small = series(16, 0.1, 0.1, 120), large = series(128, 0.1, 0.1, 24),
		     largest = series(1024, 0.01, 0.1, 2), slight = series(128, 0.1, 0.05, 24),
		     few = series(16, 0.1, 0.05, 250);

	(void)state;
	assert_true(small.slow > 100 && (double)small.found >= 0.99 * (double)small.slow);
	assert_int_equal(large.found, large.slow);
	assert_int_equal(largest.found, largest.slow);
	assert_true((double)slight.found >= 0.96 * (double)slight.slow);
	assert_true((double)few.found >= 0.96 * (double)few.slow);
	assert_true(small.suspects + large.suspects + largest.suspects + slight.suspects +
			    few.suspects <=
		    1);
}

static size_t find_suspects(struct result *result, struct suspect **out)
{
	static const char text[] = "[suite pairs]\n";
	struct text errors = TEXT_EMPTY;
	struct config config;
	size_t count;

	assert_int_equal(config_parse(&config, "pairs.ini", text, strlen(text), NULL, 0, &errors),
			 STATUS_OK);
	count = pairs_find_suspects(result, config_section(&config, "suite", "pairs"), out);
	config_release(&config);
	text_release(&errors);
	result_release(result);
	return count;
}

/* Both its nodes are good with others: it is the link between them. */
static void a_slow_link_is_no_slow_node(void **state)
{
	struct result result = { 0 };
	struct suspect *out;

	(void)state;
	for (size_t a = 0; a < 4; a++)
		for (size_t b = a + 1; b < 4; b++)
			add_case(&result, a, b, "both", 1, a == 1 && b == 2 ? 30e9 : 50e9);
	assert_int_equal(find_suspects(&result, &out), 1);
	assert_string_equal(out[0].node, "n1");
	assert_string_equal(out[0].other, "n2");
	free(out);
}

/* A slow link or node is named wherever it is, and whatever the order of the cases. */
static void order_and_place_do_not_matter(void **state)
{
	(void)state;
	for (size_t slow = 0; slow < 10 + 5; slow++)
		for (size_t first = 0; first < 10; first++) {
			size_t ends[10][2], count = 0, node = slow - 10;
			struct result result = { 0 };
			char name[2][8];
			struct suspect *out;

			for (size_t a = 0; a < 5; a++)
				for (size_t b = a + 1; b < 5; b++, count++) {
					ends[count][0] = a;
					ends[count][1] = b;
				}
			for (size_t i = 0; i < 10; i++) {
				size_t k = (first + i) % 10;
				bool is = slow < 10 ? k == slow
						    : ends[k][0] == node || ends[k][1] == node;

				add_case(&result, ends[k][0], ends[k][1], "both", 1,
					 is ? 30e9 : 50e9);
			}
			assert_int_equal(find_suspects(&result, &out), 1);
			for (size_t end = 0; end < 2; end++)
				snprintf(name[end], sizeof(name[end]), "n%zu",
					 slow < 10 ? ends[slow][end] : node);
			assert_string_equal(out[0].node, name[0]);
			assert_string_equal(out[0].other, slow < 10 ? name[1] : "");
			free(out);
		}
}

static void the_direction_is_told(void **state)
{
	struct result result = { 0 };
	struct suspect *out;

	(void)state;
	for (size_t a = 0; a < 4; a++)
		for (size_t b = a + 1; b < 4; b++) {
			add_case(&result, a, b, "forth", 1, b == 3 ? 30e9 : 50e9);
			add_case(&result, a, b, "back", 1, 50e9);
		}
	assert_int_equal(find_suspects(&result, &out), 1);
	assert_string_equal(out[0].node, "n3");
	assert_non_null(strstr(out[0].text, "slow only when it receives"));
	free(out);
}

static void a_node_whose_pairs_hang(void **state)
{
	struct result result = { 0 };
	struct suspect *out;

	(void)state;
	for (size_t a = 0; a < 4; a++)
		for (size_t b = a + 1; b < 4; b++)
			add_case(&result, a, b, "both", 1, a == 0 ? NAN : 50e9);
	assert_int_equal(find_suspects(&result, &out), 1);
	assert_string_equal(out[0].node, "n0");
	assert_non_null(strstr(out[0].text, "hung"));
	free(out);
}

/* It was carried out, so its ends are no suspects. */
static void a_pair_that_never_settled_makes_no_node_suspect(void **state)
{
	struct result result = { 0 };
	struct suspect *out;

	(void)state;
	for (size_t a = 0; a < 4; a++)
		for (size_t b = a + 1; b < 4; b++)
			add_case(&result, a, b, "both", 1, 50e9);
	result.cases[1].metrics[0].headline = false;
	assert_int_equal(find_suspects(&result, &out), 0);
	free(out);
}

/* One of two may be slow, but which one cannot be known. */
static void two_nodes_make_neither_a_suspect(void **state)
{
	struct result result = { 0 };
	struct suspect *out;

	(void)state;
	add_case(&result, 0, 1, "both", 1, 10e9);
	assert_int_equal(find_suspects(&result, &out), 0);
	free(out);
}

static void every_two_meet_once(void **state)
{
	(void)state;
	for (size_t count = 2; count < 12; count++) {
		bool met[12][12] = { { false } };
		size_t nodes[12], pairs[12][2], found = 0;

		for (size_t i = 0; i < count; i++)
			nodes[i] = i;
		for (size_t turn = 1; turn < count + count % 2; turn++) {
			size_t n = pairing_turn(nodes, count, turn, pairs);

			for (size_t i = 0; i < n; i++) {
				assert_true(pairs[i][0] < pairs[i][1] &&
					    !met[pairs[i][0]][pairs[i][1]]);
				met[pairs[i][0]][pairs[i][1]] = true;
			}
			found += n;
		}
		assert_int_equal(found, count * (count - 1) / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_nodes_are_found),
		cmocka_unit_test(a_slow_link_is_no_slow_node),
		cmocka_unit_test(order_and_place_do_not_matter),
		cmocka_unit_test(the_direction_is_told),
		cmocka_unit_test(a_node_whose_pairs_hang),
		cmocka_unit_test(a_pair_that_never_settled_makes_no_node_suspect),
		cmocka_unit_test(two_nodes_make_neither_a_suspect),
		cmocka_unit_test(every_two_meet_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
