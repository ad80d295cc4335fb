/*
 * Populations: what is read, who counts, and how a device is judged by them.
 * GPUPROOF_SIMULATE=20 makes twenty times as many of the simulated ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "judge/population/population_add.h"
#include "judge/population/population_key.h"
#include "judge_fixture.h"
#include "random.h"
#include "reference/population.h"

#define MODEL "NVIDIA H300"
#define POINT "transfer/h2d/pinned/512MiB"
#define CARD "[card %s]\nmodel = " MODEL "\nmeasured = 2026-01-%02d\ndriver = 600.1\n"
#define FIGURE "[figure 1]\ncase = " POINT "\nmetric = transfer.bandwidth\nunit = B/s\n"

static double student3(void)
{
	double a = normal(), b = normal(), c = normal();

	return normal() / sqrt((a * a + b * b + c * c) / 3);
}

static void read_text(struct population *p, const char *text)
{
	struct error err = ERROR_NONE;

	*p = (struct population){ 0 };
	if (population_read(p, "p.ini", text, strlen(text), false, &err) != STATUS_OK)
		fail_msg("%s", err.message);
}

/* `count` cards a, b, c ... around 50 GB/s, 0.2 % apart in turns. */
static void cards(struct population *p, size_t count)
{
	struct text text = TEXT_EMPTY;

	for (size_t i = 0; i < count; i++)
		text_addf(&text, CARD, (char[]){ (char)('a' + i), 0 }, (int)i + 1);
	text_add(&text, FIGURE);
	for (size_t i = 0; i < count; i++)
		text_addf(&text, "%c = %.3f GB/s\n", (int)('a' + i),
			  50 * (1 + 0.002 * ((double)(i % 3) - 1)));
	read_text(p, text.data);
	text_release(&text);
}

static void shipped_files_are_sound(void **state)
{
	struct error err = ERROR_NONE;
	struct population p;
	struct population_sample s;

	(void)state;
	if (population_load(&p, NULL, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_true(p.card_count >= 4);
	assert_int_equal(population_shipped()->card_count, p.card_count);
	s = population_sample(&p, "NVIDIA H200", "stream/read/1GiB", "", "stream.bandwidth", NULL);
	assert_int_equal(s.cards, 59);
	assert_int_equal(s.own, 0);
	population_sample_release(&s);
	population_release(&p);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "[cart a]\n", "p.ini:1: unknown section [cart a]" },
		{ "[card a]\nmodel = A\n", "p.ini:1: [card a] needs the keys model and measured" },
		{ "[card a]\nmeasured = 20.11.2026\n",
		  "p.ini:2: measured = 20.11.2026 is not a date; write it as" },
		{ "[card a]\nmodel =\n", "p.ini:2: model: missing value" },
		{ "[card a]\nlaunches = 0\n", "p.ini:2: launches = 0 is not a number from 1" },
		{ "[card a+b]\n", "p.ini:1: 'a+b' is not a valid GPU name" },
		{ "[card a]\nmodel = A\nmeasured = 2026-01-01\n[card a]\n",
		  "p.ini:4: [card a] is repeated" },
		{ "[population]\nshipped = maybe\n", "p.ini:2: shipped = maybe is not yes or no" },
		{ FIGURE, "p.ini:1: the [figure] has no values" },
		{ FIGURE "a = 1 GB/s\n",
		  "p.ini:5: the section [card a] must come before this line" },
		{ "[figure 1]\ncase = x\na = 1 GB/s\n",
		  "p.ini:3: case, metric and unit must come" },
		{ "[figure 1]\ncase = x\nmetric = y\nunit = s\na = 1 s\n",
		  "p.ini:5: unit = s is not allowed; a population contains only rates" },
		{ "[card a]\nmodel = A\nmeasured = 2026-01-01\n" FIGURE "a = 5\n", "p.ini:8: a: " },
		{ "[card a]\nmodel = A\nmeasured = 2026-01-01\n" FIGURE "a = 0 GB/s\n",
		  "p.ini:8: a" },
		{ "[card a]\nmodel = A\nmeasured = 2026-01-01\n" FIGURE "a = 5 GB/s\na = 6 GB/s\n",
		  "p.ini:9: a is repeated" },
		{ "[kinds 1]\ncase = x\n",
		  "p.ini:1: unknown section [kinds 1]; sections: [population], [card ID] and" },
		{ "[card a]\nmodel = A\nmeasured = 2026-01-01\n" FIGURE "a = 5 GB/s\nunit = B/s\n",
		  "p.ini:9: unit must come before the values" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = ERROR_NONE;
		struct population p = { 0 };

		assert_int_equal(population_read(&p, "p.ini", rows[i].text, strlen(rows[i].text),
						 false, &err),
				 STATUS_USAGE);
		if (strncmp(err.message, rows[i].message, strlen(rows[i].message)) != 0)
			fail_msg("'%s', expected '%s'", err.message, rows[i].message);
		population_release(&p);
	}
}

static void a_file_comes_back_as_it_was(void **state)
{
	struct population p, again;
	char *text, *second;

	(void)state;
	read_text(&p,
		  "[population]\nshipped = no\n[card a]\nmodel = A\nmeasured = 2026-01-02\n"
		  "driver = 1.2\nlaunches = 5\n[figure 7]\ncase = x/1\npreheat = 1s\nmetric = y\n"
		  "unit = FLOP/s\na = 1.5 TFLOP/s\n[figure 8]\ncase = x/2\nmetric = y\nunit = B/s\n"
		  "a = 2 GB/s\n");
	text = population_to_text(&p);
	read_text(&again, text);
	second = population_to_text(&again);
	assert_string_equal(text, second);
	assert_true(again.without_shipped);
	assert_int_equal(again.cards[0].launches, 5);
	assert_string_equal(again.figures[0].preheat, "1s");
	free(text);
	free(second);
	population_release(&p);
	population_release(&again);
}

static size_t count_of(const struct population *p, const char *model, const char *preheat,
		       const char *const *without)
{
	struct population_sample s =
		population_sample(p, model, POINT, preheat, "transfer.bandwidth", without);
	size_t n = s.cards;

	population_sample_release(&s);
	return n;
}

/* Reference GPUs come from complete runs of known devices. Every run must be sound. */
static void what_cannot_be_a_reference_is_refused(void **state)
{
	static const struct {
		const char *driver, *state, *uuids[2], *name, *message;
	} rows[] = {
		{ "58\n0", "complete", { "GPU-1", "GPU-2" }, "NVIDIA H200", "is not a version" },
		{ "580.1",
		  "interrupted",
		  { "GPU-1", "GPU-2" },
		  "NVIDIA H200",
		  "the run is interrupted; only a complete run can be added" },
		{ "580.1",
		  "complete",
		  { "GPU\n1", "GPU-2" },
		  "NVIDIA H200",
		  "cuda:0: invalid UUID" },
		{ "580.1",
		  "complete",
		  { "GPU-1", "GPU\n2" },
		  "NVIDIA H200",
		  "cuda:1: invalid UUID" },
		{ "580.1", "complete", { "GPU-1", "GPU-2" }, "NVIDIA\nH200", "or name" },
		{ "580.1", "complete", { "", "" }, "NVIDIA H200", "no device has a UUID" },
		{ NULL,
		  "complete",
		  { "GPU-1", "GPU-2" },
		  "NVIDIA H200",
		  "cannot be reference GPUs" },
		{ "", "complete", { "GPU-1", "" }, "NVIDIA H200", "cannot be reference GPUs" },
		{ "580.1", "complete", { "", "GPU-2" }, "NVIDIA H200", "cannot be reference GPUs" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct population p = { 0 };
		struct population_added added = { 0 };
		struct error err = ERROR_NONE;
		struct result r;

		node_init(&r, 2, rows[i].name);
		r.started = xstrdup("2026-01-01T00:00:00Z");
		free(r.state);
		r.state = xstrdup(rows[i].state);
		if (rows[i].driver) {
			r.environment = xcalloc(1, sizeof(*r.environment));
			r.environment[r.environment_count++] =
				(struct fact){ xstrdup("driver"), xstrdup(rows[i].driver) };
		}
		for (size_t d = 0; d < 2; d++) {
			strcpy(r.devices[d].uuid, rows[i].uuids[d]);
			node_add(&r, d, 1e9, 0.001);
		}
		assert_int_equal(population_add(&p, &r, 1, &added, &err), STATUS_USAGE);
		if (!strstr(err.message, rows[i].message))
			fail_msg("row %zu: '%s'", i, err.message);
		assert_int_equal(added.cards, 0);
		population_release(&p);
		result_release(&r);
	}
}

static void only_what_compares_counts(void **state)
{
	struct population p;
	struct error err = ERROR_NONE;
	const char again[] = CARD FIGURE "a = 51 GB/s\n";
	char *text = xasprintf(again, "a", 9);

	(void)state;
	cards(&p, 5);
	assert_int_equal(count_of(&p, MODEL, "", NULL), 5);
	assert_int_equal(count_of(&p, "NVIDIA H301", "", NULL), 0);
	assert_int_equal(count_of(&p, MODEL, "1s", NULL), 0);
	assert_int_equal(count_of(&p, MODEL, "", (const char *[]){ "b", "x", NULL }), 4);
	/* A card of another file is replaced. */
	assert_int_equal(population_read(&p, "q.ini", text, strlen(text), false, &err), STATUS_OK);
	assert_int_equal(count_of(&p, MODEL, "", NULL), 5);
	assert_float_equal(p.figures[0].values[4].value, 51e9, 1);
	free(text);
	population_release(&p);
}

static void points_have_neither_label_nor_devices(void **state)
{
	struct case_result c = { .suite = xstrdup("transfer"), .label = xstrdup("both") };
	char *point;

	(void)state;
	case_add_axis(&c, "direction", "both", false);
	case_add_axis(&c, "repeats", "4", true);
	point = case_point_without_label(&c);
	assert_string_equal(point, "transfer/both/repeats=4");
	free(point);
	case_result_release(&c);
	c.suite = xstrdup("transfer");
	point = case_point_without_label(&c);
	assert_string_equal(point, "transfer");
	free(point);
	case_result_release(&c);
}

/* A rate under a load is compared with neither that of a burst nor with one after preheating. */
static void a_load_compares_with_loads(void **state)
{
	struct result_setting preheat = { .section = (char *)"suite matmul",
					  .key = (char *)"preheat",
					  .value = (char *)"0s",
					  .origin = (char *)"" };
	struct series series[] = { { .name = (char *)"matmul.time" },
				   { .name = (char *)"matmul.sustained", .load = true } };
	struct device_info device = { .id = "cuda:0", .name = MODEL, .uuid = "GPU-1" };
	char *devices[] = { (char *)"cuda:0" };
	struct case_result c = { .suite = (char *)"matmul",
				 .label = (char *)"",
				 .devices = devices,
				 .device_count = 1,
				 .series = series,
				 .series_count = 1 };
	struct result r = {
		.devices = &device, .device_count = 1, .settings = &preheat, .setting_count = 1
	};
	static const char *const expected[] = { "", POPULATION_LOAD, "1s" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct population_key key;

		c.series_count = i > 0 ? 2 : 1;
		preheat.value = (char *)(i == 2 ? "1s" : "0s");
		assert_true(population_key_of(&r, &c, &key));
		assert_string_equal(key.preheat, expected[i]);
		population_key_release(&key);
	}
}

/* The verdict on a device of `value`, by `population = 3 %`. */
static enum verdict judge_limit(const char *limit, const struct population *p, double value,
				struct verdicts *v)
{
	struct limits limits;
	struct result r;
	struct judge_input input = {
		.results = &r, .count = 1, .limits = &limits, .population = p
	};
	enum verdict verdict = VERDICT_COUNT;

	limits_from(&limits, limit);
	node_init(&r, 1, MODEL);
	node_add(&r, 0, value, 0.0005)->verification.done = true;
	memset(v, 0, sizeof(*v));
	judge_machine_results(&input, v);
	verdicts_finish(v);
	for (size_t i = 0; i < v->count; i++)
		if (v->checks[i].comparison == LIKE_POPULATION)
			verdict = v->checks[i].verdict;
	result_release(&r);
	judge_limits_release(&limits);
	return verdict;
}

static enum verdict judge_value(const struct population *p, double value, struct verdicts *v)
{
	return judge_limit("metric = transfer.bandwidth\npopulation = 3 %\n", p, value, v);
}

static void expect_verdict(const struct population *p, double value, enum verdict expected)
{
	struct verdicts v;
	enum verdict got = judge_value(p, value, &v);

	if (got != expected)
		fail_msg("%g: %s, expected %s: %s", value, verdict_fields_name(got),
			 verdict_fields_name(expected), v.sentence);
	verdicts_release(&v);
}

static void eight_cards_reject_and_fewer_warn(void **state)
{
	struct population p;

	(void)state;
	cards(&p, 8);
	expect_verdict(&p, 50e9, VERDICT_PASS);
	expect_verdict(&p, 55e9, VERDICT_PASS);
	expect_verdict(&p, 49.3e9, VERDICT_PASS);
	expect_verdict(&p, 48.3e9, VERDICT_INCONCLUSIVE);
	expect_verdict(&p, 47.5e9, VERDICT_FAIL);
	population_release(&p);
	for (size_t count = 1; count < 8; count++) {
		cards(&p, count);
		expect_verdict(&p, 50e9, VERDICT_PASS);
		expect_verdict(&p, 40e9, VERDICT_WARN);
		population_release(&p);
	}
}

/* H200s of the faster and of the slower group pass, and those below both fail. */
static void groups_two_percent_apart_hide_no_slow_card(void **state)
{
	struct population p;
	struct text text = TEXT_EMPTY;

	(void)state;
	for (size_t i = 0; i < 26; i++)
		text_addf(&text, CARD, (char[]){ (char)('a' + i), 0 }, (int)i + 1);
	text_add(&text, FIGURE);
	for (size_t i = 0; i < 26; i++)
		text_addf(&text, "%c = %.3f GB/s\n", (int)('a' + i),
			  (i % 3 ? 50 : 51) * (1 + 0.002 * ((double)(i % 5) - 2)));
	read_text(&p, text.data);
	text_release(&text);
	expect_verdict(&p, 50e9, VERDICT_PASS);
	expect_verdict(&p, 51e9, VERDICT_PASS);
	expect_verdict(&p, 60e9, VERDICT_PASS);
	expect_verdict(&p, 47.5e9, VERDICT_FAIL);
	population_release(&p);
}

/* A single good card tells which of two devices is slow. */
static void a_good_card_tells_which_of_two_is_slow(void **state)
{
	struct population p;
	struct limits limits;
	struct result r;
	struct judge_input input = {
		.results = &r, .count = 1, .limits = &limits, .population = &p
	};
	struct verdicts v = { 0 };
	size_t told = 0;

	(void)state;
	cards(&p, 1);
	limits_from(&limits,
		    "metric = transfer.bandwidth\noutlier_margin = 2 %\npopulation = 3 %\n");
	node_init(&r, 2, MODEL);
	node_add(&r, 0, 50e9, 0.0005)->verification.done = true;
	node_add(&r, 1, 45e9, 0.0005)->verification.done = true;
	judge_machine_results(&input, &v);
	verdicts_finish(&v);
	for (size_t i = 0; i < v.reason_count; i++)
		told += v.reasons[i].verdict == VERDICT_FAIL &&
			strcmp(v.reasons[i].devices, "cuda:1") == 0 &&
			strstr(v.reasons[i].text, "slower than the only reference GPU");
	assert_int_equal(told, 1);
	/* One slow device of two does not make a slow node. */
	for (size_t i = 0; i < v.count; i++)
		if (strcmp(v.checks[i].devices, "cuda:0,cuda:1") == 0)
			assert_int_equal(v.checks[i].verdict, VERDICT_PASS);
	verdicts_release(&v);
	result_release(&r);
	judge_limits_release(&limits);
	population_release(&p);
}

static void no_known_card_is_said(void **state)
{
	static const struct population empty;
	struct verdicts v;

	(void)state;
	assert_int_equal(judge_value(&empty, 50e9, &v), VERDICT_SKIP);
	assert_non_null(strstr(v.sentence, "no check could be evaluated"));
	verdicts_release(&v);
}

/* A sentence of acceptance states that no reference GPU was known, if a limit asks for them. */
static void an_accepted_node_says_that_no_card_is_known(void **state)
{
	static const char *const both = "metric = transfer.bandwidth\nmin = 1 GB/s\npopulation = 3 "
					"%\nallow_skipped = yes\n";
	static const struct population empty;
	struct population known;
	struct verdicts v;

	(void)state;
	cards(&known, 8);
	for (int row = 0; row < 4; row++) {
		bool without = row == 0;
		const char *limit = row == 2 ? "metric = transfer.bandwidth\nmin = 1 GB/s\n" : both;

		/* Nothing known; eight cards; a limit without them; a value that is too low. */
		judge_limit(limit, row == 1 ? &known : &empty, row == 3 ? 0.5e9 : 50e9, &v);
		assert_int_equal(strstr(v.sentence, "No reference GPUs are known") != NULL,
				 without);
		assert_int_equal(v.checks[0].verdict, row == 3 ? VERDICT_FAIL : VERDICT_PASS);
		verdicts_release(&v);
	}
	population_release(&known);
}

#define NODE 8
#define EXTENSION 4 /* further launches of what one did not decide, as `run --check` does */
#define LAUNCH 0.005

/* `count` cards that differ by `spread`, one launch each. */
static void draw_population(struct population *p, double (*draw)(void), size_t count, double spread)
{
	struct population_figure *f;

	*p = (struct population){ 0 };
	f = population_enter_figure(p, POINT, "", "transfer.bandwidth", "B/s");
	for (size_t i = 0; i < count; i++) {
		char id[32];
		struct population_card *card;

		snprintf(id, sizeof(id), "card-%zu", i);
		card = population_enter_card(p, id);
		free(card->model);
		card->model = xstrdup(MODEL);
		population_set_value(f, id, 50e9 * exp(spread * draw() + LAUNCH * normal()));
	}
}

static void launch_node(struct result *r, const double *cards)
{
	node_init(r, NODE, MODEL);
	for (size_t i = 0; i < NODE; i++)
		node_add(r, i, 50e9 * exp(cards[i] + LAUNCH * normal()), 0.0005)
			->verification.done = true;
}

static bool wants_more(const struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++)
		if (judge_wants_more(v, v->checks[i].case_id, v->checks[i].point))
			return true;
	return false;
}

/*
 * A node of good cards that are all `slow`, as `run --check` judges it: how many checks fail,
 * whether nothing is said.
 */
static size_t accept_node(const struct limits *limits, const struct population *p,
			  double (*draw)(void), double spread, double slow, bool *silent)
{
	struct result launches[1 + EXTENSION];
	struct judge_input input = {
		.results = launches, .count = 1, .limits = limits, .population = p
	};
	struct verdicts v = { 0 };
	double offsets[NODE];
	size_t fails;

	for (size_t i = 0; i < NODE; i++)
		offsets[i] = spread * draw() + log(1 - slow);
	launch_node(&launches[0], offsets);
	judge_machine_results(&input, &v);
	if (wants_more(&v)) {
		verdicts_release(&v);
		for (; input.count <= EXTENSION; input.count++)
			launch_node(&launches[input.count], offsets);
		judge_machine_results(&input, &v);
	}
	verdicts_finish(&v);
	fails = v.counts[VERDICT_FAIL];
	*silent = v.counts[VERDICT_PASS] == v.count;
	verdicts_release(&v);
	for (size_t i = 0; i < input.count; i++)
		result_release(&launches[i]);
	return fails;
}

struct rates {
	double nodes, silent; /* that fail; of which nothing is said */
};

static struct rates simulate_nodes(double (*draw)(void), size_t known, double spread, double slow,
				   size_t rounds)
{
	const char *factor = getenv("GPUPROOF_SIMULATE");
	struct rates rates = { 0 };
	struct limits limits;

	seed = 20261122;
	rounds *= factor ? strtoul(factor, NULL, 10) : 1;
	limits_from(&limits, "metric = transfer.bandwidth\npopulation = 3 %\n");
	for (size_t i = 0; i < rounds; i++) {
		struct population p;
		bool silent;
		size_t fails;

		draw_population(&p, draw, known, spread);
		fails = accept_node(&limits, &p, draw, spread, slow, &silent);
		rates.nodes += (fails > 0) / (double)rounds;
		rates.silent += silent / (double)rounds;
		population_release(&p);
	}
	judge_limits_release(&limits);
	return rates;
}

static void good_nodes_pass_and_slow_ones_do_not(void **state)
{
	static const size_t counts[] = { 8, 16, 52 };
	static const double spreads[] = { 0.003, 0.01 };

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(counts); n++)
		for (size_t s = 0; s < ARRAY_SIZE(spreads); s++) {
			double spread = spreads[s];
			struct rates good = simulate_nodes(normal, counts[n], spread, 0, 100);
			struct rates tails =
				simulate_nodes(student3, counts[n], spread / sqrt(3), 0, 100);
			struct rates slow = simulate_nodes(normal, counts[n], spread, 0.05, 100);

			print_message("%zu good cards known that differ by %.1f %%: good nodes "
				      "rejected %.2f %% (t3 %.2f %%); nodes 5 %% slow rejected "
				      "%.1f %%, accepted in silence %.2f %%\n",
				      counts[n], 100 * spread, 100 * good.nodes, 100 * tails.nodes,
				      100 * slow.nodes, 100 * slow.silent);
			assert_true(good.nodes <= 0.01);
			assert_true(slow.silent <= 0.05);
			assert_true(slow.nodes >= (spread > 0.005 ? 0.9 : 0.99));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shipped_files_are_sound),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(a_file_comes_back_as_it_was),
		cmocka_unit_test(what_cannot_be_a_reference_is_refused),
		cmocka_unit_test(only_what_compares_counts),
		cmocka_unit_test(points_have_neither_label_nor_devices),
		cmocka_unit_test(a_load_compares_with_loads),
		cmocka_unit_test(eight_cards_reject_and_fewer_warn),
		cmocka_unit_test(groups_two_percent_apart_hide_no_slow_card),
		cmocka_unit_test(a_good_card_tells_which_of_two_is_slow),
		cmocka_unit_test(no_known_card_is_said),
		cmocka_unit_test(an_accepted_node_says_that_no_card_is_known),
		cmocka_unit_test(good_nodes_pass_and_slow_ones_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
