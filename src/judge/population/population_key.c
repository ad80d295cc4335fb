#include "judge/population/population_key.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/*
 * The preheat time before the case. Results of earlier versions lack this setting; "" means that
 * values may depend on load.
 */
static char *population_key_preheat_of(const struct result *result, const struct case_result *c)
{
	char *section = xasprintf("suite %s%s%s", c->suite, *c->label ? " " : "", c->label);
	const struct result_setting *s = result_setting(result, section, "preheat");
	const char *found = s && s->value ? s->value : "";

	free(section);
	if (*found && strcmp(found, "0s") != 0)
		return xstrdup(found);
	for (size_t i = 0; i < c->series_count; i++)
		if (c->series[i].load)
			return xstrdup(POPULATION_LOAD);
	return xstrdup("");
}

const char *population_key_id(const struct device_info *device)
{
	return *device->uuid ? device->uuid : device->serial;
}

bool population_key_case_is_preheated(const struct result *result, const struct case_result *c)
{
	char *preheat = population_key_preheat_of(result, c);
	bool is = *preheat;

	free(preheat);
	return is;
}

static bool population_key_devices(const struct result *result, const struct case_result *c,
				   struct population_key *key)
{
	if (!c->device_count || c->device_count > POPULATION_MOST_DEVICES)
		return false;
	for (size_t i = 0; i < c->device_count; i++) {
		const struct device_info *d = result_device(result, c->devices[i]);

		if (!d || !*population_key_id(d) || *d->emulated_on ||
		    (key->model && strcmp(key->model, d->name) != 0))
			return false;
		key->model = d->name;
		key->ids[i] = population_key_id(d);
	}
	return true;
}

bool population_key_of(const struct result *result, const struct case_result *c,
		       struct population_key *key)
{
	*key = (struct population_key){ 0 };
	if (!population_key_devices(result, c, key))
		return false;
	if (key->ids[1] && strcmp(key->ids[0], key->ids[1]) > 0) {
		const char *first = key->ids[0];

		key->ids[0] = key->ids[1];
		key->ids[1] = first;
		key->turned = true;
	}
	key->cards = xasprintf("%s%s%s", key->ids[0], key->ids[1] ? "+" : "",
			       key->ids[1] ? key->ids[1] : "");
	key->point = case_point_without_label(c);
	key->preheat = population_key_preheat_of(result, c);
	return true;
}

void population_key_release(struct population_key *key)
{
	free(key->cards);
	free(key->point);
	free(key->preheat);
	*key = (struct population_key){ 0 };
}
