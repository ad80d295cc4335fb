/*
 * Maps devices of A to devices of B: the same GPU by UUID, else the device with the same id unless
 * it is another GPU of A.
 */
#include <string.h>

#include "compare/comparing.h"

static const struct device_info *by_uuid(const struct result *result, const char *uuid)
{
	for (size_t i = 0; *uuid && i < result->device_count; i++)
		if (strcmp(result->devices[i].uuid, uuid) == 0)
			return &result->devices[i];
	return NULL;
}

const char *compared_device(const struct result *a, const struct result *b, const char *id)
{
	const struct device_info *device = result_device(a, id);
	const struct device_info *same = device ? by_uuid(b, device->uuid) : NULL;
	const struct device_info *namesake = result_device(b, id);

	if (same)
		return same->id;
	return namesake && by_uuid(a, namesake->uuid) ? NULL : id;
}

static bool same_devices(const struct comparison_input *input, const struct case_result *a,
			 const struct case_result *b)
{
	if (a->device_count != b->device_count)
		return false;
	for (size_t i = 0; i < a->device_count; i++) {
		const char *id = compared_device(input->a, input->b, a->devices[i]);

		if (!id || strcmp(id, b->devices[i]) != 0)
			return false;
	}
	return true;
}

const struct subject *compared_subject(const struct comparison_input *input,
				       const struct subject *a, const struct subjects *b,
				       size_t expected)
{
	const struct case_result *c = a->first;

	/* Usually both sides have the same order of cases. */
	if (expected < b->count && strcmp(b->items[expected].first->id, c->id) == 0 &&
	    same_devices(input, c, b->items[expected].first))
		return &b->items[expected];
	for (size_t i = 0; i < b->count; i++)
		if ((strcmp(b->items[i].first->id, c->id) == 0 ||
		     cases_share_point(c, b->items[i].first)) &&
		    same_devices(input, c, b->items[i].first))
			return &b->items[i];
	return NULL;
}
