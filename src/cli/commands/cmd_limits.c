/* gpuproof limits: prints the limits of a GPU model in units, without a result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output/print.h"
#include "cli/output/table.h"
#include "cli/words.h"
#include "judge/limits.h"
#include "plan/limits/spec_keys.h"
#include "reference/gpu.h"
#include "reference/spec.h"
#include "result/json/json_writer.h"

struct limits_arguments {
	const char *gpu;
	bool json;
};

static const struct option_row rows[] = {
	TEXT_ROW(0, "gpu", "GPU", limits_arguments, gpu, .words = cli_words_gpus),
	FLAG_ROW(0, "json", limits_arguments, json),
	{ 0 },
};

/*
 * The condition that selects a precision, on which the peak depends; NULL: the same bound for all
 * cases.
 */
static const struct condition *cmd_limits_precisions_of(const struct limit *limit)
{
	for (size_t i = 0; i < limit->condition_count; i++)
		if (strcmp(limit->conditions[i].name, "precision") == 0 &&
		    limit->conditions[i].test == CONDITION_IS && limit->min.kind == BOUND_SPEC &&
		    strcmp(limit->min.spec, SPEC_PEAK) == 0)
			return &limit->conditions[i];
	return NULL;
}

/*
 * The bound in the metric's unit, by the model's data sheet; NaN: it depends on a baseline, on a
 * value that the sheet lacks, or on a precision that is not given.
 */
static double cmd_limits_bound_value(const struct limit *limit, const struct bound *bound,
				     const struct gpu *gpu, char *precision)
{
	char name[] = "precision";
	struct case_parameter one = { .name = name, .text = precision, .number = NAN };
	struct case_result c = { .parameters = &one, .parameter_count = precision ? 1 : 0 };
	struct device_info device = { 0 };
	struct spec_peak peak;
	char *model;

	if (bound->kind == BOUND_ABSOLUTE)
		return bound->factor;
	if (bound->kind != BOUND_SPEC || !gpu)
		return NAN;
	if (strcmp(bound->spec, SPEC_PEAK) != 0)
		return bound->factor * gpu_figure(gpu, bound->spec);
	/* A device of the model with the name that its driver would report. */
	model = text_trimmed(gpu->match, strcspn(gpu->match, "*|"));
	snprintf(device.name, sizeof(device.name), "%s", model);
	free(model);
	sscanf(gpu_words(gpu, "capability"), "%d.%d", &device.capability_major,
	       &device.capability_minor);
	return spec_peak(limit->suite->sheet, &c, limit->metric->name, &device, &peak)
		       ? bound->factor * peak.figure
		       : NAN;
}

static void cmd_limits_add_bound(struct text *out, const char *words, const struct limit *limit,
				 const struct bound *bound, const struct gpu *gpu, char *precision)
{
	double value = cmd_limits_bound_value(limit, bound, gpu, precision);
	char text[64];

	if (bound->kind == BOUND_NONE)
		return;
	text_addf(out, "%s%s %s", out->length ? ", " : "", words,
		  isnan(value) ? bound->text
			       : units_format(value, limit->metric->unit, text, sizeof(text)));
}

/* Conditions in the form of `where`. The caller frees it. */
static char *cmd_limits_where_words(const struct limit *limit)
{
	static const char *const signs[] = {
		[CONDITION_IS] = "", [CONDITION_AT_LEAST] = ">=", [CONDITION_AT_MOST] = "<="
	};
	struct text out = TEXT_EMPTY;
	char number[64];

	for (size_t i = 0; i < limit->condition_count; i++) {
		const struct condition *c = &limit->conditions[i];

		text_addf(&out, "%s%s:%s", i ? ", " : "", c->name, signs[c->test]);
		for (size_t k = 0; k < c->word_count; k++)
			text_addf(&out, "%s%s", k ? "|" : "", c->words[k]);
		if (c->test != CONDITION_IS && strcmp(c->name, PARAMETER_SIZE) == 0)
			text_add(&out, units_size((uint64_t)c->number, number, sizeof(number)));
		else if (c->test != CONDITION_IS)
			text_addf(&out, "%g", c->number);
	}
	return out.length ? text_detach(&out) : xstrdup("all cases");
}

static void cmd_limits_add_row(struct output_table *table, const struct limit *limit,
			       const struct gpu *gpu, char *precision)
{
	struct text bounds = TEXT_EMPTY, outlier = TEXT_EMPTY;
	char *where = cmd_limits_where_words(limit);
	char *cases = xasprintf("%s: %s", limit->metric->name, where);
	char *name = precision ? xasprintf("%s, %s", limit->name, precision) : xstrdup(limit->name);

	/* "at least 44.1 GB/s"; "-": the limit only compares devices. */
	cmd_limits_add_bound(&bounds, "at least", limit, &limit->min, gpu, precision);
	cmd_limits_add_bound(&bounds, "at most", limit, &limit->max, gpu, precision);
	if (bounds.length && limit->severity == LIMIT_WARNS)
		text_add(&bounds, " (warns)");
	/* "10 % (5 % warns)": margin to identical GPUs of the node. */
	text_add(&outlier, limit->outlier_text ? limit->outlier_text : "-");
	if (limit->outlier_text && limit->outlier_warn_text)
		text_addf(&outlier, " (%s warns)", limit->outlier_warn_text);
	TABLE_ROW(table, name, bounds.length ? bounds.data : "-", outlier.data,
		  limit->population_text ? limit->population_text : "-", cases);
	text_release(&bounds);
	text_release(&outlier);
	free(where);
	free(cases);
	free(name);
}

static void cmd_limits_print_table(const struct limits *limits, const struct gpu *gpu)
{
	struct output_table bounds = TABLE_EMPTY, origins = TABLE_EMPTY;

	TABLE_ROW(&bounds, "LIMIT", "BOUND", "IDENTICAL GPUS", "REFERENCE GPUS",
		  "METRIC AND CASES");
	TABLE_ROW(&origins, "LIMIT", "ORIGIN");
	for (size_t i = 0; i < limits->count; i++) {
		const struct limit *l = &limits->items[i];
		const struct condition *precisions = gpu ? cmd_limits_precisions_of(l) : NULL;

		for (size_t k = 0; precisions && k < precisions->word_count; k++)
			cmd_limits_add_row(&bounds, l, gpu, precisions->words[k]);
		if (!precisions)
			cmd_limits_add_row(&bounds, l, gpu, NULL);
		TABLE_ROW(&origins, l->name, l->origin ? l->origin : l->place);
	}
	table_finish(&bounds, stdout);
	printf("\n");
	table_finish(&origins, stdout);
}

/* A bound as written, and its values in the metric's unit: one, or one per precision. */
static void cmd_limits_write_bound(struct json_writer *w, const char *name,
				   const struct limit *limit, const struct bound *bound,
				   const struct gpu *gpu)
{
	const struct condition *precisions = gpu ? cmd_limits_precisions_of(limit) : NULL;
	double value = cmd_limits_bound_value(limit, bound, gpu, NULL);

	if (bound->kind == BOUND_NONE)
		return;
	writer_key(w, name);
	writer_open_inline(w, '{');
	writer_text_member(w, "written", bound->text);
	writer_text_member(w, "place", bound->place);
	if (!isnan(value))
		writer_real_member(w, "value", value);
	for (size_t k = 0; isnan(value) && precisions && k < precisions->word_count; k++)
		writer_real_member(w, precisions->words[k],
				   cmd_limits_bound_value(limit, bound, gpu, precisions->words[k]));
	writer_close(w, '}');
}

static void cmd_limits_print_json(const struct limits *limits, const struct gpu *gpu)
{
	struct json_writer w = { .expand = 3 };

	writer_open(&w, '{');
	writer_text_member(&w, "source", limits->source);
	if (gpu)
		writer_text_member(&w, "gpu", gpu->id);
	writer_open_member(&w, "limits", '[');
	for (size_t i = 0; i < limits->count; i++) {
		const struct limit *l = &limits->items[i];
		char *where = cmd_limits_where_words(l);

		writer_open(&w, '{');
		writer_text_member(&w, "name", l->name);
		writer_text_member(&w, "metric", l->metric->name);
		writer_text_member(&w, "unit", l->metric->unit);
		writer_text_member(&w, "where", where);
		writer_text_member(&w, "violation",
				   l->severity == LIMIT_WARNS ? "warns" : "rejects");
		cmd_limits_write_bound(&w, "min", l, &l->min, gpu);
		cmd_limits_write_bound(&w, "max", l, &l->max, gpu);
		writer_real_member(&w, "outlier_margin", l->outlier_margin);
		writer_real_member(&w, "outlier_margin_warn", l->outlier_margin_warn);
		writer_real_member(&w, "population", l->population);
		writer_text_member(&w, "origin", l->origin ? l->origin : "");
		writer_close(&w, '}');
		free(where);
	}
	writer_close(&w, ']');
	writer_close(&w, '}');
	print_json(&w);
}

static int cmd_limits_run(struct call *call)
{
	const struct limits_arguments *a = call->arguments;
	const struct gpu *gpu = gpus_by_id(a->gpu ? a->gpu : call->operands[0]);
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	int code = EXIT_USAGE;

	if (a->gpu && !gpu)
		return cli_command_usage(call->command,
					 "--gpu %s: unknown model; gpuproof list gpus lists them",
					 a->gpu);
	if (judge_limits_load(&limits, call->operands[0], &errors) == STATUS_OK) {
		a->json ? cmd_limits_print_json(&limits, gpu)
			: cmd_limits_print_table(&limits, gpu);
		judge_limits_release(&limits);
		code = EXIT_ACCEPTED;
	}
	cli_command_print_errors(&errors);
	return code;
}

static void cmd_limits_words_of(struct text *out)
{
	cli_words_gpus(out);
	cli_words_limits(out);
}

const struct command command_limits = {
	.name = "limits",
	.options = rows,
	.arguments = sizeof(struct limits_arguments),
	.least = 1,
	.most = 1,
	.wrong_count = "expected one GPU model or file of limits",
	.words = cmd_limits_words_of,
	.run = cmd_limits_run,
};
