#include "plan/schema.h"

#include <string.h>

#include "base/memory.h"
#include "plan/sampling_rules.h"

const struct schema schema_program = { .suites = suites, .sampling = sampling_keys };
const struct schema schema_limits = { .suites = suites,
				      .sampling = sampling_keys,
				      .limits_only = true };

struct key_walk schema_keys(const struct schema *schema, const char *kind,
			    const struct suite *suite)
{
	for (const struct section_kind *k = schema->kinds; k && k->name; k++)
		if (strcmp(k->name, kind) == 0)
			return (struct key_walk){ .tables = { k->keys, NULL } };
	if (suite)
		return (struct key_walk){ .tables = { suite->keys, suite_keys, schema->sampling } };
	if (strcmp(kind, "run") == 0)
		return (struct key_walk){ .tables = { run_keys, NULL } };
	if (strcmp(kind, "report") == 0)
		return (struct key_walk){ .tables = { report_keys, NULL } };
	if (strcmp(kind, "fleet") == 0)
		return (struct key_walk){ .tables = { fleet_keys, NULL } };
	if (strcmp(kind, "limit") == 0)
		return (struct key_walk){ .tables = { limit_keys, NULL } };
	return (struct key_walk){ .tables = { schema->sampling, NULL } };
}

static bool schema_named_before(const struct key_walk *walk, const char *name)
{
	for (size_t i = 0; i < walk->table; i++)
		for (const struct key *key = walk->tables[i]; key && key->name; key++)
			if (strcmp(key->name, name) == 0)
				return true;
	return false;
}

const struct key *key_next(struct key_walk *walk)
{
	for (; walk->table < ARRAY_SIZE(walk->tables); walk->table++, walk->at = 0) {
		const struct key *table = walk->tables[walk->table];

		while (table && table[walk->at].name) {
			const struct key *key = &table[walk->at++];

			if (!schema_named_before(walk, key->name))
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

	while ((key = key_next(&walk)))
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

const struct suite *schema_suite(const struct schema *schema, const char *name)
{
	return schema_named(schema->suites, name);
}

bool schema_is_axis(const struct suite *suite, const struct key *key)
{
	for (const char *const *axis = suite ? suite->axes : NULL; axis && *axis; axis++)
		if (strcmp(*axis, key->name) == 0)
			return true;
	return false;
}
