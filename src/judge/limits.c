#include "judge/limits.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <math.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "plan/ini/hint.h"
#include "plan/suites/suite_set.h"
#include "reference/gpu.h"
#include "reference/spec.h"
#include "base/units.h"
#include "plan/metrics.h"

#define GENERIC "generic.ini" /* any GPU */
#define DATASHEET \
	"datasheet.ini" /* limits of models in configs/gpus that have no file of their own */

static void judge_limits_ignore_message(void *context, const char *key, const char *message)
{
	(void)context;
	(void)key;
	(void)message;
}

void judge_limits_of_config(struct limits *limits, const struct config *config)
{
	struct schema schema = schema_program;
	struct text text = TEXT_EMPTY;

	memset(limits, 0, sizeof(*limits));
	limits->suites = suite_set_hold(config->suites);
	schema.suites = suite_set_all(config->suites);
	limits->items = xcalloc(config->count + 1, sizeof(*limits->items));
	limits->source = xstrdup(config->name);
	for (size_t i = 0; i < config->count; i++)
		/* A loaded config was checked, so it has no errors. */
		if (strcmp(config->sections[i].kind, "limit") == 0 &&
		    limit_read(&limits->items[limits->count], &config->sections[i], &schema,
			       judge_limits_ignore_message, NULL))
			limits->count++;
	config_write_kind(config, "limit", &text);
	limits->text = text_detach(&text);
}

static enum status judge_limits_take_config(struct limits *limits, struct config *config,
					    enum status status)
{
	if (status == STATUS_OK)
		judge_limits_of_config(limits, config);
	config_release(config);
	return status;
}

static enum status judge_limits_load_shipped(struct limits *limits,
					     const struct embedded_file *file, struct text *errors)
{
	char *name = xasprintf("limits/%s", file->name);
	struct config config;
	enum status status =
		config_parse_with(&config, &schema_limits, name, (const char *)file->data,
				  file->size, NULL, 0, errors);

	free(name);
	status = judge_limits_take_config(limits, &config, status);
	limits->shipped = true;
	return status;
}

/*
 * Shipped limits for a model of configs/gpus; NULL: any other device. The stricter fractions of the
 * data sheet apply only to models whose published values were checked.
 */
static const struct embedded_file *judge_limits_file_of_model(const struct gpu *gpu)
{
	const struct embedded_file *file =
		gpu ? embedded_find(embedded_limits, gpu->file->name) : NULL;

	return file ? file
		    : embedded_find(embedded_limits,
				    gpu && gpu->published_count &&
						    !isnan(gpu_figure(gpu, "memory_bandwidth"))
					    ? DATASHEET
					    : GENERIC);
}

/* Errors quote a name from outside, and reach a terminal. */
static enum status judge_limits_refuse(struct text *errors)
{
	text_mend(errors->data);
	errors->length = strlen(errors->data);
	return STATUS_USAGE;
}

enum status judge_limits_load(struct limits *limits, const char *source, struct text *errors)
{
	char *name = xasprintf("%s.ini", source);
	const struct embedded_file *file = embedded_find(embedded_limits, name);
	const struct gpu *gpu = gpus_by_id(source);
	struct config config;
	enum status status;

	free(name);
	memset(limits, 0, sizeof(*limits));
	/* A model that uses a shared file. */
	if (!file && gpu)
		file = judge_limits_file_of_model(gpu);
	if (file)
		return judge_limits_load_shipped(limits, file, errors);
	if (access(source, F_OK) != 0 && !strchr(source, '/') && !text_ends_with(source, ".ini")) {
		text_addf(errors, "%s: no such file, and no shipped limits of this name", source);
		hint_files(errors, source, embedded_limits);
		text_add(errors, "\n");
		return judge_limits_refuse(errors);
	}
	status = judge_limits_take_config(limits, &config,
					  config_load_with(&config, &schema_limits, source, NULL, 0,
							   errors));
	if (status == STATUS_OK && !limits->count) {
		/* The file has suites but no limits: it is a config. */
		text_addf(errors, "%s: no [limit NAME] section, so there is nothing to check\n",
			  source);
		judge_limits_release(limits);
		status = judge_limits_refuse(errors);
	}
	return status;
}

enum status judge_limits_of_model(struct limits *limits, const char *device_name,
				  struct text *errors)
{
	memset(limits, 0, sizeof(*limits));
	return judge_limits_load_shipped(limits,
					 judge_limits_file_of_model(gpus_by_device(device_name)),
					 errors);
}

/* The config was rewritten into the result; the settings hold the original file and line. */
static void judge_limits_restore_place(char **place, const struct result *result, const char *limit,
				       const char *key)
{
	char *section = xasprintf("limit %s", limit);
	const struct result_setting *s = result_setting(result, section, key);

	if (*place && s && *s->origin) {
		free(*place);
		*place = xstrdup(s->origin);
	}
	free(section);
}

enum status judge_limits_of_result(struct limits *limits, const struct result *result,
				   struct text *errors)
{
	struct config config;
	enum status status;

	memset(limits, 0, sizeof(*limits));
	if (strstr(result->config_text, "[limit ")) {
		status = config_parse_presented(&config, result->config_name, result->config_text,
						strlen(result->config_text), result->presentations,
						result->presentation_count, errors);
		if (judge_limits_take_config(limits, &config, status) != STATUS_OK)
			return status;
		for (size_t i = 0; i < limits->count; i++) {
			struct limit *l = &limits->items[i];

			judge_limits_restore_place(&l->min.place, result, l->name, "min");
			judge_limits_restore_place(&l->max.place, result, l->name, "max");
			judge_limits_restore_place(&l->outlier_place, result, l->name,
						   "outlier_margin");
			judge_limits_restore_place(&l->fleet_place, result, l->name, "fleet");
			judge_limits_restore_place(&l->population_place, result, l->name,
						   "population");
			judge_limits_restore_place(&l->place, result, l->name, "metric");
		}
		if (limits->count)
			return STATUS_OK;
		judge_limits_release(limits);
	}
	return judge_limits_of_model(limits, result->device_count ? result->devices[0].name : "",
				     errors);
}

void judge_limits_release(struct limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		limit_release(&limits->items[i]);
	free(limits->items);
	free(limits->source);
	free(limits->text);
	suite_set_drop(limits->suites);
	memset(limits, 0, sizeof(*limits));
}

static bool judge_limits_names(const struct condition *condition, const char *text)
{
	for (size_t i = 0; i < condition->word_count; i++)
		if (strcmp(condition->words[i], text) == 0)
			return true;
	return false;
}

bool judge_limits_condition_is_about(const struct condition *condition, const char *device_name)
{
	for (size_t i = 0; i < condition->word_count; i++) {
		const char *word = condition->words[i], *at = device_name;

		while (*word && (at = strstr(at, word))) {
			if (at == device_name || !isalnum((unsigned char)at[-1]) ||
			    !isalnum((unsigned char)*word))
				return true;
			at++;
		}
	}
	return false;
}

/* "cuda:0" matches that device on every node, "n1/cuda:0" only the one of n1. */
static bool judge_limits_id_matches(const struct condition *condition, const char *id)
{
	return judge_limits_names(condition, id) ||
	       judge_limits_names(condition, device_id_on_node(id));
}

/* "n01*"; no pattern matches a case of a single-node run. */
static bool judge_limits_name_node(const struct condition *condition, const char *node)
{
	for (size_t i = 0; *node && i < condition->word_count; i++)
		if (fnmatch(condition->words[i], node, 0) == 0)
			return true;
	return false;
}

/* True if the case ran on that node, alone or with others. */
static bool judge_limits_is_on_node(const struct condition *condition, const struct case_result *c)
{
	bool matches = c->node && *c->node && judge_limits_name_node(condition, c->node);

	for (size_t i = 0; i < c->device_count && !matches && !(c->node && *c->node); i++) {
		char *node = xstrndup(c->devices[i], device_node_length(c->devices[i]));

		matches = judge_limits_name_node(condition, node);
		free(node);
	}
	return matches;
}

/* "nccl" of the path "transport: nccl" that the case chose by itself; NULL: none. */
static const char *judge_limits_path(const struct condition *condition, const struct case_result *c)
{
	size_t length = strlen(condition->name);

	for (size_t i = 0; i < c->path_count; i++)
		if (text_starts_with(c->paths[i], condition->name) &&
		    text_starts_with(c->paths[i] + length, ": "))
			return c->paths[i] + length + 2;
	return NULL;
}

static bool judge_limits_parameter_matches(const struct condition *condition,
					   const struct suite *suite, const struct case_result *c)
{
	/* Results leave out the number of nodes of cases on one node. */
	static const struct case_parameter one_node = { .text = (char *)"1", .number = 1 };
	const struct case_parameter *p = case_parameter(c, condition->name);

	for (const struct role_row *r = suite ? suite->roles : NULL; !p && r && r->name; r++)
		if (r->role == ROLE_NODES && strcmp(r->name, condition->name) == 0)
			p = &one_node;
	if (!p) {
		const char *path = judge_limits_path(condition, c);

		return path && judge_limits_names(condition, path);
	}
	if (condition->test == CONDITION_AT_LEAST)
		return p->number >= condition->number;
	if (condition->test == CONDITION_AT_MOST)
		return p->number <= condition->number;
	return judge_limits_names(condition, p->text);
}

static bool judge_limits_condition_fits(const struct condition *condition,
					const struct device_info *device)
{
	if (strcmp(condition->name, "model") == 0)
		return judge_limits_condition_is_about(condition, device->name);
	if (strcmp(condition->name, "device") == 0)
		return judge_limits_id_matches(condition, device->id);
	if (strcmp(condition->name, "backend") == 0)
		return judge_limits_names(condition, device->backend);
	if (strcmp(condition->name, "node") == 0) {
		char *node = xstrndup(device->id, device_node_length(device->id));
		bool matches = *node && judge_limits_name_node(condition, node);

		free(node);
		return matches;
	}
	return true;
}

bool judge_limits_admits(const struct limit *limit, const struct device_info *device)
{
	for (size_t i = 0; i < limit->condition_count; i++)
		if (!judge_limits_condition_fits(&limit->conditions[i], device))
			return false;
	return true;
}

static bool judge_limits_condition_holds(const struct condition *condition,
					 const struct suite *suite, const struct case_result *c,
					 const char *model)
{
	/*
	 * A parameter of the suite takes precedence over a condition of the same name
	 * (plan/limits/limit.c).
	 */
	if (judge_limits_parameter_matches(condition, suite, c))
		return true;
	if (case_parameter(c, condition->name))
		return false;
	if (strcmp(condition->name, "model") == 0)
		return judge_limits_condition_is_about(condition, model);
	if (strcmp(condition->name, "device") == 0) {
		for (size_t i = 0; i < c->device_count; i++)
			if (judge_limits_id_matches(condition, c->devices[i]))
				return true;
		return false;
	}
	if (strcmp(condition->name, "backend") == 0) {
		/* "cuda" of "cuda:0" */
		const char *id = device_id_on_node(c->device ? c->device : "");
		char *backend = xstrndup(id, strcspn(id, ":"));
		bool matches = judge_limits_names(condition, backend);

		free(backend);
		return matches;
	}
	if (strcmp(condition->name, "node") == 0)
		return judge_limits_is_on_node(condition, c);
	if (strcmp(condition->name, "label") == 0)
		return judge_limits_names(condition, c->label);
	return false;
}

bool judge_limits_selects(const struct limit *limit, const struct case_result *c, const char *model)
{
	if (!limit->suite || strcmp(limit->suite->name, c->suite) != 0)
		return false;
	for (size_t i = 0; i < limit->condition_count; i++)
		if (!judge_limits_condition_holds(&limit->conditions[i], limit->suite, c, model))
			return false;
	return true;
}

const char *judge_limits_missed_path(const struct limit *limit, const struct case_result *c,
				     const char *model)
{
	const char *missed = NULL;

	if (!limit->suite || strcmp(limit->suite->name, c->suite) != 0 || c->status != CASE_OK)
		return NULL;
	for (size_t i = 0; i < limit->condition_count; i++) {
		const struct condition *condition = &limit->conditions[i];

		if (judge_limits_condition_holds(condition, limit->suite, c, model))
			continue;
		missed =
			case_parameter(c, condition->name) ? NULL : judge_limits_path(condition, c);
		if (!missed)
			return NULL;
	}
	return missed;
}

/*
 * Checks limits against data sheets. A widely used table of limits requires 2333 MB/s from a GPU
 * with 4.8 TB/s: that limit can never fail.
 */
#define LEAST_SHARE 0.01
#define MOST_SHARE 2.0
#define LARGE_BYTES (16 << 20) /* larger copies are limited by bandwidth, not by latency */
#define LARGE_SHAPE 2048

/* False: reported. */
static bool judge_limits_bound_fits(const struct limit *limit, const struct bound *bound,
				    const char *key, const struct case_result *c,
				    const struct device_info *device, struct text *errors)
{
	const struct case_parameter *size = case_parameter(c, PARAMETER_SIZE);
	struct spec_peak peak;
	char figure_text[48];
	double share;
	bool is_large;

	if (!spec_peak(schema_metric_sheet(limit->metric->name), c, limit->metric->name, device,
		       &peak))
		return true;
	/* Small cases legitimately stay far below every peak. */
	is_large =
		!size || size->number >= (strcmp(size->unit, "B") == 0 ? LARGE_BYTES : LARGE_SHAPE);
	share = bound->factor / peak.most;
	units_format(peak.figure, limit->metric->unit, figure_text, sizeof(figure_text));
	if (share < LEAST_SHARE && is_large)
		text_addf(errors,
			  "%s: [limit %s] %s = %s: only %.2g %% of the peak of a %s (%s %s), "
			  "so it could never fail. Check the unit\n",
			  bound->place, limit->name, key, bound->text, 100 * share, device->name,
			  peak.key, figure_text);
	else if (share > MOST_SHARE && strcmp(key, "min") == 0)
		text_addf(errors,
			  "%s: [limit %s] %s = %s: %.3g times the peak of a %s (%s %s), so it "
			  "would always fail. Check the unit\n",
			  bound->place, limit->name, key, bound->text, share, device->name,
			  peak.key, figure_text);
	else
		return true;
	return false;
}

/* Reports each bound once, for the first case that contradicts it. */
static bool judge_limits_makes_sense(const struct limit *limit, const struct bound *bound,
				     const char *key, const struct result *result,
				     struct text *errors)
{
	if (bound->kind != BOUND_ABSOLUTE)
		return true;
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		const struct device_info *device = result_device(result, c->device);

		if (device && judge_limits_selects(limit, c, device->name) &&
		    !judge_limits_bound_fits(limit, bound, key, c, device, errors))
			return false;
	}
	return true;
}

bool judge_limits_make_sense(const struct limits *limits, const struct result *result,
			     struct text *errors)
{
	bool all = true;

	for (size_t i = 0; i < limits->count; i++) {
		const struct limit *limit = &limits->items[i];

		all = judge_limits_makes_sense(limit, &limit->min, "min", result, errors) && all;
		all = judge_limits_makes_sense(limit, &limit->max, "max", result, errors) && all;
	}
	return all;
}
