#include "plan/limits/limit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/former_names.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/ini/hint.h"
#include "plan/limits/spec_keys.h"
#include "plan/resolve.h"
#include "plan/value.h"

const struct metric node_metrics[] = {
	{ "node.devices", "1", BETTER_NONE, 0,
	  "number of devices that the run used; with several nodes, of the node with the fewest" },
	{ "node.pcie_generation", "1", BETTER_HIGHER, 0,
	  "PCIe generation of the link under load; lowest of all devices" },
	{ "node.pcie_width", "1", BETTER_HIGHER, 0,
	  "lanes of the PCIe link under load; fewest of all devices" },
	{ "node.nvlink_links", "1", BETTER_HIGHER, 0,
	  "active NVLink links; fewest of all devices" },
	{ "node.ecc", "1", BETTER_HIGHER, 0, "fraction of the devices that have ECC enabled" },
	{ "node.driver", "1", BETTER_HIGHER, 0,
	  "major version of the driver: the number before the first dot" },
	{ "node.nic_rate", "B/s", BETTER_HIGHER, 0,
	  "rate of the fastest active network port; with several nodes, of the slowest node" },
	{ "node.drift", "1", BETTER_LOWER, 0,
	  "with several nodes: number of properties in which a node differs from the majority; "
	  "highest of all nodes" },
	{ "node.lost", "1", BETTER_LOWER, 0,
	  "with several nodes: number of nodes that have no complete result" },
	{ NODE_SUSPECT, "1", BETTER_LOWER, 0,
	  "with several nodes: number of faults of the node or its links found by the suite pairs; "
	  "each node is checked" },
	{ 0 },
};

#define SPEC "spec."

static enum status plan_limit_bound_read_figure(struct bound *bound, const char *figure,
						const struct metric *metric, struct error *err)
{
	struct text list = TEXT_EMPTY;
	const struct spec_key *key;

	if (strcmp(figure, "baseline") == 0) {
		bound->kind = BOUND_BASELINE;
		return STATUS_OK;
	}
	if (!text_starts_with(figure, SPEC))
		return error_set(err, STATUS_USAGE,
				 "'%.60s' is neither baseline nor a data-sheet value (spec.NAME)",
				 figure);
	figure += strlen(SPEC);
	bound->kind = BOUND_SPEC;
	bound->spec = xstrdup(figure);
	if (strcmp(figure, SPEC_PEAK) == 0)
		return STATUS_OK;
	key = spec_key_find(figure);
	if (!key) {
		for (key = spec_keys; key->name; key++)
			hint_add(&list, key->name);
		hint_add(&list, SPEC_PEAK);
		error_set(err, STATUS_USAGE, "unknown data-sheet value '%.60s'%s; known values: %s",
			  figure, hint_in(figure, &list).text, list.data);
		text_release(&list);
		return STATUS_USAGE;
	}
	if (strcmp(key->unit, metric->unit) != 0)
		return error_set(err, STATUS_USAGE,
				 "the data-sheet value spec.%s has the unit %s, but the metric %s "
				 "has the unit %s",
				 key->name, key->unit, metric->name, metric->unit);
	return STATUS_OK;
}

static enum status plan_limit_read_absolute(struct bound *bound, const char *text,
					    const struct metric *metric, struct error *err)
{
	const char *unit = metric->unit;
	uint64_t bytes = 0;
	enum status status;

	bound->kind = BOUND_ABSOLUTE;
	if (strcmp(unit, "1") == 0) {
		status = strchr(text, '%') ? units_parse_percent(text, &bound->factor, err)
					   : units_parse_real(text, &bound->factor, err);
	} else if (strcmp(unit, "B") == 0) {
		status = units_parse_size(text, &bytes, err);
		bound->factor = (double)bytes;
	} else if (strcmp(unit, "s") == 0) {
		status = units_parse_duration(text, &bound->factor, err);
	} else {
		status = units_parse_quantity(text, unit, &bound->factor, err);
	}
	if (status == STATUS_OK && bound->factor < 0)
		status = error_set(err, STATUS_USAGE, "'%.60s' is negative", text);
	return status;
}

enum status plan_limit_bound_read(struct bound *bound, const char *text,
				  const struct metric *metric, struct error *err)
{
	const char *star = strchr(text, '*');
	enum status status = STATUS_OK;
	char *left, *right;

	bound->text = xstrdup(text);
	if (!star && !text_starts_with(text, SPEC) && strcmp(text, "baseline") != 0)
		return plan_limit_read_absolute(bound, text, metric, err);
	left = star ? text_trimmed(text, (size_t)(star - text)) : xstrdup("1");
	right = star ? text_trimmed(star + 1, strlen(star + 1)) : xstrdup(text);
	/* "0.85" or "85 %" */
	status = strchr(left, '%') ? units_parse_percent(left, &bound->factor, err)
				   : units_parse_real(left, &bound->factor, err);
	if (status == STATUS_OK && !(bound->factor > 0 && bound->factor <= 100))
		status = error_set(err, STATUS_USAGE,
				   "invalid factor '%.60s'; it must be above 0 and at most 100",
				   left);
	if (status == STATUS_OK)
		status = plan_limit_bound_read_figure(bound, right, metric, err);
	free(left);
	free(right);
	return status;
}

/* Conditions that are not parameters. */
static const char *const special[] = { "device", "model", "backend", "label", "node", NULL };
static const char *const special_of_node[] = { "model", "node", NULL };

static const struct key *plan_limit_condition_find_parameter(const struct suite *suite,
							     const char *name)
{
	for (const struct key *key = suite ? suite->parameters : NULL; key && key->name; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	for (const struct key *key = suite ? suite->keys : NULL; key && key->name; key++)
		if (schema_is_axis(suite, key) && strcmp(key_parameter(key), name) == 0)
			return key;
	return NULL;
}

static enum status plan_limit_condition_unknown_name(const struct suite *suite, const char *name,
						     struct error *err)
{
	struct text list = TEXT_EMPTY;

	for (const struct key *key = suite ? suite->keys : NULL; key && key->name; key++)
		if (schema_is_axis(suite, key))
			hint_add(&list, key_parameter(key));
	for (const struct key *key = suite ? suite->parameters : NULL; key && key->name; key++)
		hint_add(&list, key->name);
	for (const char *const *word = suite ? special : special_of_node; *word; word++)
		hint_add(&list, *word);
	error_set(err, STATUS_USAGE, "%s%s has no parameter '%.60s'%s; use one of %s",
		  suite ? "suite " : "", suite ? suite->name : "the node", name,
		  hint_in(name, &list).text, list.data);
	text_release(&list);
	return STATUS_USAGE;
}

/* Parses one alternative of "a|b|c"; `key` NULL: any text. */
static enum status plan_limit_condition_read_word(struct condition *c, const struct key *key,
						  const char *word, struct error *err)
{
	struct value value = { 0 };

	if (!*word)
		return error_set(err, STATUS_USAGE, "%s: missing value", c->name);
	if (key && value_parse(&value, key, word, err) != STATUS_OK) {
		value_release(&value);
		return error_prefix(err, "%s", c->name);
	}
	c->words = xrealloc(c->words, c->word_count + 1, sizeof(*c->words));
	c->words[c->word_count++] = key ? value.text : xstrdup(word);
	return STATUS_OK;
}

static enum status plan_limit_read_comparison(struct condition *c, const struct key *key,
					      bool absent, const char *text, struct error *err)
{
	struct error ignored = ERROR_NONE;
	struct value value = { 0 };
	char *number = text_trimmed(text + 2, strlen(text + 2));
	uint64_t bytes;
	enum status status = STATUS_OK;

	c->test = *text == '>' ? CONDITION_AT_LEAST : CONDITION_AT_MOST;
	if (!key && absent) {
		/* The suite is not available: a size, or a plain number. */
		if (units_parse_size(number, &bytes, &ignored) == STATUS_OK)
			c->number = (double)bytes;
		else
			status = units_parse_real(number, &c->number, err);
		free(number);
		return status;
	}
	if (!key || key->type == KEY_TEXT || key->type == KEY_CHOICE || key->type == KEY_BOOL ||
	    key->type == KEY_SHAPE)
		status = error_set(err, STATUS_USAGE,
				   "%s: '%.2s' compares numbers, and the parameter has none",
				   c->name, text);
	else if (value_parse(&value, key, number, err) != STATUS_OK)
		status = error_prefix(err, "%s", c->name);
	c->number = value.real;
	value_release(&value);
	free(number);
	return status;
}

static bool plan_limit_is_special(const struct suite *suite, const char *name)
{
	for (const char *const *word = suite ? special : special_of_node; *word; word++)
		if (strcmp(*word, name) == 0)
			return true;
	return false;
}

static enum status plan_limit_read_condition(struct limit *limit, const char *text,
					     struct error *err)
{
	const char *colon = strchr(text, ':');
	bool absent = limit->suite && limit->suite->absent;
	const struct key *key;
	struct condition *c;

	if (!colon)
		return error_set(err, STATUS_USAGE,
				 "'%.60s' is not a condition; write parameter:value", text);
	limit->conditions =
		xrealloc(limit->conditions, limit->condition_count + 1, sizeof(*limit->conditions));
	c = &limit->conditions[limit->condition_count++];
	*c = (struct condition){ .name = text_trimmed(text, (size_t)(colon - text)) };
	for (size_t i = 0; i + 1 < limit->condition_count; i++)
		if (strcmp(limit->conditions[i].name, c->name) == 0 &&
		    limit->conditions[i].test == CONDITION_IS)
			return error_set(err, STATUS_USAGE,
					 "'%.60s' is repeated; alternatives: %.60s:a|b", c->name,
					 c->name);
	key = plan_limit_condition_find_parameter(limit->suite, c->name);
	if (!key && !absent && !plan_limit_is_special(limit->suite, c->name))
		return plan_limit_condition_unknown_name(limit->suite, c->name, err);
	text = colon + 1 + strspn(colon + 1, " \t");
	if (text_starts_with(text, ">=") || text_starts_with(text, "<="))
		return plan_limit_read_comparison(c, key, absent, text, err);
	for (const char *p = text; p;) {
		const char *bar = strchr(p, '|');
		char *word = text_trimmed(p, bar ? (size_t)(bar - p) : strlen(p));
		enum status status = plan_limit_condition_read_word(c, key, word, err);

		free(word);
		if (status != STATUS_OK)
			return status;
		p = bar ? bar + 1 : NULL;
	}
	return STATUS_OK;
}

enum status plan_limit_conditions_read(struct limit *limit, const char *text, struct error *err)
{
	if (!*text)
		return STATUS_OK;
	for (const char *p = text; p;) {
		const char *comma = strchr(p, ',');
		char *part = text_trimmed(p, comma ? (size_t)(comma - p) : strlen(p));
		enum status status = plan_limit_read_condition(limit, part, err);

		free(part);
		if (status != STATUS_OK)
			return status;
		p = comma ? comma + 1 : NULL;
	}
	return STATUS_OK;
}

struct limit_reading {
	struct limit *limit;
	const struct section *section;
	const struct schema *schema;
	limit_problem_fn *problem;
	void *context;
	bool fits;
};

static void limit_report_problem(struct limit_reading *r, const char *key, const char *message)
{
	r->problem(r->context, key, message);
	r->fits = false;
}

/* "" if the value was invalid, which was reported. */
static const char *limit_setting_text(struct limit_reading *r, const char *key)
{
	const struct setting *setting = resolve_setting_or_null(r->section, key);

	if (!setting)
		r->fits = false;
	return setting ? setting->values[0].text : "";
}

static double plan_limit_real_of(struct limit_reading *r, const char *key)
{
	const struct setting *setting = resolve_setting_or_null(r->section, key);

	if (!setting)
		r->fits = false;
	return setting ? setting->values[0].real : NAN;
}

static char *limit_setting_place(const struct limit_reading *r, const char *key)
{
	const struct setting *setting = resolve_setting_or_null(r->section, key);

	return xstrdup(setting ? setting->origin : r->section->origin);
}

static const struct metric *limit_metric_in(const struct metric *table, const char *name)
{
	for (; table && table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static enum status limit_unknown_metric(const struct schema *schema, const char *name,
					struct error *err)
{
	struct text list = TEXT_EMPTY;

	for (const struct suite *const *s = schema->suites; *s; s++)
		for (const struct metric *m = (*s)->metrics; m && m->name; m++)
			hint_add(&list, m->name);
	for (const struct metric *m = node_metrics; m->name; m++)
		hint_add(&list, m->name);
	error_set(err, STATUS_USAGE, "unknown metric '%.60s'%s; gpuproof list metrics shows all",
		  name, hint_in(name, &list).text);
	text_release(&list);
	return STATUS_USAGE;
}

enum status limit_read_metric(struct limit *limit, const struct schema *schema, const char *name,
			      struct error *err)
{
	name = former_name_current(NAME_METRIC, "", name);
	limit->metric = NULL;
	for (const struct suite *const *s = schema->suites; *s && !limit->metric; s++) {
		limit->metric = limit_metric_in((*s)->metrics, name);
		limit->suite = limit->metric ? *s : NULL;
	}
	if (!limit->metric)
		limit->metric = limit_metric_in(node_metrics, name);
	return limit->metric ? STATUS_OK : limit_unknown_metric(schema, name, err);
}

static void limit_read_bound(struct limit_reading *r, const char *key, struct bound *bound)
{
	struct error err = ERROR_NONE;
	const char *text = limit_setting_text(r, key);

	if (!*text)
		return;
	bound->place = limit_setting_place(r, key);
	if (plan_limit_bound_read(bound, text, r->limit->metric, &err) != STATUS_OK)
		limit_report_problem(r, key, err.message);
	else if (bound->kind != BOUND_ABSOLUTE && !r->limit->suite)
		limit_report_problem(r, key, "the bound of a node metric must be a number");
	else if (bound->kind == BOUND_ABSOLUTE && bound->factor == 0 && strcmp(key, "min") == 0)
		limit_report_problem(r, key,
				     "a minimum of 0 can never be violated; set a higher one");
}

/* A margin to other devices; NaN: not set, or invalid. The limit owns `text`. */
static double plan_limit_read_margin(struct limit_reading *r, const char *key, char **text)
{
	struct error err = ERROR_NONE;
	const char *written = limit_setting_text(r, key);
	double margin = NAN;

	if (!*written)
		return NAN;
	*text = xstrdup(written);
	if (units_parse_percent(written, &margin, &err) != STATUS_OK)
		limit_report_problem(r, key, err.message);
	else if (!(margin > 0 && margin < 1))
		limit_report_problem(r, key,
				     "invalid margin; it must be above 0 % and below 100 %");
	else if (!r->limit->suite || r->limit->metric->better == BETTER_NONE)
		limit_report_problem(r, key,
				     "a margin needs a metric with a direction (higher or lower is "
				     "better), and this metric has none; use min or max");
	return margin;
}

static void plan_limit_read_outlier_margins(struct limit_reading *r)
{
	struct limit *limit = r->limit;

	limit->outlier_margin = plan_limit_read_margin(r, "outlier_margin", &limit->outlier_text);
	limit->outlier_margin_warn =
		plan_limit_read_margin(r, "outlier_margin_warn", &limit->outlier_warn_text);
	if (limit->outlier_text)
		limit->outlier_place = limit_setting_place(r, "outlier_margin");
	if (limit->outlier_warn_text && !(limit->outlier_margin_warn < limit->outlier_margin))
		limit_report_problem(r, "outlier_margin_warn",
				     "outlier_margin must also be set, and must be larger");
}

static void limit_read_population(struct limit_reading *r)
{
	struct limit *limit = r->limit;

	limit->population = plan_limit_read_margin(r, "population", &limit->population_text);
	if (!limit->population_text)
		return;
	limit->population_place = limit_setting_place(r, "population");
	if (limit->metric->better == BETTER_LOWER)
		limit_report_problem(r, "population",
				     "reference GPUs cover only metrics for which higher is "
				     "better; limit the corresponding rate, or use max");
}

static void limit_check_pair(struct limit_reading *r)
{
	const struct bound *min = &r->limit->min, *max = &r->limit->max;
	char *message;

	if (!min->kind && !max->kind && isnan(r->limit->outlier_margin) && isnan(r->limit->fleet) &&
	    isnan(r->limit->population)) {
		limit_report_problem(r, "",
				     "the limit has no bound; set min, max, outlier_margin, fleet "
				     "or population");
	} else if (min->kind && max->kind && min->kind == max->kind &&
		   (min->kind != BOUND_SPEC || strcmp(min->spec, max->spec) == 0) &&
		   min->factor > max->factor) {
		message = xasprintf("the minimum is above max = %s", max->text);
		limit_report_problem(r, "min", message);
		free(message);
	}
}

static void plan_limit_read_rest(struct limit_reading *r)
{
	const struct setting *skipped = resolve_setting_or_null(r->section, "allow_skipped");
	const struct setting *derived = resolve_setting_or_null(r->section, "accept_derived");
	const struct setting *severity = resolve_setting_or_null(r->section, "severity");
	const struct setting *devices = resolve_setting_or_null(r->section, "devices");

	r->fits = r->fits && skipped && severity && devices;
	r->limit->allow_skipped = skipped && skipped->values[0].integer;
	r->limit->accept_derived = derived && derived->values[0].integer;
	r->limit->severity = severity && severity->values[0].integer ? LIMIT_WARNS : LIMIT_FAILS;
	r->limit->devices = devices ? (size_t)devices->values[0].integer : 0;
	r->limit->sigmas = plan_limit_real_of(r, "sigmas");
	r->limit->launch_spread = plan_limit_real_of(r, "launch_spread");
	r->limit->origin = xstrdup(limit_setting_text(r, "origin"));
}

bool limit_read(struct limit *limit, const struct section *section, const struct schema *schema,
		limit_problem_fn *problem, void *context)
{
	struct limit_reading r = { limit, section, schema, problem, context, true };
	struct error err = ERROR_NONE;
	const char *name;

	*limit = (struct limit){ .name = xstrdup(section->name),
				 .place = xstrdup(section->origin),
				 .outlier_margin = NAN,
				 .outlier_margin_warn = NAN,
				 .fleet = NAN,
				 .population = NAN };
	plan_limit_read_rest(&r);
	name = limit_setting_text(&r, "metric");
	if (*name && limit_read_metric(limit, schema, name, &err) != STATUS_OK)
		limit_report_problem(&r, "metric", err.message);
	/* Without a metric there is nothing to check the other keys against. */
	if (limit->metric) {
		if (plan_limit_conditions_read(r.limit, limit_setting_text(&r, "where"), &err) !=
		    STATUS_OK)
			limit_report_problem(&r, "where", err.message);
		limit_read_bound(&r, "min", &limit->min);
		limit_read_bound(&r, "max", &limit->max);
		plan_limit_read_outlier_margins(&r);
		r.limit->fleet = plan_limit_read_margin(&r, "fleet", &r.limit->fleet_text);
		if (r.limit->fleet_text)
			r.limit->fleet_place = limit_setting_place(&r, "fleet");
		limit_read_population(&r);
		if (r.fits)
			limit_check_pair(&r);
	} else {
		r.fits = false;
	}
	if (!r.fits)
		limit_release(limit);
	return r.fits;
}

static void limit_bound_release(struct bound *bound)
{
	free(bound->spec);
	free(bound->text);
	free(bound->place);
}

void limit_release(struct limit *limit)
{
	for (size_t i = 0; i < limit->condition_count; i++) {
		for (size_t j = 0; j < limit->conditions[i].word_count; j++)
			free(limit->conditions[i].words[j]);
		free(limit->conditions[i].words);
		free(limit->conditions[i].name);
	}
	free(limit->conditions);
	limit_bound_release(&limit->min);
	limit_bound_release(&limit->max);
	free(limit->name);
	free(limit->place);
	free(limit->outlier_text);
	free(limit->outlier_warn_text);
	free(limit->outlier_place);
	free(limit->fleet_text);
	free(limit->fleet_place);
	free(limit->population_text);
	free(limit->population_place);
	free(limit->origin);
	memset(limit, 0, sizeof(*limit));
}
