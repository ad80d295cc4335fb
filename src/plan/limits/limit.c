#include "plan/limits/limit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/former_names.h"
#include "base/memory.h"
#include "base/units.h"
#include "plan/ini/hint.h"
#include "plan/resolve.h"

const struct metric node_metrics[] = {
	{ "node.devices", "1", BETTER_NONE, 0, "devices that the run used, of each node" },
	{ "node.pcie_generation", "1", BETTER_HIGHER, 0,
	  "of the PCIe link under load, of the device with the lowest" },
	{ "node.pcie_width", "1", BETTER_HIGHER, 0,
	  "lanes of the PCIe link, of the device with the fewest" },
	{ "node.nvlink_links", "1", BETTER_HIGHER, 0,
	  "active NVLink links, of the device with the fewest" },
	{ "node.ecc", "1", BETTER_HIGHER, 0, "share of the devices whose memory has ECC on" },
	{ "node.driver", "1", BETTER_HIGHER, 0, "the driver's version up to its first dot" },
	{ "node.nic_rate", "B/s", BETTER_HIGHER, 0,
	  "of the fastest network port that is up, of the node with the slowest" },
	{ "node.drift", "1", BETTER_LOWER, 0,
	  "facts in which a node differs from most of a run on several, of the node with most" },
	{ "node.lost", "1", BETTER_LOWER, 0, "nodes of a run on several without a whole result" },
	{ NODE_ACCUSED, "1", BETTER_LOWER, 0,
	  "times that pairs of nodes, or bisection, hold a node or its link to be at fault; each "
	  "node is judged" },
	{ 0 },
};

struct reading {
	struct limit *limit;
	const struct section *section;
	const struct schema *schema;
	limit_problem_fn *problem;
	void *context;
	bool fits;
};

static void complain(struct reading *r, const char *key, const char *message)
{
	r->problem(r->context, key, message);
	r->fits = false;
}

/* "" when the key is broken: that was said already. */
static const char *text_of(struct reading *r, const char *key)
{
	const struct setting *setting = setting_or_null(r->section, key);

	if (!setting)
		r->fits = false;
	return setting ? setting->values[0].text : "";
}

static double real_of(struct reading *r, const char *key)
{
	const struct setting *setting = setting_or_null(r->section, key);

	if (!setting)
		r->fits = false;
	return setting ? setting->values[0].real : NAN;
}

static char *place_of(const struct reading *r, const char *key)
{
	const struct setting *setting = setting_or_null(r->section, key);

	return xstrdup(setting ? setting->origin : r->section->origin);
}

static const struct metric *metric_in(const struct metric *table, const char *name)
{
	for (; table && table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static void unknown_metric(struct reading *r, const char *name)
{
	const char *names[256];
	struct hint hint;
	char *message;
	size_t n = 0;

	for (const struct suite *const *s = r->schema->suites; *s; s++)
		for (const struct metric *m = (*s)->metrics;
		     m && m->name && n + 10 < ARRAY_SIZE(names); m++)
			names[n++] = m->name;
	for (const struct metric *m = node_metrics; m->name && n + 1 < ARRAY_SIZE(names); m++)
		names[n++] = m->name;
	names[n] = NULL;
	hint = hint_for(name, names);
	message = xasprintf("there is no metric '%.60s'%s; gpuproof list metrics shows all", name,
			    hint.text);
	complain(r, "metric", message);
	free(message);
}

/* False: there is nothing that the other keys could be checked against. */
static bool read_metric(struct reading *r)
{
	const char *name = current_name(NAME_METRIC, "", text_of(r, "metric"));

	for (const struct suite *const *s = r->schema->suites; *s && !r->limit->metric; s++) {
		r->limit->metric = metric_in((*s)->metrics, name);
		r->limit->suite = r->limit->metric ? *s : NULL;
	}
	if (!r->limit->metric)
		r->limit->metric = metric_in(node_metrics, name);
	if (!r->limit->metric && *name)
		unknown_metric(r, name);
	return r->limit->metric != NULL;
}

static void read_bound(struct reading *r, const char *key, struct bound *bound)
{
	struct error err = ERROR_NONE;
	const char *text = text_of(r, key);

	if (!*text)
		return;
	bound->place = place_of(r, key);
	if (bound_read(bound, text, r->limit->metric, &err) != STATUS_OK)
		complain(r, key, err.message);
	else if (bound->kind != BOUND_ABSOLUTE && !r->limit->suite)
		complain(r, key, "a metric of the node has absolute bounds only");
	else if (bound->kind == BOUND_ABSOLUTE && bound->factor == 0 && strcmp(key, "min") == 0)
		complain(r, key, "no value is below 0: it could never fail");
}

/* A margin to other devices; NaN: the key is not there, or wrong. `text` is owned by the limit. */
static double read_margin(struct reading *r, const char *key, char **text)
{
	struct error err = ERROR_NONE;
	const char *written = text_of(r, key);
	double margin = NAN;

	if (!*written)
		return NAN;
	*text = xstrdup(written);
	if (units_parse_percent(written, &margin, &err) != STATUS_OK)
		complain(r, key, err.message);
	else if (!(margin > 0 && margin < 1))
		complain(r, key, "the margin must be above 0 % and below 100 %");
	else if (!r->limit->suite || r->limit->metric->better == BETTER_NONE)
		complain(r, key, "the metric has no better and worse to compare by");
	return margin;
}

static void read_outlier_margins(struct reading *r)
{
	struct limit *limit = r->limit;

	limit->outlier_margin = read_margin(r, "outlier_margin", &limit->outlier_text);
	limit->outlier_margin_warn =
		read_margin(r, "outlier_margin_warn", &limit->outlier_warn_text);
	if (limit->outlier_text)
		limit->outlier_place = place_of(r, "outlier_margin");
	if (limit->outlier_warn_text && !(limit->outlier_margin_warn < limit->outlier_margin))
		complain(r, "outlier_margin_warn",
			 "it warns before outlier_margin rejects: give outlier_margin, and this "
			 "below it");
}

static void read_fleet(struct reading *r)
{
	r->limit->fleet = read_margin(r, "fleet", &r->limit->fleet_text);
	if (r->limit->fleet_text)
		r->limit->fleet_place = place_of(r, "fleet");
}

static void read_population(struct reading *r)
{
	struct limit *limit = r->limit;

	limit->population = read_margin(r, "population", &limit->population_text);
	if (!limit->population_text)
		return;
	limit->population_place = place_of(r, "population");
	if (limit->metric->better == BETTER_LOWER)
		complain(r, "population", "populations are of rates, of which more is better");
}

static void read_where(struct reading *r)
{
	struct error err = ERROR_NONE;

	if (conditions_read(r->limit, text_of(r, "where"), &err) != STATUS_OK)
		complain(r, "where", err.message);
}

static bool same_figure(const struct bound *a, const struct bound *b)
{
	return a->kind == b->kind && (a->kind != BOUND_SPEC || strcmp(a->spec, b->spec) == 0);
}

static void check_pair(struct reading *r)
{
	const struct bound *min = &r->limit->min, *max = &r->limit->max;
	char *message;

	if (!min->kind && !max->kind && isnan(r->limit->outlier_margin) && isnan(r->limit->fleet) &&
	    isnan(r->limit->population)) {
		complain(r, "",
			 "it bounds nothing: give min, max, outlier_margin, fleet or population");
	} else if (min->kind && max->kind && same_figure(min, max) && min->factor > max->factor) {
		message = xasprintf("that is above max = %s", max->text);
		complain(r, "min", message);
		free(message);
	}
}

static void read_rest(struct reading *r)
{
	const struct setting *skipped = setting_or_null(r->section, "allow_skipped");
	const struct setting *derived = setting_or_null(r->section, "accept_derived");
	const struct setting *severity = setting_or_null(r->section, "severity");
	const struct setting *devices = setting_or_null(r->section, "devices");

	r->fits = r->fits && skipped && severity && devices;
	r->limit->allow_skipped = skipped && skipped->values[0].integer;
	r->limit->accept_derived = derived && derived->values[0].integer;
	r->limit->severity = severity && severity->values[0].integer ? LIMIT_WARNS : LIMIT_FAILS;
	r->limit->devices = devices ? (size_t)devices->values[0].integer : 0;
	r->limit->sigmas = real_of(r, "sigmas");
	r->limit->launch_spread = real_of(r, "launch_spread");
	r->limit->origin = xstrdup(text_of(r, "origin"));
}

bool limit_read(struct limit *limit, const struct section *section, const struct schema *schema,
		limit_problem_fn *problem, void *context)
{
	struct reading r = { limit, section, schema, problem, context, true };

	*limit = (struct limit){ .name = xstrdup(section->name),
				 .place = xstrdup(section->origin),
				 .outlier_margin = NAN,
				 .outlier_margin_warn = NAN,
				 .fleet = NAN,
				 .population = NAN };
	read_rest(&r);
	if (read_metric(&r)) {
		read_where(&r);
		read_bound(&r, "min", &limit->min);
		read_bound(&r, "max", &limit->max);
		read_outlier_margins(&r);
		read_fleet(&r);
		read_population(&r);
		if (r.fits)
			check_pair(&r);
	} else {
		r.fits = false;
	}
	if (!r.fits)
		limit_release(limit);
	return r.fits;
}

static void bound_release(struct bound *bound)
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
	bound_release(&limit->min);
	bound_release(&limit->max);
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
