#include "report/claims/claims_find.h"

#include <string.h>

static bool is_named(const char *name, const char *word, size_t length)
{
	return strlen(word) == length && memcmp(name, word, length) == 0;
}

static bool has_value(const struct result *result, const struct case_result *c, const char *name,
		      size_t name_length, const char *value, size_t length)
{
	const struct device_info *info = result_device(result, c->device);
	const char *has = NULL;

	if (is_named(name, "model", name_length))
		return info && memmem(info->name, strlen(info->name), value, length);
	if (is_named(name, "label", name_length))
		has = c->label ? c->label : "";
	else if (is_named(name, "device", name_length))
		has = c->device;
	else if (is_named(name, "backend", name_length) && info)
		has = info->backend;
	for (size_t i = 0; i < c->parameter_count; i++)
		if (is_named(name, c->parameters[i].name, name_length))
			has = c->parameters[i].text;
	return has && strlen(has) == length && memcmp(has, value, length) == 0;
}

/* "name:value, name:value", as claims_expression.c writes it; values have no commas. */
static bool matches(const struct result *result, const struct case_result *c, const char *where)
{
	while (*where) {
		size_t name = strcspn(where, ":"), value = strcspn(where + name + 1, ",");

		if (!has_value(result, c, where, name, where + name + 1, value))
			return false;
		where += name + 1 + value;
		where += strspn(where, ", ");
	}
	return true;
}

bool claim_is_on(const struct result *result, const char *device, enum claim_on on)
{
	const struct device_info *info = result_device(result, device);

	if (on == CLAIM_ON_ANY)
		return true;
	if (!info || device_is_host(info))
		return false;
	return on == CLAIM_ON_GPU || info->nvlink_count > 0;
}

/* All devices of the case are such as the claim is about. */
static bool case_is_on(const struct result *result, const struct case_result *c, enum claim_on on)
{
	for (size_t i = 0; i < c->device_count; i++)
		if (!claim_is_on(result, c->devices[i], on))
			return false;
	return claim_is_on(result, c->device, on);
}

bool claim_is_case(const struct result *result, const struct case_result *c,
		   const struct claim_term *term)
{
	return is_named(term->metric, c->suite, strcspn(term->metric, ".")) &&
	       matches(result, c, term->where);
}

struct claim_found claim_find(const struct result *result, const struct claim_term *term,
			      enum claim_on on, bool even_failed, const char *device,
			      const struct case_result *after)
{
	size_t first = after ? (size_t)(after - result->cases) + 1 : 0;

	for (size_t i = first; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		const struct metric_value *m = case_metric(c, term->metric);
		bool counts = c->status == CASE_OK || (even_failed && c->status == CASE_FAILED);

		if (m && counts && !case_is_unsettled(c, m) && case_is_on(result, c, on) &&
		    (!device || (c->device && strcmp(c->device, device) == 0)) &&
		    claim_is_case(result, c, term))
			return (struct claim_found){ result, c, m };
	}
	return (struct claim_found){ 0 };
}
