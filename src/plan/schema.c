#include "plan/schema.h"

#include <string.h>

#include "base/memory.h"
#include "plan/metrics.h"
#include "plan/sampling_rules.h"

const struct schema schema_program = { .suites = suites, .sampling = sampling_keys };
const struct schema schema_limits = { .suites = suites,
				      .sampling = sampling_keys,
				      .limits_only = true };

const struct section_kind config_kinds[] = {
	{ .name = "run", .keys = run_keys },
	{ .name = "defaults" },
	{ .name = "suite", .named = true },
	{ .name = "report", .keys = report_keys },
	{ .name = "limit", .named = true, .keys = limit_keys },
	{ .name = "fleet", .keys = fleet_keys },
	{ 0 },
};

struct key_walk schema_keys(const struct schema *schema, const char *kind,
			    const struct suite *suite)
{
	for (const struct section_kind *k = schema->kinds ? schema->kinds : config_kinds; k->name;
	     k++)
		if (strcmp(k->name, kind) == 0 && (schema->kinds || k->keys))
			return (struct key_walk){ .tables = { k->keys } };
	if (suite)
		return (struct key_walk){ .tables = { suite->keys, suite_keys, schema->sampling } };
	return (struct key_walk){ .tables = { schema->sampling } };
}

const struct key *schema_key_next(struct key_walk *walk)
{
	for (; walk->table < ARRAY_SIZE(walk->tables); walk->table++, walk->at = 0) {
		const struct key *table = walk->tables[walk->table];

		while (table && table[walk->at].name) {
			const struct key *key = &table[walk->at++];
			bool before = false;

			for (size_t i = 0; i < walk->table; i++)
				for (const struct key *k = walk->tables[i]; k && k->name; k++)
					before = before || strcmp(k->name, key->name) == 0;
			if (!before)
				return key;
		}
	}
	return NULL;
}

const struct key *schema_key(const struct schema *schema, const char *kind,
			     const struct suite *suite, const char *name)
{
	struct key_walk walk = schema_keys(schema, kind, suite);
	const struct key *key;

	while ((key = schema_key_next(&walk)))
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

const struct suite *schema_named(const struct suite *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp((*list)->name, name) == 0)
			return *list;
	return NULL;
}

bool schema_is_axis(const struct suite *suite, const struct key *key)
{
	for (const char *const *axis = suite ? suite->axes : NULL; axis && *axis; axis++)
		if (strcmp(*axis, key->name) == 0)
			return true;
	return false;
}

/* The row of a metric, and its suite. */
static const struct metric *schema_find_metric(const char *name, const struct suite **suite)
{
	for (const struct suite *const *s = suites; *s; s++)
		for (const struct metric *m = (*s)->metrics; m && m->name; m++)
			if (strcmp(m->name, name) == 0) {
				*suite = *s;
				return m;
			}
	return NULL;
}

const struct metric *schema_metric_find(const char *name)
{
	const struct suite *suite;

	return schema_find_metric(name, &suite);
}

const struct sheet_row *schema_metric_sheet(const char *name)
{
	const struct suite *suite;

	return schema_find_metric(name, &suite) ? suite->sheet : NULL;
}
