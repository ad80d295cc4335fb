/*
 * Which split the page says to take: by memory, by batch and width; and what it says about a
 * recorded step.
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
#include "report/view/suite_page.h"
#include "suites/training/pages/pages.h"
#include "suites/training/pages/strategies.h"
#include "report/view/memory_limit.h"

static void add_parameter(struct case_result *c, const char *name, double number, const char *text)
{
	c->parameters = xrealloc(c->parameters, c->parameter_count + 1, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ xstrdup(name),
					 text ? xstrdup(text) : xasprintf("%.0f", number), number,
					 xstrdup("1") };
}

static void add_metric(struct case_result *c, const char *name, double value, const char *unit)
{
	ARRAY_GROW(c->metrics, c->metric_count, c->metric_capacity);
	c->metrics[c->metric_count++] = (struct metric_value){ xstrdup(name),
							       xstrdup(unit),
							       BETTER_LOWER,
							       false,
							       value,
							       value,
							       value,
							       1,
							       xstrdup(""),
							       NULL,
							       0 };
}

static struct case_result *add_split(struct result *r, const char *mode, double batch, double width,
				     double seconds, double bytes)
{
	struct case_result *c = result_add_case(r);

	c->suite = xstrdup("parallel");
	c->status = CASE_OK;
	add_parameter(c, "batch", batch, NULL);
	add_parameter(c, "width", width, NULL);
	add_parameter(c, "mode", NAN, mode);
	add_parameter(c, "devices", 2, NULL);
	add_parameter(c, "batch_mode", NAN, "strong");
	add_metric(c, "parallel.step_time", seconds, "s");
	add_metric(c, "parallel.memory", bytes, "B");
	return c;
}

/* The list of charts for these cases: titles and findings as text. */
struct drawn {
	struct view view;
	struct tree *charts, *answers;
	struct strategies strategies;
};

static void open_drawn(struct drawn *d, const struct result *r)
{
	view_init(&d->view, r, 1);
	d->charts = tree_new(TREE_LIST);
	d->answers = tree_new(TREE_LIST);
	strategies_collect(&d->strategies, &d->view, "parallel");
}

static void close_drawn(struct drawn *d)
{
	strategies_release(&d->strategies);
	tree_free(d->charts);
	tree_free(d->answers);
	view_release(&d->view);
}

static const char *member(const struct tree *map, const char *name)
{
	const struct tree *t = tree_member(map, name);

	assert_non_null(t);
	return t->text;
}

static struct metric_value *metric_of(struct case_result *c, const char *name)
{
	for (size_t i = 0; i < c->metric_count; i++)
		if (strcmp(c->metrics[i].name, name) == 0)
			return &c->metrics[i];
	fail_msg("no %s", name);
	return NULL;
}

/* A map with the answers and their tables, as the page has them. */
static struct tree *answer_of(const struct drawn *d)
{
	struct tree *map = tree_new(TREE_MAP);
	struct text terms = TEXT_EMPTY;

	parallel_page.answer(&d->view, "parallel", tree_list(map, "answers"),
			     tree_list(map, "answer_tables"), &terms);
	tree_text_owned(map, "terms", text_detach(&terms));
	return map;
}

/* 1.19 by the time of one device next to each split, 1.20 by its own case: always the first. */
static void one_device_has_one_time(void **state)
{
	struct result r = { 0 };
	struct case_result *c;
	struct text title = TEXT_EMPTY;
	const char *words;
	struct drawn d;

	(void)state;
	c = add_split(&r, "ddp", 64, 512, 1e-3, 8e9);
	add_metric(c, "parallel.speedup", 1.19, "1");
	c = add_split(&r, "single", 64, 512, 1.2e-3, 8e9);
	free(c->parameters[3].text);
	c->parameters[3].text = xstrdup("1");
	c->parameters[3].number = 1;
	open_drawn(&d, &r);
	strategies_table_answer(&d.strategies, d.answers, d.charts);
	words = d.answers->children[0]->text;
	assert_non_null(strstr(words, "1.19× the speed of a single device"));
	assert_non_null(strstr(words, "19\u00a0% longer"));
	strategies_table_add_title(&d.strategies, &title);
	assert_string_equal(title.data, "DDP is fastest, 1.19× the speed of one device, 8.00 GB "
					"per device");
	text_release(&title);
	close_drawn(&d);
	result_release(&r);
}

/* In the order of their times, with the words that all have said once, and what a device needs. */
static void the_answer_names_the_fastest_and_the_smallest(void **state)
{
	struct result r = { 0 };
	struct case_result *c;
	struct drawn d;
	struct tree *map;
	const struct tree *table, *cells;

	(void)state;
	add_split(&r, "gpipe", 64, 512, 3e-3, 9e9);
	c = add_split(&r, "ddp", 64, 512, 1e-3, 8e9);
	add_metric(c, "parallel.speedup", 1.8, "1");
	add_metric(c, "parallel.compute_time", 0.6e-3, "s");
	add_metric(c, "parallel.bubble_model", 0, "1");
	add_split(&r, "zero3", 64, 512, 1.5e-3, 2e9);
	open_drawn(&d, &r);
	map = answer_of(&d);
	assert_string_equal(tree_member(map, "answers")->children[0]->text,
			    "batch 64, width 512, 2 devices: DDP is fastest, 1.000 ms per "
			    "step, 1.80× the speed of a single device. Next: ZeRO-3, 50\u00a0% "
			    "longer. The second strategy also needs least memory: 2.00 GB per "
			    "device instead of "
			    "8.00 GB.");
	table = tree_member(map, "answer_tables")->children[0];
	assert_int_equal(tree_member(table, "rows")->count, 3);
	assert_string_equal(member(tree_member(table, "rows")->children[2], "name"), "GPipe");
	cells = tree_member(tree_member(table, "rows")->children[0], "cells");
	assert_string_equal(cells->children[2]->text, "600 µs, 60\u00a0%");
	assert_string_equal(cells->children[3]->text, "none");
	assert_string_equal(cells->children[4]->text, "400 µs, 40\u00a0%");
	/* A case that was not measured in parts has none. */
	cells = tree_member(tree_member(table, "rows")->children[1], "cells");
	for (size_t i = 2; i < 5; i++)
		assert_string_equal(cells->children[i]->text, "\u2013");
	tree_free(map);
	close_drawn(&d);
	result_release(&r);
}

/* Their intervals overlap, or, where one has none, their samples: then there is no winner. */
static void times_that_are_not_apart_are_said_to_be_so(void **state)
{
	for (int without = 0; without < 2; without++) {
		struct result r = { 0 };
		struct case_result *fast = add_split(&r, "ddp", 64, 512, 1e-3, 1e9), *slow;
		struct metric_value *m = metric_of(fast, "parallel.step_time");
		struct series *series;
		struct drawn d;
		struct tree *map;

		(void)state;
		m->high = 1.1e-3;
		if (without) {
			m->low = m->high = NAN;
			free(m->series);
			m->series = xstrdup("parallel.step_time");
			series = case_result_add_times(fast, "parallel.step_time");
			series->statistics.max = 1.1e-3;
		}
		slow = add_split(&r, "tensor", 64, 512, 1.05e-3, 2e9);
		metric_of(slow, "parallel.step_time")->low = 1.04e-3;
		open_drawn(&d, &r);
		map = answer_of(&d);
		assert_non_null(strstr(tree_member(map, "answers")->children[0]->text,
				       "DDP, 1.000 ms per step; and tensor, 5.0\u00a0% longer: not "
				       "distinguishable, because their"));
		assert_non_null(strstr(tree_member(map, "answers")->children[0]->text,
				       without ? "because their samples overlap."
					       : "because their intervals overlap."));
		assert_null(strstr(tree_member(map, "answers")->children[0]->text, "fastest"));
		assert_non_null(
			strstr(tree_member(map, "answers")->children[0]->text,
			       "No strategy needs over 1 % less memory than DDP (1.00 GB per "
			       "device)."));
		assert_string_equal(
			member(tree_member(tree_member(map, "answer_tables")->children[0], "rows")
				       ->children[0],
			       "interval"),
			without ? "" : "[1.000, 1.100]");
		tree_free(map);
		close_drawn(&d);
		result_release(&r);
	}
}

static void add_single_time(struct case_result *c, double low, double value, double high)
{
	add_metric(c, "parallel.single_time", value, "s");
	metric_of(c, "parallel.single_time")->low = low;
	metric_of(c, "parallel.single_time")->high = high;
	add_metric(c, "parallel.speedup", value / metric_of(c, "parallel.step_time")->value, "1");
}

/*
 * Two devices are twice as fast at most: what is more says why it cannot be so, and what is 1
 * within its interval is no gain.
 */
static void speedups_that_cannot_be_are_doubted(void **state)
{
	static const struct {
		double low, value, high;
		const char *cell, *words;
	} rows[] = {
		{ 1.79e-3, 1.8e-3, 1.81e-3, "1.80×",
		  "per step, 1.80× the speed of a single device. Next" },
		{ 1.6e-3, 3.99e-3, 6e-3, "3.99×, above 2×",
		  "3.99× the speed of a single device; 2 devices can speed up a step at most "
		  "2-fold: the single-device time, 3.990 ms [1.600, 6.000], is doubtful. Next" },
		{ 3.9e-3, 3.99e-3, 4e-3, "3.99×, above 2×",
		  "2-fold: either the parts of the model fit into caches and the whole model does "
		  "not, or the single device was disturbed. Next" },
		{ 0.8e-3, 1.1e-3, 1.4e-3, "1.10×",
		  "per step, not distinguishable from a single device (1.10×). Next" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result r = { 0 };
		struct drawn d;
		struct tree *map;
		const struct tree *table;

		add_single_time(add_split(&r, "ddp", 64, 512, 1e-3, 1e9), rows[i].low,
				rows[i].value, rows[i].high);
		add_split(&r, "tensor", 64, 512, 2e-3, 1e9);
		open_drawn(&d, &r);
		map = answer_of(&d);
		if (!strstr(tree_member(map, "answers")->children[0]->text, rows[i].words))
			fail_msg("%s", tree_member(map, "answers")->children[0]->text);
		table = tree_member(map, "answer_tables")->children[0];
		assert_string_equal(tree_member(tree_member(table, "rows")->children[0], "cells")
					    ->children[0]
					    ->text,
				    rows[i].cell);
		tree_free(map);
		close_drawn(&d);
		result_release(&r);
	}
}

/* A winner by less than the intervals is none on the map either. */
static void a_map_says_what_is_not_told_apart(void **state)
{
	static const double batches[] = { 64, 8192 }, widths[] = { 512, 4096 };
	struct result r = { 0 };
	struct drawn d;
	const struct tree *map;

	(void)state;
	for (int b = 0; b < 2; b++)
		for (int w = 0; w < 2; w++) {
			struct case_result *c =
				add_split(&r, "ddp", batches[b], widths[w], 1e-3, 1e9);

			metric_of(c, "parallel.step_time")->high = b && w ? 1.3e-3 : 1e-3;
			add_split(&r, "tensor", batches[b], widths[w], 1.2e-3, 1e9);
		}
	open_drawn(&d, &r);
	strategies_map_crossover(&d.strategies, d.charts, d.answers);
	map = d.charts->children[0];
	assert_string_equal(member(map, "finding"), "DDP is fastest in 3 of 4 cells; in 1 of 4 "
						    "cells, the fastest two are not "
						    "distinguishable.");
	close_drawn(&d);
	result_release(&r);
}

/* A page of many models names the fastest of each; one strategy alone answers nothing. */
static void many_models_have_a_table_of_winners(void **state)
{
	struct result r = { 0 };
	struct drawn d;
	struct tree *map;
	const struct tree *rows;

	(void)state;
	add_split(&r, "ddp", 1, 512, 1e-3, 1e9);
	open_drawn(&d, &r);
	map = answer_of(&d);
	assert_int_equal(tree_member(map, "answers")->count, 0);
	assert_int_equal(tree_member(map, "answer_tables")->count, 0);
	tree_free(map);
	close_drawn(&d);
	for (int batch = 2; batch < 8; batch++) {
		add_split(&r, "ddp", batch, 512, 1e-3, 1e9);
		add_split(&r, "tensor", batch, 512, batch * 2e-4, 1e9);
	}
	open_drawn(&d, &r);
	map = answer_of(&d);
	assert_int_equal(tree_member(map, "answers")->count, 0);
	assert_int_equal(tree_member(map, "answer_tables")->count, 1);
	rows = tree_member(tree_member(map, "answer_tables")->children[0], "rows");
	assert_int_equal(rows->count, 6);
	assert_string_equal(member(rows->children[0], "name"),
			    "batch 2, width 512: tensor, 2 devices");
	assert_string_equal(member(rows->children[5], "name"),
			    "batch 7, width 512: DDP, 2 devices");
	tree_free(map);
	close_drawn(&d);
	result_release(&r);
}

/* One strategy on many sets of devices is compared once, by the middle one of them. */
static void sets_of_devices_are_one_strategy(void **state)
{
	struct result r = { 0 };
	struct drawn d;

	(void)state;
	for (int set = 0; set < 5; set++)
		add_split(&r, "ddp", 32, 512, (1 + 0.1 * set) * 1e-3, 1e9);
	add_split(&r, "tensor", 32, 512, 2e-3, 1e9);
	open_drawn(&d, &r);
	assert_int_equal(d.strategies.count, 2);
	assert_true(d.strategies.several);
	assert_true(fabs(d.strategies.items[0].seconds - 1.2e-3) < 1e-9);
	assert_true(fabs(d.strategies.items[1].seconds - 2e-3) < 1e-9);
	close_drawn(&d);
	result_release(&r);
}

static void add_setting(struct result *r, const char *section, const char *key, const char *value)
{
	r->settings = xrealloc(r->settings, r->setting_count + 1, sizeof(*r->settings));
	r->settings[r->setting_count++] = (struct result_setting){ xstrdup(section), xstrdup(key),
								   xstrdup(value), xstrdup("") };
}

/*
 * Sections that train the same are compared, whatever they are called; the settings tell what is
 * trained.
 */
static void sections_of_one_model_are_compared(void **state)
{
	static const char *const sections[] = { "suite parallel", "suite parallel grid",
						"suite parallel deep", "suite parallel weak" };
	static const char *const labels[] = { "", "grid", "deep", "weak" };
	static const char *const models[] = { "8 layers of 64, batch 32",
					      "8 layers of 64, batch 32",
					      "10-20-5, batch 32, recompute layer",
					      "8 layers of 64, batch 32 for each of 2 devices" };
	struct result r = { 0 };
	struct drawn d;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		struct case_result *c = add_split(&r, i ? "tensor" : "ddp", 32, 0, 1e-3, 1e9);

		c->label = xstrdup(labels[i]);
		free(c->parameters[1].name);
		c->parameters[1].name = xstrdup("bucket");
		if (i == 3) {
			free(c->parameters[4].text);
			c->parameters[4].text = xstrdup("weak");
		}
		add_setting(&r, sections[i], "layers",
			    i == 2 ? "10, 20, 5" : "64, 64, 64, 64, 64, 64, 64, 64, 64");
		add_setting(&r, sections[i], "recompute", i == 2 ? "layer" : "none");
		add_setting(&r, sections[i], "optimizer", "adam");
	}
	open_drawn(&d, &r);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		assert_string_equal(d.strategies.items[i].model, models[i]);
	close_drawn(&d);
	/* The same strategy of the same model by another section: named by it. */
	free(r.cases[1].parameters[2].text);
	r.cases[1].parameters[2].text = xstrdup("ddp");
	open_drawn(&d, &r);
	assert_null(strstr(d.strategies.items[0].name, "grid"));
	assert_non_null(strstr(d.strategies.items[1].name, ", section grid"));
	close_drawn(&d);
	/* A parameter says that it is weak: the section's name does not say it again. */
	assert_string_equal(view_section(&r.cases[1]), "grid");
	assert_string_equal(view_section(&r.cases[3]), "");
	result_release(&r);
}

/* How the data travels and how a step is launched say how it is split, not what is trained. */
static void transports_and_graphs_are_strategies_of_the_same_model(void **state)
{
	struct result r = { 0 };
	struct case_result *c;
	struct drawn d;
	struct tree *map;
	const struct tree *rows;

	(void)state;
	add_split(&r, "ddp", 64, 512, 2e-3, 8e9);
	c = add_split(&r, "ddp", 64, 512, 1e-3, 9e9);
	add_parameter(c, "launch", NAN, "graph");
	c = add_split(&r, "ddp", 64, 512, 3e-3, 2e9);
	add_parameter(c, "transport", NAN, "host_copy");
	open_drawn(&d, &r);
	map = answer_of(&d);
	assert_int_equal(tree_member(map, "answer_tables")->count, 1);
	rows = tree_member(tree_member(map, "answer_tables")->children[0], "rows");
	assert_int_equal(rows->count, 3);
	assert_non_null(strstr(member(rows->children[0], "name"), "graph"));
	assert_null(strstr(member(rows->children[1], "name"), "graph"));
	assert_non_null(strstr(member(rows->children[2], "name"), "by copies through the host"));
	tree_free(map);
	close_drawn(&d);
	result_release(&r);
}

/* 6 ms of computing, a fifth of the schedule idle, and 2.5 ms for which nothing else accounts. */
static void a_step_is_the_sum_of_its_parts(void **state)
{
	struct result r = { 0 };
	struct case_result *c = add_split(&r, "1f1b", 64, 512, 10e-3, 1e9);
	static const char *const expected[] = { "6.00 ms, 60\u00a0%", "1.50 ms, 15\u00a0%",
						"2.50 ms, 25\u00a0%" };
	static const char *const widths[] = { "72", "18", "30" };
	const struct tree *row, *bars;
	struct tree *map;
	struct drawn d;

	(void)state;
	add_metric(c, "parallel.compute_time", 6e-3, "s");
	add_metric(c, "parallel.bubble_model", 0.2, "1");
	add_split(&r, "single", 64, 512, 10e-3, 1e9);
	open_drawn(&d, &r);
	map = answer_of(&d);
	row = tree_member(tree_member(map, "answer_tables")->children[0], "rows")->children[0];
	bars = tree_member(row, "bars");
	assert_int_equal(bars->count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(tree_member(row, "cells")->children[2 + i]->text, expected[i]);
		assert_string_equal(member(bars->children[i], "width"), widths[i]);
	}
	/* One device has no parts: one grey bar. */
	row = tree_member(tree_member(map, "answer_tables")->children[0], "rows")->children[1];
	assert_int_equal(tree_member(row, "bars")->count, 1);
	assert_string_equal(member(tree_member(row, "bars")->children[0], "colour"), "#767676");
	tree_free(map);
	close_drawn(&d);
	result_release(&r);
}

static void the_map_names_winners(void **state)
{
	static const double batches[] = { 64, 8192 }, widths[] = { 512, 4096 };
	struct result r = { 0 };
	struct drawn d;

	(void)state;
	for (int b = 0; b < 2; b++)
		for (int w = 0; w < 2; w++) {
			add_metric(add_split(&r, "ddp", batches[b], widths[w], b ? 1e-3 : 4e-3,
					     1e9),
				   "parallel.critical_batch", 1131.4, "1");
			add_metric(add_split(&r, "tensor", batches[b], widths[w], 2e-3, 1e9),
				   "parallel.critical_width", 262.7, "1");
		}
	open_drawn(&d, &r);
	strategies_map_crossover(&d.strategies, d.charts, d.answers);
	assert_int_equal(d.charts->count, 1);
	assert_string_equal(member(d.charts->children[0], "finding"),
			    "DDP is fastest in 2 of 4 cells; tensor is fastest in 2 of 4 cells. "
			    "With "
			    "1130 rows per device or more (b*), DDP can hide its all-reduce, at "
			    "the highest rates of this run. At width 263 and above (d*), an "
			    "all-reduce of tensor parallelism takes less time than the GEMMs "
			    "around it.");
	/* The page says it before its figures. */
	assert_int_equal(d.answers->count, 1);
	assert_non_null(strstr(d.answers->children[0]->text,
			       "Fastest strategy on 2 devices, over batch "
			       "and width: DDP is fastest in 2 of 4 cells;"));
	close_drawn(&d);
	result_release(&r);
}

/* A case whose batch grows with the devices is listed at that batch, with those that share it. */
static void weak_scaling_is_on_the_map_at_its_whole_batch(void **state)
{
	static const double widths[] = { 512, 4096 };
	struct result r = { 0 };
	struct drawn d;
	const struct tree *rows;

	(void)state;
	for (int w = 0; w < 2; w++)
		for (int b = 0; b < 2; b++) {
			struct case_result *c;

			add_split(&r, "ddp", b ? 128 : 64, widths[w], 3e-3, 1e9);
			add_split(&r, "tensor", b ? 128 : 64, widths[w], 4e-3, 1e9);
			/*
			 * 64 of each of two devices: the fastest of all for a batch of 128, none
			 * for one of 64.
			 */
			c = add_split(&r, "zero3", 64, widths[w], b ? 1e-3 : 2e-3, 1e9);
			free(c->parameters[4].text);
			c->parameters[4].text = xstrdup("weak");
		}
	open_drawn(&d, &r);
	strategies_map_crossover(&d.strategies, d.charts, d.answers);
	assert_int_equal(d.charts->count, 1);
	rows = d.charts->children[0];
	assert_non_null(strstr(member(rows, "finding"), "DDP is fastest in 2 of 4 cells; ZeRO-3 is "
							"fastest in 2 of 4 cells."));
	close_drawn(&d);
	result_release(&r);
}

/* A second device may be a mistake. */
static void one_device_competes(void **state)
{
	static const double batches[] = { 64, 8192 }, widths[] = { 512, 4096 };
	struct result r = { 0 };
	struct drawn d;

	(void)state;
	for (int b = 0; b < 2; b++)
		for (int w = 0; w < 2; w++) {
			struct case_result *c;

			add_split(&r, "ddp", batches[b], widths[w], 2e-3, 1e9);
			c = add_split(&r, "single", batches[b], widths[w], b ? 4e-3 : 1e-3, 1e9);
			free(c->parameters[3].text);
			c->parameters[3].text = xstrdup("1");
			c->parameters[3].number = 1;
		}
	open_drawn(&d, &r);
	strategies_map_crossover(&d.strategies, d.charts, d.answers);
	assert_int_equal(d.charts->count, 1);
	assert_string_equal(member(d.charts->children[0], "title"),
			    "Fastest strategy on 2 devices");
	assert_non_null(
		strstr(member(d.charts->children[0], "finding"),
		       "DDP is fastest in 2 of 4 cells; single is fastest in 2 of 4 cells."));
	close_drawn(&d);
	result_release(&r);
}

/* The last whose memory is within the limit, not the fastest of all. */
static void a_limit_names_the_fastest_that_fits(void **state)
{
	static const char *const expected[][3] = {
		{ "8GiB", "DDP", "1.000 ms" },
		{ "4GiB", "ZeRO-3", "2.000 ms" },
		{ "1GiB", "none of the measured strategies", "\u2013" },
	};
	struct memory_limit limits[LIMITS_MOST];
	struct result r = { 0 };
	struct error err = ERROR_NONE;
	const struct tree *rows;
	struct tree *tables = tree_new(TREE_LIST);
	struct drawn d;
	size_t count;

	(void)state;
	add_split(&r, "ddp", 64, 512, 1e-3, 8e9);
	add_split(&r, "gpipe", 64, 512, 3e-3, 1.5e9);
	add_split(&r, "zero3", 64, 512, 2e-3, 2e9);
	assert_int_equal(memory_limits_parse("8GiB, 4GiB,1GiB", limits, &count, &err), STATUS_OK);
	assert_int_equal(count, 3);
	open_drawn(&d, &r);
	strategies_columns_under_limits(&d.strategies, limits, count, tables);
	rows = tree_member(tables->children[0], "rows");
	assert_int_equal(rows->count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct tree *cells = tree_member(rows->children[i], "cells");

		assert_string_equal(member(rows->children[i], "where"), expected[i][0]);
		assert_non_null(strstr(cells->children[0]->text, expected[i][1]));
		assert_string_equal(cells->children[1]->text, expected[i][2]);
	}
	tree_free(tables);
	close_drawn(&d);
	result_release(&r);
}

static void limits_are_sizes_and_gpus(void **state)
{
	static const char *const wrong[] = { "8", "much", "8GiB, gtx", "-1GiB", "0" };
	struct memory_limit limits[LIMITS_MOST];
	size_t count;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error err = ERROR_NONE;

		assert_int_equal(memory_limits_parse(wrong[i], limits, &count, &err), STATUS_USAGE);
		assert_non_null(
			strstr(err.message, "is not valid; use a size, such as 8GiB, or an id"));
	}
	assert_int_equal(memory_limits_parse("", limits, &count, &(struct error){ 0 }), STATUS_OK);
	assert_int_equal(count, 0);
	assert_int_equal(memory_limits_parse("gtx1080ti,16160MiB", limits, &count,
					     &(struct error){ 0 }),
			 STATUS_OK);
	assert_int_equal(count, 2);
	assert_true(limits[0].bytes == 11264.0 * 1048576 && strstr(limits[0].name, "1080 Ti"));
}

/* 400 of the H200's 494.5 TFLOP/s in TF32, by two devices together; a tenth of it done twice. */
static void utilisation_is_of_the_data_sheet(void **state)
{
	struct result r = { 0 };
	struct case_result *c = add_split(&r, "ddp", 64, 512, 1e-3, 8e9);
	struct drawn d;
	const struct tree *cells;
	struct tree *map;

	(void)state;
	r.devices = xcalloc(1, sizeof(*r.devices));
	r.device_count = 1;
	snprintf(r.devices[0].id, sizeof(r.devices[0].id), "cuda:0");
	snprintf(r.devices[0].name, sizeof(r.devices[0].name), "NVIDIA H200");
	c->device = xstrdup("cuda:0");
	c->device_count = 2;
	c->devices = xcalloc(2, sizeof(*c->devices));
	add_parameter(c, "precision", NAN, "tf32");
	add_metric(c, "parallel.flops", 400e12, "FLOP/s");
	add_metric(c, "parallel.mfu", 0.5, "1");
	add_metric(c, "parallel.hfu", 0.55, "1");
	c = add_split(&r, "tensor", 64, 512, 2e-3, 8e9);
	add_parameter(c, "precision", NAN, "tf32");
	open_drawn(&d, &r);
	map = answer_of(&d);
	assert_non_null(strstr(member(map, "terms"),
			       "494.5 TFLOP/s (TF32 rate with tensor cores, dense) each"));
	cells = tree_member(
		tree_member(tree_member(map, "answer_tables")->children[0], "rows")->children[0],
		"cells");
	assert_string_equal(cells->children[5]->text, "40.4\u00a0%, HFU 44.5\u00a0%");
	tree_free(map);
	close_drawn(&d);
	result_release(&r);
}

static void one_width_makes_no_map(void **state)
{
	struct result r = { 0 };
	struct drawn d;

	(void)state;
	add_split(&r, "ddp", 64, 512, 1e-3, 1e9);
	add_split(&r, "tensor", 8192, 512, 1e-3, 1e9);
	open_drawn(&d, &r);
	strategies_map_crossover(&d.strategies, d.charts, d.answers);
	assert_int_equal(d.charts->count, 0);
	close_drawn(&d);
	result_release(&r);
}

static void add_row(struct case_result *c, int rank, const char *stream, const char *operation,
		    double start, double end)
{
	struct timeline_row *row;

	c->timeline = xrealloc(c->timeline, c->timeline_count + 1, sizeof(*c->timeline));
	row = &c->timeline[c->timeline_count++];
	*row = (struct timeline_row){ rank, xstrdup(stream), xstrdup(operation),
				      xcalloc(3, sizeof(double)), 3 };
	row->spans[1] = start;
	row->spans[2] = end;
}

/* A sum of several devices during a forward is no computing. */
static void a_timeline_tells_computing_from_waiting(void **state)
{
	struct result r = { 0 };
	struct case_result *c = add_split(&r, "hybrid", 64, 512, 1e-2, 1e9);
	struct drawn d;
	const struct tree *rows;

	(void)state;
	add_row(c, 0, "other replicas", "all_reduce", 6e-3, 10e-3);
	add_row(c, 0, "compute", "forward", 0, 8e-3);
	add_row(c, 0, "compute", "all_reduce", 2e-3, 4e-3);
	add_row(c, 1, "compute", "forward", 0, 2e-3);
	add_row(c, 1, "compute", "invented", 0, 5e-3);
	open_drawn(&d, &r);
	strategies_timelines(&d.strategies, d.charts);
	assert_int_equal(d.charts->count, 1);
	assert_string_equal(member(d.charts->children[0], "finding"),
			    "The step takes 10.00 ms; the devices compute for 40\u00a0% of this "
			    "time "
			    "on average, the device with the most idle time for 20\u00a0%.");
	rows = tree_member(d.charts->children[0], "rows");
	assert_int_equal(rows->count, 4);
	/* Computing streams come first, whatever the order in the result. */
	assert_string_equal(member(rows->children[0], "name"), "0 compute: F forward, L loss");
	close_drawn(&d);
	/* A slower step of the same mode has no timeline, one of another mode has. */
	add_row(add_split(&r, "hybrid", 64, 512, 2e-2, 1e9), 0, "compute", "forward", 0, 8e-3);
	add_row(add_split(&r, "ddp", 64, 512, 3e-2, 1e9), 0, "compute", "forward", 0, 8e-3);
	open_drawn(&d, &r);
	strategies_timelines(&d.strategies, d.charts);
	assert_int_equal(d.charts->count, 2);
	assert_non_null(strstr(member(d.charts->children[1], "title"), "Timeline of DDP"));
	close_drawn(&d);
	result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_device_has_one_time),
		cmocka_unit_test(the_answer_names_the_fastest_and_the_smallest),
		cmocka_unit_test(times_that_are_not_apart_are_said_to_be_so),
		cmocka_unit_test(speedups_that_cannot_be_are_doubted),
		cmocka_unit_test(a_map_says_what_is_not_told_apart),
		cmocka_unit_test(many_models_have_a_table_of_winners),
		cmocka_unit_test(sets_of_devices_are_one_strategy),
		cmocka_unit_test(sections_of_one_model_are_compared),
		cmocka_unit_test(transports_and_graphs_are_strategies_of_the_same_model),
		cmocka_unit_test(a_step_is_the_sum_of_its_parts),
		cmocka_unit_test(the_map_names_winners),
		cmocka_unit_test(weak_scaling_is_on_the_map_at_its_whole_batch),
		cmocka_unit_test(one_device_competes),
		cmocka_unit_test(a_limit_names_the_fastest_that_fits),
		cmocka_unit_test(limits_are_sizes_and_gpus),
		cmocka_unit_test(utilisation_is_of_the_data_sheet),
		cmocka_unit_test(one_width_makes_no_map),
		cmocka_unit_test(a_timeline_tells_computing_from_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
