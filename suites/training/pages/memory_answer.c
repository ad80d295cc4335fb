/*
 * Answer of a page about the memory of a training step: memory as a function of the batch, the
 * batch from which activations outweigh the rest, and the savings of other precisions at each
 * batch.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "suites/training/pages/strategies.h"
#include "report/view/format.h"
#include "report/view/suite_page.h"
#include "suites/training/pages/pages.h"

/* Plain steps, without trading time for memory. */
struct step {
	const struct view *view;
	const struct case_result *c;
	char *model;     /* run, section and layers */
	char *precision; /* in words */
	double batch, bytes;
};

struct memory_steps {
	struct step *items;
	size_t count, capacity;
};

static bool memory_answer_case_is_plain_step(const struct case_result *c)
{
	static const char *const usual[][2] = { { "study", "step" },   { "segments", "0" },
						{ "accumulate", "1" }, { "activation", "in_place" },
						{ "offload", "none" }, { "allocator", "arena" } };

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		const struct case_parameter *own = case_parameter(c, usual[i][0]);

		if (own && strcmp(view_string(own->text), usual[i][1]) != 0)
			return false;
	}
	return c->status == CASE_OK && case_parameter(c, "study") && case_parameter(c, "batch") &&
	       case_parameter(c, "precision") && case_metric(c, "trainmem.memory");
}

/* "A, 1000-2000-10, Adam" */
static char *memory_answer_model_of(const struct view *view, size_t run,
				    const struct case_result *c)
{
	const struct case_parameter *optimizer = case_parameter(c, "optimizer");
	struct text out = TEXT_EMPTY;

	strategies_layers(view, run, c, &out);
	if (optimizer)
		text_addf(&out, "%s%s", out.length && !text_ends_with(out.data, ", ") ? ", " : "",
			  presented_parameter(view, c->suite, optimizer).text);
	return text_detach(&out);
}

static int memory_answer_by_batch(const void *a, const void *b)
{
	const struct step *p = a, *q = b;

	return (p->batch > q->batch) - (p->batch < q->batch);
}

static void memory_answer_steps_collect(struct memory_steps *steps, const struct view *view,
					const char *suite)
{
	struct formatted text;

	for (size_t r = 0; r < view->count; r++) {
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];

			if (strcmp(view_string(c->suite), suite) != 0 ||
			    !memory_answer_case_is_plain_step(c))
				continue;
			text = presented_parameter(view, c->suite, case_parameter(c, "precision"));
			ARRAY_GROW(steps->items, steps->count, steps->capacity);
			steps->items[steps->count++] =
				(struct step){ .view = view,
					       .c = c,
					       .model = memory_answer_model_of(view, r, c),
					       .precision = xstrdup(text.text),
					       .batch = case_parameter(c, "batch")->number,
					       .bytes = case_metric(c, "trainmem.memory")->value };
		}
	}
}

static bool memory_answer_steps_alike(const struct step *a, const struct step *b)
{
	return strcmp(a->model, b->model) == 0 && strcmp(a->precision, b->precision) == 0;
}

/* Steps of one model and precision, by batch; of equal batches only the first. */
static size_t memory_answer_steps_series(const struct memory_steps *all, const struct step *like,
					 struct step *out)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < all->count; i++)
		if (memory_answer_steps_alike(&all->items[i], like))
			out[count++] = all->items[i];
	qsort(out, count, sizeof(*out), memory_answer_by_batch);
	for (size_t i = 0; i < count; i++)
		if (!kept || out[i].batch != out[kept - 1].batch)
			out[kept++] = out[i];
	return kept;
}

/* "Adam, FP32: a step needs 89.8 MB at batch 1024 and 2.1 GB at 65536" */
static void memory_answer_add_bytes(const struct step *s, size_t count, struct text *out)
{
	const char *unit = presented_unit(s->view, s->c->suite, "B");

	text_addf(out, "%s%s%s: a step needs %s at batch %.0f", s->model, *s->model ? ", " : "",
		  s->precision, format_rounded(s->bytes, unit).text, s->batch);
	if (count > 1)
		text_addf(out, " and %s at %.0f", format_rounded(s[count - 1].bytes, unit).text,
			  s[count - 1].batch);
}

/* "It needs 1 % less than FP32 at batch 64, 49 % less at 262144." */
static void memory_answer_add_saving(const struct step *s, size_t count, const struct step *base,
				     size_t base_count, struct text *out)
{
	struct formatted percent;
	bool first = true;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < base_count; k++) {
			double less = 1 - s[i].bytes / base[k].bytes;

			if (s[i].batch != base[k].batch || (i && i + 1 < count))
				continue;
			percent = format_percent(fabs(less));
			text_addf(out, "%s%s %s%s%s at %s%.0f", first ? " It needs " : ", ",
				  percent.text, less >= 0 ? "less" : "more", first ? " than " : "",
				  first ? base->precision : "", first ? "batch " : "", s[i].batch);
			first = false;
		}
	}
	if (!first)
		text_add_char(out, '.');
}

static void memory_answer_of(const struct memory_steps *all, const struct step *like,
			     struct tree *answers)
{
	struct step *own = xcalloc(all->count + 1, sizeof(*own)),
		    *base = xcalloc(all->count + 1, sizeof(*base));
	size_t count = memory_answer_steps_series(all, like, own), base_count = 0;
	struct text out = TEXT_EMPTY;
	const struct metric_value *balance = case_metric(own->c, "trainmem.balance_batch");

	/* Relative to the first precision of the model. */
	for (size_t i = 0; i < all->count && !base_count; i++)
		if (strcmp(all->items[i].model, like->model) == 0)
			base_count = memory_answer_steps_series(all, &all->items[i], base);
	memory_answer_add_bytes(own, count, &out);
	text_add_char(&out, '.');
	if (balance && isfinite(balance->value))
		text_addf(&out,
			  " From batch %.0f (B*) on, input and activations need more memory than "
			  "parameters, gradients and optimizer state.",
			  balance->value);
	if (!memory_answer_steps_alike(own, base))
		memory_answer_add_saving(own, count, base, base_count, &out);
	tree_item_text(answers, out.data);
	text_release(&out);
	free(base);
	free(own);
}

static void memory_answer_steps_release(struct memory_steps *all)
{
	for (size_t i = 0; i < all->count; i++) {
		free(all->items[i].model);
		free(all->items[i].precision);
	}
	free(all->items);
}

static void show_memory_answer(const struct view *view, const char *suite, struct tree *answers,
			       struct tree *tables, struct text *terms)
{
	struct memory_steps all = { .count = 0 };

	(void)tables;
	(void)terms;
	memory_answer_steps_collect(&all, view, suite);
	for (size_t i = 0; i < all.count; i++) {
		size_t first = 0;

		while (!memory_answer_steps_alike(&all.items[first], &all.items[i]))
			first++;
		if (first == i)
			memory_answer_of(&all, &all.items[i], answers);
	}
	memory_answer_steps_release(&all);
}

/* The need of the first model and precision. */
static void memory_answer_show_title(const struct view *view, const char *suite, struct text *out)
{
	struct memory_steps all = { .count = 0 };
	struct step *own;

	memory_answer_steps_collect(&all, view, suite);
	own = xcalloc(all.count + 1, sizeof(*own));
	if (all.count) {
		size_t count = memory_answer_steps_series(&all, all.items, own);

		memory_answer_add_bytes(own, count, out);
	}
	free(own);
	memory_answer_steps_release(&all);
}

const struct suite_page trainmem_page = { .title = memory_answer_show_title,
					  .answer = show_memory_answer };
